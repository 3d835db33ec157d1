/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  Reading blocks of many relations into memory, with one queue
 *
 * The blocks are cut into runs of adjacent blocks.  The kernel gets advice for
 * runs as far ahead as for one large relation, across relations.  So small
 * relations do not cost a round trip to the storage each.  Then the runs are
 * read in order, from the page cache.
 *
 * A relation is locked from its first advice to its last read, without waiting
 * for the lock.  It is identified by its files, and not opened, except for
 * parallel workers (large_range.c).  Each run is read in a subtransaction, so
 * that an error affects only its blocks, and becomes the fork's note.
 *
 * In recovery, where a conflict in a subtransaction would end the session, pages are
 * read into private memory and checked before they are read into buffers.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/queue.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "run/blocking.h"
#include "run/progress.h"
#include "stream/page_cache.h"
#include "stream/segment_file.h"
#include "streamstat.h"
#include "warm/cursor.h"
#include "warm/large_range.h"
#include "warm/run_reader.h"
#include "warm/warm.h"

/* Seconds that the runs under way take at most where a rate is set */
#define RATED_SECONDS 0.1

typedef struct Queue
{
	SstWarmSet *set;
	const SstWarmOptions *options;
	SstIoStats *io_stats;
	SstRunReader reader;
	SstWarmEnd	end;

	SstWarmCursor cursor;		/* what is taken next */
	SstSegmentFile advice_file;
	int			advised;		/* fork that this is of, or -1 */
	int64		small_range;	/* workers did not pay for this one, or -1 */

	/* A ring of runs */
	SstWarmRun *runs;
	int			first_run;
	int			nruns;
	int			max_runs;
	int			nmissing;		/* runs with something to read */
	int			npending;		/* blocks to read in all runs */
	int			depth;			/* most of these */

	/* Limits */
	SstFreeBuffers *free_buffers;	/* or NULL */
	bool		throttled;
	SstThrottle throttle;

	/* Progress */
	int			reported;		/* fork whose blocks are counted, or -1 */
	BlockNumber ndone;			/* of it */
	instr_time	mark;			/* end of the last run */
} Queue;

/* Count the time since the last run for a fork. */
static void
count_time(Queue *queue, SstWarmFork *fork)
{
	instr_time	now;
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(now);
	elapsed = now;
	INSTR_TIME_SUBTRACT(elapsed, queue->mark);
	fork->elapsed_ms += INSTR_TIME_GET_MILLISEC(elapsed);
	queue->mark = now;
}

/* May it pay to have the next blocks read by parallel workers? */
static bool
is_large_range(const Queue *queue)
{
	return sst_cursor_blocks_ahead(&queue->cursor) >= SST_LARGE_RANGE_BLOCKS && !queue->throttled &&
		queue->options->mode != SST_PREWARM_PREFETCH &&
		queue->small_range != queue->cursor.range;
}

/* Warm the rest of the present range by workers, or else leave it to the queue. */
static void
warm_large_range(Queue *queue)
{
	SstWarmCursor *cursor = &queue->cursor;
	SstWarmFork *fork = &queue->set->forks[cursor->fork];
	BlockNumber nblocks = sst_cursor_blocks_ahead(cursor);

	if ((queue->free_buffers == NULL ||
		 sst_free_buffers_suffice(queue->free_buffers, nblocks, 0)) &&
		sst_warm_large_range(fork, queue->options->mode, cursor->blkno,
							 cursor->blkno + nblocks, queue->io_stats))
	{
		cursor->blkno += nblocks;
		if (queue->free_buffers != NULL)
			sst_free_buffers_take(queue->free_buffers, nblocks);
		count_time(queue, fork);
	}
	else
		queue->small_range = cursor->range;
}

/* A run from this block on is not read now. */
static inline void
note_next_block(SstWarmFork *fork, BlockNumber blkno)
{
	if (fork->next_block == InvalidBlockNumber)
		fork->next_block = blkno;
}

/* Stop reading a fork, because others wait for its lock. */
static void
give_up(SstWarmFork *fork)
{
	fork->left_out = true;
	if (fork->note == NULL)
		fork->note = _("stopped because another session waits for a lock");
}

/*
 * Let all relations go, because others wait for one of them: no more is read of the
 * forks in the queue.  If others then wait for our transaction still, the call ends.
 */
static void
give_way(Queue *queue)
{
	sst_cursor_leave(&queue->cursor);
	sst_segment_file_close(&queue->advice_file);
	queue->advised = -1;
	if (sst_is_blocking())
		queue->end = SST_WARM_BLOCKING;

	for (; queue->nruns > 0; queue->nruns--)
	{
		SstWarmRun *run = &queue->runs[queue->first_run];
		SstWarmFork *fork = &queue->set->forks[run->fork];

		if (queue->end == SST_WARM_BLOCKING)
			note_next_block(fork, run->first);
		else
			give_up(fork);
		queue->first_run = (queue->first_run + 1) % queue->max_runs;
	}
	queue->nmissing = queue->npending = 0;
}

/*
 * How many blocks may be read more?  None where a limit was reached; -1 where
 * the relations had to be unlocked, because others waited while this slept.
 */
static int
allowed_blocks(Queue *queue)
{
	const SstLimits *limits = queue->options->limits;
	int			nblocks;

	if (!queue->throttled)
		return sst_cold_run_blocks();

	nblocks = sst_throttle_take(&queue->throttle, sst_cold_run_blocks());
	if (nblocks == 0 && queue->throttle.must_yield)
	{
		give_way(queue);
		return -1;
	}

	if (nblocks == 0)
		queue->end = limits->bytes_left < BLCKSZ ? SST_WARM_MAX_BYTES :
			SST_WARM_MAX_TIME;
	return nblocks;
}

/* Have the run's files at hand for advice. */
static void
open_advice_file(Queue *queue, const SstWarmRun *run)
{
	if (queue->advised == run->fork)
		return;
	sst_segment_file_close(&queue->advice_file);
	sst_segment_file_init_files(&queue->advice_file, &run->relation->files,
								queue->set->forks[run->fork].forknum);
	queue->advised = run->fork;
}

/*
 * Are all of the run's blocks in the page cache?  That is where the mode wants them,
 * unless it is shared buffers.
 */
static bool
is_in_page_cache(Queue *queue, const SstWarmRun *run)
{
	int			fd;

	if (queue->options->mode == SST_PREWARM_BUFFER)
		return false;
	fd = sst_segment_file_open(&queue->advice_file, run->first);
	return fd >= 0 &&
		sst_page_cache_has(fd, (off_t) BLCKSZ * (run->first % RELSEG_SIZE),
						   (off_t) BLCKSZ * run->nblocks);
}

/*
 * Ask the kernel for the run's missing blocks, and for those between them; and first,
 * how many of them it has.
 */
static void
advise_run(Queue *queue, SstWarmRun *run)
{
	BlockNumber first = pg_rightmost_one_pos64(run->missing);
	BlockNumber last = pg_leftmost_one_pos64(run->missing);
	int			ncached;

	run->nabsent = run->nmissing;
	if (sst_direct_io() && queue->options->mode == SST_PREWARM_BUFFER)
		return;
	ncached = sst_page_cache_blocks(&queue->advice_file, run->first + first,
									last - first + 1);
	run->nabsent = ncached < 0 ? -1 : last - first + 1 - ncached;
	if (sst_segment_file_advise(&queue->advice_file, run->first + first,
								last - first + 1))
	{
		queue->io_stats->advice_calls++;
		queue->io_stats->advice_blocks += last - first + 1;
	}
}

/* Add a run to the queue.  False at the end of the set, or of what is allowed. */
static bool
add_run(Queue *queue)
{
	SstWarmRun *run = &queue->runs[(queue->first_run + queue->nruns) %
								   queue->max_runs];
	SstWarmCursor *cursor = &queue->cursor;
	SstWarmCursor before;
	int			nallowed;

	if (!sst_cursor_find(cursor) || is_large_range(queue))
		return false;
	nallowed = allowed_blocks(queue);
	if (nallowed <= 0)
		return nallowed < 0;

	before = *cursor;
	sst_cursor_take(cursor, run, nallowed,
					queue->options->mode == SST_PREWARM_BUFFER);
	open_advice_file(queue, run);
	if (is_in_page_cache(queue, run))
		run->missing = 0;
	run->nmissing = pg_popcount64(run->missing);
	if (queue->throttled)
		sst_throttle_give_back(&queue->throttle, nallowed - run->nmissing);
	if (queue->free_buffers != NULL && run->nmissing > 0)
	{
		if (!sst_free_buffers_suffice(queue->free_buffers, run->nmissing,
									  queue->npending))
		{
			if (queue->throttled)
				sst_throttle_give_back(&queue->throttle, run->nmissing);
			*cursor = before;
			queue->end = SST_WARM_FULL;
			return false;
		}
		sst_free_buffers_take(queue->free_buffers, run->nmissing);
	}

	if (run->nmissing > 0)
	{
		advise_run(queue, run);
		queue->nmissing++;
		queue->npending += run->nmissing;
	}
	run->relation->nruns++;
	queue->nruns++;

	return true;
}

/* Report how far the queue is, in blocks of the fork that is being read. */
static void
report_run(Queue *queue, const SstWarmRun *run)
{
	const SstWarmFork *fork = &queue->set->forks[run->fork];

	if (queue->reported != run->fork)
	{
		sst_progress_scan(fork->relation->relid, fork->nblocks, false);
		queue->reported = run->fork;
		queue->ndone = 0;
	}
	queue->ndone += run->nwanted;
	sst_progress_blocks(queue->ndone);
}

/* Have others taken the buffers that were counted as free? */
static inline bool
lacks_buffers(const Queue *queue)
{
	return queue->free_buffers != NULL && sst_free_list_is_empty();
}

/* Read the first run of the queue, and let it go. */
static void
finish_first_run(Queue *queue)
{
	SstWarmRun *run = &queue->runs[queue->first_run];
	SstWarmFork *fork = &queue->set->forks[run->fork];

	queue->reader.nadvised = queue->nmissing;
	queue->reader.look_ahead = Max(queue->npending, run->nwanted);
	queue->first_run = (queue->first_run + 1) % queue->max_runs;
	queue->nruns--;
	queue->nmissing -= run->nmissing > 0;
	queue->npending -= run->nmissing;

	run->relation->nruns--;
	if (run->nmissing > 0 && lacks_buffers(queue))
	{
		queue->end = SST_WARM_FULL;
		note_next_block(fork, run->first);
	}
	else if (!fork->left_out)
	{
		fork->nwanted += run->nwanted;
		fork->ncached += run->nwanted - run->nmissing;
		if (run->nmissing == 0)
			sst_count_cached_run(&queue->reader, run);
		if (run->nmissing > 0 && !sst_read_run(&queue->reader, run, fork))
		{
			give_way(queue);
			if (queue->end == SST_WARM_BLOCKING)
				note_next_block(fork, run->first);
			else
				give_up(fork);
		}
		report_run(queue, run);
	}

	count_time(queue, fork);
	sst_unlock_done_relations(&queue->cursor.relations);
}

static void
begin_queue(Queue *queue, SstWarmSet *set, const SstWarmOptions *options,
			SstIoStats *io_stats)
{
	memset(queue, 0, sizeof(Queue));
	queue->set = set;
	queue->options = options;
	queue->io_stats = io_stats;
	queue->advised = queue->reported = -1;
	queue->small_range = -1;
	queue->advice_file.fd = -1;

	queue->free_buffers = options->mode == SST_PREWARM_BUFFER ?
		options->free_buffers : NULL;
	queue->throttled = sst_throttle_begin(&queue->throttle, options->limits);
	queue->throttle.yields = true;
	queue->depth = sst_io_depth(InvalidOid);
	if (queue->throttled && queue->throttle.rate > 0)
	{
		double		bytes = (double) sst_cold_run_blocks() * BLCKSZ;

		queue->depth = Max(1, Min(queue->depth, queue->throttle.rate *
								  RATED_SECONDS / bytes));
	}
	queue->max_runs = 2 * queue->depth;
	queue->runs = palloc(sizeof(SstWarmRun) * queue->max_runs);
	sst_cursor_init(&queue->cursor, set, queue->max_runs + 1);
	sst_run_reader_begin(&queue->reader, options->mode, io_stats);
	INSTR_TIME_SET_CURRENT(queue->mark);
}

/*
 * Warm a set, and say in its forks what came of each.  Returns what ended it; what
 * was not looked at then is in the forks' next_block.  What it did is added to
 * io_stats.
 *
 * No relation of the set may be temporary.  No lock is held afterwards, nor anything
 * pinned.  An error about the session, such as a cancel, passes; those about relations
 * become notes.
 */
SstWarmEnd
sst_warm(SstWarmSet *set, const SstWarmOptions *options, SstIoStats *io_stats)
{
	Queue		queue;

	begin_queue(&queue, set, options, io_stats);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (queue.end == SST_WARM_COMPLETE && sst_must_yield())
			give_way(&queue);
		while (queue.end == SST_WARM_COMPLETE && queue.nmissing < queue.depth &&
			   queue.nruns < queue.max_runs && add_run(&queue))
			;
		if (queue.nruns > 0)
			finish_first_run(&queue);
		else if (queue.end == SST_WARM_COMPLETE && sst_cursor_find(&queue.cursor))
			warm_large_range(&queue);
		else
			break;
	}
	sst_segment_file_close(&queue.advice_file);
	sst_run_reader_end(&queue.reader);
	if (queue.end != SST_WARM_COMPLETE)
		sst_cursor_note_rest(&queue.cursor);
	sst_cursor_end(&queue.cursor);
	pfree(queue.runs);

	return queue.end;
}
