/*-------------------------------------------------------------------------
 *
 * call.h
 *	  What functions about one relation have in common
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/call.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CALL_H
#define SST_CALL_H

#include "api/result.h"
#include "run/call.h"
#include "run/plan.h"

/* What to do with a table's TOAST table */
typedef enum SstWithToast
{
	SST_TOAST_LEFT_OUT,
	SST_TOAST_ROW,				/* a row of its own */
	SST_TOAST_SUMMED			/* added to the table's row */
} SstWithToast;

extern Oid	sst_relation_argument(FunctionCallInfo fcinfo);
extern BlockNumber sst_sample_size_argument(FunctionCallInfo fcinfo, int argno);
extern uint32 sst_seed_argument(FunctionCallInfo fcinfo, int argno);
extern SstWithToast sst_with_toast_argument(FunctionCallInfo fcinfo, int argno);
extern bool sst_has_toast(const SstTarget *target);
extern void sst_open_argument(FunctionCallInfo fcinfo, SstTarget *target,
							  int kinds, SstRules rules);
extern Relation sst_open_name_or_oid(FunctionCallInfo fcinfo);
extern void sst_call_open(SstCall *call, FunctionCallInfo fcinfo,
						  SstTarget *target, int kinds);
extern void sst_call_try_open(SstCall *call, FunctionCallInfo fcinfo,
							  SstTarget *target, int kinds);
extern void sst_call_close(SstCall *call, SstTarget *target);
extern double sst_seconds_argument(FunctionCallInfo fcinfo, int argno);
extern bool sst_max_time_argument(FunctionCallInfo fcinfo, int argno,
								  SstLimits *limits);
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

#endif							/* SST_CALL_H */
