/*-------------------------------------------------------------------------
 *
 * target.h
 *	  A relation that is probed: where to read, and rounds of reads
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/target.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_TARGET_H
#define SST_PROBE_TARGET_H

#include "probe/figures.h"
#include "stream/segment_file.h"

/* The most reads of a cell in one round */
#define SST_PROBE_MAX_READS 256

/* What a relation's files have to give */
typedef struct SstPlaces
{
	SstSegmentFile file;
	BlockNumber nblocks;		/* that were written, from the first one on */
	bool		not_told;		/* the kernel does not tell what is cached */

	/* The reads of the present cell: their first blocks */
	int			n;
	int			nevicted;		/* that were asked to leave the page cache */
	BlockNumber block[SST_PROBE_MAX_READS];
	bool		was_cached[SST_PROBE_MAX_READS];
} SstPlaces;

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

extern const char *sst_places_begin(SstPlaces *places, const SstFiles *files,
									BlockNumber nblocks);
extern bool sst_probe_read(SstProbeTarget *target, SstProbeCell *cell,
						   double *rate, double *took_ms);
extern void sst_probe_rounds(SstProbeTarget *target);

#endif							/* SST_PROBE_TARGET_H */
