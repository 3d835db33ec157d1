/*-------------------------------------------------------------------------
 *
 * shared_blocks.h
 *	  Blocks of relation files, and shared buffers for them, by file number
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/shared_blocks.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SHARED_BLOCKS_H
#define SST_SHARED_BLOCKS_H

#include "storage/block.h"
#include "utils/rel.h"

#include "compat/compat.h"

/* Most blocks that one call reads */
#define SST_MAX_READ_BLOCKS 64

extern void sst_relation_files(Relation rel, SstFiles *files);
extern bool sst_files_are_plain(const SstFiles *files);
extern bool sst_relation_is_plain(Relation rel);
extern BlockNumber sst_stored_blocks(const SstFiles *files, ForkNumber forknum);
extern void sst_read_stored_block(const SstFiles *files, ForkNumber forknum,
								  BlockNumber blkno, char *memory);
extern void sst_files_close(const SstFiles *files);
extern bool sst_is_buffered(const SstFiles *files, ForkNumber forknum,
							BlockNumber blkno);
extern void sst_read_into_buffers(const SstFiles *files, char persistence,
								  ForkNumber forknum, BlockNumber first,
								  int nblocks);
extern void sst_use_often(const SstFiles *files, char persistence,
						  ForkNumber forknum, BlockNumber blkno);
extern bool sst_free_list_is_empty(void);

#endif							/* SST_SHARED_BLOCKS_H */
