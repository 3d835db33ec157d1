/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The loop: source to stream to visitor to counters
 *
 * A page that the buffer manager refuses (a bad header or checksum) must not
 * end a scan whose purpose is to tell what is in the file.  The stream's
 * error is caught in a subtransaction, which releases what the stream held.
 * The blocks that were on their way are then taken one by one: a page that is
 * not in a buffer is first read into private memory, and passed on through
 * the buffer manager if it is valid, or counted as corrupt.  Behind them the
 * scan streams again.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/scan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "run/scan.h"

/* Blocks to take one by one after an error, at least; doubled each time */
#define MIN_SINGLE_BLOCKS 16
#define MAX_SINGLE_BLOCKS 4096

/* A sample's sums need each page's own counters. */
static void
add_sampled_page(SstScan *scan, const SstCounters *page)
{
	for (int i = 0; i < scan->nstatistics; i++)
		sst_moments_add(&scan->moments[i], &scan->statistics[i], page);
	sst_counters_merge(scan->counters, page);
}

/*
 * Visit a pinned buffer.  It is share-locked meanwhile; the pin is released.
 */
static inline void
visit_buffer(SstScan *scan, Buffer buf)
{
	SstVisitor *visitor = scan->visitor;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (scan->nstatistics == 0)
		visitor->page(visitor, (const PageData *) BufferGetPage(buf),
					  BufferGetBlockNumber(buf), scan->counters);
	else
	{
		SstCounters page;

		sst_counters_init(&page);
		visitor->page(visitor, (const PageData *) BufferGetPage(buf),
					  BufferGetBlockNumber(buf), &page);
		add_sampled_page(scan, &page);
	}
	UnlockReleaseBuffer(buf);
	scan->nvisited++;
}

/* Start to load the header and nbytes behind it, and the special space. */
static inline void
prefetch_page(const char *image, int nbytes)
{
#ifdef __GNUC__
	for (int i = 0; i < nbytes; i += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(image + i, 0, 2);
	__builtin_prefetch(image + BLCKSZ - 1, 0, 2);
#endif
}

static bool
must_stop(const SstScan *scan)
{
	return scan->visitor->strict && scan->counters->n[SST_CORRUPT_PAGES] > 0;
}

/*
 * Stream what the source has.  Errors of the buffer manager pass through.
 * *reached is kept at the block after the last one visited, and *stream_p at
 * the stream as long as there is one.
 */
static void
stream_blocks(SstScan *scan, BufferAccessStrategy strategy,
			  volatile BlockNumber *reached, SstStream *volatile *stream_p)
{
	SstStream  *stream = sst_stream_begin(scan->rel, MAIN_FORKNUM, scan->source,
										  strategy, &scan->report);
	Buffer		buf;

	*stream_p = stream;
	buf = sst_stream_next(stream);
	while (BufferIsValid(buf))
	{
		Buffer		next = sst_stream_next(stream);
		const char *image = sst_stream_peek(stream);

		/* Let the CPU fetch what the visitor will look at soon. */
		if (image == NULL && BufferIsValid(next))
			image = BufferGetPage(next);
		if (image != NULL)
			prefetch_page(image, scan->visitor->prefetch_bytes);

		*reached = BufferGetBlockNumber(buf) + 1;
		visit_buffer(scan, buf);
		buf = next;

		if (must_stop(scan))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	if (BufferIsValid(buf))
		ReleaseBuffer(buf);
	*stream_p = NULL;
	sst_stream_end(stream);
}

/*
 * The same in a subtransaction.  False when the buffer manager refused a
 * page: then *unread_end is the end of the blocks that the stream had asked
 * for.  Other errors pass through.
 */
static bool
try_stream_blocks(SstScan *scan, BufferAccessStrategy strategy,
				  volatile BlockNumber *reached, BlockNumber *unread_end)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	MemoryContext streamcontext;
	SstStream  *volatile stream = NULL;
	volatile bool done = true;

	streamcontext = AllocSetContextCreate(CurrentMemoryContext,
										  "streamstat stream",
										  ALLOCSET_DEFAULT_SIZES);

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		MemoryContextSwitchTo(streamcontext);
		stream_blocks(scan, strategy, reached, &stream);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(oldcontext);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		CurrentResourceOwner = oldowner;

		if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED || stream == NULL)
			ReThrowError(error);

		FreeErrorData(error);
		*unread_end = sst_stream_unread_end(stream);
		sst_stream_abandon(stream);
		done = false;
	}
	PG_END_TRY();

	MemoryContextSwitchTo(oldcontext);
	CurrentResourceOwner = oldowner;
	MemoryContextDelete(streamcontext);

	return done;
}

/*
 * Pin the block's buffer if the block is in one and valid, else return
 * InvalidBuffer.  After a failed read the mapping table has an entry for a
 * buffer that is not valid: the buffer's header is asked as well.
 */
static Buffer
pin_if_valid(SstScan *scan, BlockNumber blkno)
{
	Buffer		buf = PrefetchBuffer(scan->rel, MAIN_FORKNUM, blkno).recent_buffer;

	if (BufferIsValid(buf) &&
		sst_read_recent_buffer(scan->rel, MAIN_FORKNUM, blkno, buf))
		return buf;

	return InvalidBuffer;
}

/*
 * Visit one block, or count it as corrupt if the buffer manager would refuse
 * it.  An I/O error is an error here as well.
 *
 * A page that is read past the buffer manager may be caught while another
 * backend writes it.  Then that backend has it in a buffer, where we look once
 * more before we believe the bad image.
 */
static void
visit_block_carefully(SstScan *scan, BlockNumber blkno,
					  BufferAccessStrategy strategy, char *image)
{
	Buffer		buf = pin_if_valid(scan, blkno);

	if (BufferIsValid(buf))
		scan->report.blocks_hit++;
	else
	{
		void	   *images[1] = {image};

		sst_smgr_read(RelationGetSmgr(scan->rel), MAIN_FORKNUM, blkno, images, 1);
		scan->report.blocks_read++;
		if (scan->report.reads >= 0)
		{
			scan->report.reads++;
			scan->report.read_bytes += BLCKSZ;
		}

		if (sst_page_verified(image, blkno))
			buf = ReadBufferExtended(scan->rel, MAIN_FORKNUM, blkno, RBM_NORMAL,
									 strategy);
		else
			buf = pin_if_valid(scan, blkno);
	}

	if (BufferIsValid(buf))
		visit_buffer(scan, buf);
	else
	{
		SstCounters page;

		sst_counters_init(&page);
		sst_count_corrupt(&page, blkno);
		add_sampled_page(scan, &page);
		scan->nvisited++;
	}
}

/*
 * Run the scan to its end.
 *
 * Afterwards no lock on a page and no pin is held.  A strict visitor's scan
 * ends at the first corrupt page, or with the buffer manager's error.
 */
void
sst_scan_run(SstScan *scan)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	volatile BlockNumber reached = 0;
	BlockNumber nsingle = MIN_SINGLE_BLOCKS;
	BlockNumber unread_end;
	char	   *image = NULL;

	sst_stream_report_init(&scan->report);

	/* A subtransaction cannot begin in parallel mode: do without its help. */
	if (scan->visitor->strict || IsInParallelMode())
	{
		SstStream  *volatile stream;

		stream_blocks(scan, strategy, &reached, &stream);
		FreeAccessStrategy(strategy);
		return;
	}

	while (!try_stream_blocks(scan, strategy, &reached, &unread_end))
	{
		BlockNumber blkno;

		if (image == NULL)
			image = sst_palloc_blocks(1);

		scan->source->seek(scan->source, reached);
		unread_end = Max(unread_end, reached + nsingle);
		while ((blkno = scan->source->next(scan->source)) < unread_end)
		{
			CHECK_FOR_INTERRUPTS();
			visit_block_carefully(scan, blkno, strategy, image);
		}
		reached = unread_end;
		scan->source->seek(scan->source, unread_end);
		nsingle = Min(nsingle * 2, MAX_SINGLE_BLOCKS);
	}

	/* A block that was on its way at an error was asked for only once. */
	scan->report.blocks_requested = scan->nvisited;

	FreeAccessStrategy(strategy);
}
