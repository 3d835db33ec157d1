/*-------------------------------------------------------------------------
 *
 * bucket_sums.h
 *	  Counters of each part of a relation's file
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/bucket_sums.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BUCKET_SUMS_H
#define SST_BUCKET_SUMS_H

#include "relation/kind.h"
#include "stats/counters.h"

/* Sums over the pages of a bucket that were looked at */
typedef struct SstBucketSum
{
	uint64		bytes;
	uint64		free_bytes;
	uint64		free_pages;		/* new, empty or deleted: free as a whole */
	uint64		live_items;
	uint64		dead_items;
	uint64		dead_tuple_bytes;
	uint64		corrupt_pages;
} SstBucketSum;

/* The blocks 0 to nblocks - 1 in buckets of equal size, give or take one block */
typedef struct SstBucketSums
{
	BlockNumber nblocks;
	int			nbuckets;
	SstBucketSum *sums;
} SstBucketSums;

/* The first block of a bucket, from 0 */
static inline BlockNumber
sst_bucket_start(BlockNumber nblocks, int nbuckets, int bucket)
{
	return (BlockNumber) ((uint64) nblocks * bucket / nbuckets);
}

extern void sst_bucket_sums_init(SstBucketSums *sums, BlockNumber nblocks,
								 int nbuckets);
extern int	sst_bucket_of(const SstBucketSums *sums, BlockNumber blkno);
extern void sst_bucket_sums_add(SstBucketSums *sums,
								const SstCounters *counters,
								BlockNumber blkno);
extern double sst_bucket_free_percent(const SstBucketSum *sum,
									  SstTargetKind kind);
extern double sst_bucket_dead_percent(const SstBucketSum *sum,
									  SstTargetKind kind);

#endif							/* SST_BUCKET_SUMS_H */
