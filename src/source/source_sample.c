/*-------------------------------------------------------------------------
 *
 * source_sample.c
 *	  A random sample of blocks, one of each of equal ranges
 *
 * Which block of a range it is depends on the seed and the range alone, so any
 * part of the sample can be drawn again.
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

#include "source/source.h"

/* Of what is sampled, counted from 0, which one is drawn from a range? */
static BlockNumber
draw(const SstSampleSource *sample, BlockNumber range)
{
	BlockNumber start = sst_range_start(sample->nblocks, sample->nsample, range);
	BlockNumber end = sst_range_start(sample->nblocks, sample->nsample,
									  range + 1);
	uint64		random = hash_bytes_uint32_extended(range, sample->seed) >> 32;

	return start + (BlockNumber) (random * (end - start) >> 32);
}

/* Which block is it, if a set says what is sampled?  Ranks must not go down. */
static BlockNumber
block_of_rank(SstSampleSource *sample, BlockNumber rank)
{
	if (sample->set == NULL)
		return rank;

	while (sst_block_set_contains(sample->set, sample->block) != sample->members ||
		   sample->rank < rank)
	{
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

/* Draw the sample anew and drop what lies before blkno. */
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
 * Set up a sample of nsample of nblocks blocks, no more than there are: the
 * relation's first, or if a set is given, the members or the others of its
 * blocks.  Returns the source's base.
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
