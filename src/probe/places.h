/*-------------------------------------------------------------------------
 *
 * places.h
 *	  Uncached blocks for a probe to read
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

/* What a relation's files have to give: kept over the cells of one relation */
typedef struct SstPlaces
{
	SstSegmentFile file;		/* read by the page cache */
	bool		buffers;		/* the server's own reads use no page cache */
	BlockNumber nblocks;		/* of the relation */

	/* A permutation of the reads of one segment, shuffled as far as needed */
	uint32	   *order;
	int			norder;

	/* The reads of the present cell: their first blocks */
	BlockNumber *block;
	bool	   *was_cached;
	int			n;
	int			nblocks_each;
	bool		not_told;		/* the kernel does not tell what is cached */
} SstPlaces;

extern void sst_places_begin(SstPlaces *places, const SstFiles *files,
							 BlockNumber nblocks);
extern int	sst_places_find(SstPlaces *places, const SstProbeCell *cell, int most);
extern void sst_places_forget(SstPlaces *places, const SstProbeCell *cell, int nread);
extern void sst_places_end(SstPlaces *places);

#endif							/* SST_PLACES_H */
