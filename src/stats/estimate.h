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

/* Items that share the space of pages, so that their sizes limit their number */
typedef struct SstItems
{
	int			ncounts;
	SstCount	counts[4];		/* add up to their number */
	SstCount	usable;			/* bytes of their pages */
	SstCount	free;
	SstCount	lists;			/* those that stand for many, or 0 */
} SstItems;

/*
 * A statistic: what to estimate, from which counters of each page.  The total of y or, if
 * there is an x, its percentage of x; for pages of a class, y is 0 or 1 a page.
 */
typedef struct SstStatistic
{
	const char *name;
	SstCount	y;
	SstCount	x;				/* or 0 */
	uint32		most;			/* limit on y of one page, of a percentage on
								 * x; or 0 */
	const SstItems *items;		/* of a total: what y counts, for a closer
								 * limit; or NULL */
	bool		left;			/* 100 minus the percentage */
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
