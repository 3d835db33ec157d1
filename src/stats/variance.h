/*-------------------------------------------------------------------------
 *
 * variance.h
 *	  The variance of totals that are estimated from a sample
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/variance.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_VARIANCE_H
#define SST_VARIANCE_H

#include "stats/page_sample.h"

/*
 * A linear form of a page's counters: the sum of some of them, each with a weight
 */
typedef struct SstLinearForm
{
	int			nterms;
	SstCount	count[SST_FIRST_MAP_COUNT];
	double		weight[SST_FIRST_MAP_COUNT];
} SstLinearForm;

extern void sst_linear_form_add(SstLinearForm *form, SstCount count, double weight);
extern double sst_unit_value(const SstLinearForm *form, const SstSampleUnit *unit);
extern bool sst_linear_form_is_known(const SstLinearForm *form);

/*
 * The part of the pages that is assumed to be unlike all sampled ones, when these
 * differ.  A tree has an inner page for some hundred leaf pages, or for 67 if keys take a
 * hundred bytes, and a root.
 */
#define SST_UNLIKE 0.002
#define SST_UNLIKE_IN_TREE(nblocks) (0.015 + 1.0 / (nblocks))

/* Distances of the ends of an interval from the estimated value */
typedef struct SstBounds
{
	double		below;
	double		above;
} SstBounds;

extern SstBounds sst_total_interval(const SstLinearForm *form, double least, double most,
									double unlike, double units,
									const SstPageSample *sample);
extern double sst_total_variance(const SstLinearForm *form, const SstPageSample *sample);

#endif							/* SST_VARIANCE_H */
