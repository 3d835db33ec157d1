/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  From what a sample of pages says to what the relation is like
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ESTIMATE_H
#define SST_ESTIMATE_H

#include "stats/counters.h"

typedef enum SstEstimator
{
	SST_PAGES,					/* pages of a class: y is 0 or 1 a page */
	SST_TOTAL,					/* sum of y over all pages */
	SST_SHARE,					/* percent of the pages with x that have y */
	SST_RATIO,					/* sum of y in percent of the sum of x */
	SST_RATIO_LEFT				/* 100 minus that */
} SstEstimator;

/* A statistic: what to estimate, from which counters of each page */
typedef struct SstStatistic
{
	const char *name;
	SstEstimator estimator;
	SstCount	y;
	SstCount	x;				/* SST_SHARE, SST_RATIO, SST_RATIO_LEFT */
	uint32		most;			/* SST_TOTAL: no page can have more of y */
} SstStatistic;

/*
 * Sums over the pages of a sample, for one statistic.  They are integers, so
 * that merging is exact; 64 bits hold 2^32 squares of counts up to BLCKSZ.
 */
typedef struct SstMoments
{
	uint64		y;
	uint64		x;
	uint64		yy;
	uint64		xx;
	uint64		xy;
} SstMoments;

/* An estimate, and the ends of its 95 % interval; NaN where not known */
typedef struct SstEstimate
{
	double		value;
	double		low;
	double		high;
} SstEstimate;

extern void sst_moments_add(SstMoments *moments, const SstStatistic *statistic,
							const SstCounters *page);
extern void sst_moments_merge(SstMoments *into, const SstMoments *from);
extern SstEstimate sst_estimate(const SstStatistic *statistic,
								const SstMoments *moments,
								uint64 nsampled, uint64 ntotal);

#endif							/* SST_ESTIMATE_H */
