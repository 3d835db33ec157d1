/*-------------------------------------------------------------------------
 *
 * test_read_stream.c
 *	  Read chosen blocks through the read stream, and watch it
 *
 * The stream is the one that streamstat is built with: the server's where it
 * has one, else the bundled one.  Both must deliver the same.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "common/relpath.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "stream/read_stream.h"
#include "streamstat.h"

PG_MODULE_MAGIC;

/* a setting of streamstat's, which is not loaded here */
int			sst_map_files = SST_MAP_FILES_AUTO;

PG_FUNCTION_INFO_V1(read_stream_for_blocks);
PG_FUNCTION_INFO_V1(last_read_stream);

/* The blocks to name, how far that went, and what was seen of the stream */
typedef struct BlockList
{
	const int32 *blocks;
	int			nblocks;
	int			next;			/* element to name next */
	int			delivered;		/* element to be delivered next */
	bool		ended;			/* the callback has said so */

	int64		blocks_named;
	int64		calls_after_end;
	int64		buffers_after_end;
	int64		look_ahead_max;
	int64		advice_calls;
	int64		advice_blocks;
} BlockList;

static BlockList last_list;

/* In the place of a block: a cancel arrives, which the callback sees. */
#define CANCEL (-2)

static BlockNumber
next_block(ReadStream *stream, void *callback_private_data,
		   void *per_buffer_data)
{
	BlockList  *list = callback_private_data;

	if (list->ended)
		list->calls_after_end++;

	if (list->next < list->nblocks && list->blocks[list->next] == CANCEL)
	{
		InterruptPending = QueryCancelPending = true;
		CHECK_FOR_INTERRUPTS();
	}

	if (list->next >= list->nblocks || list->blocks[list->next] < 0)
	{
		list->ended = true;
		return InvalidBlockNumber;
	}

	list->blocks_named++;
	list->look_ahead_max = Max(list->look_ahead_max,
							   list->next + 1 - list->delivered);

	return list->blocks[list->next++];
}

static void
put_row(ReturnSetInfo *rsinfo, int pos, Buffer buf)
{
	Datum		values[2];
	bool		nulls[2] = {0};

	nulls[0] = nulls[1] = !BufferIsValid(buf);
	values[0] = Int32GetDatum(pos);
	values[1] = nulls[1] ? (Datum) 0 : Int64GetDatum((int64) BufferGetBlockNumber(buf));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Take the stream's buffers and put down a row for each.
 */
static void
run_stream(ReadStream *stream, BlockList *list, int reset_after, int end_after,
		   ReturnSetInfo *rsinfo)
{
	int			pos = 0;

	for (;;)
	{
		Buffer		buf = read_stream_next_buffer(stream, NULL);

		if (!BufferIsValid(buf))
		{
			put_row(rsinfo, 0, InvalidBuffer);

			/* The end stays the end. */
			buf = read_stream_next_buffer(stream, NULL);
			if (BufferIsValid(buf))
			{
				list->buffers_after_end++;
				ReleaseBuffer(buf);
			}

			/* Was it an end in the middle? */
			if (list->delivered >= list->nblocks - 1)
				break;
			list->next = ++list->delivered;
			list->ended = false;
			read_stream_reset(stream);
			continue;
		}

		CHECK_FOR_INTERRUPTS();
		put_row(rsinfo, ++pos, buf);
		ReleaseBuffer(buf);
		list->delivered++;

		if (end_after > 0 && pos >= end_after)
			break;

		if (reset_after > 0 && pos % reset_after == 0)
		{
			/* What was named ahead is dropped: name it again. */
			read_stream_reset(stream);
			list->next = list->delivered;
			list->ended = false;
		}
	}
}

Datum
read_stream_for_blocks(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	int			flags = PG_GETARG_INT32(2);
	ForkNumber	forknum = forkname_to_number(text_to_cstring(PG_GETARG_TEXT_PP(6)));
	BlockList	list = {0};
	ReadStream *stream;

	if (ARR_NDIM(array) > 1 || ARR_HASNULL(array) ||
		ARR_ELEMTYPE(array) != INT4OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("blocks must be a one-dimensional array without nulls")));

	InitMaterializedSRF(fcinfo, 0);

	list.blocks = (const int32 *) ARR_DATA_PTR(array);
	list.nblocks = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	stream = sst_read_stream_begin(flags, NULL, rel, forknum, next_block,
								   &list, PG_GETARG_INT32(5));
	run_stream(stream, &list, PG_GETARG_INT32(3), PG_GETARG_INT32(4), rsinfo);
#ifndef SST_HAVE_READ_STREAM
	list.advice_calls = sst_read_stream_stats(stream)->seen.advice_calls;
	list.advice_blocks = sst_read_stream_stats(stream)->seen.advice_blocks;
#endif
	read_stream_end(stream);

	relation_close(rel, AccessShareLock);
	last_list = list;

	return (Datum) 0;
}

Datum
last_read_stream(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum		values[7];
	bool		nulls[7] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

#ifdef SST_HAVE_READ_STREAM
	values[0] = BoolGetDatum(false);
	nulls[5] = nulls[6] = true;
#else
	values[0] = BoolGetDatum(true);
#endif
	values[1] = Int64GetDatum(last_list.blocks_named);
	values[2] = Int64GetDatum(last_list.calls_after_end);
	values[3] = Int64GetDatum(last_list.buffers_after_end);
	values[4] = Int64GetDatum(last_list.look_ahead_max);
	values[5] = Int64GetDatum(last_list.advice_calls);
	values[6] = Int64GetDatum(last_list.advice_blocks);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  values, nulls)));
}
