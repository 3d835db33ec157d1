/*-------------------------------------------------------------------------
 *
 * plan_vacuum.c
 *	  Planning VACUUM and ANALYZE of a table
 *
 * VACUUM turns dead rows into free space, and the file does not shrink.  It is
 * useless while a transaction keeps the rows: then the plan names the
 * transaction.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/plan_vacuum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "commands/vacuum.h"

#include "report/plan_reasons.h"
#include "report/plan_vacuum.h"

/* Blocks that ANALYZE reads for each unit of default_statistics_target */
#define ANALYZE_BLOCKS 300

static void
plan_analyze(SstPlanner *planner, const SstTableGroup *group)
{
	SstPlannedCommand *planned = sst_add_command(planner, group->table,
												 SST_ORDINARY);

	planned->command = sst_analyze_command(&planner->relations[group->table]);
	planned->bytes_to_read = Min(planned->bytes, (double) ANALYZE_BLOCKS *
								 default_statistics_target * BLCKSZ);
	planned->reason = sst_analyze_reason();
}

/* VACUUM may read the table, its TOAST table and their indexes. */
static void
set_vacuum_costs(const SstPlanner *planner, const SstTableGroup *group,
				 SstPlannedCommand *planned)
{
	planned->nrelations = 0;
	planned->bytes = 0;
	for (int i = planner->first[group->table]; i >= 0; i = planner->next[i])
	{
		planned->nrelations++;
		planned->bytes += sst_entry_bytes(planner->report, i);
	}
	planned->bytes_to_read = planned->bytes;
	planned->bytes_to_write = NAN;
}

/*
 * Plan what makes free space of a table's dead rows, or say what keeps them.  Rows
 * that were kept when the table was read can be removed if nothing keeps them now.
 * analyze: the statistics of the table are to be renewed in any case.
 */
void
sst_plan_vacuum(SstPlanner *planner, const SstTableGroup *group, bool analyze)
{
	const SstRelation *table = &planner->relations[group->table];
	double		bytes = group->heap.bytes + group->toasted.bytes;
	double		removable = group->removable;
	double		kept = group->kept;
	const char *holder = NULL;
	SstPlannedCommand *planned;

	if (sst_is_small_catalog(table, bytes) ||
		!sst_is_worth_it(removable + kept, bytes) ||
		sst_last_vacuum(table->relid) >= planner->report->started)
	{
		if (analyze)
			plan_analyze(planner, group);
		return;
	}

	if (kept > 0)
		holder = sst_holder_of(planner, group);
	if (holder == NULL)
	{
		removable += kept;
		kept = 0;
	}
	if (sst_is_worth_it(removable, bytes))
	{
		planned = sst_add_command(planner, group->table, SST_ORDINARY);
		planned->command = sst_vacuum_command(table, analyze);
		planned->reason = sst_vacuum_reason(removable, kept, holder);
		if (analyze)
			planned->reason = psprintf("%s; %s", planned->reason,
									   sst_analyze_reason());
		set_vacuum_costs(planner, group, planned);
		return;
	}

	if (holder != NULL)
	{
		planned = sst_add_command(planner, group->table, SST_ORDINARY);
		planned->reason = sst_kept_reason(kept, holder);
	}
	if (analyze)
		plan_analyze(planner, group);
}
