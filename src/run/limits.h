/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  Limits of a scan: bytes, time, and bytes per second
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LIMITS_H
#define SST_LIMITS_H

#include "storage/block.h"

/*
 * Limits of a call that makes several scans.  Every page that is looked at
 * counts, from wherever it came.  A scan with limits has no parallel workers.
 */
typedef struct SstLimits
{
	double		deadline;		/* by sst_now(); 0 for none */
	int64		bytes_left;		/* that may still be read */
	int64		max_rate;		/* bytes per second; 0 for no limit */
	bool		reached;		/* set when a scan ended early */
} SstLimits;

/* The limits of one scan: those of the call, and the setting's rate */
typedef struct SstThrottle
{
	SstLimits  *limits;			/* or NULL */
	double		rate;			/* bytes per second; 0 for no limit */
	bool		yields;			/* give nothing, instead of ERROR, when others
								 * have waited too long for a lock */
	bool		must_yield;		/* that was so the last time */
} SstThrottle;

static inline bool
sst_within_limits(const SstLimits *limits)
{
	return limits == NULL || !limits->reached;
}

extern BlockNumber sst_rate_blocks(int64 max_rate);
extern double sst_seconds_left(const SstLimits *limits);
extern bool sst_limits_expired(SstLimits *limits);
extern bool sst_limits_go_on(void *limits);

extern bool sst_throttle_begin(SstThrottle *throttle, SstLimits *limits);
extern BlockNumber sst_throttle_take(SstThrottle *throttle, BlockNumber nblocks);
extern void sst_throttle_give_back(SstThrottle *throttle, BlockNumber nblocks);
extern bool sst_throttle_rest(SstThrottle *throttle, double seconds);

#endif							/* SST_LIMITS_H */
