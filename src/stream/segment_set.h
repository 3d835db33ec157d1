/*-------------------------------------------------------------------------
 *
 * segment_set.h
 *	  Segment files of a relation that are open at the same time
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/segment_set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SEGMENT_SET_H
#define SST_SEGMENT_SET_H

#include "storage/block.h"
#include "utils/rel.h"

#include "compat/catalog.h"

/* The most segments that are open */
#define SST_MAX_OPEN_SEGMENTS 32

/* A segment file, or room for one */
typedef struct SstOpenSegment
{
	int64		segno;			/* -1 if there is none */
	int			fd;				/* -1 if it cannot be opened */
	int			nusers;
} SstOpenSegment;

typedef struct SstSegmentSet
{
	SstFiles	files;
	ForkNumber	forknum;
	bool		plain;			/* blocks are in them as in buffers */
	int			nopen;			/* descriptors */
	int			most;			/* of these, as far as is known */
	SstOpenSegment *newest;		/* taken last; it stays without users */
	SstOpenSegment segments[SST_MAX_OPEN_SEGMENTS];
} SstSegmentSet;

extern void sst_segment_set_init(SstSegmentSet *set, Relation rel,
								 ForkNumber forknum);
extern SstOpenSegment *sst_segment_set_take(SstSegmentSet *set, BlockNumber blkno);
extern void sst_segment_set_return(SstSegmentSet *set, SstOpenSegment *segment);
extern void sst_segment_set_close(SstSegmentSet *set);

#endif							/* SST_SEGMENT_SET_H */
