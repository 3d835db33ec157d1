/*-------------------------------------------------------------------------
 *
 * differences.h
 *	  The variance of pages, from neighbours in a sample
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/differences.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DIFFERENCES_H
#define SST_DIFFERENCES_H

#include "stats/linear_form.h"

/* Variances are known by distance up to this one, in blocks. */
#define SST_MAX_LAG 8

/* Differences between neighbouring units of a part, of a form's value per page */
typedef struct SstDifferences
{
	double		lowest;			/* value of a page */
	double		highest;
	double		steps2;			/* squares of steps, each times its blocks */

	int			m;				/* the other differences */
	double		sum2;			/* of their squares */
	double		sum4;			/* of their fourth powers */

	int			nsecond;		/* differences between them */
	double		second2;		/* of their squares */
	double		second3;		/* of their cubes */

	/*
	 * Sums of squares by distance in blocks, and the weighted sum for pairs
	 * closer than a range
	 */
	double		lag2[SST_MAX_LAG];
	int			nlag[SST_MAX_LAG];
	double		near2;
} SstDifferences;

extern void sst_find_differences(const SstLinearForm *form, const SstSamplePart *part,
								 SstDifferences *result);
extern double sst_difference_variance(const SstDifferences *differences);

#endif							/* SST_DIFFERENCES_H */
