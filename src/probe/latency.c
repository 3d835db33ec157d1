/*-------------------------------------------------------------------------
 *
 * latency.c
 *	  Median and 99th percentile of times
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/latency.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "probe/latency.h"

/* Enough for a percentile that does not move any more */
#define MAX_KEPT 65536

/* Prepare for at most so many times, with memory of the current context. */
void
sst_latency_init(SstLatency *latency, int most)
{
	latency->allocated = Max(Min(most, MAX_KEPT), 1);
	latency->ms = palloc(sizeof(float) * latency->allocated);
	latency->n = 0;
}

void
sst_latency_add(SstLatency *latency, double ms)
{
	if (latency->n < latency->allocated)
		latency->ms[latency->n++] = (float) ms;
}

static int
compare_times(const void *a, const void *b)
{
	float		left = *(const float *) a;
	float		right = *(const float *) b;

	return (left > right) - (left < right);
}

/* The time that so many percent do not exceed; NaN if there is none.  Sorts. */
double
sst_latency_percentile(SstLatency *latency, double percent)
{
	int			rank;

	if (latency->n == 0)
		return NAN;

	qsort(latency->ms, latency->n, sizeof(float), compare_times);
	rank = (int) ceil(percent / 100.0 * latency->n);

	return latency->ms[Max(rank, 1) - 1];
}

void
sst_latency_free(SstLatency *latency)
{
	pfree(latency->ms);
}
