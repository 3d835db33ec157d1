/*-------------------------------------------------------------------------
 *
 * refused_pages.c
 *	  Continuing a scan after pages that the buffer manager refuses
 *
 * The buffer manager refuses a page with a bad header or checksum.  That must
 * not end a scan that reports what is in the file.  The file stream returns
 * such a page without an image.  The buffer stream raises an error.  The error
 * is caught in a subtransaction, which releases the stream's resources.  The
 * blocks that the stream had requested are then read one by one, and a new
 * stream begins after them.
 *
 * In recovery no subtransaction begins: a conflict with recovery would end the
 * session, not the query.  All blocks are read one by one there.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/refused_pages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "run/refused_pages.h"
#include "run/subtransaction.h"

/* Blocks to take one by one after an error, at least; doubled each time */
#define MIN_SINGLE_BLOCKS 16
#define MAX_SINGLE_BLOCKS 4096

/*
 * Run an action in a subtransaction.  False if the buffer manager refused a page;
 * other errors pass through.
 */
bool
sst_try_reading(void (*action) (void *arg), void *arg)
{
	ErrorData  *error = sst_run_in_subtransaction(action, arg);

	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED)
		ReThrowError(error);
	FreeErrorData(error);

	return false;
}

static void
scan_buffers_action(void *arg)
{
	sst_scan_buffers(arg);
}

/*
 * Scan through the buffer stream.  False if the buffer manager refused a page:
 * then *unread_end is the end of the blocks that the stream had asked for.
 */
static bool
try_scan_buffers(SstScan *scan, BlockNumber *unread_end)
{
	MemoryContext streamcontext = AllocSetContextCreate(CurrentMemoryContext,
														"streamstat stream",
														ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(streamcontext);
	bool		done = sst_try_reading(scan_buffers_action, scan);

	MemoryContextSwitchTo(oldcontext);
	if (!done)
	{
		*unread_end = 0;
		if (scan->stream != NULL)
		{
			*unread_end = sst_buffer_stream_unread_end(scan->stream);
			sst_buffer_stream_abandon(scan->stream);
			scan->stream = NULL;
		}
	}
	MemoryContextDelete(streamcontext);

	return done;
}

/* The next block to be read by itself, or InvalidBlockNumber at the end */
static BlockNumber
next_single_block(SstScan *scan)
{
	BlockNumber blkno;

	do
		blkno = sst_source_next(scan->source);
	while (blkno == InvalidBlockNumber && sst_scan_next_slice(scan));

	return blkno;
}

/*
 * Visit the source's blocks below "end" one by one through the buffer manager;
 * InvalidBlockNumber stands for all.  A block that it refuses is counted, or
 * raises its error, as the rules want.
 */
static void
scan_single_blocks(SstScan *scan, SstBlockReader *reader, BlockNumber end)
{
	BlockNumber blkno;
	SstPage		page;

	while (!sst_scan_must_stop(scan) && (blkno = next_single_block(scan)) < end)
	{
		CHECK_FOR_INTERRUPTS();
		sst_read_block_noerror(reader, blkno, &page);
		sst_io_stats_returned(reader->io_stats, 1, 1);
		if (page.image == NULL && scan->plan->rules == SST_RULES_CONTRIB)
		{
			page.buffer = ReadBufferExtended(scan->rel, scan->plan->forknum,
											 blkno, RBM_NORMAL, scan->strategy);
			page.image = BufferGetPage(page.buffer);
		}
		sst_scan_page(scan, &page);
	}
}

/*
 * Scan what the source still has through the buffer manager, in slices if there
 * is a limit.  Pages that it refuses are counted; in recovery they raise its error
 * if the rules are contrib's.
 *
 * Outside recovery this begins subtransactions, so that the rules have to be
 * tolerant and the process not in parallel mode.
 */
void
sst_scan_past_refused_pages(SstScan *scan)
{
	SstBlockReader reader = {scan->rel, scan->plan->forknum, scan->strategy,
	&scan->result->io_stats};
	BlockNumber nsingle = MIN_SINGLE_BLOCKS;
	BlockNumber unread_end;

	if (scan->plan->in_recovery)
		scan_single_blocks(scan, &reader, InvalidBlockNumber);
	else
		do
		{
			while (!try_scan_buffers(scan, &unread_end))
			{
				sst_source_seek(scan->source, scan->reached);
				/* not beyond the last number, that of no block */
				nsingle = Min(nsingle, InvalidBlockNumber - scan->reached);
				unread_end = Max(unread_end, scan->reached + nsingle);
				scan_single_blocks(scan, &reader, unread_end);
				if (sst_scan_must_stop(scan))
					break;
				scan->reached = unread_end;
				sst_source_seek(scan->source, unread_end);
				nsingle = Min(nsingle * 2, MAX_SINGLE_BLOCKS);
			}
		} while (sst_scan_next_slice(scan));

	sst_block_reader_end(&reader);
	/* A block that was on its way at an error was asked for only once. */
	scan->result->io_stats.blocks_requested = scan->result->nvisited;
}
