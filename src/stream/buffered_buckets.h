/*-------------------------------------------------------------------------
 *
 * buffered_buckets.h
 *	  How many blocks of each part of a fork are in shared buffers?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/buffered_buckets.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BUFFERED_BUCKETS_H
#define SST_BUFFERED_BUCKETS_H

#include "stats/counters.h"
#include "utils/rel.h"

extern void sst_count_buffered(Relation rel, ForkNumber forknum,
							   const SstBucketSums *sums, uint32 *counts);

#endif							/* SST_BUFFERED_BUCKETS_H */
