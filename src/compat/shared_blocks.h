/*-------------------------------------------------------------------------
 *
 * shared_blocks.h
 *	  Blocks of relation files, and shared buffers for them: tags and states of these,
 *	  by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SHARED_BLOCKS_H
#define SST_SHARED_BLOCKS_H

#include "storage/buf_internals.h"
#include "utils/rel.h"

#include "compat/compat.h"

/* Before 16 there are macros instead, and fields. */
#if PG_VERSION_NUM < 160000
#define BufferTagsEqual(tag1, tag2) BUFFERTAGS_EQUAL(*(tag1), *(tag2))
#define BufTagGetForkNum(tag) ((tag)->forkNum)
#define BufTagGetRelFileLocator(tag) ((tag)->rnode)
#define InitBufferTag(tag, locator, forknum, blkno) \
	INIT_BUFFERTAG(*(tag), *(locator), forknum, blkno)
#endif

/* The state of a buffer: flags, usage count and pins in one word */
#if PG_VERSION_NUM >= 190000
typedef uint64 SstBufferState;
#define sst_read_buffer_state(desc) pg_atomic_read_u64(&(desc)->state)
#else
typedef uint32 SstBufferState;
#define sst_read_buffer_state(desc) pg_atomic_read_u32(&(desc)->state)
#endif

/* What the server calls the files; and the other way round, but for their owner */
static inline RelFileLocator
sst_file_locator(const SstFiles *files)
{
	RelFileLocator result = {files->tablespace, files->database, files->number};

	return result;
}

static inline void
sst_locator_files(RelFileLocator locator, SstFiles *files)
{
#if PG_VERSION_NUM >= 160000
	files->tablespace = locator.spcOid;
	files->database = locator.dbOid;
	files->number = locator.relNumber;
#else
	files->tablespace = locator.spcNode;
	files->database = locator.dbNode;
	files->number = locator.relNode;
#endif
}

/* The tag of a buffer that holds the block */
static inline BufferTag
sst_buffer_tag(Relation rel, ForkNumber forknum, BlockNumber blkno)
{
	BufferTag	tag;

	InitBufferTag(&tag, &rel->rd_locator, forknum, blkno);
	return tag;
}

/* The same by the relation's files */
static inline BufferTag
sst_files_tag(const SstFiles *files, ForkNumber forknum, BlockNumber blkno)
{
	RelFileLocator locator = sst_file_locator(files);
	BufferTag	tag;

	InitBufferTag(&tag, &locator, forknum, blkno);
	return tag;
}

/*
 * Return the shared buffer that the mapping table has for a tag, or InvalidBuffer; it may
 * be out of date when the caller gets it.  Takes and releases a share lock on one
 * partition of the table.
 */
static inline Buffer
sst_look_up_buffer(BufferTag *tag)
{
	uint32		hash = BufTableHashCode(tag);
	LWLock	   *lock = BufMappingPartitionLock(hash);
	int			buf_id;

	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(tag, hash);
	LWLockRelease(lock);

	return buf_id + 1;
}

/* Most blocks that one call reads */
#define SST_MAX_READ_BLOCKS 64

extern void sst_relation_files(Relation rel, SstFiles *files);
extern bool sst_files_are_plain(const SstFiles *files);
extern BlockNumber sst_stored_blocks(const SstFiles *files, ForkNumber forknum);
extern void sst_read_stored_block(const SstFiles *files, ForkNumber forknum,
								  BlockNumber blkno, char *memory);
extern void sst_files_close(const SstFiles *files);
extern bool sst_is_buffered(const SstFiles *files, ForkNumber forknum,
							BlockNumber blkno);
extern void sst_provide_next_buffers(Buffer buffer);
extern void sst_read_into_buffers(const SstFiles *files, char persistence,
								  ForkNumber forknum, BlockNumber first,
								  int nblocks);
extern void sst_use_often(const SstFiles *files, char persistence,
						  ForkNumber forknum, BlockNumber blkno);
extern bool sst_free_list_is_empty(void);

#endif							/* SST_SHARED_BLOCKS_H */
