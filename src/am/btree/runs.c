/*-------------------------------------------------------------------------
 *
 * runs.c
 *	  Runs of equal keys that span several pages of a b-tree
 *
 * A build sees them whole, but the pages of an old index hold pieces of them,
 * in any order.  Pieces that may continue on other pages are kept in a table
 * of a fixed size until all pages were read.  Pieces that must leave the
 * table, and those that a sample does not complete, are spliced: a run that
 * continues takes the next run's end.  This keeps the number of runs and what
 * their TIDs take, on average.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/btree/runs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "am/btree/fill.h"

/* With more runs on a page, on average, a run rarely spans several pages. */
#define SHORT_RUNS 8

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

/* What a TID takes in a long run, with its part of the tuple */
static double
bytes_for_tid(const SstBtreeFill *fill, int size)
{
	int			most = sst_btree_most_tids(fill, size);

	return (double) (sst_btree_tuple_size(size, most) + (int) sizeof(ItemIdData)) /
		most;
}

/*
 * Add a run, or the runs that are spliced with it as soon as one has an end.  Their
 * keys can be shorter or longer than its own.
 */
static void
splice_run(SstBtreeFill *fill, double *spliced_bytes, const SstBtreeRun *run)
{
	double		for_tid = bytes_for_tid(fill, run->size);

	*spliced_bytes += run->ntids * for_tid;
	if (run->ended)
	{
		sst_btree_add_run(fill, run->size, (uint64) rint(*spliced_bytes / for_tid));
		*spliced_bytes = 0;
	}
}

/*
 * Keep a piece of a key's run, with its other pieces.  A sample has few of these if
 * runs are short.  Then pieces are spliced at once, so that items stay in order.
 */
void
sst_btree_park(SstBtreeRebuild *state, uint64 key, const SstBtreeRun *piece)
{
	SstBtreeRun *set = run_set(state, key);
	SstBtreeRun *run = find_run(set, key);

	if (state->is_sample && state->nruns > (uint64) SHORT_RUNS * state->nseen)
	{
		splice_run(&state->fill, &state->spliced_bytes, piece);
		return;
	}
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
		splice_run(&state->fill, &state->spliced_bytes, run);
	*run = *piece;
	run->hash = (uint32) key;
}

/* Return what was kept of a key's run, and forget it. */
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
 * the table has all of its pieces, and the order of all items may be known.
 */
SstBtreeFill
sst_btree_fill_all(const SstBtreeRebuild *state, bool *in_order)
{
	SstBtreeFill fill = state->fill;
	double		spliced_bytes = state->spliced_bytes;
	bool		complete = state->nseen >= state->nblocks;
	SstBtreeRun last = {.size = MAXALIGN(sizeof(IndexTupleData))};

	*in_order = complete && sst_btree_in_order(state, &fill);
	if (*in_order)
		return fill;

	for (int i = 0; i < SST_BTREE_RUNS; i++)
	{
		const SstBtreeRun *run = &state->runs[i];

		if (run->ntids == 0)
			continue;
		if (!sst_go_on(fill.pause))
			break;
		if (complete)
			sst_btree_add_run(&fill, run->size, run->ntids);
		else
			splice_run(&fill, &spliced_bytes, run);
		last = *run;
	}
	sst_btree_add_run(&fill, last.size,
					  (uint64) rint(spliced_bytes / bytes_for_tid(&fill, last.size)));

	return fill;
}
