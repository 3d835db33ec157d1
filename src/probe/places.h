/*-------------------------------------------------------------------------
 *
 * places.h
 *	  Where a probe reads
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/places.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLACES_H
#define SST_PLACES_H

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

extern const char *sst_places_begin(SstPlaces *places, const SstFiles *files,
									BlockNumber nblocks);
extern bool sst_places_find(SstPlaces *places, const SstProbeCell *cell);
extern void sst_places_leave(SstPlaces *places, const SstProbeCell *cell, int nread);

#endif							/* SST_PLACES_H */
