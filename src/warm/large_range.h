/*-------------------------------------------------------------------------
 *
 * large_range.h
 *	  Warming a large range of one relation with parallel workers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/large_range.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LARGE_RANGE_H
#define SST_LARGE_RANGE_H

#include "warm/warm.h"

/* Adjacent blocks that workers are worth looking at for: 128 MB */
#define SST_LARGE_RANGE_BLOCKS (128 * 1024 * 1024 / BLCKSZ)

extern bool sst_warm_large_range(SstWarmFork *fork, SstPrewarmMode mode,
								 BlockNumber first, BlockNumber end,
								 SstIoStats *io_stats);

#endif							/* SST_LARGE_RANGE_H */
