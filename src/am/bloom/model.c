/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rebuilt bloom index
 *
 * A build fills one page after the other.  All tuples have one size, which follows from
 * the option "length" as it is now: it may have been altered since the last build.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/bloom/model.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/rel.h"

#include "am/bloom/layout.h"
#include "am/rebuild.h"

typedef struct BloomRebuild
{
	SstRebuild	base;
	int			tuples_per_page;
} BloomRebuild;

static void
bloom_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstKeptItems *kept, SstCounters *counters)
{
	int			ntuples;
	int			ndead = 0;

	if (blkno == 0 || PageIsNew((Page) page))
		return;

	ntuples = sst_bloom_special(page)->ntuples;
	if (rebuild->dead_tids != NULL && ntuples > 0)
	{
		int			size = sst_bloom_tuple_size(page);

		for (int i = 0; i < ntuples; i++)
			ndead += sst_rebuild_leaves_out(rebuild, sst_bloom_tid(page, i, size));
	}
	counters->n[SST_REBUILT_ENTRIES] += ntuples - ndead;
	counters->n[SST_REBUILT_DEAD_ENTRIES] += ndead;
}

/* The metapage, and pages that are all full but for the last one */
static double
bloom_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const BloomRebuild *state = (const BloomRebuild *) rebuild;

	return 1 + sst_round_up(counts[SST_REBUILT_ENTRIES] / state->tuples_per_page,
							whole);
}

static void
bloom_predict(SstRebuild *rebuild, const SstPageSample *sample,
			  const SstEstimate *kept, SstPrediction *prediction)
{
	prediction->blocks = sst_predict_blocks(rebuild, sample, bloom_blocks);
	sst_leave_out(rebuild, sample, kept, bloom_blocks, NULL, 0,
				  &prediction->blocks);
}

static SstRebuild *
bloom_begin(Relation rel, const SstTableFacts *table)
{
	BloomRebuild *state = palloc0(sizeof(BloomRebuild));
	const BloomSettings *settings = sst_extension_options(rel, sizeof(BloomSettings));
	int			nwords = settings != NULL ? settings->nwords : BLOOM_DEFAULT_WORDS;

	/* The access method is known by its names only. */
	if (nwords < 1 || nwords > BLOOM_MAX_WORDS)
		nwords = BLOOM_DEFAULT_WORDS;
	state->tuples_per_page = BLOOM_PAGE_BYTES / BLOOM_TUPLE_SIZE(nwords);
	return &state->base;
}

const SstModel sst_bloom_model = {bloom_begin, bloom_page, bloom_predict};
