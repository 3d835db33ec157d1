/*-------------------------------------------------------------------------
 *
 * variance.h
 *	  How far a total that is estimated from a sample can be off
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/variance.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SPREAD_H
#define SST_SPREAD_H

#include "stats/interval.h"
#include "stats/page_sample.h"

/*
 * A value of each page, as a weighted sum of its counters; the weights of most
 * are zero.
 */
typedef struct SstForm
{
	int			nterms;
	SstCount	count[SST_FIRST_MAP_COUNT];
	double		weight[SST_FIRST_MAP_COUNT];
} SstForm;

/* An interval around an estimated value */
typedef struct SstBounds
{
	double		below;
	double		above;
} SstBounds;

extern void sst_form_add(SstForm *form, SstCount count, double weight);
extern double sst_unit_value(const SstForm *form, const SstSampleUnit *unit);
extern bool sst_form_is_known(const SstForm *form);
extern SstBounds sst_total_interval(const SstForm *form, double least, double most,
									const SstPageSample *sample);
extern double sst_total_variance(const SstForm *form, const SstPageSample *sample);

#endif							/* SST_SPREAD_H */
