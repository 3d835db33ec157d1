/*-------------------------------------------------------------------------
 *
 * set.h
 *	  A set of ranges to warm, while it grows
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_SET_H
#define SST_WARM_SET_H

#include "warm/warm.h"

extern void sst_warm_set_init(SstWarmSet *set);
extern int	sst_warm_set_add_fork(SstWarmSet *set, const SstRelation *relation,
								  ForkNumber forknum, int64 bytes);
extern void sst_warm_set_add_note(SstWarmSet *set, const SstRelation *relation,
								  const char *note);
extern void sst_warm_set_add_range(SstWarmSet *set, int fork, BlockNumber first,
								   BlockNumber end);
extern void sst_warm_set_totals(const SstWarmSet *set, int64 *nrelations,
								int64 *nblocks);

#endif							/* SST_WARM_SET_H */
