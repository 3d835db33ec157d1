/*-------------------------------------------------------------------------
 *
 * source_sample.c
 *	  A random sample of blocks
 *
 * The server's BlockSampler draws it: a simple random sample without
 * replacement, in ascending order (Knuth's algorithm S).  The seed decides
 * the sample, so it can be drawn again.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source_sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "source/source.h"

static BlockNumber
sample_next(SstSource *source)
{
	SstSampleSource *sample = (SstSampleSource *) source;

	if (sample->skipped_to != InvalidBlockNumber)
	{
		BlockNumber blkno = sample->skipped_to;

		sample->skipped_to = InvalidBlockNumber;
		return blkno;
	}

	if (!BlockSampler_HasMore(&sample->sampler))
		return InvalidBlockNumber;

	return BlockSampler_Next(&sample->sampler);
}

/* Draw the sample anew and drop what lies before blkno. */
static void
sample_seek(SstSource *source, BlockNumber blkno)
{
	SstSampleSource *sample = (SstSampleSource *) source;
	BlockNumber found;

	BlockSampler_Init(&sample->sampler, sample->nblocks, sample->nsample,
					  sample->seed);
	sample->skipped_to = InvalidBlockNumber;

	do
		found = sample_next(source);
	while (found != InvalidBlockNumber && found < blkno);

	sample->skipped_to = found;
}

/*
 * Set up a sample of nsample of the blocks 0 to nblocks - 1, or all of them
 * if there are no more.  Returns the source's base.
 */
SstSource *
sst_sample_source_init(SstSampleSource *source, BlockNumber nblocks,
					   BlockNumber nsample, uint32 seed)
{
	source->base.next = sample_next;
	source->base.seek = sample_seek;
	source->nblocks = nblocks;
	source->nsample = nsample;
	source->seed = seed;
	sample_seek(&source->base, 0);

	return &source->base;
}
