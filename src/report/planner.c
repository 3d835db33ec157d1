/*-------------------------------------------------------------------------
 *
 * planner.c
 *	  The input for the plan of commands
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/planner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"

#include "report/planner.h"

/*
 * A command is worth running from here on: so much of what it rebuilds, or so many
 * bytes and less of it
 */
#define WORTH_PERCENT 10
#define WORTH_BYTES (10.0 * 1024 * 1024)
#define WORTH_PERCENT_OF_MANY 5

/* ... but never for less than this */
#define MIN_BYTES (64.0 * 1024)

/* Catalogs below this size grow again soon, and rebuilding them blocks everybody. */
#define MIN_CATALOG_BYTES (10.0 * 1024 * 1024)

/*
 * Add a command, in the row of the i-th relation.  The caller fills in the rest.  It is
 * moved by the next one that is added.
 */
SstPlannedCommand *
sst_add_command(SstPlanner *planner, int i, SstUrgency urgency)
{
	SstCommandPlan *plan = planner->plan;
	SstPlannedCommand *planned;

	if (plan->ncommands == plan->allocated)
	{
		plan->allocated = Max(plan->allocated * 2, 64);
		plan->commands = plan->commands == NULL ?
			palloc(sizeof(SstPlannedCommand) * plan->allocated) :
			repalloc_huge(plan->commands,
						  sizeof(SstPlannedCommand) * plan->allocated);
	}
	plan->command_of[i] = plan->ncommands;
	planned = &plan->commands[plan->ncommands++];
	memset(planned, 0, sizeof(SstPlannedCommand));
	planned->relation = i;
	planned->urgency = urgency;
	planned->nrelations = 1;
	planned->bytes = sst_entry_bytes(planner->report, i);

	return planned;
}

/* Is it worth a command to get so much back of so many bytes? */
bool
sst_is_worth_it(double gain, double bytes)
{
	double		percent = bytes > 0 ? 100 * gain / bytes : 0;

	return gain >= MIN_BYTES &&
		(percent >= WORTH_PERCENT ||
		 (gain >= WORTH_BYTES && percent >= WORTH_PERCENT_OF_MANY));
}

bool
sst_is_small_catalog(const SstRelation *relation, double bytes)
{
	return relation->relid < FirstNormalObjectId && bytes < MIN_CATALOG_BYTES;
}

static void
add_dead_rows(const SstPlanner *planner, int i, SstTableGroup *group)
{
	const SstBloatEstimate *estimate = &planner->report->entries[i].estimate;
	double		percent = sst_entry_bytes(planner->report, i) / 100;

	if (!(estimate->dead_percent.value > 0))
		return;
	group->kept += percent * estimate->recently_dead_percent;
	if (estimate->dead_percent.low > 0)
		group->removable += percent * Max(estimate->dead_percent.value -
										  estimate->recently_dead_percent, 0);
}

/* What keeps the dead rows of a table, in words; NULL if nothing does now */
const char *
sst_holder_of(SstPlanner *planner, const SstTableGroup *group)
{
	if (planner->holders == NULL)
		planner->holders = sst_find_holders();

	return sst_oldest_holder(planner->holders, &planner->relations[group->table],
							 planner->report->next_xid);
}

/* Find out what a decision on a table needs. */
void
sst_examine_table(const SstPlanner *planner, int table, SstTableGroup *group)
{
	memset(group, 0, sizeof(SstTableGroup));
	group->table = table;
	group->toast = -1;
	for (int i = planner->first[table]; i >= 0; i = planner->next[i])
	{
		const SstRelation *relation = &planner->relations[i];

		if (sst_is_table(relation))
			add_dead_rows(planner, i, group);
		if (relation->relkind == RELKIND_TOASTVALUE)
			group->toast = i;
		if (i == table)
			sst_add_gain(planner->report, i, &group->heap);
		else if (relation->relkind == RELKIND_TOASTVALUE ||
				 relation->parent == planner->relations[table].toastrelid)
			sst_add_gain(planner->report, i, &group->toasted);
	}
}
