/*-------------------------------------------------------------------------
 *
 * buffered.c
 *	  Which of a relation's blocks are in shared buffers?
 *
 * A look-up in the buffer mapping table costs one or two cache misses.  For a
 * relation with more blocks than the pool has buffers, one scan of all buffer
 * headers answers for many blocks: those of a window of the file.  A window is
 * marked once at most, and only if the scan costs less than the look-ups that it
 * saves: not when most blocks prove to be in buffers, nor for a sample with few
 * blocks in each window.
 *
 * The result of such a scan holds for the WAL position before it.  It is used
 * as long as that position does not advance; see direct_page_check.c.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "compat/shared_blocks.h"
#include "stream/buffered.h"

/* Buffer headers that can be scanned in the time of one look-up */
#define BUFFERS_PER_LOOK_UP 8

/* Blocks to look up to estimate how many are in buffers */
#define GUESS_BLOCKS 64

/* Look-ups needed before concluding that most blocks are not in buffers */
#define MIN_LOOK_UPS 512

/* Buffers from one check for interrupts to the next, a power of two */
#define CHECK_BUFFERS 8192

/*
 * Set the bits of the blocks that are in shared buffers, in a bitmap for nblocks
 * blocks from first on.  Scans all buffer headers without a lock, and can be
 * canceled.
 *
 * A block that stays in one buffer during the scan is found.  One that is loaded,
 * evicted or moved meanwhile may be missed.
 *
 * Barriers order the tags after the WAL position that the caller has taken, and before
 * what it reads of the file: who sees that a buffer has lost its block must not have read
 * the block from before it was written.  A mapped file is read by plain loads, which a
 * CPU other than x86 may do early.
 */
static void
mark_buffered(Relation rel, ForkNumber forknum, BlockNumber first,
			  BlockNumber nblocks, uint64 *marks)
{
	BufferTag	wanted = sst_buffer_tag(rel, forknum, 0);

	pg_memory_barrier();
	for (int i = 0; i < NBuffers; i++)
	{
		BufferTag	tag;
		BlockNumber n;

		if (i % CHECK_BUFFERS == 0)
			CHECK_FOR_INTERRUPTS();

		tag = GetBufferDescriptor(i)->tag;
		n = tag.blockNum - first;
		tag.blockNum = 0;
		if (n < nblocks && BufferTagsEqual(&tag, &wanted))
			marks[n / 64] |= UINT64CONST(1) << (n % 64);
	}
	pg_memory_barrier();
}

/*
 * Are most of the blocks 0 to nblocks - 1 of a fork in buffers?  An estimate from
 * GUESS_BLOCKS of them.
 */
bool
sst_mostly_buffered(Relation rel, ForkNumber forknum, BlockNumber nblocks)
{
	BufferTag	tag = sst_buffer_tag(rel, forknum, 0);
	int			nfound = 0;

	for (int i = 0; i < GUESS_BLOCKS; i++)
	{
		tag.blockNum = (uint64) nblocks * i / GUESS_BLOCKS;
		nfound += BufferIsValid(sst_look_up_buffer(&tag));
	}

	return nfound > GUESS_BLOCKS * 3 / 4;
}

/*
 * Prepare to look up about nblocks blocks of a fork, in ascending order, each once.
 * Memory is taken from the current context.
 */
void
sst_buffered_init(SstBuffered *buffered, Relation rel, ForkNumber forknum,
				  BlockNumber nblocks)
{
	memset(buffered, 0, sizeof(SstBuffered));
	buffered->rel = rel;
	buffered->forknum = forknum;
	buffered->context = CurrentMemoryContext;
	buffered->may_mark = RelationIsPermanent(rel) &&
		NBuffers / BUFFERS_PER_LOOK_UP < Min(nblocks, SST_BUFFERED_WINDOW);
	buffered->nblocks = nblocks;
	buffered->first = InvalidBlockNumber;
	buffered->window = InvalidBlockNumber;
	buffered->position = InvalidXLogRecPtr;
	buffered->guess = InvalidBuffer;
}

/*
 * Would marking save more look-ups in the rest of the block's window than it costs?
 * The blocks there are expected to be as dense as those so far.  Markings that did
 * not save half of their cost, because the WAL advanced, are not followed by others.
 */
static bool
marking_pays(const SstBuffered *buffered, BlockNumber blkno)
{
	uint64		cost = NBuffers / BUFFERS_PER_LOOK_UP;
	uint64		nasked = buffered->nasked;
	uint64		span = Max(blkno - buffered->first, nasked);
	uint64		expected = SST_BUFFERED_WINDOW - blkno % SST_BUFFERED_WINDOW;

	if (nasked < MIN_LOOK_UPS || buffered->nfound >= nasked / 2 ||
		nasked >= buffered->nblocks ||
		buffered->nsaved < buffered->nmarkings * cost / 2)
		return false;

	expected = Min(expected * nasked / span, buffered->nblocks - nasked);
	return expected > cost;
}

/* Scan all buffers for a window. */
static void
mark_window(SstBuffered *buffered, BlockNumber window)
{
	XLogRecPtr	position = sst_wal_done();

	if (buffered->marks == NULL)
		buffered->marks = MemoryContextAlloc(buffered->context,
											 SST_BUFFERED_WINDOW / 8);

	/* Without a position the marks are not used, should the scan be canceled. */
	buffered->position = InvalidXLogRecPtr;
	buffered->window = window;
	buffered->nmarkings++;

	memset(buffered->marks, 0, SST_BUFFERED_WINDOW / 8);
	mark_buffered(buffered->rel, buffered->forknum,
				  window * SST_BUFFERED_WINDOW, SST_BUFFERED_WINDOW,
				  buffered->marks);
	buffered->position = position;
}

/*
 * Leave out those blocks, bit i for block first + i, that were in no buffer at some
 * moment since the WAL was at the position, if that is known without look-ups.
 */
static uint64
leave_out_unmarked(SstBuffered *buffered, BlockNumber first, uint64 blocks,
				   XLogRecPtr position)
{
	BlockNumber window = first / SST_BUFFERED_WINDOW;
	BlockNumber n = first % SST_BUFFERED_WINDOW;
	const uint64 *word;
	uint64		marked;

	if (buffered->window != window && marking_pays(buffered, first))
		mark_window(buffered, window);
	if (buffered->window != window || buffered->position != position)
		return blocks;

	/* Blocks beyond the end of the window are looked up one by one. */
	word = &buffered->marks[n / 64];
	marked = word[0] >> (n % 64);
	if (n % 64 != 0)
		marked |= (n / 64 + 1 == SST_BUFFERED_WINDOW / 64 ?
				   PG_UINT64_MAX : word[1]) << (64 - n % 64);

	buffered->nsaved += pg_popcount64(blocks & ~marked);
	return blocks & marked;
}

/*
 * Look up blocks; the arguments and the result are those of sst_buffered_find().  A relation
 * that was loaded at once is in adjacent buffers, so that the next one is looked at first:
 * without the lock of its header, or a barrier, because who uses the buffer checks again.
 */
static uint64
look_up(SstBuffered *buffered, BlockNumber first, uint64 blocks, Buffer *buffers)
{
	BufferTag	tag = sst_buffer_tag(buffered->rel, buffered->forknum, first);
	Buffer		guess = buffered->guess;
	uint64		found = 0;

	for (; blocks != 0; blocks &= blocks - 1)
	{
		int			i = pg_rightmost_one_pos64(blocks);
		Buffer		buf = guess;

		tag.blockNum = first + i;
		if (!BufferIsValid(guess) ||
			!BufferTagsEqual(&GetBufferDescriptor(guess - 1)->tag, &tag))
			buf = sst_look_up_buffer(&tag);
		if (!BufferIsValid(buf))
			continue;
		buffers[i] = buf;
		found |= UINT64CONST(1) << i;
		guess = buf < NBuffers ? buf + 1 : InvalidBuffer;
	}
	buffered->guess = guess;

	return found;
}

/*
 * Find which of up to 64 blocks from first on are in buffers; bit i of "blocks"
 * asks about block first + i.  Returns the bits of those found, and sets their
 * elements of buffers.
 *
 * A block not found was in no buffer at some moment since the WAL was at the
 * position.  InvalidXLogRecPtr asks for a look-up of each block now, also of
 * blocks that were asked about before.
 *
 * With a position, this may scan all buffers and be canceled meanwhile: the caller
 * holds no lock on a page.
 */
uint64
sst_buffered_find(SstBuffered *buffered, BlockNumber first, uint64 blocks,
				  XLogRecPtr position, Buffer *buffers)
{
	uint64		wanted;
	uint64		found;

	if (!buffered->may_mark || position == InvalidXLogRecPtr)
		return look_up(buffered, first, blocks, buffers);

	if (buffered->first == InvalidBlockNumber)
		buffered->first = first;
	wanted = leave_out_unmarked(buffered, first, blocks, position);
	found = look_up(buffered, first, wanted, buffers);
	buffered->nasked += pg_popcount64(blocks);
	buffered->nfound += pg_popcount64(found);

	return found;
}

/* ----------
 * How many blocks of each part of a fork are in shared buffers?
 *
 * One pass over all buffer headers, without a lock, also covers blocks that
 * are not read.
 * ----------
 */

/*
 * Count the blocks of each bucket that are in shared buffers; counts has an element for
 * each bucket.  Not for temporary relations.  A block that moves to another buffer
 * meanwhile may be missed, or be counted twice.  Takes no lock and no pin.  A tag that is
 * read while it changes can be part of the old one and part of the new one, on any CPU: that
 * adds one to a count, or not.
 */
void
sst_count_buffered(Relation rel, ForkNumber forknum, const SstBucketSums *sums,
				   uint32 *counts)
{
	BufferTag	wanted = sst_buffer_tag(rel, forknum, 0);

	memset(counts, 0, sizeof(uint32) * sums->nbuckets);
	for (int i = 0; i < NBuffers; i++)
	{
		BufferTag	tag;
		BlockNumber blkno;

		if (i % CHECK_BUFFERS == 0)
			CHECK_FOR_INTERRUPTS();

		tag = GetBufferDescriptor(i)->tag;
		blkno = tag.blockNum;
		tag.blockNum = 0;
		if (blkno < sums->nblocks && BufferTagsEqual(&tag, &wanted))
			counts[sst_bucket_of(sums, blkno)]++;
	}
}
