/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Starting and merging counters
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stats/counters.h"

void
sst_counters_init(SstCounters *counters)
{
	memset(counters, 0, sizeof(SstCounters));
	counters->first_new = InvalidBlockNumber;
	counters->first_corrupt = InvalidBlockNumber;
}

void
sst_counters_merge(SstCounters *into, const SstCounters *from)
{
	for (int i = 0; i < SST_NCOUNTS; i++)
		into->n[i] += from->n[i];

	/* InvalidBlockNumber is above every block number. */
	into->first_new = Min(into->first_new, from->first_new);
	into->first_corrupt = Min(into->first_corrupt, from->first_corrupt);

	into->kept_end = Max(into->kept_end, from->kept_end);
	into->largest_free = Max(into->largest_free, from->largest_free);
	into->map_largest_free = Max(into->map_largest_free,
								 from->map_largest_free);
}

/* ----------
 * Counters of each part of a relation's file
 *
 * A bucket has only the counters for layout_map and layout_picture, so that
 * 10,000 of them use little memory.
 * ----------
 */

/* Set up sums of nothing, with memory from the current context. */
void
sst_bucket_sums_init(SstBucketSums *sums, BlockNumber nblocks, int nbuckets)
{
	sums->nblocks = nblocks;
	sums->nbuckets = nbuckets;
	sums->sums = palloc0(sizeof(SstBucketSum) * Max(nbuckets, 1));
}

/* Add what was counted on pages of the bucket that has the block. */
void
sst_bucket_sums_add(SstBucketSums *sums, const SstCounters *counters,
					BlockNumber blkno)
{
	SstBucketSum *sum = &sums->sums[sst_bucket_of(sums, blkno)];

	sum->bytes += counters->n[SST_PAGE_BYTES];
	sum->free_bytes += counters->n[SST_FREE_BYTES];
	sum->free_pages += counters->n[SST_NEW_PAGES] +
		counters->n[SST_EMPTY_PAGES] + counters->n[SST_DELETED_PAGES];
	sum->live_items += counters->n[SST_LIVE_ITEMS];
	sum->dead_items += counters->n[SST_DEAD_ITEMS];
	sum->dead_tuple_bytes += counters->n[SST_DEAD_TUPLE_BYTES];
	sum->corrupt_pages += counters->n[SST_CORRUPT_PAGES];
}
