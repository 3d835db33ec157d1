/*-------------------------------------------------------------------------
 *
 * command_plan.c
 *	  The commands that a report advises, one for all that it rebuilds
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/command_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "report/command_plan.h"
#include "report/plan_table.h"

/* Bring the relations of each table into a list, in the order of OIDs. */
static void
group_relations(SstPlanner *planner)
{
	const SstRelations *list = &planner->report->relations;

	for (int i = list->n - 1; i >= 0; i--)
		planner->first[i] = planner->next[i] = -1;
	for (int i = list->n - 1; i >= 0; i--)
	{
		SstRelation *owner = &list->relation[i];
		int			table;

		if (owner->relkind == RELKIND_INDEX)
			owner = sst_find_relation(list, owner->parent);
		if (owner != NULL && owner->relkind == RELKIND_TOASTVALUE)
			owner = sst_find_relation(list, owner->parent);
		if (owner == NULL)
			continue;
		table = owner - list->relation;
		planner->next[i] = planner->first[table];
		planner->first[table] = i;
	}
}

static int
compare_commands(const void *a, const void *b)
{
	const SstPlannedCommand *left = a;
	const SstPlannedCommand *right = b;
	double		gains[2] = {left->reclaimable.value, right->reclaimable.value};

	if (left->urgency != right->urgency)
		return left->urgency < right->urgency ? -1 : 1;
	for (int i = 0; i < 2; i++)
	{
		if (isnan(gains[i]))
			gains[i] = 0;
	}
	if (gains[0] != gains[1])
		return gains[0] < gains[1] ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return left->relation - right->relation;
}

/* Put the commands into their order. */
static void
rank_commands(SstCommandPlan *plan, int nrelations)
{
	int		   *by_relation = palloc_extended(sizeof(int) * (nrelations + 1),
											  MCXT_ALLOC_HUGE);

	for (int i = 0; i < nrelations; i++)
	{
		int			place = plan->command_of[i];

		by_relation[i] = place < 0 ? -1 : plan->commands[place].relation;
	}
	if (plan->ncommands > 1)
		qsort(plan->commands, plan->ncommands, sizeof(SstPlannedCommand),
			  compare_commands);
	for (int i = plan->ncommands - 1; i >= 0; i--)
		plan->command_of[plan->commands[i].relation] = i;
	for (int i = 0; i < nrelations; i++)
	{
		if (by_relation[i] >= 0)
			plan->command_of[i] = plan->command_of[by_relation[i]];
	}
	pfree(by_relation);
}

/*
 * Make the plan of a report, in the current memory context.  Catalogs, statistics
 * and the views of transactions are asked; no relation of the report is opened.
 */
SstCommandPlan *
sst_make_plan(const SstReport *report)
{
	int			n = report->relations.n;
	SstPlanner	planner = {report, report->relations.relation};
	SstCommandPlan *plan = palloc0(sizeof(SstCommandPlan));

	plan->command_of = palloc_extended(sizeof(int) * (n + 1), MCXT_ALLOC_HUGE);
	plan->withheld = palloc_extended(n + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	planner.plan = plan;
	planner.first = palloc_extended(sizeof(int) * (n + 1), MCXT_ALLOC_HUGE);
	planner.next = palloc_extended(sizeof(int) * (n + 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
		plan->command_of[i] = -1;
	sst_find_tools(&planner.tools);
	group_relations(&planner);

	for (int i = 0; i < n; i++)
	{
		const SstRelation *relation = &report->relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		if (sst_is_table(relation) && relation->relkind != RELKIND_TOASTVALUE &&
			!relation->other_temp)
			sst_plan_table(&planner, i);
	}
	rank_commands(plan, n);
	pfree(planner.first);
	pfree(planner.next);

	return plan;
}

/* What all commands of a plan give back together */
void
sst_plan_sum(const SstCommandPlan *plan, SstEstimate *reclaimable)
{
	memset(reclaimable, 0, sizeof(SstEstimate));
	for (int i = 0; i < plan->ncommands; i++)
	{
		const SstEstimate *one = &plan->commands[i].reclaimable;

		if (isnan(one->value))
			continue;
		reclaimable->value += one->value;
		reclaimable->low += one->low;
		reclaimable->high += one->high;
	}
}

/* How many commands there are; the rest of the plan says what else is to be done. */
int
sst_plan_ncommands(const SstCommandPlan *plan)
{
	int			n = 0;

	for (int i = 0; i < plan->ncommands; i++)
		n += plan->commands[i].command.text != NULL;

	return n;
}
