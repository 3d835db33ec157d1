/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Carrying out the plan of a scan, alone or with parallel workers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SCAN_H
#define SST_SCAN_H

#include "run/plan.h"

extern void sst_scan_run(const SstScanPlan *plan, Relation rel,
						 const SstBlockSet *set, SstScanResult *result);
extern void sst_scan_alone(const SstScanPlan *plan, Relation rel,
						   const SstBlockSet *set, const SstScanSinks *sinks,
						   SstScanResult *result);
extern void sst_scan_with_visitor(const SstScanPlan *plan, Relation rel,
								  const SstVisitor *visitor,
								  SstLimits *limits, SstScanResult *result);

#endif							/* SST_SCAN_H */
