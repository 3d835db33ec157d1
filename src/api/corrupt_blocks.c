/*-------------------------------------------------------------------------
 *
 * corrupt_blocks.c
 *	  corrupt_blocks: which blocks of a relation are corrupt, and why
 *
 * A scan that looks at all of each page lists the blocks with corrupt ones.  Each of them is then
 * examined again, with nothing pinned: in its buffer if the buffer manager
 * accepts it, else in private memory.
 *
 * An unreadable block is found as well.  The error is caught in a
 * subtransaction, and the next blocks are read one by one.  In recovery, where
 * no subtransaction can begin, such an error ends the call.
 *
 * When a limit ends a call, the last row says so, and has the block at which
 * the next call should begin.  A relation that cannot be read has one row, with a note
 * in the place of an error, so that a query over pg_class does not fail.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "api/api.h"
#include "stream/run.h"

PG_FUNCTION_INFO_V1(sst_corrupt_blocks);

/* ----------
 * Finding corrupt blocks, one by one
 * ----------
 */

/* Corrupt blocks that a scan finds before they are looked at */
#define BATCH_BLOCKS 256

/* A search, from begin_search() to end_search() */
typedef struct CorruptSearch
{
	Relation	rel;
	SstScanPlan plan;
	SstLimits  *limits;			/* or NULL */
	BlockNumber next;			/* to be read next */
	bool		stopped;		/* a limit ended the search */
	BlockNumber single_end;		/* blocks before this are read one by one */

	/* Blocks that were found, to be looked at */
	SstCorruptList list;
	BlockNumber blknos[BATCH_BLOCKS];
	char	   *read_error;		/* of the only one, which cannot be read; or
								 * NULL */

	SstVisitor	visitor;
	SstBlockReader reader;
	char	   *image;			/* of the block that is looked at */
	SstIoStats	io_stats;		/* of all scans */
	SstIoStats	not_reported;	/* of the second look */
	int			guc_nest_level;
} CorruptSearch;

/* Blocks to read one by one after an error: about as many as a stream reads ahead */
#define SINGLE_BLOCKS 1024

/* The server is not to take bad pages for good ones meanwhile. */
static void
set_off(const char *name)
{
	(void) set_config_option(name, "off", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Begin to search an open relation from a block on.  Limits, which can be NULL, may
 * end the search early.  The settings zero_damaged_pages and ignore_checksum_failure
 * are off until its end.
 */
static void
begin_search(CorruptSearch *search, const SstTarget *target,
			 BlockNumber first, SstLimits *limits)
{
	memset(search, 0, sizeof(CorruptSearch));
	search->rel = target->rel;
	search->limits = limits;
	search->next = first;
	search->list.blknos = search->blknos;

	search->guc_nest_level = NewGUCNestLevel();
	set_off("zero_damaged_pages");
	set_off("ignore_checksum_failure");

	sst_plan_scan(&search->plan, target, SST_RULES_TOLERANT);
	sst_plan_visitor(&search->plan, search->rel, NULL, &search->visitor);
	search->visitor.all_tuples = true;
	sst_io_stats_init(&search->io_stats, search->plan.path);
	search->reader = (SstBlockReader)
	{
		search->rel, MAIN_FORKNUM, GetAccessStrategy(BAS_BULKREAD),
			&search->not_reported
	};
	search->image = palloc(BLCKSZ);
}

/* Scan the blocks of the plan until the list is full or a limit is reached. */
static void
scan_action(void *arg)
{
	CorruptSearch *search = arg;
	SstScanSinks sinks = {.corrupt = &search->list, .limits = search->limits};
	SstScanResult result;

	sst_scan_alone(&search->plan, search->rel, NULL, &sinks, &result);
	sst_io_stats_merge(&search->io_stats, &result.io_stats);
}

/* Is it the error of a read?  A file may also have been cut off, or be missing. */
static bool
is_read_error(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_IO_ERROR ||
		error->sqlerrcode == ERRCODE_DATA_CORRUPTED ||
		error->sqlerrcode == ERRCODE_UNDEFINED_FILE;
}

/* Scan.  If a block cannot be read, search->read_error is why, in the current context. */
static void
try_scan(CorruptSearch *search)
{
	MemoryContext context;
	MemoryContext oldcontext;
	ErrorData  *error;

	/* What a scan leaves behind at an error goes with its context. */
	context = AllocSetContextCreate(CurrentMemoryContext, "streamstat scan",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	error = sst_contain_errors(scan_action, search);
	MemoryContextSwitchTo(oldcontext);

	if (error != NULL && !is_read_error(error))
		ReThrowError(error);
	if (error != NULL)
		search->read_error = pstrdup(error->message);
	MemoryContextDelete(context);
}

/*
 * Read on from the next block, until blocks have been listed, a block cannot be
 * read, a limit is reached, or all has been read.
 */
static void
read_on(CorruptSearch *search)
{
	bool		single = search->next < search->single_end;

	search->list.n = 0;
	search->list.max = BATCH_BLOCKS;
	search->list.reached = search->next;

	search->plan.first = search->next;
	search->plan.end = single ? search->next + 1 : search->plan.nblocks;
	try_scan(search);
	search->next = search->list.reached;

	if (search->read_error == NULL)
		search->stopped = search->next < search->plan.end &&
			search->list.n < search->list.max;
	else if (single)
		search->blknos[search->list.n++] = search->next++;
	else
	{
		/* A stream reads ahead: find out which block it is. */
		pfree(search->read_error);
		search->read_error = NULL;
		search->single_end = search->next +
			Min(SINGLE_BLOCKS, search->plan.nblocks - search->next);
	}
}

/* Get an image of a block; true if it is in a buffer. */
static bool
copy_block(CorruptSearch *search, BlockNumber blkno)
{
	SstPage		page;

	sst_read_block(&search->reader, blkno, &page, search->image);
	if (page.image == NULL)
		return false;

	LockBuffer(page.buffer, BUFFER_LOCK_SHARE);
	memcpy(search->image, page.image, BLCKSZ);
	UnlockReleaseBuffer(page.buffer);
	return true;
}

/*
 * Diagnose a block that a scan has listed.  The fault is SST_FAULT_NONE if it has
 * been changed since, and makes sense now.
 */
static void
diagnose_block(CorruptSearch *search, BlockNumber blkno,
			   SstDiagnosis *diagnosis)
{
	bool		buffered;
	char	   *image = search->image;
	uint16		found;

	if (search->read_error != NULL)
	{
		sst_set_diagnosis(diagnosis, SST_FAULT_READ, "%s", search->read_error);
		pfree(search->read_error);
		search->read_error = NULL;
		return;
	}

	buffered = copy_block(search, blkno);
	found = ((PageHeader) image)->pd_checksum;
	if (!buffered && DataChecksumsEnabled() && !PageIsNew((Page) image))
	{
		const char *pages[] = {image};
		uint16		expected;

		sst_checksum_pages(pages, &blkno, 1, &expected);
		if (expected != found)
		{
			sst_set_diagnosis(diagnosis, SST_FAULT_CHECKSUM,
							  _("page checksum 0x%04X, expected 0x%04X"),
							  found, expected);
			return;
		}
	}

	search->visitor.meta = search->list.meta;
	sst_diagnose_page(&search->visitor, image, blkno, diagnosis);
	if (diagnosis->fault == SST_FAULT_NONE)
		sst_check_items(search->rel, &search->visitor, image, blkno, diagnosis);
}

static void
end_search(CorruptSearch *search)
{
	AtEOXact_GUC(true, search->guc_nest_level);
	FreeAccessStrategy(search->reader.strategy);
	pfree(search->image);
}

/* ----------
 * Rows
 * ----------
 */

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
put_blocks(SstRow *row, CorruptSearch *search, int64 max_rows)
{
	while (!search->stopped && search->next < search->plan.nblocks)
	{
		read_on(search);
		for (int i = 0; i < search->list.n; i++)
		{
			BlockNumber blkno = search->blknos[i];
			SstDiagnosis diagnosis;
			MemoryContext oldcontext;

			CHECK_FOR_INTERRUPTS();
			diagnose_block(search, blkno, &diagnosis);
			if (diagnosis.fault == SST_FAULT_NONE)
				continue;

			oldcontext = MemoryContextSwitchTo(row->context);
			put_row(row, blkno, fault_names[diagnosis.fault], diagnosis.detail);
			MemoryContextSwitchTo(oldcontext);
			if (--max_rows == 0)
				return blkno + 1;
		}
	}

	return search->next;
}

/* Search an open target from a block on, and put what is found. */
static void
search_target(SstRow *row, const SstTarget *target, BlockNumber first,
			  int64 max_rows, SstLimits *limits, SstIoStats *io_stats)
{
	CorruptSearch search;
	BlockNumber end;

	if (first > target->nblocks)
		put_row(row, InvalidBlockNumber, "not read",
				psprintf(_("the relation has only %u blocks"), target->nblocks));
	first = Min(first, target->nblocks);
	sst_progress_totals(1, (int64) (target->nblocks - first) * BLCKSZ);

	begin_search(&search, target, first, limits);
	end = put_blocks(row, &search, max_rows);
	end_search(&search);

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
	int64		max_rows = PG_ARGISNULL(2) ? PG_INT64_MAX : PG_GETARG_INT64(2);
	SstLimits	limits = {.bytes_left = PG_INT64_MAX};
	SstLimits  *limited;
	SstRow		row;
	SstTarget	target;
	SstCall		call;

	sst_check_range(first, 0, MaxBlockNumber, "starting block number");
	sst_check_positive(max_rows, "number of rows", NULL);
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
