/*-------------------------------------------------------------------------
 *
 * sizing.c
 *	  How large the next sample must be
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/sizing.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/sizing.h"

/* How much larger than the formula says, because the spread is an estimate */
#define SAFETY 1.3

/*
 * Return by which factor a sample must grow, so that a margin becomes the wanted
 * one: margins shrink with the square root of the sample.  Without a finite
 * margin the factor is the given one.
 */
double
sst_sample_growth(double margin, double wanted, double unknown)
{
	if (isinf(margin))
		return unknown;

	return wanted > 0 ? SAFETY * (margin / wanted) * (margin / wanted) : INFINITY;
}

/*
 * Return the size of a sample that grows from nsampled of nblocks blocks by the
 * factor, or by SST_MIN_GROWTH if that is more.  When more than half of the blocks
 * are needed it is all of them, because that is as fast.
 */
uint64
sst_larger_sample(uint64 nblocks, uint64 nsampled, double growth)
{
	double		wanted = ceil(nsampled * Max(growth, SST_MIN_GROWTH));

	return wanted > nblocks / 2.0 ? nblocks : (uint64) wanted;
}
