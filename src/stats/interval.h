/*-------------------------------------------------------------------------
 *
 * interval.h
 *	  95 % confidence intervals of totals that are estimated from a sample
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_INTERVAL_H
#define SST_INTERVAL_H

#include <math.h>

#include "stats/page_sample.h"

/* 97.5 % quantile of the normal distribution */
#define SST_Z 1.959963984540054

/* An estimate and the ends of its 95 % confidence interval; NaN if not known */
typedef struct SstEstimate
{
	double		value;
	double		low;
	double		high;
} SstEstimate;

/* What is known, or for NaN what is not */
static inline SstEstimate
sst_exactly(double value)
{
	SstEstimate result = {value, value, value};

	return result;
}

static inline SstEstimate
sst_scaled(SstEstimate estimate, double factor)
{
	estimate.value *= factor;
	estimate.low *= factor;
	estimate.high *= factor;

	return estimate;
}

/* Add another estimate, and its ends to the ends, as if all errors had one cause. */
static inline void
sst_add_estimate(SstEstimate *sum, SstEstimate other)
{
	sum->value += other.value;
	sum->low += other.low;
	sum->high += other.high;
}

/* The same, unless the other one is not known */
static inline void
sst_add_known(SstEstimate *sum, SstEstimate other)
{
	if (!isnan(other.value))
		sst_add_estimate(sum, other);
}

extern double sst_t_quantile(double df);
extern double sst_unseen_part(double n);

/* ----------
 * Totals that are estimated from a sample
 * ----------
 */

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

#endif							/* SST_INTERVAL_H */
