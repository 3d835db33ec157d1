/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  Estimates for a relation from a sample of its pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ESTIMATE_H
#define SST_ESTIMATE_H

#include "stats/interval.h"

typedef enum SstEstimator
{
	SST_TOTAL,					/* sum of y over all pages */
	SST_RATIO,					/* sum of y in percent of the sum of x */
	SST_RATIO_LEFT				/* 100 minus that */
} SstEstimator;

/* Items that share the space of pages, so that their sizes limit their number */
typedef struct SstItems
{
	int			ncounts;
	SstCount	counts[4];		/* add up to their number */
	SstCount	usable;			/* bytes of their pages */
	SstCount	free;
	SstCount	lists;			/* those that stand for many, or 0 */
} SstItems;

/* A statistic: what to estimate, from which counters of each page */
typedef struct SstStatistic
{
	const char *name;
	SstEstimator estimator;
	SstCount	y;
	SstCount	x;				/* SST_RATIO, SST_RATIO_LEFT */
	uint32		most;			/* limit on y of one page, of SST_RATIO on x;
								 * or 0 */
	const SstItems *items;		/* SST_TOTAL: what y counts, for a closer
								 * limit; or NULL */
	bool		plus_y;			/* the denominator is x + y */
	bool		plus_pages;		/* unused pages are added to y */
} SstStatistic;

/* A function of the sums of counters over all pages */
typedef double (*SstFunction) (const void *arg, const double *sums);

extern const SstItems sst_heap_tuples;
extern const SstItems sst_leaf_items;

extern SstEstimate sst_estimate(const SstStatistic *statistic,
								const SstPageSample *sample);
extern SstEstimate sst_estimate_function(SstFunction function, const void *arg,
										 double most,
										 const SstPageSample *sample);

extern double sst_margin(const SstEstimate *estimate);

#endif							/* SST_ESTIMATE_H */
