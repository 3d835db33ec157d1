/*-------------------------------------------------------------------------
 *
 * test_buffered.c
 *	  Look up blocks in buffers as a stream does, and watch it
 *
 * Blocks are asked about by number: the relation need not have them.  The WAL
 * position is the test's own, so that nothing else advances it.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "compat/shared_blocks.h"
#include "stream/buffered.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(buffered_begin);
PG_FUNCTION_INFO_V1(buffered_find);
PG_FUNCTION_INFO_V1(buffered_one_by_one);
PG_FUNCTION_INFO_V1(buffered_markings);
PG_FUNCTION_INFO_V1(advance_wal);
PG_FUNCTION_INFO_V1(cancel_in_find);

/* Most blocks of a run */
#define RUN_BLOCKS 64

static MemoryContext context;
static SstBuffered buffered;
static BlockNumber nblocks;
static bool begun;
static XLogRecPtr wal_position = 1;
static bool cancel;				/* in the next find */

XLogRecPtr
sst_wal_done(void)
{
	return wal_position;
}

Datum
buffered_begin(PG_FUNCTION_ARGS)
{
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "test_buffered",
										ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(context);
	nblocks = (BlockNumber) PG_GETARG_INT64(0);
	begun = false;

	PG_RETURN_VOID();
}

Datum
buffered_find(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	Buffer		buffers[RUN_BLOCKS];
	uint64		found;
	bool		canceled;

	if (context == NULL)
		elog(ERROR, "buffered_begin() comes first");
	if (!begun)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(context);

		sst_buffered_init(&buffered, rel, MAIN_FORKNUM, nblocks);
		MemoryContextSwitchTo(oldcontext);
		begun = true;
	}
	buffered.rel = rel;

	canceled = cancel;
	cancel = false;
	if (canceled)
		InterruptPending = QueryCancelPending = true;
	found = sst_buffered_find(&buffered, (BlockNumber) PG_GETARG_INT64(1),
							  (uint64) PG_GETARG_INT64(2),
							  PG_GETARG_BOOL(3) ? InvalidXLogRecPtr : wal_position,
							  buffers);
	if (canceled)
	{
		InterruptPending = QueryCancelPending = false;
		elog(ERROR, "the cancel was not seen");
	}
	relation_close(rel, AccessShareLock);

	PG_RETURN_INT64((int64) found);
}

Datum
buffered_one_by_one(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber first = (BlockNumber) PG_GETARG_INT64(1);
	uint64		blocks = (uint64) PG_GETARG_INT64(2);
	uint64		found = 0;

	for (int i = 0; i < RUN_BLOCKS; i++)
	{
		uint64		bit = UINT64CONST(1) << i;
		BufferTag	tag = sst_buffer_tag(rel, MAIN_FORKNUM, first + i);

		if ((blocks & bit) != 0 && BufferIsValid(sst_look_up_buffer(&tag)))
			found |= bit;
	}
	relation_close(rel, AccessShareLock);

	PG_RETURN_INT64((int64) found);
}

Datum
buffered_markings(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) buffered.nmarkings);
}

Datum
advance_wal(PG_FUNCTION_ARGS)
{
	wal_position++;
	PG_RETURN_VOID();
}

Datum
cancel_in_find(PG_FUNCTION_ARGS)
{
	cancel = true;
	PG_RETURN_VOID();
}
