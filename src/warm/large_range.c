/*-------------------------------------------------------------------------
 *
 * large_range.c
 *	  Warming a large range of one relation with parallel workers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/large_range.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"

#include "run/subtransaction.h"
#include "warm/large_range.h"

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
	const SstPrewarmPlan *plan = &range->plan;
	Relation	rel = try_relation_open(range->relid, NoLock);

	if (rel == NULL)
		return;
	if (sst_prewarm_workers(plan, rel) > 0)
	{
		sst_prewarm(plan, rel, &range->io_stats);
		range->done = true;
	}
	relation_close(rel, NoLock);
}

/*
 * Warm blocks first to end - 1 of a fork, whose relation is locked and which has
 * these blocks, with as many workers as pay.  False if none do, or if there was an
 * error: then nothing is counted, and the blocks are left to the queue.
 */
bool
sst_warm_large_range(SstWarmFork *fork, SstPrewarmMode mode, BlockNumber first,
					 BlockNumber end, SstIoStats *io_stats)
{
	LargeRange	range = {
		.plan = {fork->forknum, mode, first, end},
		.relid = fork->relation->relid
	};
	ErrorData  *error;

	if (RecoveryInProgress())
		return false;

	error = sst_contain_errors(prewarm_range, &range);
	if (error != NULL)
	{
		FreeErrorData(error);
		return false;
	}
	if (!range.done)
		return false;

	fork->nwanted += end - first;
	fork->nread += range.io_stats.blocks_read;
	fork->ncached += end - first - range.io_stats.blocks_read;
	sst_io_stats_merge(io_stats, &range.io_stats);

	return true;
}
