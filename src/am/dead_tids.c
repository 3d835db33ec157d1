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

struct SstDeadTids
{
	MemoryContext context;		/* of the set */
	IntegerSet *tids;
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
	SstDeadTids *set = palloc(sizeof(SstDeadTids));
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
	if (is_possible(offnum))
		intset_add_member(set->tids, tid_number(blkno, offnum));
}

/* Is it in the set?  The TID can be anything, from a damaged page as well. */
bool
sst_dead_tids_contain(const SstDeadTids *set, BlockNumber blkno,
					  OffsetNumber offnum)
{
	return is_possible(offnum) &&
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
