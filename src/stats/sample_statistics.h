/*-------------------------------------------------------------------------
 *
 * sample_statistics.h
 *	  The statistics of each kind of relation that a sample estimates
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/sample_statistics.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAMPLE_STATISTICS_H
#define SST_SAMPLE_STATISTICS_H

#include "relation/target.h"
#include "stats/estimate.h"

extern const SstStatistic *sst_statistics(SstTargetKind kind, int *nstatistics);

#endif							/* SST_SAMPLE_STATISTICS_H */
