/*-------------------------------------------------------------------------
 *
 * block_set.h
 *	  A set of a relation's blocks: one bit for each
 *
 * Plain data without pointers, so that it can be copied to shared memory.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/block_set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOCK_SET_H
#define SST_BLOCK_SET_H

#include "storage/block.h"

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

static inline void
sst_block_set_add(SstBlockSet *set, BlockNumber blkno)
{
	if (!sst_block_set_contains(set, blkno))
		set->nmembers++;
	set->words[blkno / 64] |= UINT64CONST(1) << (blkno % 64);
}

#endif							/* SST_BLOCK_SET_H */
