/*-------------------------------------------------------------------------
 *
 * btree_runs.c
 *	  Runs of equal keys that span several pages of a b-tree
 *
 * A build sees them whole, but the pages of an old index hold pieces of them,
 * in any order.  Pieces that may continue on other pages are kept in a table
 * of a fixed size until all pages were read.  Pieces that must leave the
 * table, and those that a sample does not complete, are spliced: a run that
 * continues takes the next run's end.  This keeps the number of runs and that
 * of TIDs, on average.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/btree_runs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "rebuild/btree_fill.h"

/* The runs among which a key's is */
static inline SstBtreeRun *
run_set(SstBtreeRebuild *state, uint64 key)
{
	uint64		nsets = SST_BTREE_RUNS / SST_BTREE_SET_RUNS;

	return &state->runs[(key >> 32) % nsets * SST_BTREE_SET_RUNS];
}

static SstBtreeRun *
find_run(SstBtreeRun *set, uint64 key)
{
	for (int i = 0; i < SST_BTREE_SET_RUNS; i++)
	{
		if (set[i].ntids > 0 && set[i].hash == (uint32) key)
			return &set[i];
	}
	return NULL;
}

/* Add a run, or the runs that are spliced with it as soon as one has an end. */
static void
splice_run(SstBtreeFill *fill, uint64 *spliced_tids, const SstBtreeRun *run)
{
	*spliced_tids += run->ntids;
	if (run->ended)
	{
		sst_btree_add_run(fill, run->size, *spliced_tids);
		*spliced_tids = 0;
	}
}

/* Keep a piece of a key's run, with its other pieces. */
void
sst_btree_park(SstBtreeRebuild *state, uint64 key, const SstBtreeRun *piece)
{
	SstBtreeRun *set = run_set(state, key);
	SstBtreeRun *run = find_run(set, key);

	if (run != NULL && run->ntids <= PG_UINT32_MAX - piece->ntids)
	{
		run->ntids += piece->ntids;
		run->began |= piece->began;
		run->ended |= piece->ended;
		return;
	}

	/* The place of the shortest run, or an empty one */
	run = set;
	for (int i = 1; i < SST_BTREE_SET_RUNS; i++)
	{
		if (set[i].ntids < run->ntids)
			run = &set[i];
	}
	if (run->ntids > 0)
		splice_run(&state->fill, &state->spliced_tids, run);
	*run = *piece;
	run->hash = (uint32) key;
}

/* What has been kept of a key's run, which then is no longer. */
SstBtreeRun
sst_btree_take(SstBtreeRebuild *state, uint64 key)
{
	SstBtreeRun *run = find_run(run_set(state, key), key);
	SstBtreeRun result = {0};

	if (run != NULL)
	{
		result = *run;
		run->ntids = 0;
	}
	return result;
}

/*
 * Leaf pages filled with all that was seen.  When that is all pages, each run in
 * the table has all of its pieces.
 */
SstBtreeFill
sst_btree_fill_all(const SstBtreeRebuild *state)
{
	SstBtreeFill fill = state->fill;
	uint64		spliced_tids = state->spliced_tids;
	bool		complete = state->nseen >= state->nblocks;
	SstBtreeRun last = {.size = MAXALIGN(sizeof(IndexTupleData))};

	if (complete && sst_btree_in_order(state, &fill))
		return fill;

	for (int i = 0; i < SST_BTREE_RUNS; i++)
	{
		const SstBtreeRun *run = &state->runs[i];

		if (run->ntids == 0)
			continue;
		if (complete)
			sst_btree_add_run(&fill, run->size, run->ntids);
		else
			splice_run(&fill, &spliced_tids, run);
		last = *run;
	}
	sst_btree_add_run(&fill, last.size, spliced_tids);

	return fill;
}
