/*-------------------------------------------------------------------------
 *
 * buffer_tag.h
 *	  Tags and states of shared buffers, by server version
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/buffer_tag.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BUFFER_TAG_H
#define SST_BUFFER_TAG_H

#include "storage/buf_internals.h"
#include "utils/rel.h"

#include "compat/catalog.h"

/* Before 16 there are macros instead. */
#if PG_VERSION_NUM < 160000
static inline bool
BufferTagsEqual(const BufferTag *tag1, const BufferTag *tag2)
{
	return BUFFERTAGS_EQUAL(*tag1, *tag2);
}
#endif

/* The state of a buffer: flags, usage count and pins in one word */
#if PG_VERSION_NUM >= 190000
typedef uint64 SstBufferState;
#define sst_read_buffer_state(desc) pg_atomic_read_u64(&(desc)->state)
#else
typedef uint32 SstBufferState;
#define sst_read_buffer_state(desc) pg_atomic_read_u32(&(desc)->state)
#endif

/* Where the files are that a buffer's block belongs to */
static inline void
sst_tag_files(const BufferTag *tag, SstFiles *files)
{
#if PG_VERSION_NUM >= 160000
	files->tablespace = tag->spcOid;
	files->database = tag->dbOid;
	files->number = BufTagGetRelNumber(tag);
#else
	files->tablespace = tag->rnode.spcNode;
	files->database = tag->rnode.dbNode;
	files->number = tag->rnode.relNode;
#endif
}

static inline ForkNumber
sst_tag_fork(const BufferTag *tag)
{
#if PG_VERSION_NUM >= 160000
	return BufTagGetForkNum(tag);
#else
	return tag->forkNum;
#endif
}

/* The tag of a buffer that holds the block */
static inline BufferTag
sst_buffer_tag(Relation rel, ForkNumber forknum, BlockNumber blkno)
{
	BufferTag	tag;

#if PG_VERSION_NUM >= 160000
	InitBufferTag(&tag, &rel->rd_locator, forknum, blkno);
#else
	INIT_BUFFERTAG(tag, rel->rd_node, forknum, blkno);
#endif

	return tag;
}

/* The same by the relation's files */
static inline BufferTag
sst_files_tag(const SstFiles *files, ForkNumber forknum, BlockNumber blkno)
{
	BufferTag	tag;

#if PG_VERSION_NUM >= 160000
	RelFileLocator numbers = {files->tablespace, files->database, files->number};

	InitBufferTag(&tag, &numbers, forknum, blkno);
#else
	RelFileNode numbers = {files->tablespace, files->database, files->number};

	INIT_BUFFERTAG(tag, numbers, forknum, blkno);
#endif

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

#endif							/* SST_BUFFER_TAG_H */
