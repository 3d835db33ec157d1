/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  Bringing blocks of many relations into memory, by one queue
 *
 * The blocks are cut into runs of neighbours.  The kernel is advised of runs as far
 * ahead as one large relation would be read ahead, over as many relations as that
 * takes.  So small relations do not cost a round trip to the storage each.  Then the
 * runs are read in their order, and find their data in the page cache.
 *
 * A relation is locked from its first advice to its last read, and no lock is waited
 * for.  It is known by where its files are; nothing of it gets into the relation
 * cache.  Each run is read in a subtransaction, so that an error costs the blocks that
 * it is about, and becomes the fork's note.
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
#include "storage/lmgr.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "relation/present_files.h"
#include "run/blocking.h"
#include "run/progress.h"
#include "stream/free_buffers.h"
#include "stream/page_cache.h"
#include "stream/segment_file.h"
#include "streamstat.h"
#include "warm/run_reader.h"
#include "warm/warm.h"

/* Blocks between two ranges that are advised as well, rather than by two calls */
#define MAX_GAP 8

/* Seconds that the runs under way take at most where a rate is set */
#define RATED_SECONDS 0.1

typedef struct Queue
{
	SstWarmSet *set;
	const SstWarmOptions *options;
	SstIoStats *io_stats;
	SstRunReader reader;
	SstWarmEnd	end;

	/* What is taken of the set next */
	int64		range;
	BlockNumber blkno;			/* or InvalidBlockNumber before its first one */
	int			fork;			/* that was prepared last, or -1 */
	SstSegmentFile advice_file;

	/* Rings: runs, and the relations that they are of, in the same order */
	SstWarmRun *runs;
	int			first_run;
	int			nruns;
	int			max_runs;
	int			nmissing;		/* runs with something to read */
	int			depth;			/* most of these */
	SstWarmRelation *relations;
	int			first_relation;
	int			nrelations;

	/* Limits */
	bool		throttled;
	SstThrottle throttle;
	SstFreeBuffers free_buffers;

	/* Progress */
	int			reported;		/* fork whose blocks are counted, or -1 */
	BlockNumber ndone;			/* of it */
	Oid			begun;			/* relation that was begun last */
	int64		nbegun;
	instr_time	mark;			/* end of the last run */
} Queue;

static inline SstWarmRelation *
last_relation(Queue *queue)
{
	return queue->nrelations == 0 ? NULL :
		&queue->relations[(queue->first_relation + queue->nrelations - 1) %
						  (queue->max_runs + 1)];
}

/* Unlock a relation of which no run is left. */
static void
close_relation(SstWarmRelation *relation)
{
	sst_files_close(&relation->files);
	UnlockRelationOid(relation->relid, AccessShareLock);
}

/* Unlock the last relation: the next block is of another one. */
static void
close_last_relation(Queue *queue)
{
	close_relation(last_relation(queue));
	queue->nrelations--;
	queue->fork = -1;
}

/* Unlock the relations before the last one that no run needs any more. */
static void
close_relations(Queue *queue)
{
	while (queue->nrelations > 1 &&
		   queue->relations[queue->first_relation].nruns == 0)
	{
		close_relation(&queue->relations[queue->first_relation]);
		queue->first_relation = (queue->first_relation + 1) % (queue->max_runs + 1);
		queue->nrelations--;
	}
}

/*
 * Lock the fork's relation, unless it is the last one already.  NULL, with a note, if
 * it is locked by others or dropped.
 */
static SstWarmRelation *
open_relation(Queue *queue, SstWarmFork *fork)
{
	SstWarmRelation *relation = last_relation(queue);
	Oid			relid = fork->relation->relid;
	SstFiles	files;
	char		persistence;

	if (relation != NULL && relation->relid == relid)
		return relation;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		fork->note = _("locked by another session");
		return NULL;
	}
	if (!sst_present_files(relid, &files, &persistence))
	{
		UnlockRelationOid(relid, AccessShareLock);
		fork->note = _("dropped meanwhile");
		return NULL;
	}

	/* The one before may have had nothing to read, or all of it is read. */
	if (relation != NULL && relation->nruns == 0)
		close_last_relation(queue);
	queue->nrelations++;
	relation = last_relation(queue);
	relation->relid = relid;
	relation->files = files;
	relation->persistence = persistence;
	relation->nruns = 0;

	return relation;
}

/* Begin to take blocks of a fork.  False if that is not possible. */
static bool
prepare_fork(Queue *queue, int forkno)
{
	SstWarmFork *fork = &queue->set->forks[forkno];
	Oid			relid = fork->relation->relid;
	SstWarmRelation *relation;

	if (fork->left_out)
		return false;
	relation = open_relation(queue, fork);
	if (relation == NULL)
	{
		fork->left_out = true;
		return false;
	}
	if (queue->fork == forkno)
		return true;

	if (fork->nblocks == InvalidBlockNumber && relid != queue->begun)
	{
		sst_progress_relations(queue->nbegun++);
		queue->begun = relid;
	}
	fork->nblocks = sst_files_blocks(&relation->files, fork->forknum);
	sst_segment_file_close(&queue->advice_file);
	sst_segment_file_init_files(&queue->advice_file, &relation->files,
								fork->forknum);
	queue->fork = forkno;

	return true;
}

/*
 * Step to the next block that is wanted, of whatever fork.  False at the end of the
 * set.
 */
static bool
find_block(Queue *queue)
{
	SstWarmSet *set = queue->set;

	for (; queue->range < set->nranges; queue->range++)
	{
		const SstWarmRange *range = &set->ranges[queue->range];

		CHECK_FOR_INTERRUPTS();
		if (prepare_fork(queue, range->fork))
		{
			if (queue->blkno == InvalidBlockNumber)
				queue->blkno = range->first;
			if (queue->blkno < Min(range->end, set->forks[range->fork].nblocks))
				return true;
		}
		queue->blkno = InvalidBlockNumber;
	}

	return false;
}

/*
 * Take up to most blocks to read, and those between them that are there already, for
 * a run that begins at the present block.  It ends with the last one taken.
 */
static void
take_run(Queue *queue, SstWarmRun *run, int most)
{
	SstWarmSet *set = queue->set;
	const SstWarmFork *fork = &set->forks[run->fork];
	BlockNumber first = queue->blkno;
	BlockNumber limit = first + sst_run_blocks();
	int			nmissing = 0;

	limit = Min(limit, first - first % RELSEG_SIZE + RELSEG_SIZE);
	limit = Min(limit, fork->nblocks);
	run->first = first;
	run->missing = 0;
	run->nwanted = 0;
	run->nblocks = 0;

	while (nmissing < most)
	{
		const SstWarmRange *range = &set->ranges[queue->range];
		BlockNumber end = Min(range->end, limit);

		for (; queue->blkno < end && nmissing < most; queue->blkno++)
		{
			int			i = queue->blkno - first;

			run->nwanted++;
			run->nblocks = i + 1;
			if (queue->options->mode == SST_PREWARM_BUFFER &&
				sst_is_buffered(&run->relation->files, fork->forknum, queue->blkno))
				continue;
			run->missing |= UINT64CONST(1) << i;
			nmissing++;
		}
		if (queue->blkno < Min(range->end, fork->nblocks))
			break;

		/* This range is done.  Does the next one follow closely? */
		queue->range++;
		queue->blkno = InvalidBlockNumber;
		range++;
		if (queue->range == set->nranges || range->fork != run->fork ||
			range->first < first + run->nblocks ||
			range->first > first + run->nblocks + MAX_GAP ||
			range->first >= limit)
			break;
		queue->blkno = range->first;
	}
}

/* How many blocks may be read more?  None where a limit is reached. */
static int
allowed_blocks(Queue *queue)
{
	const SstLimits *limits = queue->options->limits;
	int			nblocks;

	if (!queue->throttled)
		return sst_run_blocks();

	nblocks = sst_throttle_take(&queue->throttle, sst_run_blocks());
	if (nblocks == 0)
		queue->end = limits->bytes_left < BLCKSZ ? SST_WARM_MAX_BYTES :
			SST_WARM_MAX_TIME;
	return nblocks;
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

/* Ask the kernel for the run's missing blocks, and for those between them. */
static void
advise_run(Queue *queue, const SstWarmRun *run)
{
	BlockNumber first = pg_rightmost_one_pos64(run->missing);
	BlockNumber last = pg_leftmost_one_pos64(run->missing);

	if (sst_direct_io() && queue->options->mode == SST_PREWARM_BUFFER)
		return;
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
	int64		range;
	BlockNumber blkno;
	int			nallowed;

	if (!find_block(queue))
		return false;
	nallowed = allowed_blocks(queue);
	if (nallowed == 0)
		return false;

	range = queue->range;
	blkno = queue->blkno;
	run->fork = queue->fork;
	run->relation = last_relation(queue);
	take_run(queue, run, nallowed);
	if (is_in_page_cache(queue, run))
		run->missing = 0;
	run->nmissing = pg_popcount64(run->missing);
	if (queue->throttled)
		sst_throttle_give_back(&queue->throttle, nallowed - run->nmissing);
	if (queue->options->stop_when_full && run->nmissing > 0 &&
		!sst_free_buffers_take(&queue->free_buffers, run->nmissing))
	{
		if (queue->throttled)
			sst_throttle_give_back(&queue->throttle, run->nmissing);
		queue->range = range;
		queue->blkno = blkno;
		queue->end = SST_WARM_FULL;
		return false;
	}

	if (run->nmissing > 0)
	{
		advise_run(queue, run);
		queue->nmissing++;
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

/*
 * Let all relations go, because others wait for one of them: no more is read of the
 * forks in the queue.  An error, if what they wait for is not in the queue.
 */
static void
give_way(Queue *queue, SstWarmFork *fork)
{
	const char *note = fork->note;

	fork->left_out = true;
	for (; queue->nruns > 0; queue->nruns--)
	{
		SstWarmRun *run = &queue->runs[queue->first_run];

		fork = &queue->set->forks[run->fork];
		fork->left_out = true;
		if (fork->note == NULL)
			fork->note = note;
		run->relation->nruns--;
		queue->first_run = (queue->first_run + 1) % queue->max_runs;
	}
	queue->nmissing = 0;
	close_relations(queue);
	close_last_relation(queue);
	sst_yield_if_blocking();
}

/* Read the first run of the queue, and let it go. */
static void
finish_first_run(Queue *queue)
{
	SstWarmRun *run = &queue->runs[queue->first_run];
	SstWarmFork *fork = &queue->set->forks[run->fork];
	instr_time	now;
	instr_time	elapsed;

	queue->first_run = (queue->first_run + 1) % queue->max_runs;
	queue->nruns--;
	queue->nmissing -= run->nmissing > 0;

	run->relation->nruns--;
	if (queue->options->stop_when_full && run->nmissing > 0 &&
		sst_free_list_is_empty())
		queue->end = SST_WARM_FULL;
	if (queue->end == SST_WARM_FULL && run->nmissing > 0)
	{
		if (fork->next_block == InvalidBlockNumber)
			fork->next_block = run->first;
	}
	else if (!fork->left_out)
	{
		fork->nwanted += run->nwanted;
		fork->ncached += run->nwanted - run->nmissing;
		if (run->nmissing > 0 && !sst_read_run(&queue->reader, run, fork))
			give_way(queue, fork);
		report_run(queue, run);
	}

	INSTR_TIME_SET_CURRENT(now);
	elapsed = now;
	INSTR_TIME_SUBTRACT(elapsed, queue->mark);
	fork->elapsed_ms += INSTR_TIME_GET_MILLISEC(elapsed);
	queue->mark = now;

	close_relations(queue);
}

/* Set where to go on for what the queue did not come to. */
static void
note_what_is_left(Queue *queue)
{
	SstWarmSet *set = queue->set;
	BlockNumber blkno = queue->blkno;

	for (int64 i = queue->range; i < set->nranges; i++)
	{
		SstWarmFork *fork = &set->forks[set->ranges[i].fork];

		if (blkno == InvalidBlockNumber)
			blkno = set->ranges[i].first;
		if (!fork->left_out && fork->next_block == InvalidBlockNumber &&
			blkno < fork->nblocks)
			fork->next_block = blkno;
		blkno = InvalidBlockNumber;
	}
}

static void
begin_queue(Queue *queue, SstWarmSet *set, const SstWarmOptions *options,
			SstIoStats *io_stats)
{
	memset(queue, 0, sizeof(Queue));
	queue->set = set;
	queue->options = options;
	queue->io_stats = io_stats;
	queue->blkno = InvalidBlockNumber;
	queue->fork = queue->reported = -1;
	queue->advice_file.fd = -1;

	queue->throttled = sst_throttle_begin(&queue->throttle, options->limits);
	queue->depth = sst_io_depth(InvalidOid);
	if (queue->throttled && queue->throttle.rate > 0)
	{
		double		bytes = (double) sst_run_blocks() * BLCKSZ;

		queue->depth = Max(1, Min(queue->depth, queue->throttle.rate *
								  RATED_SECONDS / bytes));
	}
	queue->max_runs = 2 * queue->depth;
	queue->runs = palloc(sizeof(SstWarmRun) * queue->max_runs);
	queue->relations = palloc(sizeof(SstWarmRelation) * (queue->max_runs + 1));
	sst_run_reader_begin(&queue->reader, options->mode, io_stats);

	for (int i = 0; i < set->nforks; i++)
	{
		SstWarmFork *fork = &set->forks[i];

		fork->nblocks = fork->next_block = InvalidBlockNumber;
		fork->left_out = (fork->note != NULL);
	}
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
		while (queue.end == SST_WARM_COMPLETE && queue.nmissing < queue.depth &&
			   queue.nruns < queue.max_runs && add_run(&queue))
			;
		if (queue.nruns == 0)
			break;
		finish_first_run(&queue);
	}
	sst_segment_file_close(&queue.advice_file);
	sst_run_reader_end(&queue.reader);
	if (queue.nrelations > 0)
		close_last_relation(&queue);
	if (queue.end != SST_WARM_COMPLETE)
		note_what_is_left(&queue);
	pfree(queue.runs);
	pfree(queue.relations);

	return queue.end;
}
