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

typedef struct SstRelationStats SstRelationStats;	/* in am/am.h */

/*
 * A column that a function offers: its name and type, and the counter or the field of
 * the metapage that it shows, or else the function that computes it.  A counter can be
 * shown in percent of another one, or what it leaves of that.  What is of a known access
 * method only is null for another one.
 *
 * Percentages, and counters for which a limit is given, can be estimated from a sample.
 */
typedef struct SstColumn
{
	const char *name;
	Oid			type;
	SstCount	count;
	Datum		(*compute) (const SstRelationStats *found, bool *isnull);
	int			meta;			/* 0 if it is no field of the metapage */
	SstCount	percent_of;		/* 0 if it is no percentage */
	bool		left;
	bool		of_known;
	uint32		most;			/* limit on the counter of one page, of a
								 * percentage on percent_of; or 0 */
	const SstItems *items;		/* what it counts, for a closer limit; or NULL */
	bool		main;			/* a margin applies to it */
	bool		plus_pages;		/* unused pages are added to the counter */
	bool		of_sum;			/* percent of both counters together */
} SstColumn;

static inline bool
sst_is_estimated(const SstColumn *column)
{
	return column->percent_of != 0 || column->most > 0;
}

/* A function of the sums of counters over all pages */
typedef double (*SstFunction) (const void *arg, const double *sums);

extern const SstItems sst_heap_tuples;
extern const SstItems sst_leaf_items;

extern SstEstimate sst_estimate(const SstColumn *column,
								const SstPageSample *sample);
extern SstEstimate sst_estimate_function(SstFunction function, const void *arg,
										 double most,
										 const SstPageSample *sample);

extern double sst_margin(const SstEstimate *estimate);

#endif							/* SST_ESTIMATE_H */
