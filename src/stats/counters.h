/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  What a scan adds up: integers only, so that sums are exact
 *
 * Counters of two parts of a relation can be merged in any order with the
 * same result.  Floating point begins in estimate.c and in the result row.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/counters.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COUNTERS_H
#define SST_COUNTERS_H

#include "storage/block.h"

typedef enum SstCount
{
	/* Pages, each in one of these classes; new ones of hash are unused, too */
	SST_NEW_PAGES,				/* all zeros */
	SST_CORRUPT_PAGES,			/* make no sense */
	SST_META_PAGES,
	SST_LEAF_PAGES,
	SST_INTERNAL_PAGES,
	SST_EMPTY_PAGES,			/* b-tree: half-dead */
	SST_DELETED_PAGES,
	SST_BUCKET_PAGES,
	SST_OVERFLOW_PAGES,
	SST_BITMAP_PAGES,
	SST_UNUSED_PAGES,			/* hash: freed, or new */
	SST_HEAP_PAGES,

	/* Properties of pages */
	SST_BACKWARD_LEAVES,		/* right sibling on an earlier block */
	SST_ALL_VISIBLE_PAGES,

	/* Items */
	SST_LIVE_ITEMS,				/* not marked dead */
	SST_DEAD_ITEMS,				/* marked dead */
	SST_REDIRECT_ITEMS,
	SST_UNUSED_ITEMS,
	SST_ITEMS_TOLD_APART,		/* posting list tuples, or known not to be */
	SST_POSTING_TUPLES,

	/* Bytes of the pages that hold items (leaves, buckets, heap pages) */
	SST_FREE_BYTES,
	SST_USABLE_BYTES,

	SST_NCOUNTS
} SstCount;

typedef struct SstCounters
{
	uint64		n[SST_NCOUNTS];
	BlockNumber first_new;		/* lowest such block, or InvalidBlockNumber */
	BlockNumber first_corrupt;
} SstCounters;

extern void sst_counters_init(SstCounters *counters);
extern void sst_counters_merge(SstCounters *into, const SstCounters *from);

static inline void
sst_count_new(SstCounters *counters, BlockNumber blkno)
{
	counters->n[SST_NEW_PAGES]++;
	counters->first_new = Min(counters->first_new, blkno);
}

static inline void
sst_count_corrupt(SstCounters *counters, BlockNumber blkno)
{
	counters->n[SST_CORRUPT_PAGES]++;
	counters->first_corrupt = Min(counters->first_corrupt, blkno);
}

#endif							/* SST_COUNTERS_H */
