/*-------------------------------------------------------------------------
 *
 * buffer_pool.h
 *	  What shared buffers hold
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/buffer_pool.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BUFFER_POOL_H
#define SST_BUFFER_POOL_H

#include "portability/instr_time.h"
#include "storage/block.h"

#include "compat/compat.h"

/* A block in a buffer */
typedef struct SstBufferedBlock
{
	Oid			database;		/* see SstFiles; invalid in a list of one */
	Oid			tablespace;
	Oid			number;
	BlockNumber blkno;
	uint8		forknum;
	uint8		usage;			/* the buffer's usage count */
	bool		dirty;
	bool		pinned;
} SstBufferedBlock;

typedef struct SstBufferedBlocks
{
	uint64		n;
	SstBufferedBlock *blocks;
} SstBufferedBlocks;

/* Which fork, of the current database or of a shared relation */
typedef struct SstForkKey
{
	Oid			tablespace;		/* see SstFiles */
	Oid			number;
	ForkNumber	forknum;
} SstForkKey;

/* What buffers hold of a fork */
typedef struct SstForkSum
{
	SstForkKey	key;
	char		status;			/* for the hash table */
	int64		nblocks;
	int64		ndirty;
	int64		npinned;
	int64		usage;			/* sum of usage counts */
} SstForkSum;

typedef struct fork_sums_hash SstForkSums;

extern void sst_list_buffered_blocks(SstBufferedBlocks *list, bool any_database);
extern SstForkSums *sst_sum_buffered_blocks(void);
extern const SstForkSum *sst_find_fork_sum(SstForkSums *sums,
										   const SstFiles *files,
										   ForkNumber forknum);
extern const SstBufferedBlock *sst_first_buffered_block(const SstBufferedBlocks *list,
														const SstFiles *files,
														ForkNumber forknum);
extern int	sst_compare_files(Oid tablespace, Oid number, ForkNumber forknum,
							  const SstBufferedBlock *block);

/*
 * The last count of free buffers; zeros at first.  A count passes over all headers, so
 * this lives as long as a load, and not as one of its parts.
 */
typedef struct SstFreeBuffers
{
	int64		allowance;		/* that may be taken before the next count */
	instr_time	counted;
} SstFreeBuffers;

extern bool sst_free_buffers_suffice(SstFreeBuffers *buffers, BlockNumber n,
									 int npending);
extern void sst_free_buffers_take(SstFreeBuffers *buffers, BlockNumber n);

#endif							/* SST_BUFFER_POOL_H */
