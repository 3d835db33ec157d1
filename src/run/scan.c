/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The loop: source to stream to visitor to counters
 *
 * A page that the buffer manager refuses (a bad header or checksum) must not
 * end a scan whose purpose is to tell what is in the file.  The file stream
 * returns such a page without an image.  The buffer stream raises an error,
 * which is caught in a subtransaction, that releases what the stream held; the
 * blocks that were on their way are then taken one by one, and behind them the
 * scan streams again.
 *
 * A scan with a limit runs in slices.  At the end of each the stream has run
 * empty, nothing is pinned, and the scan can sleep; see limits.c.
 *
 * In parallel mode no subtransaction can begin.  So the leader begins one
 * before, and scans all by itself should there be such an error.
 *
 * In recovery none begins either: a conflict would then end the session, not the
 * query.  So what comes through the buffer manager is taken one by one.  And no
 * page is pinned ahead, as the replay of a hash index's split waits for pins on
 * one page while it keeps another locked.
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
#include "utils/memutils.h"

#include "run/blocking.h"
#include "run/parallel.h"
#include "run/progress.h"
#include "run/scan.h"
#include "run/subtransaction.h"

/* Blocks to take one by one after an error, at least; doubled each time */
#define MIN_SINGLE_BLOCKS 16
#define MAX_SINGLE_BLOCKS 4096

/* Pages from one look at the clock, or report of progress, to the next */
#define PAGES_PER_REPORT 64

/* What the parts of a scan have in common */
typedef struct Scan
{
	const SstScanPlan *plan;
	SstScanSinks sinks;
	Relation	rel;
	SstSource  *source;
	SstVisitor	visitor;
	SstKeptItems kept;			/* for the rebuild of a table */
	BufferAccessStrategy strategy;
	SstScanResult *result;

	/* To read a page a second time, which is not reported */
	SstBlockReader again;
	SstIoStats not_reported;

	BlockNumber reached;		/* one past the last block visited */

	/* If there is a limit: what is granted, from the page that was next then */
	bool		limited;
	SstThrottle throttle;
	SstSliceSource slice;
	BlockNumber ngranted;
	uint64		slice_begin;
	bool		stopped;		/* a limit is reached */
	uint64		check_mask;		/* check after pages whose number has none */

	const SstChunks *chunks;	/* shared with others, or NULL */

	/* The buffer stream that an error leaves behind, or NULL */
	SstStream  *volatile stream;
} Scan;

/*
 * Show a page to the visitor; false if it was refused, or makes no sense.  A
 * buffer is share-locked meanwhile; the pin is released.
 */
static inline bool
show_page(Scan *scan, const SstPage *page, SstCounters *counters)
{
	SstRebuild *rebuild = scan->sinks.rebuild;
	bool		sound = false;

	if (BufferIsValid(page->buffer))
		LockBuffer(page->buffer, BUFFER_LOCK_SHARE);
	if (page->image != NULL)
		sound = scan->visitor.page(&scan->visitor, page->image, page->blkno,
								   counters);
	if (sound && rebuild != NULL && rebuild->page != NULL)
		rebuild->page(rebuild, page->image, page->blkno, &scan->kept, counters);
	if (BufferIsValid(page->buffer))
		UnlockReleaseBuffer(page->buffer);

	return sound;
}

/*
 * Count a page that makes no sense.  If it was read past the buffer manager, it
 * may be older than what it names: the buffer manager has the last word.
 */
static void
count_unsound_page(Scan *scan, const SstPage *page, SstCounters *counters)
{
	if (page->image != NULL && !BufferIsValid(page->buffer))
	{
		SstPage		again;

		sst_read_block_noerror(&scan->again, page->blkno, &again);
		if (show_page(scan, &again, counters))
			return;
	}
	sst_count_corrupt(counters, page->blkno);
}

/* Visit a page, and release its pin. */
static inline void
visit_page(Scan *scan, const SstPage *page)
{
	SstSamplePart *sample = scan->sinks.sample;
	SstCounters *counters = &scan->result->counters;
	SstCounters own;

	/* A sample keeps what each page says. */
	if (sample != NULL)
	{
		sst_counters_init(&own);
		counters = &own;
	}

	counters->n[SST_PAGE_BYTES] += BLCKSZ;
	if (!show_page(scan, page, counters))
		count_unsound_page(scan, page, counters);

	if (sample != NULL)
	{
		BlockNumber nblocks = sample->nblocks;
		BlockNumber range = sample->nsampled;

		sst_sample_part_add(sample, &own, page->blkno,
							sst_range_start(nblocks, sample->nwanted, range + 1) -
							sst_range_start(nblocks, sample->nwanted, range));
		sst_counters_merge(&scan->result->counters, &own);
	}
	scan->result->nvisited++;
	scan->reached = page->blkno + 1;
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
must_stop(const Scan *scan)
{
	return scan->stopped ||
		(scan->plan->rules != SST_RULES_TOLERANT &&
		 scan->result->counters.n[SST_CORRUPT_PAGES] > 0);
}

/* Report how far the scan is, those included who do their parts of it. */
static void
report_progress(const Scan *scan)
{
	if (scan->chunks != NULL)
		sst_progress_chunks(scan->chunks, scan->plan->first);
	else
		sst_progress_blocks(scan->result->nvisited);
}

/* What is due after a page, now and then */
static inline void
check_now_and_then(Scan *scan)
{
	if ((scan->result->nvisited & scan->check_mask) != 0)
		return;

	report_progress(scan);
	sst_check_blocking();
	if (scan->limited && sst_throttle_expired(&scan->throttle))
		scan->stopped = true;
}

/* Return what was granted and not used. */
static void
end_slice(Scan *scan)
{
	BlockNumber nused = scan->result->nvisited - scan->slice_begin;

	if (scan->limited && scan->ngranted > nused)
		sst_throttle_give_back(&scan->throttle, scan->ngranted - nused);
	scan->ngranted = 0;
}

/*
 * After a slice, wait until there may be another one; false if there is none,
 * which is so if there is no limit.  Nothing may be pinned.
 */
static bool
next_slice(Scan *scan)
{
	BlockNumber nblocks = sst_plan_nblocks(scan->plan);
	uint64		nvisited = scan->result->nvisited;

	if (!scan->limited)
		return false;

	end_slice(scan);
	report_progress(scan);
	if (must_stop(scan) || !sst_slice_source_more(&scan->slice))
		return false;

	scan->ngranted = sst_throttle_take(&scan->throttle,
								   nvisited < nblocks ? nblocks - nvisited : 1);
	scan->slice_begin = nvisited;
	scan->stopped = (scan->ngranted == 0);
	if (scan->stopped)
		return false;

	sst_slice_source_cut(&scan->slice, scan->ngranted);
	return true;
}

/* The next block that is to be read by itself */
static BlockNumber
next_single_block(Scan *scan)
{
	BlockNumber blkno;

	do
		blkno = sst_source_next(scan->source);
	while (blkno == InvalidBlockNumber && next_slice(scan));

	return blkno;
}

/* Visit all pages of a stream, one pinned at a time. */
static void
visit_one_by_one(Scan *scan, SstStream *stream)
{
	SstPage		page;

	while (!must_stop(scan) && stream->next(stream, &page))
	{
		visit_page(scan, &page);
		check_now_and_then(scan);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Visit all pages of a stream. */
static void
visit_stream(Scan *scan, SstStream *stream)
{
	SstPage		pages[2];
	int			current = 0;
	bool		more = stream->next(stream, &pages[0]);

	while (more)
	{
		SstPage    *next = &pages[1 - current];
		const char *image;

		more = stream->next(stream, next);

		/* Let the CPU fetch what the visitor will look at soon. */
		image = stream->peek(stream);
		if (image == NULL && more)
			image = next->image;
		if (image != NULL)
			prefetch_page(image, scan->visitor.prefetch_bytes);

		visit_page(scan, &pages[current]);
		current = 1 - current;

		check_now_and_then(scan);
		if (must_stop(scan))
			break;
		CHECK_FOR_INTERRUPTS();
	}
	if (more && BufferIsValid(pages[current].buffer))
		ReleaseBuffer(pages[current].buffer);
}

/*
 * Scan through the buffer stream.  Errors of the buffer manager pass through.
 */
static void
scan_buffers(Scan *scan)
{
	SstStream  *stream = sst_buffer_stream_begin(scan->rel,
												 scan->plan->forknum,
												 scan->source, scan->strategy,
												 false, &scan->result->io_stats);

	scan->stream = stream;
	visit_stream(scan, stream);
	scan->stream = NULL;
	stream->end(stream);
}

/*
 * Run an action in a subtransaction; false when the buffer manager refused a
 * page.  Other errors pass through.
 */
static bool
try_action(void (*action) (void *arg), void *arg)
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
	scan_buffers(arg);
}

/*
 * Scan through the buffer stream; false when the buffer manager refused a page.
 * Then *unread_end is the end of the blocks that the stream had asked for.
 */
static bool
try_scan_buffers(Scan *scan, BlockNumber *unread_end)
{
	MemoryContext streamcontext = AllocSetContextCreate(CurrentMemoryContext,
														"streamstat stream",
														ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(streamcontext);
	bool		done = try_action(scan_buffers_action, scan);

	MemoryContextSwitchTo(oldcontext);
	if (!done)
	{
		*unread_end = 0;
		if (scan->stream != NULL)
		{
			*unread_end = sst_buffer_stream_unread_end(scan->stream);
			sst_buffer_stream_abandon(scan->stream);
		}
	}
	MemoryContextDelete(streamcontext);

	return done;
}

/*
 * Visit the blocks before the given one, or before the end of the source, one by
 * one through the buffer manager.  Those that it refuses are counted, or raise its
 * error, as the rules want.
 */
static void
scan_single_blocks(Scan *scan, SstBlockReader *reader, BlockNumber end)
{
	BlockNumber blkno;
	SstPage		page;

	while (!must_stop(scan) && (blkno = next_single_block(scan)) < end)
	{
		CHECK_FOR_INTERRUPTS();
		sst_read_block_noerror(reader, blkno, &page);
		if (page.image == NULL && scan->plan->rules != SST_RULES_TOLERANT)
		{
			page.buffer = ReadBufferExtended(scan->rel, scan->plan->forknum,
											 blkno, RBM_NORMAL, scan->strategy);
			page.image = BufferGetPage(page.buffer);
		}
		visit_page(scan, &page);
		check_now_and_then(scan);
	}
}

/*
 * Scan through the buffer manager, and count the pages that it refuses, or in
 * recovery do as the rules want.
 */
static void
scan_buffers_to_the_end(Scan *scan)
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
				unread_end = Max(unread_end, scan->reached + nsingle);
				scan_single_blocks(scan, &reader, unread_end);
				if (must_stop(scan))
					break;
				scan->reached = unread_end;
				sst_source_seek(scan->source, unread_end);
				nsingle = Min(nsingle * 2, MAX_SINGLE_BLOCKS);
			}
		} while (next_slice(scan));

	sst_block_reader_end(&reader);
	/* A block that was on its way at an error was asked for only once. */
	scan->result->io_stats.blocks_requested = scan->result->nvisited;
}

/*
 * Scan through the file stream; false if that left the rest of the source to
 * the buffer stream.
 */
static bool
scan_files(Scan *scan)
{
	bool		strict = scan->plan->rules != SST_RULES_TOLERANT;
	SstStream  *stream = sst_file_stream_begin(scan->rel, scan->plan->forknum,
											   scan->source,
											   sst_plan_nblocks(scan->plan),
											   scan->strategy,
											   strict,
											   &scan->result->io_stats);
	bool		gave_up;

	/* The stream holds no pin, and goes on when its source does. */
	do
	{
		if (scan->plan->in_recovery)
			visit_one_by_one(scan, stream);
		else
			visit_stream(scan, stream);
		gave_up = sst_file_stream_gave_up(stream);
	} while (!gave_up && next_slice(scan));
	stream->end(stream);

	return !gave_up;
}

/* Scan what the source gives.  Source, visitor and result have been set up. */
static void
scan_source(Scan *scan)
{
	const SstScanPlan *plan = scan->plan;
	SstLimits  *limits = scan->sinks.limits;

	scan->reached = plan->first;
	scan->strategy = GetAccessStrategy(BAS_BULKREAD);
	scan->again = (SstBlockReader)
	{
		scan->rel, plan->forknum, scan->strategy,
			&scan->not_reported
	};

	scan->check_mask = PAGES_PER_REPORT - 1;
	scan->limited = sst_throttle_begin(&scan->throttle, limits);
	if (scan->limited)
	{
		scan->source = sst_slice_source_init(&scan->slice, scan->source);
		(void) next_slice(scan);

		/* A page can take long. */
		if (limits != NULL && !INSTR_TIME_IS_ZERO(limits->deadline))
			scan->check_mask = 0;
	}

	if ((plan->path == SST_IO_PATH_BUFFER || !scan_files(scan)) &&
		!must_stop(scan))
	{
		if (plan->in_recovery ||
			(plan->rules == SST_RULES_TOLERANT && !IsInParallelMode()))
			scan_buffers_to_the_end(scan);
		else
		{
			do
				scan_buffers(scan);
			while (next_slice(scan));
		}
	}

	end_slice(scan);
	report_progress(scan);
	FreeAccessStrategy(scan->strategy);
	sst_block_reader_end(&scan->again);
	scan->result->meta = scan->visitor.meta;
}

/*
 * Do one process's part of a scan: what the chunks give, or all of it if there
 * are none.  Chunks, set and sinks can be NULL.  Sets up the result.
 *
 * Afterwards no lock on a page and no pin is held.  A scan by contrib's rules
 * ends at the first corrupt page, or with the buffer manager's error.
 */
static void
scan_part(const SstScanPlan *plan, Relation rel, SstChunks *chunks,
		  const SstBlockSet *set, const SstScanSinks *sinks,
		  SstScanResult *result)
{
	Scan		scan = {.plan = plan, .rel = rel, .result = result,
	.chunks = chunks};
	SstRangeSource range;
	SstSampleSource sample;
	SstSkipSource rest;

	if (sinks != NULL)
		scan.sinks = *sinks;
	if (plan->sample_pages > 0)
		scan.source = sst_sample_source_init(&sample, plan->sample_blocks,
											 plan->sample_pages, plan->seed,
											 set, plan->members);
	else
	{
		scan.source = sst_range_source_init(&range, chunks, plan->first,
											plan->end);
		if (set != NULL)
			scan.source = sst_skip_source_init(&rest, scan.source, set);
	}
	sst_plan_visitor(plan, rel, scan.sinks.rebuild != NULL ? &scan.kept : NULL,
					 &scan.visitor);

	sst_result_init(result, plan);
	scan_source(&scan);
}

/*
 * Carry out a plan for an open relation, in this process alone.  The set of
 * blocks, which can be NULL, is that of which the plan speaks.
 */
void
sst_scan_alone(const SstScanPlan *plan, Relation rel, const SstBlockSet *set,
			   const SstScanSinks *sinks, SstScanResult *result)
{
	sst_progress_scan(plan->relid, sst_plan_nblocks(plan), true);
	scan_part(plan, rel, NULL, set, sinks, result);
}

/*
 * Do that with the given visitor in the place of the plan's own.  "limits" can
 * be NULL.
 */
void
sst_scan_with_visitor(const SstScanPlan *plan, Relation rel,
					  const SstVisitor *visitor, SstLimits *limits,
					  SstScanResult *result)
{
	Scan		scan = {.plan = plan, .rel = rel, .visitor = *visitor,
	.sinks = {.limits = limits}, .result = result};
	SstRangeSource range;

	sst_progress_scan(plan->relid, sst_plan_nblocks(plan), false);
	scan.source = sst_range_source_init(&range, NULL, plan->first, plan->end);
	sst_result_init(result, plan);
	scan_source(&scan);
}

static void
participate(const void *plan, Relation rel, SstChunks *chunks,
			const SstBlockSet *set, void *result)
{
	scan_part(plan, rel, chunks, set, NULL, result);
}

static void
merge(void *into, const void *from)
{
	sst_result_merge(into, from);
}

static const SstParallelTask scan_task = {
	.worker = "sst_scan_worker",
	.plan_size = sizeof(SstScanPlan),
	.result_size = sizeof(SstScanResult),
	.participate = participate,
	.merge = merge
};

extern PGDLLEXPORT void sst_scan_worker(dsm_segment *seg, shm_toc *toc);

/* Where a worker begins */
void
sst_scan_worker(dsm_segment *seg, shm_toc *toc)
{
	sst_parallel_worker(&scan_task, seg, toc);
}

/* A scan with parallel workers, and what it needs */
typedef struct ParallelScan
{
	SstParallelJob job;
	Relation	rel;
	int			nworkers;
	SstScanResult *result;
} ParallelScan;

static void
parallel_scan_action(void *arg)
{
	ParallelScan *scan = arg;
	int			nworkers = sst_parallel_run(&scan_task, &scan->job, scan->rel,
											scan->nworkers, scan->result);

	scan->result->io_stats.nworkers = nworkers;
}

/*
 * Carry out a plan for an open relation, with parallel workers where they help.
 * The set of blocks, which can be NULL, is that of which the plan speaks.
 */
void
sst_scan_run(const SstScanPlan *plan, Relation rel, const SstBlockSet *set,
			 SstScanResult *result)
{
	ParallelScan scan = {
		.job = {.plan = plan, .set = set, .first = plan->first,
		.end = plan->end},
		.rel = rel, .result = result
	};

	sst_progress_scan(plan->relid, sst_plan_nblocks(plan), true);
	if (plan->sample_pages == 0 && sst_max_rate == 0)
		scan.nworkers = sst_parallel_workers(rel, plan->forknum,
											 sst_plan_nblocks(plan),
											 plan->nblocks);

	if (scan.nworkers > 0)
	{
		if (plan->rules != SST_RULES_TOLERANT || plan->in_recovery)
		{
			parallel_scan_action(&scan);
			return;
		}
		if (try_action(parallel_scan_action, &scan))
			return;
	}

	scan_part(plan, rel, NULL, set, NULL, result);
}
