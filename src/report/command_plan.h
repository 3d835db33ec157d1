/*-------------------------------------------------------------------------
 *
 * command_plan.h
 *	  The commands that a report advises, one for all that it rebuilds
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/command_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COMMAND_PLAN_H
#define SST_COMMAND_PLAN_H

#include "report/planned_command.h"

extern SstCommandPlan *sst_make_plan(const SstReport *report);
extern void sst_plan_sum(const SstCommandPlan *plan, SstEstimate *reclaimable);
extern int	sst_plan_ncommands(const SstCommandPlan *plan);

#endif							/* SST_COMMAND_PLAN_H */
