/*-------------------------------------------------------------------------
 *
 * sampling.h
 *	  Reading a random sample of a relation's blocks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/sampling.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAMPLING_H
#define SST_SAMPLING_H

#include "run/scan.h"

/* What ended a sample that was to be tight */
typedef enum SstSampleEnd
{
	SST_SAMPLE_MARGIN,			/* it is */
	SST_SAMPLE_BLOCKS,			/* as many blocks as were allowed */
	SST_SAMPLE_ALL,				/* there are no more blocks */
	SST_SAMPLE_LIMITS			/* time */
} SstSampleEnd;

extern bool sst_sample_reads_map(BlockNumber nsample, BlockNumber map_blocks);
extern SstBlockSet *sst_visible_blocks(const SstTarget *target, BlockNumber most_map_blocks,
									   SstLimits *limits, SstCounters *counters,
									   SstIoStats *io_stats);
extern bool sst_sample_scan(const SstTarget *target, BlockNumber nsample,
							uint32 seed, SstRebuild *rebuild,
							SstLimits *limits, SstPageSample *sample,
							SstScanResult *result);
extern SstSampleEnd sst_sample_to_margin(const SstTarget *target,
										 double margin, BlockNumber most,
										 uint32 seed, SstLimits *limits,
										 SstPageSample *sample,
										 SstScanResult *result);

#endif							/* SST_SAMPLING_H */
