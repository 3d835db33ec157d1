/*-------------------------------------------------------------------------
 *
 * reads.h
 *	  A relation that is probed: its files, and rounds of reads
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/reads.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_READS_H
#define SST_PROBE_READS_H

#include "probe/places.h"

/* A relation that is being probed: open and locked */
typedef struct SstProbeTarget
{
	SstProbe   *probe;
	Relation	rel;
	SstPlaces	places;
	SstProbeResult *result;
	int			ntargets_left;	/* that share the limits, this one included */
	double		kept_seconds;	/* of the limits, for the others */
	int64		kept_bytes;
	BlockNumber nblocks_read;	/* of it, for progress */
} SstProbeTarget;

extern bool sst_probe_read(SstProbeTarget *target, SstProbeCell *cell,
						   double *rate, double *took_ms);
extern void sst_probe_rounds(SstProbeTarget *target);

#endif							/* SST_PROBE_READS_H */
