/*-------------------------------------------------------------------------
 *
 * source.h
 *	  Which blocks to read, in which order
 *
 * A source is asked for one block number after the other, from inside the
 * read stream's look-ahead.  So next() takes no lock, does no I/O, and raises
 * no error: a stream may then ask in batch mode.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SOURCE_H
#define SST_SOURCE_H

#include "storage/block.h"
#include "utils/sampling.h"

typedef struct SstSource SstSource;

struct SstSource
{
	/* The next block, in ascending order, or InvalidBlockNumber at the end */
	BlockNumber (*next) (SstSource *source);

	/* Make the next block the first of the source that is not below blkno */
	void		(*seek) (SstSource *source, BlockNumber blkno);
};

/* All blocks from one to another */
typedef struct SstRangeSource
{
	SstSource	base;
	BlockNumber current;
	BlockNumber end;			/* one past the last block */
} SstRangeSource;

/* A random sample of a relation's blocks, each at most once */
typedef struct SstSampleSource
{
	SstSource	base;
	BlockSamplerData sampler;
	BlockNumber nblocks;
	BlockNumber nsample;
	uint32		seed;
	BlockNumber skipped_to;		/* block to return first after a seek */
} SstSampleSource;

extern SstSource *sst_range_source_init(SstRangeSource *source,
										BlockNumber first, BlockNumber end);
extern SstSource *sst_sample_source_init(SstSampleSource *source,
										 BlockNumber nblocks,
										 BlockNumber nsample, uint32 seed);

#endif							/* SST_SOURCE_H */
