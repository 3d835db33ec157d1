/*-------------------------------------------------------------------------
 *
 * latency.h
 *	  Median and 99th percentile of times
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/latency.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LATENCY_H
#define SST_LATENCY_H

/* Times in milliseconds, of which the first ones are kept */
typedef struct SstLatency
{
	float	   *ms;
	int			n;
	int			allocated;
} SstLatency;

extern void sst_latency_init(SstLatency *latency, int most);
extern void sst_latency_add(SstLatency *latency, double ms);
extern double sst_latency_percentile(SstLatency *latency, double percent);
extern void sst_latency_free(SstLatency *latency);

#endif							/* SST_LATENCY_H */
