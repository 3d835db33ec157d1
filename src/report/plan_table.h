/*-------------------------------------------------------------------------
 *
 * plan_table.h
 *	  Planning the commands for one table
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/plan_table.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLAN_TABLE_H
#define SST_PLAN_TABLE_H

#include "report/planner.h"

extern void sst_plan_table(SstPlanner *planner, int table);

#endif							/* SST_PLAN_TABLE_H */
