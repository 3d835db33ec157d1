/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  The plan of a scan, carried out alone or with parallel workers
 *
 * No subtransaction can begin in parallel mode.  So if refused pages are to be
 * counted, the leader begins a subtransaction before, and repeats the scan
 * alone if there is such a page.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat/compat.h"
#include "run/call.h"
#include "run/parallel.h"
#include "run/scan.h"
#include "stream/buffered.h"
#include "stream/segment_file.h"
#include "streamstat.h"

/* ----------
 * Plans and results
 * ----------
 */

/* Plan to scan all blocks of the main fork. */
void
sst_plan_scan(SstScanPlan *plan, const SstTarget *target, SstRules rules)
{
	memset(plan, 0, sizeof(SstScanPlan));
	plan->relid = RelationGetRelid(target->rel);
	plan->forknum = MAIN_FORKNUM;
	plan->nblocks = target->nblocks;
	plan->end = target->nblocks;
	plan->rules = rules;
	plan->path = sst_choose_io_path(target->rel);
	plan->in_recovery = RecoveryInProgress();
	if (target->kind == SST_HEAP)
	{
		sst_require_internals(SST_TRANSACTIONS);
		plan->horizon = GetOldestNonRemovableTransactionId(target->rel);
	}
}

/*
 * Make the visitor that the plan needs.  That of a table lists the tuples that
 * a rewrite keeps in "kept", which can be NULL.
 */
void
sst_plan_visitor(const SstScanPlan *plan, Relation rel, SstItemList *kept,
				 SstVisitor *visitor)
{
	*visitor = (SstVisitor)
	{
		.nblocks = plan->sample_pages > 0 || plan->all_items ? 0 : plan->nblocks,
			.horizon = plan->horizon, .chains = plan->chains, .kept = kept
	};
	sst_visitor_begin(visitor, sst_relation_am(rel), rel, plan->rules,
					  plan->index_counts == SST_COUNT_TUPLES);
}

/* Set up a result of nothing. */
void
sst_result_init(SstScanResult *result, const SstScanPlan *plan)
{
	memset(result, 0, sizeof(SstScanResult));
	sst_counters_init(&result->counters);
	sst_io_stats_init(&result->io_stats, plan->path);
}

/* Add what was found, but for the I/O. */
static void
merge_found(void *result, const void *other)
{
	SstScanResult *into = result;
	const SstScanResult *from = other;

	sst_counters_merge(&into->counters, &from->counters);
	if (from->meta.known)
		into->meta = from->meta;
	into->nvisited += from->nvisited;
}

/* Add what another scan found of the same relation. */
void
sst_result_merge(SstScanResult *into, const SstScanResult *from)
{
	merge_found(into, from);
	sst_io_stats_merge(&into->io_stats, &from->io_stats);
}

/* ----------
 * The loop of a scan: source to stream to visitor to counters
 *
 * A scan with a limit runs in slices.  At the end of each, the stream has run
 * empty and nothing is pinned, so that the scan can sleep; see limits.c.
 *
 * The loop pins one page at a time, and none while the stream looks for the next
 * one: that can take a read from disk, and VACUUM waits for pins.
 * ----------
 */

/* One process's part of a scan, from scan_begin() to scan_end() */
typedef struct SstScan
{
	const SstScanPlan *plan;
	SstScanSinks sinks;
	SstBlockReader reader;
	SstSource  *source;
	SstVisitor	visitor;
	SstItemList kept;			/* for the rebuild of a table */
	SstItemList dead;			/* for sinks.dead_tids */
	SstScanResult *result;
	SstChunks  *chunks;			/* shared with others, or NULL */

	bool		copied;			/* the page was shown as a private copy */
	BlockNumber reached;		/* one past the highest block visited */

	/* If there is a limit: the pages granted, and the first of them */
	bool		limited;
	SstThrottle throttle;
	BlockNumber ngranted;
	uint64		slice_begin;
	bool		stopped;		/* a limit is reached */
	uint64		check_mask;		/* check after pages whose number has none */
} SstScan;

/* Is the scan to end before its source does? */
static inline bool
scan_must_stop(const SstScan *scan)
{
	return scan->stopped ||
		(scan->plan->rules == SST_RULES_CONTRIB &&
		 scan->result->counters.n[SST_CORRUPT_PAGES] > 0);
}

/* Pages from one look at the clock, or report of progress, to the next */
#define PAGES_PER_REPORT 64

static bool show_copy(SstScan *scan, const SstPage *page, SstCounters *counters);

/*
 * Show a sound page to the model of a rebuild.  One that can take milliseconds gets a copy,
 * because no interrupt is accepted under the lock on a buffer.  Releases that, and the pin.
 */
static void
show_model(SstScan *scan, const SstPage *page, SstCounters *counters)
{
	SstRebuild *rebuild = scan->sinks.rebuild;
	const char *image = page->image;
	bool		locked = BufferIsValid(page->buffer);
	PGAlignedBlock copy;

	if (locked && rebuild->slow_pages)
	{
		image = memcpy(copy.data, image, BLCKSZ);
		UnlockReleaseBuffer(page->buffer);
		locked = false;
	}
	rebuild->model->page(rebuild, image, page->blkno, &scan->kept, counters);
	if (locked)
		UnlockReleaseBuffer(page->buffer);
	if (rebuild->slow_pages || page->blkno % 16 == 0)
		(void) sst_go_on(rebuild->pause);
}

/* Look at all items of a page that the visitor has accepted. */
static bool
has_sound_items(SstScan *scan, const SstPage *page)
{
	SstDiagnosis diagnosis;

	return sst_check_items(scan->reader.rel, &scan->visitor, page->image, page->blkno,
						   &diagnosis);
}

/*
 * Show a page to the visitor, and to the rebuild if it is sound.  False if the
 * page was refused, or makes no sense.  Locks a buffer in share mode meanwhile,
 * and releases its pin.
 *
 * A page that names multixacts is shown without the lock if they have to be looked up:
 * that reads files, and may wait for others.
 */
static inline bool
show_page(SstScan *scan, const SstPage *page, SstCounters *counters)
{
	SstRebuild *rebuild = scan->sinks.rebuild;
	SstXacts   *xacts = &scan->visitor.xacts;
	bool		sound = false;

	scan->copied = false;
	xacts->page_locked = BufferIsValid(page->buffer);
	xacts->postponed = false;
	if (BufferIsValid(page->buffer))
		LockBuffer(page->buffer, BUFFER_LOCK_SHARE);
	if (page->image != NULL)
		sound = scan->visitor.page(&scan->visitor, page->image, page->blkno,
								   counters);
	if (sound && scan->sinks.corrupt != NULL)
		sound = has_sound_items(scan, page);
	if (xacts->postponed)
		return show_copy(scan, page, counters);
	if (sound && rebuild != NULL)
		show_model(scan, page, counters);
	else if (BufferIsValid(page->buffer))
		UnlockReleaseBuffer(page->buffer);

	/* Keep what the visitor has listed. */
	for (int i = 0; sound && i < scan->dead.nitems; i++)
		sst_dead_tids_add(scan->sinks.dead_tids, page->blkno, scan->dead.offnums[i]);

	return sound;
}

/* Show a copy of a page whose buffer is locked; releases lock and pin first. */
static bool
show_copy(SstScan *scan, const SstPage *page, SstCounters *counters)
{
	PGAlignedBlock image;
	SstPage		copy = {page->blkno, image.data, InvalidBuffer};
	bool		sound;

	memcpy(image.data, page->image, BLCKSZ);
	UnlockReleaseBuffer(page->buffer);
	sound = show_page(scan, &copy, counters);
	scan->copied = true;

	return sound;
}

/*
 * Count a page that makes no sense as corrupt.  A private copy can be older than
 * what it names, so that the page is read again through the buffer manager first, which
 * is not reported.
 */
static void
count_unsound_page(SstScan *scan, const SstPage *page, SstCounters *counters)
{
	if (page->image != NULL && (!BufferIsValid(page->buffer) || scan->copied))
	{
		SstIoStats	not_reported = {0};
		SstBlockReader reader = scan->reader;
		SstPage		again;

		reader.io_stats = &not_reported;
		reader.rules = SST_RULES_TOLERANT;
		sst_read_block(&reader, page->blkno, &again, NULL);
		if (show_page(scan, &again, counters))
			return;
	}
	sst_count_corrupt(counters, page->blkno);

	if (scan->sinks.corrupt != NULL)
	{
		SstCorruptList *list = scan->sinks.corrupt;

		list->blknos[list->n++] = page->blkno;
		if (list->n == list->max)
			scan->stopped = true;
	}
}

/* Visit a page, and release its pin. */
static inline void
visit_page(SstScan *scan, const SstPage *page)
{
	SstSamplePart *sample = scan->sinks.sample;
	SstBucketSums *buckets = scan->sinks.buckets;
	SstCounters *counters = &scan->result->counters;
	SstCounters own;

	/* These are told what each page says. */
	if (sample != NULL || buckets != NULL)
	{
		sst_counters_init(&own);
		counters = &own;
	}

	counters->n[SST_PAGE_BYTES] += BLCKSZ;
	if (!show_page(scan, page, counters))
		count_unsound_page(scan, page, counters);

	if (sample != NULL)
		sst_sample_part_add(sample, &own, page->blkno,
							sst_range_start(sample->nblocks, sample->nwanted, sample->nsampled + 1) -
							sst_range_start(sample->nblocks, sample->nwanted, sample->nsampled));
	if (buckets != NULL)
		sst_bucket_sums_add(buckets, &own, page->blkno);
	if (counters == &own)
		sst_counters_merge(&scan->result->counters, &own);
	scan->result->nvisited++;
	scan->reached = Max(scan->reached, page->blkno + 1);

	/*
	 * The other processes read the chunks that they have, so that together
	 * they find the first page at which the scan is to end.
	 */
	if (scan->chunks != NULL && scan_must_stop(scan))
		sst_chunks_stop(scan->chunks);
	if (scan->sinks.corrupt != NULL)
	{
		scan->sinks.corrupt->reached = scan->reached;
		scan->sinks.corrupt->meta = scan->visitor.meta;
	}
}

/*
 * Of a page with line pointers, load this many bytes in advance; the CPU's own
 * prefetcher then sees to the rest.  Found by trying 64 to 1536.
 */
#define PREFETCH_BYTES 896

/* Start to load the header, the line pointers if needed, and the special space. */
static inline void
prefetch_page(const char *image, SstPagePart part)
{
#ifdef __GNUC__
	int			nbytes = part == SST_PART_NONE ? 1 : PREFETCH_BYTES;

	for (int i = 0; i < nbytes; i += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch(image + i, 0, 2);
	__builtin_prefetch(image + BLCKSZ - 1, 0, 2);
#endif
}

/* After a page, do what is due now and then. */
static inline void
check_now_and_then(SstScan *scan)
{
	if ((scan->result->nvisited & scan->check_mask) != 0)
		return;

	if (scan->sinks.halfway != NULL &&
		scan->result->nvisited == sst_plan_nblocks(scan->plan) / 2)
		INSTR_TIME_SET_CURRENT(*scan->sinks.halfway);
	sst_progress_blocks(scan->result->nvisited, scan->chunks);
	sst_check_blocking();
	if (sst_limits_expired(scan->sinks.limits))
		scan->stopped = true;
}

/* Return what was granted and not used. */
static void
end_slice(SstScan *scan)
{
	BlockNumber nused = scan->result->nvisited - scan->slice_begin;

	if (scan->limited && scan->ngranted > nused)
		sst_throttle_give_back(&scan->throttle, scan->ngranted - nused);
	scan->ngranted = 0;
}

/*
 * After a slice, wait until another one may begin.  False if there is none, or no
 * limit.  The caller holds no pin and no page lock.
 */
static bool
scan_next_slice(SstScan *scan)
{
	BlockNumber nblocks = sst_plan_nblocks(scan->plan);
	uint64		nvisited = scan->result->nvisited;

	if (!scan->limited)
		return false;

	end_slice(scan);
	sst_progress_blocks(scan->result->nvisited, scan->chunks);
	if (scan_must_stop(scan) || !sst_source_has_more(scan->source))
		return false;

	scan->ngranted = sst_throttle_take(&scan->throttle,
									   nvisited < nblocks ? nblocks - nvisited : 1);
	scan->slice_begin = nvisited;
	scan->stopped = (scan->ngranted == 0);
	if (scan->stopped)
		return false;

	sst_source_cut(scan->source, scan->ngranted);
	return true;
}

/*
 * Visit all pages of a stream.  A page's pin is released before the stream is
 * asked for another one, which may wait for a read.
 */
static void
visit_stream(SstScan *scan, SstStream *stream)
{
	SstPage		page;

	while (!scan_must_stop(scan) && stream->next(stream, &page))
	{
		const char *image = stream->peek(stream);

		/* Let the CPU fetch what the visitor will look at soon. */
		if (image != NULL)
			prefetch_page(image, scan->visitor.needs.part);
		if (scan->sinks.rebuild != NULL)
			scan->sinks.rebuild->ahead = image;

		visit_page(scan, &page);
		check_now_and_then(scan);
		CHECK_FOR_INTERRUPTS();
	}
	if (scan->sinks.rebuild != NULL)
		scan->sinks.rebuild->ahead = NULL;
}

/*
 * Scan through the buffer stream, to the end of a slice if there is a limit.
 * Errors of the buffer manager pass through.
 */
static void
scan_buffers(void *arg)
{
	SstScan    *scan = arg;
	SstStream  *stream = sst_buffer_stream_begin(&scan->reader, scan->source, false);

	PG_TRY();
	{
		visit_stream(scan, stream);
	}
	PG_CATCH();
	{
		sst_buffer_stream_abandon(stream);
		PG_RE_THROW();
	}
	PG_END_TRY();
	stream->end(stream);
}

/*
 * May pages be visited as they arrive?  Sums are the same in any order.  Samples,
 * lists and rebuilds are made in the order of blocks; a limit ends a scan at a
 * block; and contrib's rules report the first corrupt page.
 */
static bool
any_order(const SstScan *scan)
{
	const SstScanSinks *sinks = &scan->sinks;

	return scan->plan->rules == SST_RULES_TOLERANT &&
		sinks->corrupt == NULL && sinks->sample == NULL &&
		sinks->rebuild == NULL && sinks->dead_tids == NULL &&
		sinks->limits == NULL;
}

/* Scan through the file stream. */
static void
scan_files(SstScan *scan)
{
	SstStream  *stream = sst_file_stream_begin(&scan->reader, scan->source,
											   sst_plan_nblocks(scan->plan),
											   scan->limited ? 0 : SST_MAX_GAP,
											   &scan->visitor.needs,
											   any_order(scan));

	PG_TRY();
	{
		/* The stream holds no pin, and goes on when its source does. */
		do
			visit_stream(scan, stream);
		while (scan_next_slice(scan));
	}
	PG_FINALLY();
	{
		stream->end(stream);
	}
	PG_END_TRY();
}

/*
 * Begin a scan.  Plan, sinks, relation, source, visitor, result and chunks have
 * been set; all else is zero.  With a limit, this waits for the first slice.
 */
static void
scan_begin(SstScan *scan)
{
	const SstScanPlan *plan = scan->plan;
	const SstLimits *limits = scan->sinks.limits;

	scan->reached = plan->first;
	scan->reader.forknum = plan->forknum;
	scan->reader.strategy = GetAccessStrategy(BAS_BULKREAD);
	scan->reader.io_stats = &scan->result->io_stats;
	scan->reader.rules = plan->rules;
	scan->check_mask = PAGES_PER_REPORT - 1;
	scan->limited = sst_throttle_begin(&scan->throttle, scan->sinks.limits);
	if (scan->limited)
	{
		sst_source_cut(scan->source, 0);
		(void) scan_next_slice(scan);

		/* A page can take long. */
		if (limits != NULL && limits->deadline != 0)
			scan->check_mask = 0;
	}
}

/* End a scan, and complete its result. */
static void
scan_end(SstScan *scan)
{
	end_slice(scan);
	sst_progress_blocks(scan->result->nvisited, scan->chunks);
	FreeAccessStrategy(scan->reader.strategy);
	if (scan->visitor.meta.known)
		scan->result->meta = scan->visitor.meta;
}

/* ----------
 * Continuing a scan after pages that the buffer manager refuses
 *
 * The buffer manager refuses a page with a bad header or checksum.  That must
 * not end a scan that reports what is in the file.  The file stream returns
 * such a page without an image.  The buffer stream raises an error.  The error
 * is caught in a subtransaction, which releases the stream's resources.  What is left
 * of the scan is then read one by one.
 *
 * In recovery no subtransaction begins: a conflict with recovery would end the
 * session, not the query.  All blocks are read one by one there.
 * ----------
 */

/*
 * Run an action in a subtransaction.  False if the buffer manager refused a page;
 * other errors pass through.
 */
static bool
try_reading(void (*action) (void *arg), void *arg)
{
	ErrorData  *error = sst_run_in_subtransaction(action, arg);

	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_DATA_CORRUPTED)
		ReThrowError(error);
	FreeErrorData(error);

	return false;
}

/*
 * Visit what the source still has one by one through the buffer manager.  A block that it
 * refuses is counted, or raises its error, as the rules want.
 */
static void
scan_single_blocks(SstScan *scan)
{
	BlockNumber blkno;
	SstPage		page;

	while (!scan_must_stop(scan))
	{
		CHECK_FOR_INTERRUPTS();
		blkno = sst_source_next(scan->source);
		if (blkno == InvalidBlockNumber)
		{
			if (!scan_next_slice(scan))
				break;
			continue;
		}
		sst_read_block(&scan->reader, blkno, &page, NULL);
		sst_io_stats_returned(scan->reader.io_stats, 1, 1);
		visit_page(scan, &page);
		check_now_and_then(scan);
	}
}

/*
 * Scan through the buffer manager, in slices if there is a limit.  Pages that it refuses
 * are counted, or raise its error by contrib's rules, and in parallel mode, where no
 * subtransaction can begin.
 */
static void
scan_through_buffers(SstScan *scan)
{
	bool		contains = scan->plan->rules == SST_RULES_TOLERANT && !IsInParallelMode();
	bool		one_by_one = scan->plan->in_recovery;

	while (!one_by_one && !scan_must_stop(scan))
	{
		if (!contains)
			scan_buffers(scan);
		else if (!try_reading(scan_buffers, scan))
		{
			one_by_one = true;
			sst_source_seek(scan->source, scan->reached);
			break;
		}
		if (!scan_next_slice(scan))
			break;
	}
	if (one_by_one)
	{
		SstIoStats *io_stats = &scan->result->io_stats;
		int64		nhit;

		scan_single_blocks(scan);

		/*
		 * What was on its way at an error was asked for again, and then
		 * mostly found in buffers.
		 */
		nhit = (int64) scan->result->nvisited - io_stats->blocks_read;
		io_stats->blocks_hit = Min(io_stats->blocks_hit, Max(nhit, 0));
		io_stats->blocks_read = (int64) scan->result->nvisited - io_stats->blocks_hit;
		io_stats->blocks_requested = scan->result->nvisited;
	}
}

/* ----------
 * The scan, parallel or serial
 * ----------
 */

/*
 * Scan what the source gives.  Source, visitor, sinks and result have been set
 * up.
 */
static void
scan_source(SstScan *scan)
{
	scan_begin(scan);
	if (scan->plan->path == SST_IO_PATH_FILE)
		scan_files(scan);
	else
		scan_through_buffers(scan);
	scan_end(scan);
}

/*
 * Do one process's part of a scan: what the chunks give, or all of it if there
 * are none.  Chunks, set and sinks can be NULL.  Adds to the result.
 *
 * Afterwards no lock on a page and no pin is held.  A scan by contrib's rules
 * ends at the first corrupt page, or with the buffer manager's error.
 */
static void
scan_part(const SstScanPlan *plan, Relation rel, SstChunks *chunks,
		  const SstBlockSet *set, const SstScanSinks *sinks,
		  SstScanResult *result)
{
	SstScan		scan = {.plan = plan, .reader = {.rel = rel}, .result = result,
	.chunks = chunks};
	SstRangeSource range;
	SstSampleSource sample;

	if (sinks != NULL)
		scan.sinks = *sinks;
	if (plan->sample_pages > 0)
		scan.source = sst_sample_source_init(&sample, plan->sample_blocks,
											 plan->sample_pages, plan->seed,
											 set, plan->members);
	else
		scan.source = sst_range_source_init(&range, chunks, plan->first,
											plan->end, set);
	sst_plan_visitor(plan, rel, scan.sinks.rebuild != NULL ? &scan.kept : NULL,
					 &scan.visitor);
	if (scan.sinks.dead_tids != NULL)
		scan.visitor.dead = &scan.dead;
	if (scan.sinks.corrupt != NULL)
	{
		scan.visitor.all_tuples = true;
		scan.visitor.meta = scan.sinks.corrupt->meta;
	}
	if (scan.sinks.rebuild != NULL || scan.sinks.dead_tids != NULL ||
		scan.sinks.corrupt != NULL)
		scan.visitor.needs.part = SST_PART_ALL;

	scan_source(&scan);
}

/*
 * Begin a scan.  Pages are read without a snapshot: that of the catalogs is released,
 * so that a transaction without another one holds back no VACUUM, and no
 * command with CONCURRENTLY waits for it.
 */
static void
begin_scan(const SstScanPlan *plan)
{
	InvalidateCatalogSnapshot();
	sst_progress_scan(plan->relid, sst_plan_nblocks(plan), !plan->more_follow);
}

/*
 * Carry out a plan for an open relation, in this process alone.  The set of
 * blocks, which can be NULL, is that of which the plan speaks.
 */
void
sst_scan_alone(const SstScanPlan *plan, Relation rel, const SstBlockSet *set,
			   const SstScanSinks *sinks, SstScanResult *result)
{
	begin_scan(plan);
	sst_result_init(result, plan);
	scan_part(plan, rel, NULL, set, sinks, result);
}

static void
participate(const void *plan, Relation rel, SstChunks *chunks,
			const SstBlockSet *set, void *result)
{
	sst_result_init(result, plan);
	scan_part(plan, rel, chunks, set, NULL, result);
}

static const SstParallelTask scan_task = {
	.worker = "sst_scan_worker",
	.plan_size = sizeof(SstScanPlan),
	.result_size = sizeof(SstScanResult),
	.participate = participate,
	.merge = merge_found
};

extern PGDLLEXPORT void sst_scan_worker(dsm_segment *seg, shm_toc *toc);

/* Where a worker begins */
void
sst_scan_worker(dsm_segment *seg, shm_toc *toc)
{
	sst_parallel_worker(&scan_task, seg, toc);
}

static void
run_parallel_scan(void *job)
{
	sst_parallel_run(job);
}

/*
 * The least for each participant of a scan: blocks, or for what is at hand microseconds, about as
 * many as starting and ending a worker takes (bench/run has such scans with and without one).
 * How long a block at hand takes depends on the machine and on the size of the kernel's pages.
 */
#define MIN_BLOCKS_PER_PARTICIPANT 8192
#define MIN_TIME_PER_PARTICIPANT 8000.0

/* ... and blocks at hand between others that are left out: the first ones say little of the rest */
#define MIN_SCATTERED_PER_PARTICIPANT 32768

/* Blocks that are read to see what one takes: the second half is timed */
#define TRIAL_BLOCKS 2048

/* Is most of what the plan reads in buffers, or in the page cache to be mapped? */
static bool
is_at_hand(const SstScanPlan *plan, Relation rel)
{
	SstVisitor	visitor;

	if (sst_mostly_buffered(rel, plan->forknum, plan->nblocks))
		return true;
	if (sst_map_files == SST_MAP_FILES_OFF || plan->path != SST_IO_PATH_FILE)
		return false;
	sst_plan_visitor(plan, rel, NULL, &visitor);
	return visitor.needs.part <= SST_PART_LINE_POINTERS &&
		sst_page_cache_share(rel, plan->forknum, plan->first, plan->end) > 0.5;
}

/*
 * Scan the first blocks of the plan.  Returns the least number of blocks for each
 * participant of the rest.
 */
static BlockNumber
try_some_blocks(const SstScanPlan *plan, Relation rel, const SstBlockSet *set,
				SstScanResult *result)
{
	SstScanPlan trial = *plan;
	instr_time	begin;
	instr_time	time;
	SstScanSinks sinks = {.halfway = &begin};

	trial.end = plan->first + TRIAL_BLOCKS;
	INSTR_TIME_SET_CURRENT(begin);
	scan_part(&trial, rel, NULL, set, &sinks, result);
	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, begin);

	return 1 + (BlockNumber) (MIN_TIME_PER_PARTICIPANT * TRIAL_BLOCKS / 2 /
							  (INSTR_TIME_GET_MICROSEC(time) + 1));
}

/*
 * Carry out a plan for an open relation, with parallel workers where they help.
 * The set of blocks, which can be NULL, is that of which the plan speaks.
 */
void
sst_scan_run(const SstScanPlan *plan, Relation rel, const SstBlockSet *set,
			 SstScanResult *result)
{
	SstScanPlan rest = *plan;
	SstScanResult shared;
	SstParallelJob job = {
		.task = &scan_task, .rel = rel, .plan = &rest, .set = set,
		.first = plan->first, .end = plan->end, .result = &shared
	};
	bool		done = false;

	begin_scan(plan);
	sst_result_init(result, plan);
	if (plan->sample_pages == 0 && sst_max_rate == 0)
		job.nworkers = sst_parallel_workers(rel, sst_plan_nblocks(plan),
											MIN_BLOCKS_PER_PARTICIPANT);

	if (job.nworkers > 0 && is_at_hand(plan, rel))
	{
		BlockNumber least = MIN_SCATTERED_PER_PARTICIPANT;

		if (plan->nskipped == 0)
		{
			least = try_some_blocks(plan, rel, set, result);
			if (result->counters.n[SST_CORRUPT_PAGES] > 0 && plan->rules == SST_RULES_CONTRIB)
				return;
			rest.first += TRIAL_BLOCKS;
			job.ndone = TRIAL_BLOCKS;
		}
		job.nworkers = sst_parallel_workers(rel, sst_plan_nblocks(&rest), least);
	}

	if (job.nworkers > 0 && plan->in_recovery)
	{
		sst_parallel_run(&job);
		done = true;
	}
	else if (job.nworkers > 0)
		done = try_reading(run_parallel_scan, &job);
	if (done)
		sst_result_merge(result, &shared);
	else
		scan_part(&rest, rel, NULL, set, NULL, result);
}

/* ----------
 * Visibility map and free space map
 *
 * A map is small: one process reads all of it, before the relation itself.
 * ----------
 */

/*
 * Scan the visibility map or the free space map, if there is one, and add to counters what it
 * says of the relation.  Of the counters of the map's own pages, only corrupt pages are kept.
 *
 * From the visibility map, blocks that are all-visible and all-frozen are added to sets,
 * which can be NULL.  Of the free space map, the first set says in which blocks free space is
 * counted apart as well.  limits can be NULL; when one is reached, the rest of the map is missing.
 */
void
sst_scan_map(const SstTarget *target, ForkNumber forknum, SstBlockSet *visible,
			 SstBlockSet *frozen, SstLimits *limits,
			 SstCounters *counters, SstIoStats *io_stats)
{
	SMgrRelation smgr = RelationGetSmgr(target->rel);
	SstScanPlan plan;
	SstScanResult result;
	SstScan		scan = {.plan = &plan, .reader = {.rel = target->rel},
	.sinks = {.limits = limits}, .result = &result};
	SstRangeSource range;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	plan.forknum = forknum;
	plan.nblocks = plan.end =
		smgrexists(smgr, forknum) ? smgrnblocks(smgr, forknum) : 0;
	if (plan.nblocks == 0)
		return;

	plan.more_follow = true;
	begin_scan(&plan);
	sst_map_visitor_init(&scan.visitor, forknum, target->nblocks, visible, frozen);
	scan.source = sst_range_source_init(&range, NULL, 0, plan.end, NULL);
	sst_result_init(&result, &plan);
	scan_source(&scan);

	for (int i = SST_FIRST_MAP_COUNT; i < SST_NCOUNTS; i++)
		counters->n[i] += result.counters.n[i];
	counters->n[SST_MAP_CORRUPT_PAGES] += result.counters.n[SST_CORRUPT_PAGES];
	counters->map_largest_free = Max(counters->map_largest_free,
									 result.counters.map_largest_free);
	sst_io_stats_merge(io_stats, &result.io_stats);
}
