/*-------------------------------------------------------------------------
 *
 * maps.c
 *	  Scanning a relation's visibility map and free space map
 *
 * A map is small: one process reads all of it, before the relation itself.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/maps.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "run/maps.h"
#include "run/scan.h"

/*
 * Scan a map, if there is one, and add what it says.  What its own pages are
 * like is not what the relation's are like, and is left out, but for damage.
 */
static void
scan_map(const SstTarget *target, ForkNumber forknum,
		 const SstVisitor *visitor, SstLimits *limits,
		 SstCounters *counters, SstIoStats *io_stats)
{
	SstScanPlan plan;
	SstScanResult result;

	sst_plan_map_scan(&plan, target, forknum);
	if (plan.nblocks == 0)
		return;

	sst_scan_with_visitor(&plan, target->rel, visitor, limits, &result);

	for (int i = SST_FIRST_MAP_COUNT; i < SST_NCOUNTS; i++)
		counters->n[i] += result.counters.n[i];
	counters->n[SST_MAP_CORRUPT_PAGES] += result.counters.n[SST_CORRUPT_PAGES];
	counters->map_largest_free = Max(counters->map_largest_free,
									 result.counters.map_largest_free);
	sst_io_stats_merge(io_stats, &result.io_stats);
}

/*
 * Add what the visibility map of a table says to counters, and blocks that are
 * all-visible and all-frozen to sets, which can be NULL.  So can limits; when one
 * is reached, the rest of the map is missing.
 */
void
sst_scan_visibility_map(const SstTarget *target, SstBlockSet *visible,
						SstBlockSet *frozen, SstLimits *limits,
						SstCounters *counters, SstIoStats *io_stats)
{
	SstVisitor	visitor;

	sst_visibility_map_visitor_init(&visitor, target->nblocks, visible, frozen);
	scan_map(target, VISIBILITYMAP_FORKNUM, &visitor, limits, counters, io_stats);
}

/*
 * Add what the free space map of a relation says to counters; free space in
 * blocks of the set, which can be NULL, is counted apart as well.
 */
void
sst_scan_free_space_map(const SstTarget *target, SstBlockSet *visible,
						SstCounters *counters, SstIoStats *io_stats)
{
	SstVisitor	visitor;

	sst_free_space_map_visitor_init(&visitor, target->nblocks, visible);
	scan_map(target, FSM_FORKNUM, &visitor, NULL, counters, io_stats);
}
