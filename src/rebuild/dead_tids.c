/*-------------------------------------------------------------------------
 *
 * dead_tids.c
 *	  Rows of a table that an index build skips
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
	Size		max_bytes;
	bool		full;
};

/* Memory that the set takes */
static Size
dead_tids_bytes(const SstDeadTids *set)
{
	return set->blocks->size * sizeof(DeadBlock);
}

/*
 * Create an empty set in the current memory context, which is to take no more
 * than about max_bytes.
 */
SstDeadTids *
sst_dead_tids_create(Size max_bytes)
{
	SstDeadTids *set = palloc(sizeof(SstDeadTids));

	set->blocks = dead_blocks_create(CurrentMemoryContext, 64, NULL);
	set->max_bytes = max_bytes;
	set->full = false;
	return set;
}

/*
 * Add a line pointer.  One with a number that no sound page has is ignored.  Once
 * the set is full, this does nothing: sst_dead_tids_is_full().
 */
void
sst_dead_tids_add(SstDeadTids *set, BlockNumber blkno, OffsetNumber offnum)
{
	bool		found;
	DeadBlock  *block;

	if (offnum < FirstOffsetNumber || offnum > MaxHeapTuplesPerPage)
		return;

	/* From half full on, the hash table can double at any time. */
	if (set->blocks->members >= set->blocks->size / 2 &&
		dead_tids_bytes(set) > set->max_bytes / 2)
		set->full = true;
	if (set->full)
		return;

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

/* Was there no room for something? */
bool
sst_dead_tids_is_full(const SstDeadTids *set)
{
	return set->full;
}

bool
sst_dead_tids_is_empty(const SstDeadTids *set)
{
	return set->blocks->members == 0;
}

void
sst_dead_tids_free(SstDeadTids *set)
{
	dead_blocks_destroy(set->blocks);
	pfree(set);
}
