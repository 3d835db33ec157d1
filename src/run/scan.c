/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Carrying out the plan of a scan, alone or with parallel workers
 *
 * No subtransaction can begin in parallel mode.  So if refused pages are to be
 * counted, the leader begins a subtransaction before, and repeats the scan
 * alone if there is such a page.
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
#include "utils/snapmgr.h"

#include "run/parallel.h"
#include "run/progress.h"
#include "run/refused_pages.h"
#include "run/scan.h"
#include "run/scan_loop.h"
#include "stream/page_cache.h"
#include "streamstat.h"

/*
 * The least for each participant.  Starting and ending a worker takes as long as
 * reading some thousands of blocks, or four times as many of which only a part is
 * copied from the page cache.
 */
#define MIN_BLOCKS_PER_PARTICIPANT 8192
#define MIN_MAPPED_BLOCKS_PER_PARTICIPANT 32768

/*
 * Scan what the source gives.  Source, visitor, sinks and result have been set
 * up.
 */
static void
scan_source(SstScan *scan)
{
	const SstScanPlan *plan = scan->plan;

	sst_scan_begin(scan);

	if ((plan->path == SST_IO_PATH_BUFFER || !sst_scan_files(scan)) &&
		!sst_scan_must_stop(scan))
	{
		if (plan->in_recovery ||
			(plan->rules == SST_RULES_TOLERANT && !IsInParallelMode()))
			sst_scan_past_refused_pages(scan);
		else
		{
			do
				sst_scan_buffers(scan);
			while (sst_scan_next_slice(scan));
		}
	}

	sst_scan_end(scan);
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
	SstScan		scan = {.plan = plan, .rel = rel, .result = result,
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
	if (scan.sinks.dead_tids != NULL)
		scan.visitor.dead = &scan.dead;
	if (scan.sinks.rebuild != NULL || scan.sinks.dead_tids != NULL)
		scan.visitor.needs.part = SST_PART_ALL;

	sst_result_init(result, plan);
	scan_source(&scan);
}

/*
 * Begin a scan.  Pages are read without a snapshot: that of the catalogs is let
 * go, so that a transaction without another one holds back no VACUUM, and no
 * command with CONCURRENTLY waits for it.
 */
static void
begin_scan(const SstScanPlan *plan, bool last)
{
	InvalidateCatalogSnapshot();
	sst_progress_scan(plan->relid, sst_plan_nblocks(plan), last);
}

/*
 * Carry out a plan for an open relation, in this process alone.  The set of
 * blocks, which can be NULL, is that of which the plan speaks.
 */
void
sst_scan_alone(const SstScanPlan *plan, Relation rel, const SstBlockSet *set,
			   const SstScanSinks *sinks, SstScanResult *result)
{
	begin_scan(plan, true);
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
	SstScan		scan = {.plan = plan, .rel = rel, .visitor = *visitor,
	.sinks = {.limits = limits}, .result = result};
	SstRangeSource range;

	begin_scan(plan, false);
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
	sst_result_merge_worker(into, from);
}

static const SstIoStats *
io_stats_of(const void *result)
{
	return &((const SstScanResult *) result)->io_stats;
}

static const SstParallelTask scan_task = {
	.worker = "sst_scan_worker",
	.plan_size = sizeof(SstScanPlan),
	.result_size = sizeof(SstScanResult),
	.participate = participate,
	.merge = merge,
	.io_stats = io_stats_of
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

	sst_parallel_run(&scan_task, &scan->job, scan->rel, scan->nworkers,
					 scan->result);
}

/*
 * Will the blocks be in the page cache for the most part, and no page be copied as a
 * whole?
 */
static bool
will_be_mapped(const SstScanPlan *plan, Relation rel)
{
	SstSegmentFile file;
	SstVisitor	visitor;
	double		share;

	sst_plan_visitor(plan, rel, NULL, &visitor);
	if (!sst_map_files || plan->path != SST_IO_PATH_FILE ||
		visitor.needs.part > SST_PART_LINE_POINTERS)
		return false;

	sst_segment_file_init(&file, rel, plan->forknum);
	share = sst_page_cache_share(&file, plan->first, plan->end);
	sst_segment_file_close(&file);

	return share > 0.5;
}

/* How many workers should help? */
static int
choose_workers(const SstScanPlan *plan, Relation rel)
{
	BlockNumber nblocks = sst_plan_nblocks(plan);
	BlockNumber least = MIN_BLOCKS_PER_PARTICIPANT;

	if (plan->sample_pages > 0 || sst_max_rate > 0 || nblocks < 2 * least)
		return 0;
	if (will_be_mapped(plan, rel))
		least = MIN_MAPPED_BLOCKS_PER_PARTICIPANT;

	return sst_parallel_workers(rel, plan->forknum, nblocks, plan->nblocks, least);
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

	begin_scan(plan, true);
	scan.nworkers = choose_workers(plan, rel);
	if (scan.nworkers > 0)
	{
		if (plan->rules == SST_RULES_CONTRIB || plan->in_recovery)
		{
			parallel_scan_action(&scan);
			return;
		}
		if (sst_try_reading(parallel_scan_action, &scan))
			return;
	}

	scan_part(plan, rel, NULL, set, NULL, result);
}
