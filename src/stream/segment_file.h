/*-------------------------------------------------------------------------
 *
 * segment_file.h
 *	  Segment files of a relation: open descriptors and read-ahead advice
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/segment_file.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SEGMENT_FILE_H
#define SST_SEGMENT_FILE_H

#include "storage/block.h"
#include "utils/rel.h"

#include "compat/catalog.h"

/* The segment files of a fork, of which one at a time is open */
typedef struct SstSegmentFile
{
	SstFiles	files;
	ForkNumber	forknum;
	bool		plain;			/* blocks are in them as in buffers */
	bool		direct;			/* to be opened with O_DIRECT */
	int			fd;				/* -1 if none is open */
	int64		segno;			/* of it, also if it cannot be opened; or -1 */
} SstSegmentFile;

extern void sst_segment_file_init(SstSegmentFile *file, Relation rel,
								  ForkNumber forknum);
extern void sst_segment_file_init_files(SstSegmentFile *file,
										const SstFiles *files,
										ForkNumber forknum);
extern int	sst_segment_file_open(SstSegmentFile *file, BlockNumber blkno);
extern void sst_segment_file_close(SstSegmentFile *file);
extern bool sst_segment_file_advise(SstSegmentFile *file, BlockNumber blkno,
									BlockNumber nblocks);

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

#endif							/* SST_SEGMENT_FILE_H */
