/*-------------------------------------------------------------------------
 *
 * find_corrupt.c
 *	  Finding the corrupt blocks of a relation, one by one
 *
 * A scan that looks at all of each page lists the blocks with corrupt ones.  Each of them is then
 * examined again, with nothing pinned: in its buffer if the buffer manager
 * accepts it, else in private memory.
 *
 * An unreadable block is found as well.  The error is caught in a
 * subtransaction, and the next blocks are read one by one.  In recovery, where
 * no subtransaction can begin, such an error ends the call.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/find_corrupt.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "run/find_corrupt.h"
#include "run/scan.h"
#include "run/subtransaction.h"
#include "stream/checksum.h"

/* Blocks to read one by one after an error, at first; doubled each time */
#define MIN_SINGLE_BLOCKS 16
#define MAX_SINGLE_BLOCKS 4096

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
void
sst_corrupt_begin(SstCorruptSearch *search, const SstTarget *target,
				  BlockNumber first, SstLimits *limits)
{
	memset(search, 0, sizeof(SstCorruptSearch));
	search->rel = target->rel;
	search->limits = limits;
	search->next = first;
	search->nsingle_next = MIN_SINGLE_BLOCKS;
	search->list.blknos = search->blknos;

	search->guc_nest_level = NewGUCNestLevel();
	set_off("zero_damaged_pages");
	set_off("ignore_checksum_failure");

	sst_plan_scan(&search->plan, target, SST_RULES_TOLERANT);
	sst_plan_visitor(&search->plan, search->rel, NULL, &search->visitor);
	search->visitor.all_tuples = true;
	sst_item_check_init(&search->check, sst_relation_am(search->rel), search->rel);
	search->list.check = &search->check;
	sst_io_stats_init(&search->io_stats, search->plan.path);
	search->reader = (SstBlockReader)
	{
		search->rel, MAIN_FORKNUM, GetAccessStrategy(BAS_BULKREAD),
			&search->not_reported
	};
}

/* Scan the blocks of the plan until the list is full or a limit is reached. */
static void
scan_action(void *arg)
{
	SstCorruptSearch *search = arg;
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

/*
 * Scan in a subtransaction.  False if a block cannot be read: then *message is the
 * error's, in the current context.
 */
static bool
try_scan(SstCorruptSearch *search, char **message)
{
	MemoryContext context;
	MemoryContext oldcontext;
	ErrorData  *error;

	if (RecoveryInProgress())
	{
		scan_action(search);
		return true;
	}

	/* What a scan leaves behind at an error goes with its context. */
	context = AllocSetContextCreate(CurrentMemoryContext, "streamstat scan",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	error = sst_run_in_subtransaction(scan_action, search);
	MemoryContextSwitchTo(oldcontext);

	if (error != NULL && !is_read_error(error))
		ReThrowError(error);
	if (error != NULL)
		*message = pstrdup(error->message);
	MemoryContextDelete(context);

	return error == NULL;
}

/*
 * Read on from the next block, until blocks have been listed, a block cannot be
 * read, a limit is reached, or all has been read.
 */
static void
read_on(SstCorruptSearch *search)
{
	bool		single = search->nsingle > 0;
	bool		done;

	search->pos = 0;
	search->list.n = 0;
	search->list.max = SST_CORRUPT_BATCH;
	search->list.reached = search->next;

	search->plan.first = search->next;
	if (single)
	{
		search->plan.end = search->next + 1;
		search->nsingle--;
	}
	else
		search->plan.end = search->plan.nblocks;

	done = try_scan(search, &search->read_error);
	search->next = search->list.reached;

	if (!done)
	{
		/* A stream reads ahead: find out which block it is. */
		if (!single)
		{
			pfree(search->read_error);
			search->read_error = NULL;
			search->nsingle = search->nsingle_next;
			search->nsingle_next = Min(search->nsingle_next * 2,
									   MAX_SINGLE_BLOCKS);
		}
	}
	else if (search->next < search->plan.end &&
			 search->list.n < search->list.max)
		search->stopped = true;
}

/* Get an image of a block into the reader's memory; true if it is in a buffer. */
static bool
copy_block(SstCorruptSearch *search, BlockNumber blkno)
{
	SstPage		page;

	sst_read_block_noerror(&search->reader, blkno, &page);
	if (page.image == NULL)
		return false;

	if (search->reader.image == NULL)
		search->reader.image = sst_palloc_blocks(1);
	LockBuffer(page.buffer, BUFFER_LOCK_SHARE);
	memcpy(search->reader.image, page.image, BLCKSZ);
	UnlockReleaseBuffer(page.buffer);
	return true;
}

/*
 * Diagnose a block that a scan has listed.  The fault is SST_FAULT_NONE if it has
 * been changed since, and makes sense now.
 */
static void
diagnose_block(SstCorruptSearch *search, BlockNumber blkno,
			   SstDiagnosis *diagnosis)
{
	bool		buffered = copy_block(search, blkno);
	char	   *image = search->reader.image;
	uint16		found = ((PageHeader) image)->pd_checksum;

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

	sst_diagnose_page(&search->visitor, search->check.am, image, blkno,
					  diagnosis);
	if (diagnosis->fault == SST_FAULT_NONE)
		sst_check_items(&search->check, &search->visitor, image, blkno,
						diagnosis);
}

/*
 * Find the next corrupt block, and what is wrong with it.  False if there is no
 * other one before the end, or before search->next if search->stopped.
 */
bool
sst_corrupt_next(SstCorruptSearch *search, BlockNumber *blkno,
				 SstDiagnosis *diagnosis)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();

		while (search->pos < search->list.n)
		{
			*blkno = search->list.blknos[search->pos++];
			diagnose_block(search, *blkno, diagnosis);
			if (diagnosis->fault != SST_FAULT_NONE)
				return true;
		}
		if (search->read_error != NULL)
		{
			*blkno = search->next++;
			sst_set_diagnosis(diagnosis, SST_FAULT_READ, "%s",
							  search->read_error);
			pfree(search->read_error);
			search->read_error = NULL;
			return true;
		}
		if (search->stopped || search->next >= search->plan.nblocks)
			return false;
		read_on(search);
	}
}

/* End the search. */
void
sst_corrupt_end(SstCorruptSearch *search)
{
	AtEOXact_GUC(true, search->guc_nest_level);
	FreeAccessStrategy(search->reader.strategy);
	sst_block_reader_end(&search->reader);
}
