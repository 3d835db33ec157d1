/*-------------------------------------------------------------------------
 *
 * dead_tids.c
 *	  Rows of a table that an index build skips
 *
 * The server's set of integers keeps them: it compresses them, and grows by small
 * pieces, so that nothing takes long.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/dead_tids.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "lib/integerset.h"
#include "utils/memutils.h"

#include "am/dead_tids.h"

/* Most rows that are looked up are on blocks without any: a bit for each block, or for several */
#define FILTER_BITS 65536

struct SstDeadTids
{
	MemoryContext context;		/* of the set */
	IntegerSet *tids;
	uint64		filter[FILTER_BITS / 64];
};

/* The number of a TID; they are close together, as that takes less memory. */
static uint64
tid_number(BlockNumber blkno, OffsetNumber offnum)
{
	return (uint64) blkno * MaxHeapTuplesPerPage + offnum - 1;
}

/* Can a sound page have such a line pointer? */
static bool
is_possible(OffsetNumber offnum)
{
	return offnum >= FirstOffsetNumber && offnum <= MaxHeapTuplesPerPage;
}

/* Create an empty set in the current memory context. */
SstDeadTids *
sst_dead_tids_create(void)
{
	SstDeadTids *set = palloc0(sizeof(SstDeadTids));
	MemoryContext caller;

	set->context = AllocSetContextCreate(CurrentMemoryContext,
										 "streamstat dead rows",
										 ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(set->context);
	set->tids = intset_create();
	MemoryContextSwitchTo(caller);
	return set;
}

/*
 * Add a line pointer; they must come in order.  One with a number that no sound page has is
 * ignored.
 */
void
sst_dead_tids_add(SstDeadTids *set, BlockNumber blkno, OffsetNumber offnum)
{
	if (!is_possible(offnum))
		return;
	intset_add_member(set->tids, tid_number(blkno, offnum));
	set->filter[blkno % FILTER_BITS / 64] |= UINT64CONST(1) << blkno % 64;
}

/* Is it in the set?  The TID can be anything, from a damaged page as well. */
bool
sst_dead_tids_contain(const SstDeadTids *set, BlockNumber blkno,
					  OffsetNumber offnum)
{
	return is_possible(offnum) &&
		(set->filter[blkno % FILTER_BITS / 64] >> blkno % 64 & 1) != 0 &&
		intset_is_member(set->tids, tid_number(blkno, offnum));
}

bool
sst_dead_tids_is_empty(const SstDeadTids *set)
{
	return intset_num_entries(set->tids) == 0;
}

void
sst_dead_tids_free(SstDeadTids *set)
{
	MemoryContextDelete(set->context);
	pfree(set);
}
