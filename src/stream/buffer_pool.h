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

#include "storage/block.h"

#include "compat/catalog.h"

/* A block in a buffer */
typedef struct SstBufferedBlock
{
	Oid			database;		/* see SstFiles */
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

extern void sst_list_buffered_blocks(SstBufferedBlocks *list);
extern void sst_list_all_buffered_blocks(SstBufferedBlocks *list);
extern int	sst_compare_files(Oid tablespace, Oid number, ForkNumber forknum,
							  const SstBufferedBlock *block);

#endif							/* SST_BUFFER_POOL_H */
