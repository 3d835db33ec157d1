/*-------------------------------------------------------------------------
 *
 * buffered.c
 *	  Which of a relation's blocks are in shared buffers?
 *
 * A look-up in the buffer mapping table costs one or two cache misses.  For a
 * relation with more blocks than the pool has buffers, one scan of all buffer
 * headers answers for many blocks.  It is not used when most blocks prove to be
 * in buffers.
 *
 * The result of such a scan holds for the WAL position before it.  It is used
 * as long as that position does not advance; see direct_page_check.c.
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

#include "compat/buffer_tag.h"
#include "stream/buffered.h"
#include "stream/wal_position.h"

/* Buffer headers that can be scanned in the time of one look-up */
#define BUFFERS_PER_LOOK_UP 8

/* Blocks to look up to estimate how many are in buffers */
#define GUESS_BLOCKS 64

/* Look-ups needed before concluding that most blocks are not in buffers */
#define MIN_LOOK_UPS 512

/*
 * Return the shared buffer that holds the block, or InvalidBuffer.  The guess,
 * unless it is InvalidBuffer, is checked first, without the mapping table.
 *
 * The result may be out of date when the caller gets it, and the buffer's
 * contents may not be valid yet: sst_read_recent_buffer() checks both.
 * InvalidBuffer means that no buffer held the block at some moment during the
 * call.  Takes and releases a share lock on one partition of the mapping table;
 * no pin.  Not for temporary relations.
 */
Buffer
sst_find_buffer(Relation rel, ForkNumber forknum, BlockNumber blkno,
				Buffer guess)
{
	BufferTag	tag = sst_buffer_tag(rel, forknum, blkno);
	uint32		hash;
	LWLock	   *lock;
	int			buf_id;

	if (BufferIsValid(guess))
	{
		BufferDesc *desc = GetBufferDescriptor(guess - 1);

		if (BufferTagsEqual(&desc->tag, &tag))
			return guess;
	}

	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);

	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);

	return buf_id + 1;
}

/*
 * Set the bits of the blocks that are in shared buffers, in a bitmap for nblocks
 * blocks from first on.  Scans all buffer headers without a lock.
 *
 * A block that stays in one buffer during the scan is found.  One that is loaded,
 * evicted or moved meanwhile may be missed.
 */
static void
mark_buffered(Relation rel, ForkNumber forknum, BlockNumber first,
			  BlockNumber nblocks, uint64 *marks)
{
	BufferTag	wanted = sst_buffer_tag(rel, forknum, 0);

	pg_memory_barrier();
	for (int i = 0; i < NBuffers; i++)
	{
		BufferTag	tag = GetBufferDescriptor(i)->tag;
		BlockNumber n = tag.blockNum - first;

		tag.blockNum = 0;
		if (n < nblocks && BufferTagsEqual(&tag, &wanted))
			marks[n / 64] |= UINT64CONST(1) << (n % 64);
	}
}

/*
 * Are most of the blocks 0 to nblocks - 1 of a fork in buffers?  An estimate from
 * GUESS_BLOCKS of them.
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
 * Prepare to look up blocks of a fork, each about once.  Memory is taken from the
 * current context.
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

/* Scan all buffers for the window that the block belongs to. */
static void
mark_window(SstBuffered *buffered, BlockNumber blkno)
{
	if (buffered->marks == NULL)
		buffered->marks = MemoryContextAlloc(buffered->context,
											 SST_BUFFERED_WINDOW / 8);
	buffered->window = blkno / SST_BUFFERED_WINDOW;
	buffered->position = sst_wal_done();

	memset(buffered->marks, 0, SST_BUFFERED_WINDOW / 8);
	mark_buffered(buffered->rel, buffered->forknum,
				  buffered->window * SST_BUFFERED_WINDOW,
				  SST_BUFFERED_WINDOW, buffered->marks);
}

/*
 * Find which of up to 64 blocks from first on are in buffers; bit i of "blocks"
 * asks about block first + i.  Returns the bits of those found, and sets their
 * elements of buffers.
 *
 * A block not found was in no buffer at some moment since the WAL was at the
 * position.  InvalidXLogRecPtr asks for a look-up of each block now.
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

		/* Blocks beyond the end of the window are looked up one by one. */
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
