/*-------------------------------------------------------------------------
 *
 * source.c
 *	  The sources of blocks, and how processes share one
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "source/source.h"

/*
 * Take a run of neighbouring blocks: of one segment, at most max_blocks of up to 64, and
 * at most max_gap others between two of them.  Bit i of the result is for block
 * *first + i; it is 0 at the end of the source.
 */
uint64
sst_source_take_run(SstSource *source, BlockNumber max_blocks, BlockNumber max_gap,
					BlockNumber *first)
{
	BlockNumber last = sst_source_next(source);
	BlockNumber blkno;
	uint64		run = 1;

	*first = last;
	if (last == InvalidBlockNumber)
		return 0;

	while ((blkno = sst_source_next(source)) != InvalidBlockNumber)
	{
		if (blkno - last > max_gap + 1 || blkno - *first >= max_blocks ||
			blkno / RELSEG_SIZE != *first / RELSEG_SIZE)
		{
			source->put_back = blkno;
			break;
		}
		run |= UINT64CONST(1) << (blkno - *first);
		last = blkno;
	}

	return run;
}

/* ----------
 * All blocks of a range, but for those of a set
 *
 * The set is complete before the scan begins, so that a stream's look-ahead never
 * waits.  A walk over many blocks of the set can be canceled.
 * ----------
 */

static BlockNumber
range_next(SstSource *source)
{
	SstRangeSource *range = (SstRangeSource *) source;

	for (;;)
	{
		if (range->current >= range->end &&
			(range->chunks == NULL ||
			 !sst_chunks_take(range->chunks, &range->current, &range->end)))
			return InvalidBlockNumber;

		if (range->skipped == NULL ||
			!sst_block_set_contains(range->skipped, range->current))
			return range->current++;

		range->current++;
		CHECK_FOR_INTERRUPTS();
	}
}

static void
range_seek(SstSource *source, BlockNumber blkno)
{
	((SstRangeSource *) source)->current = blkno;
}

/*
 * Set up a source of the blocks first to end - 1 or, unless chunks is NULL, of the
 * chunks that this process takes.  Those of the set, which can be NULL and must
 * outlive the source, are left out.  Returns the source's base.
 */
SstSource *
sst_range_source_init(SstRangeSource *source, SstChunks *chunks,
					  BlockNumber first, BlockNumber end,
					  const SstBlockSet *skipped)
{
	source->base = (SstSource)
	{
		range_next, range_seek, InvalidBlockNumber
	};
	source->chunks = chunks;
	source->current = chunks == NULL ? first : 0;
	source->end = chunks == NULL ? end : 0;
	source->skipped = skipped;

	return &source->base;
}

/* ----------
 * A random sample of blocks, one of each of equal ranges
 *
 * The block drawn from a range depends only on the seed and the range's number, so
 * any part of the sample can be drawn again.  A walk over many blocks of a set can be
 * canceled.
 * ----------
 */

/* Draw from a range; returns a rank among the blocks to draw from. */
static BlockNumber
draw(const SstSampleSource *sample, BlockNumber range)
{
	BlockNumber start = sst_range_start(sample->nblocks, sample->nsample, range);
	BlockNumber end = sst_range_start(sample->nblocks, sample->nsample,
									  range + 1);
	uint64		random = hash_bytes_uint32_extended(range, sample->seed) >> 32;

	return start + (BlockNumber) (random * (end - start) >> 32);
}

/* The block with a rank; ranks must not decrease from call to call. */
static BlockNumber
block_of_rank(SstSampleSource *sample, BlockNumber rank)
{
	if (sample->set == NULL)
		return rank;

	while (sst_block_set_contains(sample->set, sample->block) != sample->members ||
		   sample->rank < rank)
	{
		CHECK_FOR_INTERRUPTS();
		if (sst_block_set_contains(sample->set, sample->block) == sample->members)
			sample->rank++;
		sample->block++;
	}
	return sample->block;
}

static BlockNumber
sample_next(SstSource *source)
{
	SstSampleSource *sample = (SstSampleSource *) source;

	if (sample->range >= sample->nsample)
		return InvalidBlockNumber;

	return block_of_rank(sample, draw(sample, sample->range++));
}

/* Start again, and skip the blocks before blkno. */
static void
sample_seek(SstSource *source, BlockNumber blkno)
{
	SstSampleSource *sample = (SstSampleSource *) source;

	sample->range = 0;
	sample->block = 0;
	sample->rank = 0;
	while (sample->range < sample->nsample &&
		   block_of_rank(sample, draw(sample, sample->range)) < blkno)
		sample->range++;
}

/*
 * Set up a sample of nsample of nblocks blocks.  Without a set these are the first
 * nblocks of the relation; with one, its members or the blocks outside of it, of
 * which there must be nblocks.  Returns the source's base.
 */
SstSource *
sst_sample_source_init(SstSampleSource *source, BlockNumber nblocks,
					   BlockNumber nsample, uint32 seed,
					   const SstBlockSet *set, bool members)
{
	memset(source, 0, sizeof(SstSampleSource));
	source->base = (SstSource)
	{
		sample_next, sample_seek, InvalidBlockNumber
	};
	source->nblocks = nblocks;
	source->nsample = nsample;
	source->seed = seed;
	source->set = set;
	source->members = members;

	return &source->base;
}

/* ----------
 * Assigning a relation's blocks to the processes that read it together
 *
 * Chunks are small, so that all processes together read the file in order, which
 * read-ahead of disks and kernel supports best.  Towards the end they get smaller,
 * so that all processes finish at about the same time.
 * ----------
 */

/* Blocks of a chunk: a multiple of the smallest, aligned to it in the file */
#define MIN_CHUNK 16
#define MAX_CHUNK 64

/* The blocks left are cut into so many chunks for each process. */
#define CHUNKS_PER_PROCESS 8

/* Set up the assignment of the blocks first to end - 1. */
void
sst_chunks_init(SstChunks *chunks, BlockNumber first, BlockNumber end,
				int nparticipants)
{
	pg_atomic_init_u64(&chunks->next, first);
	chunks->first = first;
	chunks->end = end;
	chunks->nparticipants = nparticipants;
}

/*
 * Take the next chunk, blocks *first to *end - 1; false when all are taken, or
 * the rest need not be read.  Takes no lock.  No two processes get the same chunk: the
 * exchange fails if "next" is not what was read.
 */
bool
sst_chunks_take(SstChunks *chunks, BlockNumber *first, BlockNumber *end)
{
	uint64		next = pg_atomic_read_u64(&chunks->next);
	uint64		after;

	do
	{
		uint64		size;

		if (next >= chunks->end)
			return false;

		size = (chunks->end - next) /
			(CHUNKS_PER_PROCESS * chunks->nparticipants);
		size = Max(Min(size, MAX_CHUNK), MIN_CHUNK);
		after = (next + size) / MIN_CHUNK * MIN_CHUNK;
		after = Min(after, chunks->end);
	} while (!pg_atomic_compare_exchange_u64(&chunks->next, &next, after));

	*first = (BlockNumber) next;
	*end = (BlockNumber) after;

	return true;
}

/*
 * Assign no more chunks.  All blocks that precede those left are assigned, and are read by
 * who has them.
 */
void
sst_chunks_stop(SstChunks *chunks)
{
	pg_atomic_write_u64(&chunks->next, chunks->end);
}
