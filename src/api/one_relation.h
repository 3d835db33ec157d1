/*-------------------------------------------------------------------------
 *
 * one_relation.h
 *	  Calls about one relation: opening it, and scanning all of it
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/one_relation.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ONE_RELATION_H
#define SST_ONE_RELATION_H

#include "api/row.h"
#include "run/call.h"
#include "run/plan.h"

extern bool sst_has_toast(const SstTarget *target);
extern void sst_open_argument(FunctionCallInfo fcinfo, SstTarget *target,
							  int kinds, SstRules rules);
extern Relation sst_open_name_or_oid(FunctionCallInfo fcinfo);
extern void sst_call_open(SstCall *call, FunctionCallInfo fcinfo,
						  SstTarget *target, int kinds);
extern void sst_call_try_open(SstCall *call, FunctionCallInfo fcinfo,
							  SstTarget *target, int kinds);
extern void sst_call_close(SstCall *call, SstTarget *target);
extern void sst_add_scan(const SstTarget *target, SstCounters *counters,
						 SstIoStats *io_stats);
extern void sst_scan_target(FunctionCallInfo fcinfo, const SstTarget *target,
							SstRelationStats *found);
extern void sst_scan_as_contrib(FunctionCallInfo fcinfo,
								const SstTarget *target,
								SstIndexCounts counts,
								SstRelationStats *found);
extern void sst_report_corrupt_index(const SstTarget *target,
									 const SstRelationStats *found);
extern Datum sst_index_row(FunctionCallInfo fcinfo, SstTargetKind kind,
						   const SstColumn *columns, int ncolumns);

#endif							/* SST_ONE_RELATION_H */
