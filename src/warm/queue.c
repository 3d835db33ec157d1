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
 * parallel workers, so that the relation cache does not grow.  Each run is read in
 * a subtransaction, so that an error affects only its blocks, and becomes the
 * fork's note.
 *
 * In recovery, where a conflict in a subtransaction would end the session, pages are
 * read into private memory and checked before they are read into buffers.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/lmgr.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "relation/relation.h"
#include "run/call.h"
#include "stream/segment_file.h"
#include "warm/warm.h"

/* A relation that is locked, for the place in the set and for runs */
typedef struct LockedRelation
{
	Oid			relid;
	SstFiles	files;
	char		persistence;
	int			nusers;			/* runs under way, and the place */
} LockedRelation;

/* Blocks of one segment that are read together */
typedef struct WarmRun
{
	SstWarmFork *fork;
	LockedRelation *relation;
	BlockNumber first;
	int			nblocks;		/* from first on; some of them may not be
								 * wanted */
	int			nwanted;
	int			nmissing;
	uint64		missing;		/* those to read: bit 0 is the first block */
	int			nabsent;		/* of these, not in the page cache; -1 if not
								 * known */
} WarmRun;

/* The place in a set from which the next run is taken */
typedef struct Cursor
{
	SstWarmSet *set;
	int64		range;
	int64		blkno;			/* or -1 before the range's first one */
	int			max_gap;		/* unwanted blocks between two of a run */
	SstWarmFork *fork;			/* whose blocks are counted, or NULL */
	LockedRelation *relation;	/* of the fork; or NULL */
	Oid			begun;			/* relation that was begun last */
	int64		nbegun;
} Cursor;

typedef struct Queue
{
	SstPrewarmMode mode;
	SstIoStats *io_stats;
	SstWarmEnd	end;

	/* Reads */
	bool		checks_pages;	/* before they are read into buffers */
	bool		evicts;			/* pages of others, and not its own */
	SstSegmentFile file;
	char	   *memory;			/* for one run, if it is read privately */

	Cursor		cursor;			/* what is taken next */
	SstSegmentFile advice_file;
	int64		small_range;	/* workers did not pay for this one, or -1 */

	/* A ring of runs */
	WarmRun    *runs;
	int			first_run;
	int			nruns;
	int			max_runs;
	int			nmissing;		/* runs with something to read */
	int			npending;		/* blocks to read in all runs */
	int			depth;			/* most of these */

	/* Limits */
	SstFreeBuffers *free_buffers;	/* take only these; or NULL */
	bool		throttled;
	SstThrottle throttle;

	/* Progress */
	bool		restores;		/* a second time: this is no progress */
	const SstWarmFork *reported;	/* whose blocks are counted, or NULL */
	BlockNumber ndone;			/* of it */
	instr_time	mark;			/* end of the last run */
} Queue;

/* Seconds that the runs under way take at most where a rate is set */
#define RATED_SECONDS 0.1

/* ----------
 * Reading one run
 *
 * A run is read at once.  If that fails, its blocks are read one by one, so
 * that only the unreadable ones are missing.
 * ----------
 */

/* Reads of a bad page before it is reported as such: others may be writing it */
#define MAX_TRIES 3

/* Blocks of a run to be read; afterwards, those that were */
typedef struct Attempt
{
	Queue	   *queue;
	const WarmRun *run;
	uint64		blocks;
} Attempt;

/*
 * Take the first adjacent blocks out of a bitmap, which is not empty.  Returns the first
 * one; *nblocks is how many they are.
 */
static int
take_blocks(uint64 *blocks, int *nblocks)
{
	int			first = pg_rightmost_one_pos64(*blocks);
	uint64		others = ~(*blocks >> first);

	*nblocks = others == 0 ? 64 : pg_rightmost_one_pos64(others);
	*blocks &= *blocks + (UINT64CONST(1) << first);
	return first;
}

/* Give a block's buffer the highest usage count, so that pages of others are evicted first. */
static void
use_often(const WarmRun *run, BlockNumber blkno)
{
	sst_use_often(&run->relation->files, run->relation->persistence,
				  run->fork->forknum, blkno);
}

/*
 * End the watch of reads into buffers.  The queue counts blocks itself, and knows what
 * the page cache had and how many runs were advised.
 */
static void
end_watch(Queue *queue, SstReadWatch *watch)
{
	SstIoStats	seen = {0};
	SstAdviceStats advice = {.nabsent = 0};

	sst_io_stats_in_flight(&advice.seen, queue->nmissing);
	sst_read_watch_end(watch, &advice, &seen);
	seen.blocks_hit = seen.blocks_read = seen.blocks_page_cache = 0;
	sst_io_stats_merge(queue->io_stats, &seen);
}

/* Keep the first error of a fork, in words. */
static void
note_error(SstWarmFork *fork, const char *message)
{
	if (fork->note == NULL)
		fork->note = message;
}

/* Have the files of the run's relation at hand. */
static void
open_files(SstSegmentFile *file, const WarmRun *run)
{
	if (memcmp(&file->files, &run->relation->files, sizeof(SstFiles)) == 0 &&
		file->forknum == run->fork->forknum)
		return;
	sst_segment_file_close(file);
	sst_segment_file_init_files(file, &run->relation->files, run->fork->forknum);
}

/*
 * Read adjacent blocks of a run into the queue's memory.  Returns how many could.  If
 * only the storage manager can read them, its errors pass.
 */
static int
read_privately(Queue *queue, const WarmRun *run, int first, int nblocks)
{
	instr_time	start;
	int			nread = nblocks;

	errno = 0;
	INSTR_TIME_SET_CURRENT(start);
	if (queue->file.plain)
		nread = sst_segment_file_read(&queue->file, run->first + first, nblocks,
									  queue->memory);
	else
		for (int i = 0; i < nblocks; i++)
			sst_read_stored_block(&run->relation->files, run->fork->forknum,
								  run->first + first + i,
								  queue->memory + (Size) BLCKSZ * i);
	if (nread > 0)
	{
		sst_io_stats_private_read(queue->io_stats, nread, queue->nmissing);
		sst_io_stats_waited_privately(queue->io_stats, start);
		pgBufferUsage.shared_blks_read += nread;
	}

	return nread;
}

/*
 * Read one block into private memory.  False, with a note, if that cannot be done or,
 * if the page is to be checked, the buffer manager would refuse it.
 */
static bool
read_one_privately(Queue *queue, const WarmRun *run, int i)
{
	BlockNumber blkno = run->first + i;

	for (int try = 0; try < MAX_TRIES; try++)
	{
		if (read_privately(queue, run, i, 1) != 1)
		{
			note_error(run->fork, errno == 0 ?
					   psprintf(_("could not read block %u"), blkno) :
					   psprintf(_("could not read block %u: %s"), blkno,
								strerror(errno)));
			return false;
		}
		if (!queue->checks_pages || zero_damaged_pages ||
			sst_page_verified(queue->memory, blkno) ||
			sst_is_buffered(&run->relation->files, run->fork->forknum, blkno))
			return true;
	}
	note_error(run->fork, psprintf(_("invalid page in block %u"), blkno));

	return false;
}

/* Read blocks of a run into private memory.  Returns those that could be read. */
static uint64
read_run_privately(Queue *queue, const WarmRun *run, uint64 wanted)
{
	uint64		blocks = wanted;
	uint64		good = 0;

	while (blocks != 0)
	{
		int			n;
		int			first = take_blocks(&blocks, &n);
		int			nread = read_privately(queue, run, first, n);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < nread; i++)
			if (!queue->checks_pages ||
				sst_page_verified(queue->memory + (Size) BLCKSZ * i,
								  run->first + first + i))
				good |= UINT64CONST(1) << (first + i);
	}

	/* What is missing now is looked at once more, block by block. */
	for (blocks = wanted & ~good; blocks != 0; blocks &= blocks - 1)
	{
		int			i = pg_rightmost_one_pos64(blocks);

		CHECK_FOR_INTERRUPTS();
		if (read_one_privately(queue, run, i))
			good |= UINT64CONST(1) << i;
	}

	return good;
}

/* Read blocks of a run as the mode wants. */
static void
read_blocks(void *arg)
{
	Attempt    *attempt = arg;
	Queue	   *queue = attempt->queue;
	const WarmRun *run = attempt->run;
	SstReadWatch watch;

	if (queue->memory != NULL)
		attempt->blocks = read_run_privately(queue, run, attempt->blocks);
	if (queue->mode == SST_PREWARM_READ)
		return;

	sst_read_watch_begin(&watch, false, false);
	for (uint64 blocks = attempt->blocks; blocks != 0;)
	{
		int			n;
		int			first = take_blocks(&blocks, &n);

		CHECK_FOR_INTERRUPTS();
		sst_read_into_buffers(&run->relation->files, run->relation->persistence,
							  run->fork->forknum, run->first + first, n);
	}
	end_watch(queue, &watch);
	for (uint64 blocks = queue->evicts ? attempt->blocks : 0; blocks != 0; blocks &= blocks - 1)
		use_often(run, run->first + pg_rightmost_one_pos64(blocks));
}

/*
 * Read blocks of a run in a subtransaction, and count them for the fork.  After an error
 * about them, the note says which; in recovery, where there is none, errors pass.  If others
 * wait for our locks, nothing is read, and *yields is set.
 */
static bool
try_blocks(Queue *queue, const WarmRun *run, uint64 blocks, bool *yields)
{
	Attempt		attempt = {queue, run, blocks};
	ErrorData  *error;

	*yields = sst_must_yield();
	if (*yields)
		return false;
	error = sst_contain_errors(read_blocks, &attempt);
	if (error == NULL)
	{
		run->fork->nread += pg_popcount64(attempt.blocks);
		return true;
	}
	if (pg_popcount64(blocks) == 1)
		note_error(run->fork, pstrdup(error->message));
	FreeErrorData(error);

	return false;
}

/*
 * Count a run.  If nothing is missing, all of it is where the mode wants it: in buffers,
 * or else in the page cache.
 */
static void
count_run(Queue *queue, const WarmRun *run)
{
	SstIoStats *io_stats = queue->io_stats;
	int			nread = run->nmissing == 0 && queue->mode != SST_PREWARM_BUFFER ?
		run->nwanted : run->nmissing;

	io_stats->blocks_requested += run->nwanted;
	io_stats->blocks_hit += run->nwanted - nread;
	io_stats->blocks_read += nread;
	sst_add_count(&io_stats->blocks_page_cache, run->nabsent < 0 ? -1 :
				  nread - Min(run->nabsent, nread));
	sst_io_stats_returned(io_stats, Max(queue->npending, run->nwanted), run->nwanted);
}

/*
 * Read the missing blocks of a run as the mode wants, and count them for the fork.  Errors
 * about blocks become the fork's note.  False if others wait for a lock of ours: then
 * the queue has to let its relations go.
 *
 * The run's relation is locked, and nothing is pinned before and after.
 */
static bool
read_run(Queue *queue, const WarmRun *run)
{
	bool		yields = false;

	if (queue->mode == SST_PREWARM_PREFETCH)
	{
		run->fork->nread += run->nmissing;
		return true;
	}
	if (queue->memory != NULL)
		open_files(&queue->file, run);
	if (try_blocks(queue, run, run->missing, &yields))
		return true;

	/* One by one, as many as possible */
	for (uint64 blocks = run->missing; blocks != 0 && !yields; blocks &= blocks - 1)
		(void) try_blocks(queue, run, blocks & -blocks, &yields);
	return !yields;
}

/* ----------
 * Locked relations
 * ----------
 */

/*
 * Lock a relation in AccessShareLock, for one user.  No lock is waited for: NULL, with a
 * note, if others have locked it or it is gone.
 */
static LockedRelation *
lock_relation(Oid relid, const char **note)
{
	LockedRelation *relation;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		*note = _("locked by another session");
		return NULL;
	}
	relation = palloc0(sizeof(LockedRelation));
	relation->relid = relid;
	relation->nusers = 1;
	if (sst_present_files(relid, &relation->files, &relation->persistence))
		return relation;

	UnlockRelationOid(relid, AccessShareLock);
	pfree(relation);
	*note = _("dropped meanwhile");
	return NULL;
}

/* One user lets a relation go, which may be NULL.  The last one unlocks and frees it. */
static void
release_relation(LockedRelation *relation)
{
	if (relation == NULL || --relation->nusers > 0)
		return;
	sst_files_close(&relation->files);
	UnlockRelationOid(relation->relid, AccessShareLock);
	pfree(relation);
}

/* ----------
 * The place in the set
 *
 * Ranges that are close to each other become one run, with the blocks between them:
 * reading a few more blocks takes less time than a second read.
 * ----------
 */

/* Begin with a set, of which runs may have gaps of so many blocks. */
static void
init_cursor(Cursor *cursor, SstWarmSet *set, int max_gap)
{
	memset(cursor, 0, sizeof(Cursor));
	cursor->set = set;
	cursor->max_gap = max_gap;
	cursor->blkno = -1;

	for (int i = 0; i < set->nforks; i++)
		set->forks[i].left_out = (set->forks[i].note != NULL);
}

/* Lock a fork's relation and see how long it is.  False if that is not possible. */
static bool
enter_fork(Cursor *cursor, SstWarmFork *fork)
{
	Oid			relid = fork->relation->relid;

	if (fork->left_out)
		return false;
	if (cursor->relation == NULL || cursor->relation->relid != relid)
	{
		LockedRelation *relation = lock_relation(relid, &fork->note);

		fork->left_out = (relation == NULL);
		if (fork->left_out)
			return false;
		release_relation(cursor->relation);
		cursor->relation = relation;
	}
	if (cursor->fork == fork)
		return true;

	if (!fork->entered && relid != cursor->begun)
	{
		sst_progress_relations(cursor->nbegun++);
		cursor->begun = relid;
	}
	fork->entered = true;
	fork->nblocks = Max(sst_fork_bytes(&cursor->relation->files, fork->forknum), 0) / BLCKSZ;
	cursor->fork = fork;

	return true;
}

/*
 * Step to the next block that is wanted, of whatever fork, and lock its relation.
 * False at the end of the set.
 */
static bool
find_next(Cursor *cursor)
{
	SstWarmSet *set = cursor->set;

	for (; cursor->range < set->nranges; cursor->range++)
	{
		const SstWarmRange *range = &set->ranges[cursor->range];

		CHECK_FOR_INTERRUPTS();
		if (enter_fork(cursor, &set->forks[range->fork]))
		{
			if (cursor->blkno < 0)
				cursor->blkno = range->first;
			if (cursor->blkno < Min(range->end, cursor->fork->nblocks))
				return true;
		}
		cursor->blkno = -1;
	}

	return false;
}

/* The blocks of the present range from the present one on */
static BlockNumber
blocks_ahead(const Cursor *cursor)
{
	return Min(cursor->set->ranges[cursor->range].end, cursor->fork->nblocks) -
		cursor->blkno;
}

/* Go on behind a range.  Does the next one belong to the same run? */
static bool
next_range_follows(Cursor *cursor, BlockNumber run_end, uint64 limit)
{
	const SstWarmRange *range = &cursor->set->ranges[++cursor->range];

	cursor->blkno = -1;
	if (cursor->range == cursor->set->nranges ||
		&cursor->set->forks[range->fork] != cursor->fork ||
		range->first < run_end || range->first - run_end > cursor->max_gap ||
		range->first >= limit)
		return false;

	cursor->blkno = range->first;
	return true;
}

/*
 * Take up to most blocks to read, for a run that begins at the present block.  In mode
 * "buffer", those that are in buffers are not read, and are not evicted before others.
 */
static void
take_run(Queue *queue, WarmRun *run, int most)
{
	Cursor	   *cursor = &queue->cursor;
	BlockNumber first = cursor->blkno;
	uint64		limit = cursor->fork->nblocks;

	/* In the largest relation there can be, these sums are no block numbers. */
	limit = Min(limit, (uint64) first + sst_cold_run_blocks());
	limit = Min(limit, (uint64) first - first % RELSEG_SIZE + RELSEG_SIZE);
	run->fork = cursor->fork;
	run->relation = cursor->relation;
	run->first = first;
	run->missing = 0;
	run->nblocks = run->nwanted = run->nmissing = run->nabsent = 0;

	for (;;)
	{
		const SstWarmRange *range = &cursor->set->ranges[cursor->range];
		BlockNumber end = Min(range->end, limit);

		for (; cursor->blkno < end && run->nmissing < most; cursor->blkno++)
		{
			run->nwanted++;
			run->nblocks = cursor->blkno - first + 1;
			if (queue->mode == SST_PREWARM_BUFFER &&
				sst_is_buffered(&run->relation->files, run->fork->forknum,
								cursor->blkno))
			{
				if (queue->evicts)
					use_often(run, cursor->blkno);
				continue;
			}
			run->missing |= UINT64CONST(1) << (cursor->blkno - first);
			run->nmissing++;
		}
		if (run->nmissing == most || blocks_ahead(cursor) > 0 ||
			!next_range_follows(cursor, first + run->nblocks, limit))
			break;
	}
}

/* Set where to go on in the forks to which the cursor has not come. */
static void
note_rest(Cursor *cursor)
{
	SstWarmSet *set = cursor->set;
	int64		blkno = cursor->blkno;

	for (int64 i = cursor->range; i < set->nranges; i++)
	{
		SstWarmFork *fork = &set->forks[set->ranges[i].fork];

		if (blkno < 0)
			blkno = set->ranges[i].first;
		if (!fork->left_out && blkno < fork->nblocks)
			fork->next_block = Min(fork->next_block, blkno);
		blkno = -1;
	}
}

/* Count the time since the last run for a fork. */
static void
count_time(Queue *queue, SstWarmFork *fork)
{
	fork->elapsed_ms += sst_seconds_since(queue->mark) * 1000;
	INSTR_TIME_SET_CURRENT(queue->mark);
}

/* ----------
 * Large ranges of one relation
 * ----------
 */

typedef struct LargeRange
{
	SstPrewarmPlan plan;
	Oid			relid;
	bool		done;
	SstIoStats	io_stats;
} LargeRange;

static void
prewarm_range(void *arg)
{
	LargeRange *range = arg;
	Relation	rel = try_relation_open(range->relid, NoLock);

	if (rel == NULL)
		return;
	range->done = sst_prewarm_parallel(&range->plan, rel, &range->io_stats);
	relation_close(rel, NoLock);
}

/* May it pay to have the next blocks read by parallel workers? */
static bool
is_large_range(const Queue *queue)
{
	return blocks_ahead(&queue->cursor) >= SST_PREWARM_PARALLEL_BLOCKS && !queue->throttled &&
		queue->mode != SST_PREWARM_PREFETCH && !queue->restores &&
		queue->small_range != queue->cursor.range;
}

/*
 * Warm the rest of the present range, whose relation is locked, with as many workers as
 * pay.  If none do, or there was an error, nothing is counted, and the blocks are left to
 * the queue.
 */
static void
warm_large_range(Queue *queue)
{
	Cursor	   *cursor = &queue->cursor;
	SstWarmFork *fork = cursor->fork;
	BlockNumber nblocks = blocks_ahead(cursor);
	LargeRange	range = {
		.plan = {fork->forknum, queue->mode, cursor->blkno,
		cursor->blkno + nblocks, .evicts = queue->evicts},
		.relid = fork->relation->relid
	};
	ErrorData  *error = NULL;

	if (!RecoveryInProgress() &&
		(queue->free_buffers == NULL ||
		 sst_free_buffers_take(queue->free_buffers, nblocks, 0)))
		error = sst_contain_errors(prewarm_range, &range);
	if (error != NULL)
		FreeErrorData(error);
	if (error != NULL || !range.done)
	{
		queue->small_range = cursor->range;
		return;
	}

	fork->nwanted += nblocks;
	fork->nread += range.io_stats.blocks_read;
	fork->ncached += nblocks - range.io_stats.blocks_read;
	sst_io_stats_merge(queue->io_stats, &range.io_stats);
	cursor->blkno += nblocks;
	count_time(queue, fork);
}

/* ----------
 * The queue
 * ----------
 */

/* A run under way, counted from the first one; or the place behind them */
static inline WarmRun *
run_at(const Queue *queue, int i)
{
	return &queue->runs[(queue->first_run + i) % queue->max_runs];
}

/*
 * Let all relations go, because others wait for one of them: no more is read of the
 * forks in the queue.  If others then wait for our transaction still, the call ends.
 */
static void
give_way(Queue *queue)
{
	for (int i = 0; i < queue->nruns; i++)
		release_relation(run_at(queue, i)->relation);
	release_relation(queue->cursor.relation);
	queue->cursor.relation = NULL;
	queue->cursor.fork = NULL;
	sst_segment_file_close(&queue->advice_file);
	if (sst_is_blocking())
		queue->end = SST_WARM_BLOCKING;

	for (int i = 0; i < queue->nruns; i++)
	{
		SstWarmFork *fork = run_at(queue, i)->fork;

		if (queue->end == SST_WARM_BLOCKING)
			fork->next_block = Min(fork->next_block, run_at(queue, i)->first);
		else
		{
			fork->left_out = true;
			note_error(fork, _("stopped because another session waits for a lock"));
		}
	}
	queue->nruns = queue->nmissing = queue->npending = 0;
}

/*
 * How many blocks may be read more?  None where a limit was reached; -1 where
 * the relations had to be unlocked, because others waited while this slept.
 */
static int
allowed_blocks(Queue *queue)
{
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
		queue->end = queue->throttle.limits->bytes_left < BLCKSZ ? SST_WARM_MAX_BYTES :
			SST_WARM_MAX_TIME;
	return nblocks;
}

/*
 * Are all of the run's blocks in the page cache?  That is where the mode wants them,
 * unless it is shared buffers.
 */
static bool
is_in_page_cache(Queue *queue, const WarmRun *run)
{
	return queue->mode != SST_PREWARM_BUFFER &&
		sst_page_cache_range(&queue->advice_file, run->first,
							 run->first + run->nblocks) == (int64) BLCKSZ * run->nblocks;
}

/*
 * Ask the kernel for the run's missing blocks, and for those between them; and first,
 * how many of them it has.
 */
static void
advise_run(Queue *queue, WarmRun *run)
{
	int			first = pg_rightmost_one_pos64(run->missing);
	int			last = pg_leftmost_one_pos64(run->missing);
	SstAdviceStats advice = {.nabsent = 0};

	run->nabsent = run->nmissing;
	if (sst_direct_io() && queue->mode == SST_PREWARM_BUFFER)
		return;
	sst_advise_run(&queue->advice_file, run->first + first, last - first + 1, 0, &advice);
	run->nabsent = advice.nabsent;
	queue->io_stats->advice_calls += advice.seen.advice_calls;
	queue->io_stats->advice_blocks += advice.seen.advice_blocks;
}

/* Add a run to the queue.  False at the end of the set, or of what is allowed. */
static bool
add_run(Queue *queue)
{
	WarmRun    *run = run_at(queue, queue->nruns);
	int			nallowed;

	if (!find_next(&queue->cursor) || is_large_range(queue))
		return false;
	nallowed = allowed_blocks(queue);
	if (nallowed <= 0)
		return nallowed < 0;

	take_run(queue, run, nallowed);
	open_files(&queue->advice_file, run);
	if (is_in_page_cache(queue, run))
		run->missing = run->nmissing = 0;
	if (queue->throttled)
		sst_throttle_give_back(&queue->throttle, nallowed - run->nmissing);
	if (queue->free_buffers != NULL && run->nmissing > 0 &&
		!sst_free_buffers_take(queue->free_buffers, run->nmissing, queue->npending))
	{
		if (queue->throttled)
			sst_throttle_give_back(&queue->throttle, run->nmissing);
		run->fork->next_block = Min(run->fork->next_block, run->first);
		queue->end = SST_WARM_FULL;
		return false;
	}

	if (run->nmissing > 0)
	{
		advise_run(queue, run);
		queue->nmissing++;
		queue->npending += run->nmissing;
	}
	run->relation->nusers++;
	queue->nruns++;

	return true;
}

/* Report how far the queue is, in blocks of the fork that is being read. */
static void
report_run(Queue *queue, const WarmRun *run)
{
	const SstWarmFork *fork = run->fork;

	if (queue->reported != fork)
	{
		sst_progress_scan(fork->relation->relid, fork->nblocks, false);
		queue->reported = fork;
		queue->ndone = 0;
	}
	queue->ndone += run->nwanted;
	sst_progress_blocks(queue->ndone, NULL);
}

/* Read the first run of the queue, and let it go. */
static void
finish_first_run(Queue *queue)
{
	WarmRun    *run = run_at(queue, 0);
	SstWarmFork *fork = run->fork;

	if (run->nmissing > 0 && queue->free_buffers != NULL && sst_free_list_is_empty())
	{
		/* Others have taken the buffers that were counted as free. */
		queue->end = SST_WARM_FULL;
		fork->next_block = Min(fork->next_block, run->first);
	}
	else if (!fork->left_out)
	{
		fork->nwanted += run->nwanted;
		fork->ncached += run->nwanted - run->nmissing;
		count_run(queue, run);
		if (run->nmissing > 0 && !read_run(queue, run))
			give_way(queue);
		if (!queue->restores)
			report_run(queue, run);
	}

	count_time(queue, fork);
	if (queue->nruns == 0)
		return;					/* it gave way, with all runs */
	release_relation(run->relation);
	queue->first_run = (queue->first_run + 1) % queue->max_runs;
	queue->nruns--;
	queue->nmissing -= run->nmissing > 0;
	queue->npending -= run->nmissing;
}

/*
 * Report what there is to do: the blocks of the ranges, as far as sizes are known, and
 * the relations as they are counted, by forks, for one has ranges in several places.
 * Returns the number of these blocks.
 */
static int64
report_totals(const SstWarmSet *set)
{
	const SstRelation *last = NULL;
	int64		nrelations = 0;
	int64		nblocks = 0;

	for (int i = 0; i < set->nforks; i++)
	{
		const SstWarmFork *fork = &set->forks[i];

		if (fork->note != NULL)
			continue;
		nrelations += fork->relation != last;
		last = fork->relation;
	}
	for (int64 i = 0; i < set->nranges; i++)
	{
		const SstWarmRange *range = &set->ranges[i];
		const SstWarmFork *fork = &set->forks[range->fork];
		BlockNumber end = Min(range->end, fork->nblocks);

		if (fork->note == NULL && end != InvalidBlockNumber && end > range->first)
			nblocks += end - range->first;
	}
	sst_progress_totals(nrelations, nblocks * BLCKSZ);
	sst_progress_phase(SST_PHASE_SCANNING);

	return nblocks;
}

/* Read the rest of the set, as far as the limits allow. */
static void
run_queue(Queue *queue)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (queue->end == SST_WARM_COMPLETE && sst_must_yield())
			give_way(queue);
		while (queue->end == SST_WARM_COMPLETE && queue->nmissing < queue->depth &&
			   queue->nruns < queue->max_runs && add_run(queue))
			;
		if (queue->nruns > 0)
			finish_first_run(queue);
		else if (queue->end == SST_WARM_COMPLETE && find_next(&queue->cursor))
			warm_large_range(queue);
		else
			break;
	}
}

/*
 * When all is read: read again what was evicted meanwhile.  The server lowers all usage
 * counts until it finds buffers to evict, so that blocks that were in buffers before can be
 * among these.  By now the counts of others are low.  Nothing is counted, but the time, and
 * no limit ends the call.
 */
static void
restore_evicted(Queue *queue, SstWarmSet *set)
{
	Size		size = sizeof(SstWarmFork) * set->nforks;
	SstWarmFork *forks = palloc_extended(size, MCXT_ALLOC_HUGE);

	memcpy(forks, set->forks, size);
	release_relation(queue->cursor.relation);
	init_cursor(&queue->cursor, set, queue->cursor.max_gap);
	queue->restores = true;
	run_queue(queue);
	queue->end = SST_WARM_COMPLETE;
	for (int i = 0; i < set->nforks; i++)
	{
		forks[i].elapsed_ms = set->forks[i].elapsed_ms;
		set->forks[i] = forks[i];
	}
	pfree(forks);
}

/*
 * Warm a set, and say in its forks what came of each.  Returns what ended it; what
 * was not looked at then is in the forks' next_block.  What it did is added to
 * io_stats.  The limits can be NULL, and so can the free buffers: with them mode "buffer"
 * takes no others.
 *
 * No relation of the set may be temporary.  No lock is held afterwards, nor anything
 * pinned.  An error about the session, such as a cancel, passes; those about relations
 * become notes.
 */
SstWarmEnd
sst_warm(SstWarmSet *set, SstPrewarmMode mode, SstLimits *limits,
		 SstFreeBuffers *free_buffers, SstIoStats *io_stats)
{
	int64		nblocks = report_totals(set);
	SstFreeBuffers counted = {0};
	Queue		queue = {
		.mode = mode, .io_stats = io_stats, .depth = sst_io_depth(InvalidOid),
		.checks_pages = mode == SST_PREWARM_BUFFER && RecoveryInProgress(),
		.file.fd = -1, .advice_file.fd = -1, .small_range = -1
	};

	queue.throttled = sst_throttle_begin(&queue.throttle, limits);
	queue.throttle.yields = true;
	if (queue.throttled && queue.throttle.rate > 0)
		queue.depth = Max(1, Min(queue.depth, queue.throttle.rate * RATED_SECONDS /
								 ((double) sst_cold_run_blocks() * BLCKSZ)));
	queue.max_runs = 2 * queue.depth;
	queue.runs = palloc(sizeof(WarmRun) * queue.max_runs);
	init_cursor(&queue.cursor, set, queue.throttled ? 0 : SST_MAX_GAP);
	if (mode == SST_PREWARM_READ || queue.checks_pages)
		queue.memory = sst_palloc_blocks(sst_cold_run_blocks());
	queue.free_buffers = mode == SST_PREWARM_BUFFER ? free_buffers : NULL;
	queue.evicts = mode == SST_PREWARM_BUFFER && free_buffers == NULL &&
		!sst_free_buffers_take(&counted, Min(nblocks, MaxBlockNumber), 0);
	INSTR_TIME_SET_CURRENT(queue.mark);

	run_queue(&queue);
	if (queue.end == SST_WARM_COMPLETE && queue.evicts && nblocks < NBuffers)
		restore_evicted(&queue, set);
	sst_segment_file_close(&queue.advice_file);
	sst_segment_file_close(&queue.file);
	if (queue.memory != NULL)
		sst_pfree_blocks(queue.memory);
	if (queue.end != SST_WARM_COMPLETE)
		note_rest(&queue.cursor);
	release_relation(queue.cursor.relation);
	pfree(queue.runs);

	return queue.end;
}
