/*-------------------------------------------------------------------------
 *
 * dead_rows.c
 *	  Rows of an index's table that an index build skips
 *
 * A block that is all-visible by the visibility map has no such row, and is not
 * read: an index-only scan relies on the same.
 *
 * The table may change while its index is read.  A row that dies after its
 * block was read counts as kept.  A new row that reuses the TID of a removed
 * dead row counts as dead.  Both concern only a few entries.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/dead_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "report/dead_rows.h"
#include "run/maps.h"
#include "run/scan.h"

/* The visibility map is read if it has at most this part of the blocks to read. */
#define MAP_PART 8

/* Open an index's table, which is locked. */
void
sst_table_rows_begin(SstTableRows *rows, Oid relid)
{
	memset(rows, 0, sizeof(SstTableRows));
	sst_target_examine(&rows->table, relation_open(relid, NoLock));
	rows->readable = rows->table.kind == SST_HEAP &&
		sst_target_is_readable(&rows->table);
	rows->nothers = rows->table.nblocks;
}

void
sst_table_rows_end(SstTableRows *rows)
{
	if (rows->visible != NULL)
		pfree(rows->visible);
	relation_close(rows->table.rel, NoLock);
}

static bool
within(const SstLimits *limits)
{
	return limits == NULL || !limits->reached;
}

/*
 * Find out which blocks are all-visible, if that is cheap when "most" blocks may
 * be read.  Where it is not, or a limit is reached, none is known to be.
 */
void
sst_read_visible_blocks(SstTableRows *rows, BlockNumber most,
						SstSampling *sampling)
{
	SMgrRelation smgr = RelationGetSmgr(rows->table.rel);
	SstCounters counters;
	BlockNumber map_blocks;

	if (!smgrexists(smgr, VISIBILITYMAP_FORKNUM))
		return;
	map_blocks = smgrnblocks(smgr, VISIBILITYMAP_FORKNUM);
	if (map_blocks == 0 || map_blocks > Max(most / MAP_PART, 1))
		return;

	sst_counters_init(&counters);
	rows->visible = sst_block_set_create(rows->table.nblocks);
	sst_scan_visibility_map(&rows->table, rows->visible, NULL,
							sampling->limits, &counters, sampling->io_stats);
	if (within(sampling->limits))
		rows->nothers -= rows->visible->nmembers;
	else
	{
		pfree(rows->visible);
		rows->visible = NULL;
	}
}

/*
 * Read blocks of the table: the members of a set, or without one all that are
 * not all-visible.  Returns the TIDs that indexes may have entries with and a
 * build would not, in the current memory context.  NULL if a limit was reached, or
 * if those of the whole table would take more than maintenance_work_mem.
 */
SstDeadTids *
sst_read_dead_rows(SstTableRows *rows, const SstBlockSet *blocks,
				   SstSampling *sampling)
{
	SstDeadTids *result = sst_dead_tids_create(blocks != NULL ? MaxAllocHugeSize :
											   maintenance_work_mem * (Size) 1024);
	SstScanSinks sinks = {.dead_tids = result, .limits = sampling->limits};
	const SstBlockSet *set = rows->visible;
	SstScanPlan plan;
	SstScanResult scanned;

	sst_plan_scan(&plan, &rows->table, SST_RULES_TOLERANT);
	plan.chains = true;
	if (blocks != NULL)
	{
		/* A sample of all members */
		set = blocks;
		plan.sample_pages = plan.sample_blocks = blocks->nmembers;
		plan.members = true;
	}
	else if (set != NULL)
		plan.nskipped = set->nmembers;

	if (sst_plan_nblocks(&plan) > 0 && (blocks == NULL || blocks->nmembers > 0))
	{
		sst_scan_alone(&plan, rows->table.rel, set, &sinks, &scanned);
		sst_io_stats_merge(sampling->io_stats, &scanned.io_stats);
	}

	if (sst_dead_tids_is_full(result) || !within(sampling->limits))
	{
		sst_dead_tids_free(result);
		return NULL;
	}
	return result;
}
