/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  Cutting the ranges to warm into runs
 *
 * Ranges that are close to each other become one run, with the blocks between
 * them: reading a few more blocks takes less time than a second read.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cursor.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat/shared_blocks.h"
#include "run/progress.h"
#include "warm/cursor.h"

/* Begin with a set.  At most so many relations are locked at a time. */
void
sst_cursor_init(SstWarmCursor *cursor, SstWarmSet *set, int max_relations)
{
	memset(cursor, 0, sizeof(SstWarmCursor));
	cursor->set = set;
	cursor->blkno = -1;
	cursor->fork = -1;
	sst_locked_relations_init(&cursor->relations, max_relations);

	for (int i = 0; i < set->nforks; i++)
	{
		SstWarmFork *fork = &set->forks[i];

		fork->next_block = InvalidBlockNumber;
		fork->entered = false;
		fork->left_out = (fork->note != NULL);
	}
}

/* Lock a fork's relation and see how long it is.  False if that is not possible. */
static bool
enter_fork(SstWarmCursor *cursor, int forkno)
{
	SstWarmFork *fork = &cursor->set->forks[forkno];
	Oid			relid = fork->relation->relid;
	SstLockedRelation *relation;

	if (fork->left_out)
		return false;
	relation = sst_lock_next_relation(&cursor->relations, relid, &fork->note);
	if (relation == NULL)
	{
		fork->left_out = true;
		return false;
	}
	if (cursor->fork == forkno)
		return true;

	if (!fork->entered && relid != cursor->begun)
	{
		sst_progress_relations(cursor->nbegun++);
		cursor->begun = relid;
	}
	fork->entered = true;
	fork->nblocks = Max(sst_fork_bytes(&relation->files, fork->forknum), 0) / BLCKSZ;
	cursor->fork = forkno;

	return true;
}

/*
 * Step to the next block that is wanted, of whatever fork, and lock its relation.
 * False at the end of the set.
 */
bool
sst_cursor_find(SstWarmCursor *cursor)
{
	SstWarmSet *set = cursor->set;

	for (; cursor->range < set->nranges; cursor->range++)
	{
		const SstWarmRange *range = &set->ranges[cursor->range];

		CHECK_FOR_INTERRUPTS();
		if (enter_fork(cursor, range->fork))
		{
			if (cursor->blkno < 0)
				cursor->blkno = range->first;
			if (cursor->blkno < Min(range->end, set->forks[range->fork].nblocks))
				return true;
		}
		cursor->blkno = -1;
	}

	return false;
}

/* The blocks of the present range from the present one on */
BlockNumber
sst_cursor_blocks_ahead(const SstWarmCursor *cursor)
{
	const SstWarmRange *range = &cursor->set->ranges[cursor->range];

	return Min(range->end, cursor->set->forks[range->fork].nblocks) - cursor->blkno;
}

/* Go on behind a range.  Does the next one belong to the same run? */
static bool
next_range_follows(SstWarmCursor *cursor, BlockNumber run_end, uint64 limit)
{
	const SstWarmRange *range = &cursor->set->ranges[++cursor->range];

	cursor->blkno = -1;
	if (cursor->range == cursor->set->nranges || range->fork != cursor->fork ||
		range->first < run_end || range->first - run_end > SST_MAX_GAP ||
		range->first >= limit)
		return false;

	cursor->blkno = range->first;
	return true;
}

/*
 * Take up to most blocks to read, for a run that begins at the present block.  Those
 * that are in buffers are not read, if that is asked for.
 */
void
sst_cursor_take(SstWarmCursor *cursor, SstWarmRun *run, int most,
				bool skips_buffered)
{
	const SstWarmFork *fork = &cursor->set->forks[cursor->fork];
	BlockNumber first = cursor->blkno;
	uint64		limit = fork->nblocks;

	/* In the largest relation there can be, these sums are no block numbers. */
	limit = Min(limit, (uint64) first + sst_cold_run_blocks());
	limit = Min(limit, (uint64) first - first % RELSEG_SIZE + RELSEG_SIZE);
	run->fork = cursor->fork;
	run->relation = sst_last_locked_relation(&cursor->relations);
	run->first = first;
	run->missing = 0;
	run->nblocks = run->nwanted = run->nmissing = 0;

	for (;;)
	{
		const SstWarmRange *range = &cursor->set->ranges[cursor->range];
		BlockNumber end = Min(range->end, limit);

		for (; cursor->blkno < end && run->nmissing < most; cursor->blkno++)
		{
			run->nwanted++;
			run->nblocks = cursor->blkno - first + 1;
			if (skips_buffered &&
				sst_is_buffered(&run->relation->files, fork->forknum, cursor->blkno))
				continue;
			run->missing |= UINT64CONST(1) << (cursor->blkno - first);
			run->nmissing++;
		}
		if (run->nmissing == most || sst_cursor_blocks_ahead(cursor) > 0 ||
			!next_range_follows(cursor, first + run->nblocks, limit))
			break;
	}
}

/* Unlock all relations: no run is under way. */
void
sst_cursor_leave(SstWarmCursor *cursor)
{
	sst_unlock_all_relations(&cursor->relations);
	cursor->fork = -1;
}

/* Set where to go on in the forks to which the cursor has not come. */
void
sst_cursor_note_rest(SstWarmCursor *cursor)
{
	SstWarmSet *set = cursor->set;
	int64		blkno = cursor->blkno;

	for (int64 i = cursor->range; i < set->nranges; i++)
	{
		SstWarmFork *fork = &set->forks[set->ranges[i].fork];

		if (blkno < 0)
			blkno = set->ranges[i].first;
		if (!fork->left_out && fork->next_block == InvalidBlockNumber &&
			blkno < fork->nblocks)
			fork->next_block = blkno;
		blkno = -1;
	}
}

void
sst_cursor_end(SstWarmCursor *cursor)
{
	sst_cursor_leave(cursor);
	pfree(cursor->relations.relations);
}
