/*-------------------------------------------------------------------------
 *
 * corrupt_blocks.c
 *	  corrupt_blocks: which blocks of a relation are corrupt, and why
 *
 * When a limit ends a call, the last row says so, and has the block at which
 * the next call should begin.  A relation that cannot be read has one row, with a note
 * in the place of an error, so that a query over pg_class does not fail.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/corrupt_blocks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "api/api.h"
#include "run/find_corrupt.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_corrupt_blocks);

/* The words for faults: part of the interface, so not translated */
static const char *const fault_names[] = {
	[SST_FAULT_READ] = "read error",
	[SST_FAULT_CHECKSUM] = "checksum",
	[SST_FAULT_HEADER] = "header",
	[SST_FAULT_SPECIAL] = "special space",
	[SST_FAULT_PAGE_TYPE] = "page type",
	[SST_FAULT_LINE_POINTERS] = "line pointers",
	[SST_FAULT_TUPLES] = "tuples",
	[SST_FAULT_CONTENTS] = "contents"
};

/* The most blocks to return; null is no limit. */
static int64
max_rows_argument(FunctionCallInfo fcinfo, int argno)
{
	if (PG_ARGISNULL(argno))
		return PG_INT64_MAX;
	sst_check_positive(PG_GETARG_INT64(argno), "number of rows", NULL);
	return PG_GETARG_INT64(argno);
}

static void
put_row(SstRow *row, BlockNumber blkno, const char *error, const char *detail)
{
	sst_put_count(row, "block_no", blkno == InvalidBlockNumber ? -1 : (int64) blkno);
	sst_put_text(row, "error", error);
	sst_put_text(row, "detail", detail);
	sst_row_store(row);
}

/* Put the rows; returns the block from which on nothing was looked at. */
static BlockNumber
put_blocks(SstRow *row, SstCorruptSearch *search, int64 max_rows)
{
	MemoryContext oldcontext;
	SstDiagnosis diagnosis;
	BlockNumber blkno;

	for (int64 nrows = 0; nrows < max_rows; nrows++)
	{
		if (!sst_corrupt_next(search, &blkno, &diagnosis))
			return search->next;

		oldcontext = MemoryContextSwitchTo(row->context);
		put_row(row, blkno, fault_names[diagnosis.fault], diagnosis.detail);
		MemoryContextSwitchTo(oldcontext);
	}

	return blkno + 1;
}

/* Search an open target from a block on, and put what is found. */
static void
search_target(SstRow *row, const SstTarget *target, BlockNumber first,
			  int64 max_rows, SstLimits *limits, SstIoStats *io_stats)
{
	SstCorruptSearch search;
	BlockNumber end;

	if (first > target->nblocks)
		put_row(row, InvalidBlockNumber, "not read",
				psprintf(_("the relation has only %u blocks"), target->nblocks));
	first = Min(first, target->nblocks);
	sst_progress_totals(1, (int64) (target->nblocks - first) * BLCKSZ);

	sst_corrupt_begin(&search, target, first, limits);
	end = put_blocks(row, &search, max_rows);
	sst_corrupt_end(&search);

	if (end < target->nblocks)
		put_row(row, end, "not read",
				search.stopped ?
				_("this block and later ones were not read: time limit reached") :
				_("this block and later ones were not checked: max_rows reached"));
	*io_stats = search.io_stats;
}

Datum
sst_corrupt_blocks(PG_FUNCTION_ARGS)
{
	int64		first = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1);
	int64		max_rows;
	SstLimits	limits = {.bytes_left = PG_INT64_MAX};
	SstLimits  *limited;
	SstRow		row;
	SstTarget	target;
	SstCall		call;

	sst_check_range(first, 0, MaxBlockNumber, "starting block number");
	max_rows = max_rows_argument(fcinfo, 2);
	limited = sst_max_time_argument(fcinfo, 3, &limits);

	sst_call_try_open(&call, fcinfo, &target, SST_INDEX | SST_TABLE);
	sst_rows_begin(&row, fcinfo);
	if (sst_target_is_readable(&target))
		search_target(&row, &target, (BlockNumber) first, max_rows, limited, &call.io_stats);
	else
		put_row(&row, InvalidBlockNumber, "not read", target.note);
	sst_call_close(&call, &target);

	return (Datum) 0;
}
