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

/* Draw the next block of the sample, or InvalidBlockNumber at its end. */
static void
draw(SstSampleSource *sample)
{
	sample->drawn = BlockSampler_HasMore(&sample->sampler) ?
		BlockSampler_Next(&sample->sampler) : InvalidBlockNumber;
}

/* Drop what lies before blkno. */
static void
draw_up_to(SstSampleSource *sample, BlockNumber blkno)
{
	while (sample->drawn < blkno)
		draw(sample);
}

static BlockNumber
sample_next(SstSource *source)
{
	SstSampleSource *sample = (SstSampleSource *) source;
	BlockNumber blkno;

	/* InvalidBlockNumber is above every end. */
	while (sample->drawn >= sample->end)
	{
		BlockNumber first;

		if (sample->drawn == InvalidBlockNumber || sample->chunks == NULL ||
			!sst_chunks_take(sample->chunks, &first, &sample->end))
			return InvalidBlockNumber;
		draw_up_to(sample, first);
	}

	blkno = sample->drawn;
	draw(sample);

	return blkno;
}

/* Draw the sample anew and drop what lies before blkno. */
static void
sample_seek(SstSource *source, BlockNumber blkno)
{
	SstSampleSource *sample = (SstSampleSource *) source;

	BlockSampler_Init(&sample->sampler, sample->nblocks, sample->nsample,
					  sample->seed);
	draw(sample);
	draw_up_to(sample, blkno);
}

/*
 * Set up a sample of nsample of the blocks 0 to nblocks - 1, or all of them
 * if there are no more.  With chunks, every participant draws the whole sample
 * and returns what lies in its chunks.  Returns the source's base.
 */
SstSource *
sst_sample_source_init(SstSampleSource *source, SstChunks *chunks,
					   BlockNumber nblocks, BlockNumber nsample, uint32 seed)
{
	source->base.next = sample_next;
	source->base.seek = sample_seek;
	source->base.put_back = InvalidBlockNumber;
	source->chunks = chunks;
	source->nblocks = nblocks;
	source->nsample = nsample;
	source->seed = seed;
	source->end = chunks == NULL ? nblocks : 0;
	sample_seek(&source->base, 0);

	return &source->base;
}
