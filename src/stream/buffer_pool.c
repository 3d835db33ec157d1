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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "stream/buffered.h"

/* Times that a header which changes is read; then it is left out */
#define MAX_TRIES 100

/* Buffers or blocks from one check for interrupts to the next, a power of two */
#define CHECK_BUFFERS 8192

static inline void
check_at(uint64 i)
{
	if (i % CHECK_BUFFERS == 0)
		CHECK_FOR_INTERRUPTS();
}

/*
 * Read the header of a buffer.  False if it holds no block, or none that is wanted:
 * of any database, or of this one and of shared relations.
 *
 * Nobody changes the tag of a buffer but with the header locked and the state's
 * BM_TAG_VALID cleared before and set after.  So tag and state belong together if the
 * state is the same before and after, apart from a pin or a use.
 *
 * The barriers pair with the atomic operation that locks the header and the one, with a
 * write barrier, that unlocks it.  A tag that was changed between the two looks at the
 * state is seen by the second look at the tag, which comes after the new state.
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

		sst_locator_files(BufTagGetRelFileLocator(&tag), &files);
		if (!any_database && files.database != MyDatabaseId &&
			OidIsValid(files.database))
			return false;
		block->database = any_database ? files.database : InvalidOid;
		block->tablespace = files.tablespace;
		block->number = files.number;
		block->forknum = BufTagGetForkNum(&tag);
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

static inline int
compare_blocks(const SstBufferedBlock *a, const SstBufferedBlock *b)
{
	int			result;

	if (a->database != b->database)
		return a->database < b->database ? -1 : 1;
	result = sst_compare_files(a->tablespace, a->number, a->forknum, b);
	return result != 0 ? result : (a->blkno > b->blkno) - (a->blkno < b->blkno);
}

#define ST_SORT sort_blocks
#define ST_ELEMENT_TYPE SstBufferedBlock
#define ST_COMPARE(a, b) compare_blocks(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * List the blocks of the current database, and of shared relations, that are in
 * shared buffers, by number, tablespace, fork and block; or those of any database,
 * and by database in the first place: then the process needs none.  The list is
 * allocated in the current memory context; it takes 20 bytes for each block.
 *
 * Takes no lock, and pins nothing.  A block that moves to another buffer meanwhile
 * may be missed, or be there twice.
 */
void
sst_list_buffered_blocks(SstBufferedBlocks *list, bool any_database)
{
	uint64		allocated = 1024;

	sst_require_internals(SST_BUFFER_HEADERS);
	list->n = 0;
	list->blocks = palloc(sizeof(SstBufferedBlock) * allocated);
	for (int i = 0; i < NBuffers; i++)
	{
		check_at(i);
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
	sort_blocks(list->blocks, list->n);
}

/* Find the first block of a fork in a list in order, or where it would be. */
const SstBufferedBlock *
sst_first_buffered_block(const SstBufferedBlocks *list, const SstFiles *files,
						 ForkNumber forknum)
{
	uint64		low = 0;
	uint64		high = list->n;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;

		if (sst_compare_files(files->tablespace, files->number, forknum,
							  &list->blocks[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}

	return &list->blocks[low];
}

/* ----------
 * Sums
 * ----------
 */

static inline bool
same_fork(const SstForkKey *a, const SstForkKey *b)
{
	return a->number == b->number && a->tablespace == b->tablespace &&
		a->forknum == b->forknum;
}

#define SH_PREFIX fork_sums
#define SH_ELEMENT_TYPE SstForkSum
#define SH_KEY_TYPE SstForkKey
#define SH_KEY key
#define SH_HASH_KEY(tb, key) \
	hash_combine(murmurhash32((key).number + (key).forknum), (key).tablespace)
#define SH_EQUAL(tb, a, b) same_fork(&(a), &(b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Find the sum that a block adds to; the one before is mostly the same. */
static inline SstForkSum *
find_or_begin_sum(SstForkSums *sums, SstForkSum *before,
				  const SstBufferedBlock *block)
{
	SstForkKey	key = {block->tablespace, block->number, block->forknum};
	SstForkSum *sum;
	bool		found;

	if (before != NULL && same_fork(&before->key, &key))
		return before;

	sum = fork_sums_insert(sums, key, &found);
	if (!found)
		sum->nblocks = sum->ndirty = sum->npinned = sum->usage = 0;
	return sum;
}

/*
 * Add up what buffers hold of each fork of the current database and of the shared
 * relations.  The sums are allocated in the current memory context.  Takes no lock,
 * and pins nothing.
 */
SstForkSums *
sst_sum_buffered_blocks(void)
{
	SstForkSums *sums = fork_sums_create(CurrentMemoryContext, 256, NULL);
	SstForkSum *sum = NULL;
	SstBufferedBlock block;

	sst_require_internals(SST_BUFFER_HEADERS);
	for (int i = 0; i < NBuffers; i++)
	{
		check_at(i);
		if (!read_header(GetBufferDescriptor(i), false, &block))
			continue;

		sum = find_or_begin_sum(sums, sum, &block);
		sum->nblocks++;
		sum->ndirty += block.dirty;
		sum->npinned += block.pinned;
		sum->usage += block.usage;
	}

	return sums;
}

/* What buffers hold of a fork; NULL if that is nothing */
const SstForkSum *
sst_find_fork_sum(SstForkSums *sums, const SstFiles *files, ForkNumber forknum)
{
	SstForkKey	key = {files->tablespace, files->number, forknum};

	return fork_sums_lookup(sums, key);
}

/* ----------
 * Taking shared buffers only as long as there are free ones
 *
 * A free buffer is one whose header names no block.  Servers before 19 take
 * free buffers first, from a list.  19 has no such list: the clock hand takes
 * the next buffer that is free, or unused since its last round.  As many reads
 * as there are free buffers move it around the pool at most once, so that it
 * evicts nothing that was read or used meanwhile.
 *
 * Other backends take buffers, too.  So only a part of the counted ones may be
 * used before they are counted again.
 * ----------
 */

/* This many, or an eighth of the free ones if that is more, between two counts */
#define MIN_ALLOWANCE 8192

/* Others have more time to take buffers where a rate is set. */
#define MAX_AGE_SECONDS 10.0

/* Those that are left to others: to read a catalog evicts nothing then, either */
#define SPARE_BUFFERS Min(NBuffers / 64, 256)

/*
 * One pass over the headers, without a lock.  Each state is one word, read at once; no
 * order among them matters for a number that is out of date in any case.
 */
static int
count_free_buffers(void)
{
	int			nfree = 0;

	for (int i = 0; i < NBuffers; i++)
	{
		check_at(i);
		nfree += (sst_read_buffer_state(GetBufferDescriptor(i)) &
				  BM_TAG_VALID) == 0;
	}

	return nfree;
}

/*
 * Take n buffers, if so many are free besides npending that were taken and are still
 * free, and those that are left to others.  If not, reading would evict pages.  They are
 * counted if the last count does not tell.  What is not used after all is not given back:
 * then the next count comes earlier.
 */
bool
sst_free_buffers_take(SstFreeBuffers *buffers, BlockNumber n, int npending)
{
	bool		suffice = true;

	if (sst_free_list_is_empty())
		return false;
	if (buffers->allowance < n ||
		sst_now() - buffers->counted > MAX_AGE_SECONDS)
	{
		int64		nfree = (int64) count_free_buffers() - SPARE_BUFFERS - npending;

		buffers->allowance = Min(Max(MIN_ALLOWANCE, nfree / 8), nfree);
		buffers->counted = sst_now();
		suffice = nfree >= n;
	}
	if (suffice)
		buffers->allowance = Max(buffers->allowance - (int64) n, 0);

	return suffice;
}
