/*-------------------------------------------------------------------------
 *
 * plan_vacuum.h
 *	  Planning VACUUM and ANALYZE of a table
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/plan_vacuum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLAN_VACUUM_H
#define SST_PLAN_VACUUM_H

#include "report/planner.h"

extern void sst_plan_vacuum(SstPlanner *planner, const SstTableGroup *group,
							bool analyze);

#endif							/* SST_PLAN_VACUUM_H */
