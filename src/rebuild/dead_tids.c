/*-------------------------------------------------------------------------
 *
 * dead_tids.c
 *	  Rows of a table that an index build would not find
 *
 * A hash table of blocks, each with a bit for every line pointer.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/dead_tids.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"

#include "rebuild/dead_tids.h"

typedef struct DeadBlock
{
	BlockNumber blkno;			/* the key */
	char		status;			/* used by the hash table */
	uint8		bits[(MaxHeapTuplesPerPage + 7) / 8];
} DeadBlock;

#define SH_PREFIX		dead_blocks
#define SH_ELEMENT_TYPE DeadBlock
#define SH_KEY_TYPE		BlockNumber
#define SH_KEY			blkno
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct SstDeadTids
{
	dead_blocks_hash *blocks;
};

/* Create an empty set in the current memory context. */
SstDeadTids *
sst_dead_tids_create(void)
{
	SstDeadTids *set = palloc(sizeof(SstDeadTids));

	set->blocks = dead_blocks_create(CurrentMemoryContext, 64, NULL);
	return set;
}

/* Add a line pointer, whose number a sound page can have. */
void
sst_dead_tids_add(SstDeadTids *set, BlockNumber blkno, OffsetNumber offnum)
{
	bool		found;
	DeadBlock  *block;

	Assert(offnum >= FirstOffsetNumber && offnum <= MaxHeapTuplesPerPage);
	block = dead_blocks_insert(set->blocks, blkno, &found);
	if (!found)
		memset(block->bits, 0, sizeof(block->bits));
	block->bits[(offnum - 1) / 8] |= 1 << (offnum - 1) % 8;
}

/* Is it in the set?  The TID can be anything, from a damaged page as well. */
bool
sst_dead_tids_contain(const SstDeadTids *set, BlockNumber blkno,
					  OffsetNumber offnum)
{
	const DeadBlock *block;

	if (offnum < FirstOffsetNumber || offnum > MaxHeapTuplesPerPage)
		return false;
	block = dead_blocks_lookup(set->blocks, blkno);
	return block != NULL &&
		(block->bits[(offnum - 1) / 8] & 1 << (offnum - 1) % 8) != 0;
}

/* Memory that the set takes */
Size
sst_dead_tids_bytes(const SstDeadTids *set)
{
	return set->blocks->size * sizeof(DeadBlock);
}

void
sst_dead_tids_free(SstDeadTids *set)
{
	dead_blocks_destroy(set->blocks);
	pfree(set);
}
