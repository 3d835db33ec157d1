/*-------------------------------------------------------------------------
 *
 * cell.h
 *	  Running one cell of a probe, within the limits
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/cell.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_CELL_H
#define SST_PROBE_CELL_H

#include "probe/places.h"
#include "probe/storage.h"

/* A relation that is being probed: open and locked */
typedef struct SstProbeTarget
{
	Relation	rel;
	SstPlaces	places;
	SstStorage	storage;
	int64		bytes_kept;		/* of the limits, for other targets */
	SstProbeResult *result;
	BlockNumber nblocks_read;	/* of it, for progress */
} SstProbeTarget;

extern bool sst_probe_cell(SstProbe *probe, SstProbeTarget *target,
						   SstProbeCell *cell, double seconds, int64 bytes);

#endif							/* SST_PROBE_CELL_H */
