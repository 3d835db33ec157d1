/*-------------------------------------------------------------------------
 *
 * source_sample.c
 *	  A random sample of blocks, one of each of equal ranges
 *
 * The block drawn from a range depends only on the seed and the range's number, so
 * any part of the sample can be drawn again.  A walk over many blocks of a set can be
 * canceled.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source_sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "source/source.h"

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
	source->base.next = sample_next;
	source->base.seek = sample_seek;
	source->base.put_back = InvalidBlockNumber;
	source->nblocks = nblocks;
	source->nsample = nsample;
	source->seed = seed;
	source->set = set;
	source->members = members;

	return &source->base;
}
