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
 *-------------------------------------------------------------------------
 */
#ifndef SST_SOURCE_H
#define SST_SOURCE_H

#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/block.h"

/*
 * A set of a relation's blocks: one bit for each.  Plain data without pointers, so that it
 * can be copied to shared memory.
 */
typedef struct SstBlockSet
{
	BlockNumber nblocks;		/* covers blocks 0 to nblocks - 1 */
	BlockNumber nmembers;
	uint64		words[FLEXIBLE_ARRAY_MEMBER];
} SstBlockSet;

static inline Size
sst_block_set_size(BlockNumber nblocks)
{
	return offsetof(SstBlockSet, words) +
		((Size) nblocks + 63) / 64 * sizeof(uint64);
}

/* An empty set, in the current memory context */
static inline SstBlockSet *
sst_block_set_create(BlockNumber nblocks)
{
	SstBlockSet *set = MemoryContextAllocExtended(CurrentMemoryContext,
												  sst_block_set_size(nblocks),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	set->nblocks = nblocks;
	return set;
}

static inline bool
sst_block_set_contains(const SstBlockSet *set, BlockNumber blkno)
{
	return (set->words[blkno / 64] >> (blkno % 64)) & 1;
}

/* Add blocks: of the 32 from "first" on, which is a multiple of 32, those with a bit. */
static inline void
sst_block_set_add(SstBlockSet *set, BlockNumber first, uint32 bits)
{
	uint64	   *word = &set->words[first / 64];

	set->nmembers += pg_popcount32(bits & ~(uint32) (*word >> first % 64));
	*word |= (uint64) bits << first % 64;
}

typedef struct SstSource SstSource;

struct SstSource
{
	/* The next block, in ascending order, or InvalidBlockNumber at the end */
	BlockNumber (*next) (SstSource *source);

	/* Continue with the first block of the source that is not below blkno */
	void		(*seek) (SstSource *source, BlockNumber blkno);

	/* A block that was taken and is to be taken again, or InvalidBlockNumber */
	BlockNumber put_back;

	/*
	 * Blocks left of a slice, if it gives them slice by slice.  At the end of
	 * a slice it reports its end, so that a stream on it drains and holds no
	 * pin.  Then the caller begins the next slice.
	 */
	bool		sliced;
	BlockNumber left;
};

static inline BlockNumber
sst_source_next(SstSource *source)
{
	BlockNumber blkno = source->put_back;

	if (blkno != InvalidBlockNumber)
	{
		source->put_back = InvalidBlockNumber;
		return blkno;
	}
	if (source->sliced)
	{
		if (source->left == 0)
			return InvalidBlockNumber;
		source->left--;
	}
	return source->next(source);
}

static inline void
sst_source_seek(SstSource *source, BlockNumber blkno)
{
	source->put_back = InvalidBlockNumber;
	source->seek(source, blkno);
}

/* Is there a block after the slice? */
static inline bool
sst_source_has_more(SstSource *source)
{
	if (source->put_back == InvalidBlockNumber)
		source->put_back = source->next(source);
	return source->put_back != InvalidBlockNumber;
}

/* Begin a slice of nblocks blocks, including one that was put back. */
static inline void
sst_source_cut(SstSource *source, BlockNumber nblocks)
{
	source->sliced = true;
	source->left = nblocks - (source->put_back != InvalidBlockNumber);
}

/*
 * Assignment of a relation's blocks, chunk by chunk, to the processes that read
 * it together; in shared memory.
 */
typedef struct SstChunks
{
	pg_atomic_uint64 next;		/* first block not assigned yet */
	BlockNumber first;			/* of all */
	BlockNumber end;
	int			nparticipants;
} SstChunks;

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

extern uint64 sst_source_take_run(SstSource *source, BlockNumber max_blocks,
								  BlockNumber max_gap, BlockNumber *first);
extern SstSource *sst_range_source_init(SstRangeSource *source,
										SstChunks *chunks,
										BlockNumber first, BlockNumber end,
										const SstBlockSet *skipped);
extern SstSource *sst_sample_source_init(SstSampleSource *source,
										 BlockNumber nblocks,
										 BlockNumber nsample, uint32 seed,
										 const SstBlockSet *set, bool members);

extern void sst_chunks_init(SstChunks *chunks, BlockNumber first,
							BlockNumber end, int nparticipants);
extern bool sst_chunks_take(SstChunks *chunks, BlockNumber *first,
							BlockNumber *end);
extern void sst_chunks_stop(SstChunks *chunks);

#endif							/* SST_SOURCE_H */
