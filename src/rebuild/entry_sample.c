/*-------------------------------------------------------------------------
 *
 * entry_sample.c
 *	  Some of the entries of each index page that is read
 *
 * The number of entries is bounded: the more pages, the fewer entries are kept
 * of each.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/entry_sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "rebuild/entry_sample.h"

/* Entries to keep (10 MB), and of one page at most */
#define MAX_SAMPLED 524288
#define MAX_OF_PAGE 2048

/*
 * Prepare for so many pages of an index, in the current memory context.  If more
 * come, the last ones are left out.
 */
SstEntrySample *
sst_entry_sample_create(SstTargetKind kind, bool deduplicate,
						BlockNumber npages, uint32 seed)
{
	SstEntrySample *sample = palloc(sizeof(SstEntrySample));

	npages = Max(npages, 1);
	sample->kind = kind;
	sample->deduplicate = deduplicate;
	sample->seed = seed;
	sample->page_stride = (npages - 1) / MAX_SAMPLED + 1;
	sample->most_of_page = Min(Max(MAX_SAMPLED / npages, 1), MAX_OF_PAGE);
	sample->npages = 0;
	sample->nentries = 0;
	sample->maxentries = (npages / sample->page_stride + 1) *
		sample->most_of_page;
	sample->entries = palloc(sample->maxentries * sizeof(SstSampledEntry));
	sample->of_page.n = 0;

	return sample;
}

/*
 * Take entries from a page, which was drawn from so many blocks.  Allocates nothing
 * and raises no error.
 */
void
sst_entry_sample_add(SstEntrySample *sample, const PageData *page,
					 BlockNumber blkno, BlockNumber range_blocks)
{
	const SstEntries *of_page = &sample->of_page;
	uint32		number = sample->npages++;
	uint32		random;
	int			ntaken;
	float		factor;

	if (number % sample->page_stride != 0)
		return;
	sst_list_entries(sample->kind, sample->deduplicate, page, blkno,
					 &sample->of_page);
	ntaken = Min(of_page->n, sample->most_of_page);
	if (ntaken == 0 || sample->nentries + ntaken > sample->maxentries)
		return;

	/* One of each of so many equal ranges */
	factor = (float) range_blocks * of_page->n / ntaken;
	random = hash_bytes_uint32_extended(blkno, sample->seed) >> 32;
	for (int i = 0; i < ntaken; i++)
	{
		double		place = (i + random / 4294967296.0) * of_page->n / ntaken;
		const SstEntry *entry = &of_page->entry[(int) place];
		SstSampledEntry *taken = &sample->entries[sample->nentries++];

		taken->blkno = ItemPointerGetBlockNumberNoCheck(&entry->tid);
		taken->offnum = ItemPointerGetOffsetNumberNoCheck(&entry->tid);
		taken->page = number;
		taken->bytes = entry->bytes * factor;
		taken->key_bytes = entry->key_bytes * factor;
	}
}

void
sst_entry_sample_free(SstEntrySample *sample)
{
	pfree(sample->entries);
	pfree(sample);
}
