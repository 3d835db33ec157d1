/*-------------------------------------------------------------------------
 *
 * interval.h
 *	  95 % confidence intervals for numbers of pages, and helpers for them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/interval.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_INTERVAL_H
#define SST_INTERVAL_H

#include <math.h>

/* 97.5 % quantile of the normal distribution */
#define SST_Z 1.959963984540054

/* An estimate and the ends of its 95 % confidence interval; NaN if not known */
typedef struct SstEstimate
{
	double		value;
	double		low;
	double		high;
} SstEstimate;

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
extern SstEstimate sst_page_interval(double value, double k, double n,
									 double N, double variance);

#endif							/* SST_INTERVAL_H */
