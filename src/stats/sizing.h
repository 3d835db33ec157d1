/*-------------------------------------------------------------------------
 *
 * sizing.h
 *	  How large the next sample must be
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/sizing.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SIZING_H
#define SST_SIZING_H

/* A sample that is not this many times larger is not worth another read. */
#define SST_MIN_GROWTH 1.5

extern double sst_sample_growth(double margin, double wanted, double unknown);
extern uint64 sst_larger_sample(uint64 nblocks, uint64 nsampled, double growth);

#endif							/* SST_SIZING_H */
