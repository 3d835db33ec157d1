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

#include "compat/compat.h"

/* Blocks to mark at a time, a multiple of 64: a bit each, 128 kB in all */
#define SST_BUFFERED_WINDOW (1024 * 1024)

typedef struct SstBuffered
{
	Relation	rel;
	ForkNumber	forknum;
	MemoryContext context;

	/* Is a look at all buffers worth it?  Not if blocks are found in them. */
	bool		may_mark;
	uint64		nlooked_up;
	uint64		nfound;

	/* What it found, or NULL before the first one */
	uint64	   *marks;
	BlockNumber window;			/* number of the window that they are for */
	XLogRecPtr	position;		/* of the WAL before the look */
} SstBuffered;

extern bool sst_mostly_buffered(Relation rel, ForkNumber forknum,
								BlockNumber nblocks);
extern void sst_buffered_init(SstBuffered *buffered, Relation rel,
							  ForkNumber forknum, BlockNumber nblocks);
extern uint64 sst_buffered_find(SstBuffered *buffered, BlockNumber first,
								uint64 blocks, XLogRecPtr position,
								Buffer *buffers);

#endif							/* SST_BUFFERED_H */
