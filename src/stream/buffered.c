/*-------------------------------------------------------------------------
 *
 * buffered.c
 *	  Which of a relation's blocks are in shared buffers?
 *
 * A look-up in the buffer mapping table is a cache miss or two.  Where there
 * are more blocks to ask for than buffers to look at, all buffers are looked at
 * instead, once for many blocks; unless most of them prove to be in buffers.
 *
 * What was found like this says that a block was in no buffer at the WAL's
 * position of then.  It is good as long as that position does not move; see the
 * head of private_pages.c.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/buffered.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "stream/buffered.h"

/* Buffers that can be looked at in the time of a look-up in the table */
#define BUFFERS_PER_LOOK_UP 8

/* Blocks to look up for a guess at how many are in buffers */
#define GUESS_BLOCKS 64

/* Look-ups from which on most blocks can be said not to be in buffers */
#define MIN_LOOK_UPS 512

/*
 * Are most of the blocks 0 to nblocks - 1 of a fork in buffers?  A guess, from
 * some of them.
 */
bool
sst_mostly_buffered(Relation rel, ForkNumber forknum, BlockNumber nblocks)
{
	int			nfound = 0;

	for (int i = 0; i < GUESS_BLOCKS; i++)
	{
		BlockNumber blkno = (uint64) nblocks * i / GUESS_BLOCKS;

		nfound += BufferIsValid(sst_find_buffer(rel, forknum, blkno,
												InvalidBuffer));
	}

	return nfound > GUESS_BLOCKS * 3 / 4;
}

/*
 * Get ready to ask for blocks of a fork, each about once.  Memory is the
 * current context's.
 */
void
sst_buffered_init(SstBuffered *buffered, Relation rel, ForkNumber forknum,
				  BlockNumber nblocks)
{
	buffered->rel = rel;
	buffered->forknum = forknum;
	buffered->context = CurrentMemoryContext;
	buffered->may_mark = RelationIsPermanent(rel) &&
		NBuffers / BUFFERS_PER_LOOK_UP < Min(nblocks, SST_BUFFERED_WINDOW);
	buffered->nlooked_up = 0;
	buffered->nfound = 0;
	buffered->marks = NULL;
	buffered->window = 0;
	buffered->position = InvalidXLogRecPtr;
}

/* Look at all buffers for the window that a block is in. */
static void
mark_window(SstBuffered *buffered, BlockNumber blkno)
{
	if (buffered->marks == NULL)
		buffered->marks = MemoryContextAlloc(buffered->context,
											 SST_BUFFERED_WINDOW / 8);
	buffered->window = blkno / SST_BUFFERED_WINDOW;
	buffered->position = sst_wal_done();

	memset(buffered->marks, 0, SST_BUFFERED_WINDOW / 8);
	sst_mark_buffered(buffered->rel, buffered->forknum,
					  buffered->window * SST_BUFFERED_WINDOW,
					  SST_BUFFERED_WINDOW, buffered->marks);
}

/*
 * Of 64 blocks from first on, those whose bits are set in "blocks": which were
 * in buffers, at some moment since the WAL was at the position?  Sets bits, and
 * elements of buffers, for those.
 */
uint64
sst_buffered_find(SstBuffered *buffered, BlockNumber first, uint64 blocks,
				  XLogRecPtr position, Buffer *buffers)
{
	Buffer		guess = InvalidBuffer;
	uint64		found = 0;

	if (buffered->may_mark && buffered->nlooked_up >= MIN_LOOK_UPS &&
		buffered->nfound < buffered->nlooked_up / 2)
	{
		if (buffered->marks == NULL ||
			first / SST_BUFFERED_WINDOW != buffered->window)
			mark_window(buffered, first);

		/* There may be blocks behind the window: they are looked up. */
		if (position == buffered->position)
		{
			BlockNumber n = first % SST_BUFFERED_WINDOW;
			const uint64 *word = &buffered->marks[n / 64];
			bool		last = (n / 64 + 1 == SST_BUFFERED_WINDOW / 64);

			if (n % 64 == 0)
				blocks &= word[0];
			else
				blocks &= word[0] >> (n % 64) |
					(last ? PG_UINT64_MAX : word[1]) << (64 - n % 64);
		}
	}

	while (blocks != 0)
	{
		int			i = pg_rightmost_one_pos64(blocks);
		Buffer		buf = sst_find_buffer(buffered->rel, buffered->forknum,
										  first + i, guess);

		blocks &= blocks - 1;
		buffered->nlooked_up++;
		if (!BufferIsValid(buf))
			continue;
		buffered->nfound++;
		buffers[i] = buf;
		found |= UINT64CONST(1) << i;
		guess = buf < NBuffers ? buf + 1 : InvalidBuffer;
	}

	return found;
}
