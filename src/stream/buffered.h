/*-------------------------------------------------------------------------
 *
 * buffered.h
 *	  Which of a relation's blocks are in shared buffers, and what all of them hold
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BUFFERED_H
#define SST_BUFFERED_H

#include "compat/compat.h"
#include "stats/counters.h"

/*
 * Blocks that one scan of all buffers answers for; a multiple of 64.  A test takes
 * fewer.
 */
#ifndef SST_BUFFERED_WINDOW
#define SST_BUFFERED_WINDOW (1024 * 1024)
#endif

typedef struct SstBuffered
{
	Relation	rel;
	ForkNumber	forknum;
	MemoryContext context;

	/* Whether a scan of all buffers can pay, and of how many blocks in all */
	bool		may_mark;
	BlockNumber nblocks;

	Buffer		guess;			/* behind the last one found */

	/* Blocks that were asked about, the first of them, and those found */
	uint64		nasked;
	BlockNumber first;
	uint64		nfound;

	/* What the last scan found; NULL before the first one */
	uint64	   *marks;
	BlockNumber window;			/* number of the window of these marks */
	XLogRecPtr	position;		/* of the WAL before the scan; invalid if the
								 * marks are not complete */

	/* Scans of all buffers, and the look-ups that they saved */
	uint64		nmarkings;
	uint64		nsaved;
} SstBuffered;

extern bool sst_mostly_buffered(Relation rel, ForkNumber forknum,
								BlockNumber nblocks);
extern void sst_buffered_init(SstBuffered *buffered, Relation rel,
							  ForkNumber forknum, BlockNumber nblocks);
extern uint64 sst_buffered_find(SstBuffered *buffered, BlockNumber first,
								uint64 blocks, XLogRecPtr position,
								Buffer *buffers);

extern void sst_count_buffered(Relation rel, ForkNumber forknum,
							   const SstBucketSums *sums, uint32 *counts);

/*
 * All shared buffers: buffer_pool.c
 */

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
	double		counted;		/* by sst_now() */
} SstFreeBuffers;

extern bool sst_free_buffers_take(SstFreeBuffers *buffers, BlockNumber n,
								  int npending);

#endif							/* SST_BUFFERED_H */
