/*-------------------------------------------------------------------------
 *
 * scan_loop.c
 *	  The loop of a scan: source to stream to visitor to counters
 *
 * A scan with a limit runs in slices.  At the end of each, the stream has run
 * empty and nothing is pinned, so that the scan can sleep; see limits.c.
 *
 * The loop pins one page at a time, and none while the stream looks for the next
 * one: that can take a read from disk, and VACUUM waits for pins.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/scan_loop.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "run/blocking.h"
#include "run/progress.h"
#include "run/scan_loop.h"

/* Pages from one look at the clock, or report of progress, to the next */
#define PAGES_PER_REPORT 64

/* Keep what the visitor has listed, and stop if there is no room for it. */
static void
keep_dead_tids(SstScan *scan, BlockNumber blkno)
{
	SstDeadTids *set = scan->sinks.dead_tids;

	for (int i = 0; i < scan->dead.nitems; i++)
		sst_dead_tids_add(set, blkno, scan->dead.offnums[i]);
	if (sst_dead_tids_is_full(set))
		scan->stopped = true;
}

/* Blocks that the page stands for which is visited now */
static BlockNumber
range_blocks(const SstScan *scan)
{
	const SstScanPlan *plan = scan->plan;
	const SstSamplePart *sample = scan->sinks.sample;

	if (sample == NULL)
		return 1;
	return sst_range_start(plan->sample_blocks, plan->sample_pages,
						   sample->nsampled + 1) -
		sst_range_start(plan->sample_blocks, plan->sample_pages,
						sample->nsampled);
}

static bool show_copy(SstScan *scan, const SstPage *page, SstCounters *counters);

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
	if (xacts->postponed)
		return show_copy(scan, page, counters);
	if (sound && rebuild != NULL && rebuild->page != NULL)
	{
		rebuild->page(rebuild, page->image, page->blkno, &scan->kept, counters);
		if (rebuild->entries != NULL)
			sst_entry_sample_add(rebuild->entries, page->image, page->blkno,
								 range_blocks(scan));
	}
	if (BufferIsValid(page->buffer))
		UnlockReleaseBuffer(page->buffer);
	if (sound && scan->sinks.dead_tids != NULL)
		keep_dead_tids(scan, page->blkno);

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
 * what it names, so that the page is read again through the buffer manager first.
 */
static void
count_unsound_page(SstScan *scan, const SstPage *page, SstCounters *counters)
{
	if (page->image != NULL && (!BufferIsValid(page->buffer) || scan->copied))
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(scan->context);
		SstPage		again;

		sst_read_block_noerror(&scan->again, page->blkno, &again);
		MemoryContextSwitchTo(oldcontext);
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

/*
 * If the scan is to end at a page, let the other processes end there as well: they
 * read what precedes it, so that together they find the first such page.  End if
 * one of them has found it.
 */
static inline void
keep_in_step(SstScan *scan, BlockNumber blkno)
{
	if (sst_scan_must_stop(scan))
		sst_chunks_stop(scan->chunks, blkno);
	else if (sst_chunks_stopped(scan->chunks, blkno + 1))
		scan->stopped = true;
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
		sst_sample_part_add(sample, &own, page->blkno, range_blocks(scan));
	if (buckets != NULL)
		sst_bucket_sums_add(buckets, &own, page->blkno);
	if (counters == &own)
		sst_counters_merge(&scan->result->counters, &own);
	scan->result->nvisited++;
	scan->reached = Max(scan->reached, page->blkno + 1);
	if (scan->chunks != NULL)
		keep_in_step(scan, page->blkno);
	if (scan->sinks.corrupt != NULL)
		scan->sinks.corrupt->reached = scan->reached;
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

/* Report how far the scan is, with all of its processes. */
static void
report_progress(const SstScan *scan)
{
	if (scan->chunks != NULL)
		sst_progress_chunks(scan->chunks, scan->plan->first);
	else
		sst_progress_blocks(scan->result->nvisited);
}

/* After a page, do what is due now and then. */
static inline void
check_now_and_then(SstScan *scan)
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
bool
sst_scan_next_slice(SstScan *scan)
{
	BlockNumber nblocks = sst_plan_nblocks(scan->plan);
	uint64		nvisited = scan->result->nvisited;

	if (!scan->limited)
		return false;

	end_slice(scan);
	report_progress(scan);
	if (sst_scan_must_stop(scan) || !sst_slice_source_more(&scan->slice))
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

/* Visit a page that the caller has read, and release its pin. */
void
sst_scan_page(SstScan *scan, const SstPage *page)
{
	visit_page(scan, page);
	check_now_and_then(scan);
}

/*
 * Visit all pages of a stream.  A page's pin is released before the stream is
 * asked for another one, which may wait for a read.
 */
static void
visit_stream(SstScan *scan, SstStream *stream)
{
	SstPage		page;

	while (!sst_scan_must_stop(scan) && stream->next(stream, &page))
	{
		const char *image = stream->peek(stream);

		/* Let the CPU fetch what the visitor will look at soon. */
		if (image != NULL)
			prefetch_page(image, scan->visitor.prefetch_bytes);

		visit_page(scan, &page);
		check_now_and_then(scan);
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Scan through the buffer stream, to the end of a slice if there is a limit.
 * Errors of the buffer manager pass through, and leave scan->stream set.
 */
void
sst_scan_buffers(SstScan *scan)
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

/*
 * Scan through the file stream.  False if it gave up: then the rest of the source
 * is for the buffer stream.
 */
bool
sst_scan_files(SstScan *scan)
{
	SstStream  *stream = sst_file_stream_begin(scan->rel, scan->plan->forknum,
											   scan->source,
											   sst_plan_nblocks(scan->plan),
											   scan->strategy,
											   scan->plan->rules,
											   &scan->visitor.needs,
											   any_order(scan),
											   &scan->result->io_stats);
	bool		gave_up;

	/* The stream holds no pin, and goes on when its source does. */
	do
	{
		visit_stream(scan, stream);
		gave_up = sst_file_stream_gave_up(stream);
	} while (!gave_up && sst_scan_next_slice(scan));
	stream->end(stream);

	return !gave_up;
}

/*
 * Begin a scan.  Plan, sinks, relation, source, visitor, result and chunks have
 * been set; all else is zero.  With a limit, this waits for the first slice.
 */
void
sst_scan_begin(SstScan *scan)
{
	const SstScanPlan *plan = scan->plan;
	const SstLimits *limits = scan->sinks.limits;

	scan->reached = plan->first;
	scan->context = CurrentMemoryContext;
	scan->strategy = GetAccessStrategy(BAS_BULKREAD);
	scan->again = (SstBlockReader)
	{
		scan->rel, plan->forknum, scan->strategy,
			&scan->not_reported
	};

	scan->check_mask = PAGES_PER_REPORT - 1;
	scan->limited = sst_throttle_begin(&scan->throttle, scan->sinks.limits);
	if (scan->limited)
	{
		scan->source = sst_slice_source_init(&scan->slice, scan->source);
		(void) sst_scan_next_slice(scan);

		/* A page can take long. */
		if (limits != NULL && !INSTR_TIME_IS_ZERO(limits->deadline))
			scan->check_mask = 0;
	}
}

/* End a scan, and complete its result. */
void
sst_scan_end(SstScan *scan)
{
	end_slice(scan);
	report_progress(scan);
	FreeAccessStrategy(scan->strategy);
	sst_block_reader_end(&scan->again);
	scan->result->meta = scan->visitor.meta;
}
