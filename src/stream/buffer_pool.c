/*-------------------------------------------------------------------------
 *
 * buffer_pool.c
 *	  What shared buffers hold
 *
 * One pass over all buffer headers, without a lock.  A buffer whose header changes
 * while it is read is read again.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/buffer_pool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat/buffer_tag.h"
#include "stream/buffer_pool.h"

/* Times that a header which changes is read; then it is left out */
#define MAX_TRIES 100

/* Buffers from one check for interrupts to the next, a power of two */
#define CHECK_BUFFERS 8192

/*
 * Read the header of a buffer.  False if it holds no block, or none that is wanted:
 * of any database, or of this one and of shared relations.
 *
 * Nobody changes the tag of a buffer but with the header locked and the state's
 * BM_TAG_VALID cleared before and set after.  So tag and state belong together if the
 * state is the same before and after, apart from a pin or a use.
 */
static bool
read_header(BufferDesc *desc, bool any_database, SstBufferedBlock *block)
{
	const SstBufferState wanted = BM_VALID | BM_TAG_VALID;

	for (int i = 0; i < MAX_TRIES; i++)
	{
		SstBufferState before = sst_read_buffer_state(desc);
		SstBufferState after;
		BufferTag	tag;
		BufferTag	again;
		SstFiles	files;

		if ((before & wanted) != wanted)
			return false;

		pg_read_barrier();
		tag = desc->tag;
		pg_read_barrier();
		after = sst_read_buffer_state(desc);
		pg_read_barrier();
		again = desc->tag;
		if ((before & BM_LOCKED) != 0 || (after & BM_LOCKED) != 0 ||
			(after & wanted) != wanted || !BufferTagsEqual(&tag, &again))
			continue;

		sst_tag_files(&tag, &files);
		if (!any_database && files.database != MyDatabaseId &&
			OidIsValid(files.database))
			return false;
		block->database = files.database;
		block->tablespace = files.tablespace;
		block->number = files.number;
		block->forknum = sst_tag_fork(&tag);
		block->blkno = tag.blockNum;
		block->usage = BUF_STATE_GET_USAGECOUNT(after);
		block->dirty = (after & BM_DIRTY) != 0;
		block->pinned = BUF_STATE_GET_REFCOUNT(after) > 0;
		return true;
	}

	return false;
}

/* The order of the list: that of a fork against that of a block */
int
sst_compare_files(Oid tablespace, Oid number, ForkNumber forknum,
				  const SstBufferedBlock *block)
{
	if (number != block->number)
		return number < block->number ? -1 : 1;
	if (tablespace != block->tablespace)
		return tablespace < block->tablespace ? -1 : 1;
	return (int) forknum - (int) block->forknum;
}

static int
compare_blocks(const void *a, const void *b)
{
	const SstBufferedBlock *left = a;
	const SstBufferedBlock *right = b;
	int			result = sst_compare_files(left->tablespace, left->number,
										   left->forknum, right);

	return result != 0 ? result :
		(left->blkno > right->blkno) - (left->blkno < right->blkno);
}

/* Make the list, in no order. */
static void
read_headers(SstBufferedBlocks *list, bool any_database)
{
	uint64		allocated = 1024;

	list->n = 0;
	list->blocks = palloc(sizeof(SstBufferedBlock) * allocated);
	for (int i = 0; i < NBuffers; i++)
	{
		if (i % CHECK_BUFFERS == 0)
			CHECK_FOR_INTERRUPTS();
		if (list->n == allocated)
		{
			allocated *= 2;
			list->blocks = repalloc_huge(list->blocks, sizeof(SstBufferedBlock) *
										 allocated);
		}
		if (read_header(GetBufferDescriptor(i), any_database,
						&list->blocks[list->n]))
			list->n++;
	}
}

/*
 * List the blocks of the current database, and of shared relations, that are in
 * shared buffers, by number, tablespace, fork and block.  The list is allocated in
 * the current memory context; it takes 20 bytes for each block.
 *
 * Takes no lock, and pins nothing.  A block that moves to another buffer meanwhile
 * may be missed, or be there twice.
 */
void
sst_list_buffered_blocks(SstBufferedBlocks *list)
{
	read_headers(list, false);
	qsort(list->blocks, list->n, sizeof(SstBufferedBlock), compare_blocks);
}

/* The same for all databases, in no order.  The process needs no database. */
void
sst_list_all_buffered_blocks(SstBufferedBlocks *list)
{
	read_headers(list, true);
}
