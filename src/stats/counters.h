/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  What a scan counts: integers only, so that sums are exact
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COUNTERS_H
#define SST_COUNTERS_H

#include "storage/block.h"

typedef enum SstCount
{
	/* Pages, each in one of these classes */
	SST_NEW_PAGES,				/* all zeros */
	SST_CORRUPT_PAGES,			/* fail the checks of their visitor */
	SST_LEAF_PAGES,
	SST_INTERNAL_PAGES,
	SST_EMPTY_PAGES,			/* b-tree: half-dead */
	SST_DELETED_PAGES,			/* can be reused */
	SST_HEAP_PAGES,
	SST_OTHER_PAGES,			/* metapages; of an unknown access method */

	/* Kinds of pages */
	SST_UNUSED_PAGES,			/* deleted or new, where pages are reserved */
	SST_ORDERED_LEAF_PAGES,		/* leaf pages of trees with links to the right */

	/* Properties of pages */
	SST_BACKWARD_LEAVES,		/* right sibling on an earlier block */
	SST_ALL_VISIBLE_PAGES,		/* heap: as the page itself says */

	/* Items */
	SST_LIVE_ITEMS,				/* not marked dead */
	SST_DEAD_ITEMS,				/* marked dead */
	SST_REDIRECT_ITEMS,			/* heap, SP-GiST */
	SST_PLACEHOLDER_ITEMS,		/* SP-GiST, BRIN */
	SST_UNUSED_ITEMS,

	/* Tuples of a table, or of an index where pgstattuple counts them */
	SST_TUPLES,					/* inserted, and not known to be deleted */
	SST_TUPLE_BYTES,
	SST_DEAD_TUPLES,			/* all others */
	SST_DEAD_TUPLE_BYTES,
	SST_RECENTLY_DEAD_TUPLES,	/* of these, those that VACUUM must keep */
	SST_INSERTING_TUPLES,		/* of SST_TUPLES, inserter in progress */
	SST_INSERTING_BYTES,
	SST_DELETING_TUPLES,		/* of SST_TUPLES, deleter in progress */
	SST_OWN_DELETED_TUPLES,		/* of SST_DEAD_TUPLES, deleted by ourselves */
	SST_OWN_DELETED_BYTES,

	/* Bytes of all pages, and of those that hold items or tuples */
	SST_PAGE_BYTES,
	SST_FREE_BYTES,
	SST_USABLE_BYTES,

	/* Trailing pages of a table that VACUUM could truncate */
	SST_TRUNCATABLE_PAGES,

	/* Of a table: what its indexes point to, and what new ones would */
	SST_INDEXED_ITEMS,			/* line pointers that indexes can point to */
	SST_KEPT_CHAINS,			/* of these, leading to tuples VACUUM keeps */
	SST_DELETED_VERSIONS,		/* dead tuples that are the last of their row */
	SST_UPDATED_VERSIONS,		/* dead tuples, the next of which has index
								 * entries of its own */

	/* What the contents would take in a rebuilt relation */
	SST_REBUILT_BYTES,			/* on pages of its lowest level */
	SST_REBUILT_ENTRIES,		/* heap TIDs, or what else the index stores */
	SST_REBUILT_DEAD_ENTRIES,	/* the same, marked dead and left out */
	SST_REBUILT_PIVOTS,			/* keys for the level above */
	SST_REBUILT_PIVOT_BYTES,
	SST_REBUILT_TREE_BYTES,		/* GIN: posting lists in posting trees */
	SST_REBUILT_MORE_BYTES,		/* table: that rows may have more, or less, by */
	SST_REBUILT_LESS_BYTES,		/* how well their values can be compressed */

	/* Of a table's TOAST table, in units of SST_TOAST_UNIT bytes */
	SST_TOAST_CHUNKS,			/* chunks of the values of kept rows; or of a
								 * TOAST table, the kept ones */
	SST_REBUILT_TOAST,			/* pages of the rebuilt TOAST table */
	SST_REBUILT_TOAST_MORE,		/* that it may have more, or less, by how well */
	SST_REBUILT_TOAST_LESS,		/* values can be compressed */

	/* What only one access method counts: its folder has the names */
	SST_OWN,
	SST_OWN_END = SST_OWN + 20,

	/* From a table's visibility map and free space map */
	SST_FIRST_MAP_COUNT = SST_OWN_END,
	SST_MAP_VISIBLE_BLOCKS = SST_FIRST_MAP_COUNT,	/* all-visible */
	SST_MAP_FROZEN_BLOCKS,		/* all-frozen */
	SST_MAP_FREE_BLOCKS,		/* have free space */
	SST_MAP_FREE_BYTES,
	SST_MAP_SKIPPED_FREE_BYTES, /* of those, in blocks that are skipped */
	SST_MAP_CORRUPT_PAGES,		/* of the maps themselves */

	SST_NCOUNTS
} SstCount;

/* The rows of a page can have more than 4 GB in the TOAST table. */
#define SST_TOAST_UNIT 256

typedef struct SstCounters
{
	uint64		n[SST_NCOUNTS];
	BlockNumber first_new;		/* lowest such block, or InvalidBlockNumber */
	BlockNumber first_corrupt;
	BlockNumber kept_end;		/* one past the last block that VACUUM keeps */
	uint32		largest_free;	/* most free bytes of a heap page */
	uint32		map_largest_free;	/* the same, by the free space map */
} SstCounters;

static inline void
sst_counters_init(SstCounters *counters)
{
	memset(counters, 0, sizeof(SstCounters));
	counters->first_new = InvalidBlockNumber;
	counters->first_corrupt = InvalidBlockNumber;
}

static inline void
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
	counters->kept_end = Max(counters->kept_end, blkno + 1);
}

/*
 * The blocks 0 to nblocks - 1 in buckets of equal size, give or take one block, and what was
 * counted on the pages of each
 */
typedef struct SstBucketSums
{
	BlockNumber nblocks;
	int			nbuckets;
	SstCounters *sums;
} SstBucketSums;

/* The bucket of a block: the last one that does not begin after it */
static inline int
sst_bucket_of(const SstBucketSums *sums, BlockNumber blkno)
{
	return (int) ((((uint64) blkno + 1) * sums->nbuckets - 1) / sums->nblocks);
}

/* Add what was counted on pages of the bucket that has the block. */
static inline void
sst_bucket_sums_add(SstBucketSums *sums, const SstCounters *counters, BlockNumber blkno)
{
	sst_counters_merge(&sums->sums[sst_bucket_of(sums, blkno)], counters);
}

#endif							/* SST_COUNTERS_H */
