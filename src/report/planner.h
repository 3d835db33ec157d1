/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  The input for the plan of commands
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/planner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLANNER_H
#define SST_PLANNER_H

#include "catalog/pg_class.h"

#include "report/holder.h"
#include "report/plan_costs.h"
#include "report/planned_command.h"

typedef struct SstPlanner
{
	const SstReport *report;
	const SstRelation *relations;
	SstCommandPlan *plan;
	SstTools	tools;
	SstHolders *holders;		/* NULL: not asked yet */

	/* The relations of each table, in lists that end with -1 */
	int		   *first;
	int		   *next;
} SstPlanner;

/* A table, and what is to be known of it for a decision */
typedef struct SstTableGroup
{
	int			table;			/* places in the report's list */
	int			toast;			/* or -1 */
	SstGain		heap;
	SstGain		toasted;		/* with its index */
	double		removable;		/* bytes of dead rows that VACUUM removes */
	double		kept;			/* ... and that it must keep */
} SstTableGroup;

static inline bool
sst_is_table(const SstRelation *relation)
{
	return relation->relkind != RELKIND_INDEX;
}

static inline bool
sst_has_corrupt_pages(const SstPlanner *planner, int i)
{
	return planner->report->entries[i].estimate.ncorrupt > 0;
}

extern SstPlannedCommand *sst_add_command(SstPlanner *planner, int i,
										  SstUrgency urgency);
extern void sst_examine_table(const SstPlanner *planner, int table,
							  SstTableGroup *group);
extern bool sst_is_worth_it(double gain, double bytes);
extern bool sst_is_small_catalog(const SstRelation *relation, double bytes);
extern const char *sst_holder_of(SstPlanner *planner,
								 const SstTableGroup *group);

#endif							/* SST_PLANNER_H */
