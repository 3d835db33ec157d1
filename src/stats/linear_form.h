/*-------------------------------------------------------------------------
 *
 * linear_form.h
 *	  Sums of a page's counters, each with a weight
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/linear_form.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LINEAR_FORM_H
#define SST_LINEAR_FORM_H

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

#endif							/* SST_LINEAR_FORM_H */
