/*-------------------------------------------------------------------------
 *
 * looked_up.h
 *	  Blocks of a source, looked up in shared buffers a few pages ahead
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/looked_up.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LOOKED_UP_H
#define SST_LOOKED_UP_H

#include "utils/rel.h"

#include "compat/buffer_tag.h"
#include "source/source.h"

/* Pages to look ahead for the CPU's cache; the best of 1 to 8 in benchmarks */
#define SST_PEEK_DISTANCE 4

/* More than that, and a power of two */
#define SST_LOOKED_UP_RING 8

/* A ring of blocks that were taken from the source, and where each was found */
typedef struct SstLookedUp
{
	Relation	rel;
	ForkNumber	forknum;
	SstSource  *source;
	BufferTag	tag;			/* of block 0 */
	BlockNumber blknos[SST_LOOKED_UP_RING];
	Buffer		buffers[SST_LOOKED_UP_RING];
	uint32		head;
	int			nblocks;
	BlockNumber last_block;		/* looked up last, and its buffer */
	Buffer		last;
	int			nneighbours;	/* successive ones found in the next buffer */
} SstLookedUp;

extern void sst_looked_up_init(SstLookedUp *ahead, Relation rel,
							   ForkNumber forknum, SstSource *source);
extern Buffer sst_looked_up_pin(SstLookedUp *ahead, BlockNumber *blkno);
extern BlockNumber sst_looked_up_take(SstLookedUp *ahead);
extern const char *sst_looked_up_peek(const SstLookedUp *ahead);

#endif							/* SST_LOOKED_UP_H */
