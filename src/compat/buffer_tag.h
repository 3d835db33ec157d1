/*-------------------------------------------------------------------------
 *
 * buffer_tag.h
 *	  Tags of shared buffers, with the newest server's functions
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

/* Before 16 there are macros instead. */
#if PG_VERSION_NUM < 160000
static inline bool
BufferTagsEqual(const BufferTag *tag1, const BufferTag *tag2)
{
	return BUFFERTAGS_EQUAL(*tag1, *tag2);
}
#endif

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

#endif							/* SST_BUFFER_TAG_H */
