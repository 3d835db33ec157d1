/*-------------------------------------------------------------------------
 *
 * source.h
 *	  Which blocks to read, in which order
 *
 * A read stream calls next() for its look-ahead.  So next() takes no lock and
 * does no I/O, as the stream's batch mode requires.  Where it skips many
 * blocks it checks for interrupts, as the server's bitmap heap scan does in
 * its callback: at an error, the abort of the (sub)transaction ends the batch
 * and submits what is staged
 * (pgaio_error_cleanup() of 18).
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

#include "port/atomics.h"
#include "storage/block.h"

#include "source/block_set.h"

typedef struct SstSource SstSource;

struct SstSource
{
	/* The next block, in ascending order, or InvalidBlockNumber at the end */
	BlockNumber (*next) (SstSource *source);

	/* Continue with the first block of the source that is not below blkno */
	void		(*seek) (SstSource *source, BlockNumber blkno);

	/* A block that was returned to the source, or InvalidBlockNumber */
	BlockNumber put_back;
};

static inline BlockNumber
sst_source_next(SstSource *source)
{
	BlockNumber blkno = source->put_back;

	if (blkno == InvalidBlockNumber)
		return source->next(source);

	source->put_back = InvalidBlockNumber;
	return blkno;
}

/* Return the block that was taken last, so that it is taken again. */
static inline void
sst_source_put_back(SstSource *source, BlockNumber blkno)
{
	source->put_back = blkno;
}

static inline void
sst_source_seek(SstSource *source, BlockNumber blkno)
{
	source->put_back = InvalidBlockNumber;
	source->seek(source, blkno);
}

/*
 * Assignment of a relation's blocks, chunk by chunk, to the processes that read
 * it together; in shared memory.
 */
typedef struct SstChunks
{
	pg_atomic_uint64 next;		/* first block not assigned yet */
	pg_atomic_uint32 stop;		/* nobody need read this block or later ones */
	BlockNumber end;
	int			nparticipants;
} SstChunks;

/* May a process end that has read those of its blocks that precede blkno? */
static inline bool
sst_chunks_stopped(SstChunks *chunks, BlockNumber blkno)
{
	return blkno >= pg_atomic_read_u32(&chunks->stop);
}

/* The blocks of a range, or of the chunks that this process takes, without a set's */
typedef struct SstRangeSource
{
	SstSource	base;
	SstChunks  *chunks;			/* NULL for one process alone */
	BlockNumber current;
	BlockNumber end;			/* one past the last block */
	const SstBlockSet *skipped; /* or NULL */
} SstRangeSource;

/*
 * A stratified random sample of blocks: one of each of nsample ranges.  It is drawn
 * from all blocks of a relation, from the members of a set, or from the others.
 */
typedef struct SstSampleSource
{
	SstSource	base;
	BlockNumber nblocks;		/* to draw from */
	BlockNumber nsample;
	uint32		seed;
	BlockNumber range;			/* to draw from next */

	const SstBlockSet *set;		/* or NULL */
	bool		members;
	BlockNumber block;			/* current block while walking the set */
	BlockNumber rank;			/* blocks to draw from that precede it */
} SstSampleSource;

/*
 * Return the first block of range i, when nblocks blocks are cut into n ranges.
 */
static inline BlockNumber
sst_range_start(BlockNumber nblocks, BlockNumber n, BlockNumber i)
{
	return (BlockNumber) ((uint64) nblocks * i / n);
}

/* Another source, a limited number of blocks at a time */
typedef struct SstSliceSource
{
	SstSource	base;
	SstSource  *inner;
	BlockNumber left;			/* of the present slice */
} SstSliceSource;

extern SstSource *sst_range_source_init(SstRangeSource *source,
										SstChunks *chunks,
										BlockNumber first, BlockNumber end,
										const SstBlockSet *skipped);
extern SstSource *sst_sample_source_init(SstSampleSource *source,
										 BlockNumber nblocks,
										 BlockNumber nsample, uint32 seed,
										 const SstBlockSet *set, bool members);

extern SstSource *sst_slice_source_init(SstSliceSource *source,
										SstSource *inner);
extern bool sst_slice_source_more(SstSliceSource *source);
extern void sst_slice_source_cut(SstSliceSource *source, BlockNumber nblocks);

extern void sst_chunks_init(SstChunks *chunks, BlockNumber first,
							BlockNumber end, int nparticipants);
extern bool sst_chunks_take(SstChunks *chunks, BlockNumber *first,
							BlockNumber *end);
extern void sst_chunks_stop(SstChunks *chunks, BlockNumber blkno);

#endif							/* SST_SOURCE_H */
