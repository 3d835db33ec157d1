/*-------------------------------------------------------------------------
 *
 * looked_up.c
 *	  Blocks of a source, looked up in shared buffers a few pages ahead
 *
 * For a relation in shared buffers, cache misses are most of the cost of a page:
 * in the mapping table, in the buffer's header and in the page.  A block that is
 * looked up some pages before it is pinned gives the CPU time to load all three.
 * Nothing is pinned ahead.
 *
 * A relation that was loaded at once is in adjacent buffers.  Then the mapping
 * table is not needed: the tag of the next buffer shows whether it has the
 * next block, which is checked again when it is pinned.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/looked_up.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "compat/compat.h"
#include "stream/buffered.h"
#include "stream/looked_up.h"

/* Neighbours found in neighbouring buffers before the next one is only guessed */
#define MANY_NEIGHBOURS 16

static inline uint32
slot(const SstLookedUp *ahead, int i)
{
	return (ahead->head + i) % SST_LOOKED_UP_RING;
}

/* Prepare to look up the source's blocks, of a fork of a relation in shared buffers. */
void
sst_looked_up_init(SstLookedUp *ahead, Relation rel, ForkNumber forknum,
				   SstSource *source)
{
	ahead->rel = rel;
	ahead->forknum = forknum;
	ahead->source = source;
	ahead->tag = sst_buffer_tag(rel, forknum, 0);
	ahead->head = 0;
	ahead->nblocks = 0;
	ahead->last_block = InvalidBlockNumber;
	ahead->last = InvalidBuffer;
	ahead->nneighbours = 0;
}

/* Look up a block.  After many neighbours in neighbouring buffers, only guess. */
static inline Buffer
find(SstLookedUp *ahead, BlockNumber blkno)
{
	Buffer		guess = ahead->last + 1;

	if (guess > 1 && guess <= NBuffers && blkno == ahead->last_block + 1)
	{
		BufferTag	tag;

		if (ahead->nneighbours >= MANY_NEIGHBOURS)
			return guess;

		/* sst_find_buffer() would compare the tag as well, but takes longer. */
		tag = ahead->tag;
		tag.blockNum = blkno;
		if (BufferTagsEqual(&GetBufferDescriptor(guess - 1)->tag, &tag))
		{
			ahead->nneighbours++;
			return guess;
		}
	}

	ahead->nneighbours = 0;
	return sst_find_buffer(ahead->rel, ahead->forknum, blkno, InvalidBuffer);
}

/* Look up blocks until the ring is full or the source has no more. */
static void
fill(SstLookedUp *ahead)
{
	while (ahead->nblocks <= SST_PEEK_DISTANCE)
	{
		BlockNumber blkno = sst_source_next(ahead->source);
		uint32		i = slot(ahead, ahead->nblocks);

		if (blkno == InvalidBlockNumber)
			break;

		ahead->last = find(ahead, blkno);
		ahead->last_block = blkno;
		ahead->blknos[i] = blkno;
		ahead->buffers[i] = ahead->last;
		ahead->nblocks++;
	}
}

/*
 * Pin the next block, and remove it from the ring.  InvalidBuffer if it is in no
 * buffer, or in another one than was guessed: then it stays the next one for
 * sst_looked_up_take(), unless there is none left.  Does no I/O.
 */
Buffer
sst_looked_up_pin(SstLookedUp *ahead, BlockNumber *blkno)
{
	Buffer		buf;

	fill(ahead);
	if (ahead->nblocks == 0)
		return InvalidBuffer;

	buf = ahead->buffers[ahead->head];
	*blkno = ahead->blknos[ahead->head];
	if (!BufferIsValid(buf) ||
		!sst_read_recent_buffer(ahead->rel, ahead->forknum, *blkno, buf))
	{
		ahead->nneighbours = 0;
		return InvalidBuffer;
	}

	ahead->head = slot(ahead, 1);
	ahead->nblocks--;
	return buf;
}

/*
 * Remove the next block from the ring, or take it from the source if the ring is
 * empty.  InvalidBlockNumber at the end.  Takes no lock.
 */
BlockNumber
sst_looked_up_take(SstLookedUp *ahead)
{
	BlockNumber blkno;

	if (ahead->nblocks == 0)
		return sst_source_next(ahead->source);

	blkno = ahead->blknos[ahead->head];
	ahead->head = slot(ahead, 1);
	ahead->nblocks--;

	return blkno;
}

/* The address of the page that was looked up last, or NULL; it is not pinned. */
const char *
sst_looked_up_peek(const SstLookedUp *ahead)
{
	if (ahead->nblocks == 0 || !BufferIsValid(ahead->last))
		return NULL;

	return BufferGetBlock(ahead->last);
}
