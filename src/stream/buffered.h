/*-------------------------------------------------------------------------
 *
 * buffered.h
 *	  Which of a relation's blocks are in shared buffers?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/buffered.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BUFFERED_H
#define SST_BUFFERED_H

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "stats/counters.h"

/*
 * Blocks that one scan of all buffers answers for; a multiple of 64.  A test takes
 * fewer.
 */
#ifndef SST_BUFFERED_WINDOW
#define SST_BUFFERED_WINDOW (1024 * 1024)
#endif

typedef struct SstBuffered
{
	Relation	rel;
	ForkNumber	forknum;
	MemoryContext context;

	/* Whether a scan of all buffers can pay, and of how many blocks in all */
	bool		may_mark;
	BlockNumber nblocks;

	Buffer		guess;			/* behind the last one found */

	/* Blocks that were asked about, the first of them, and those found */
	uint64		nasked;
	BlockNumber first;
	uint64		nfound;

	/* What the last scan found; NULL before the first one */
	uint64	   *marks;
	BlockNumber window;			/* number of the window of these marks */
	XLogRecPtr	position;		/* of the WAL before the scan; invalid if the
								 * marks are not complete */

	/* Scans of all buffers, and the look-ups that they saved */
	uint64		nmarkings;
	uint64		nsaved;
} SstBuffered;

extern Buffer sst_find_buffer(Relation rel, ForkNumber forknum,
							  BlockNumber blkno);
extern bool sst_mostly_buffered(Relation rel, ForkNumber forknum,
								BlockNumber nblocks);
extern void sst_buffered_init(SstBuffered *buffered, Relation rel,
							  ForkNumber forknum, BlockNumber nblocks);
extern uint64 sst_buffered_find(SstBuffered *buffered, BlockNumber first,
								uint64 blocks, XLogRecPtr position,
								Buffer *buffers);

extern void sst_count_buffered(Relation rel, ForkNumber forknum,
							   const SstBucketSums *sums, uint32 *counts);

#endif							/* SST_BUFFERED_H */
