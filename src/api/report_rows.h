/*-------------------------------------------------------------------------
 *
 * report_rows.h
 *	  Result rows of a report on many relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/report_rows.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REPORT_ROWS_H
#define SST_REPORT_ROWS_H

#include "fmgr.h"
#include "report/report.h"

extern void sst_return_report(FunctionCallInfo fcinfo, const SstReport *report);
extern void sst_return_plan(FunctionCallInfo fcinfo, const SstReport *report);
extern Datum sst_form_summary(FunctionCallInfo fcinfo, const SstReport *report);

#endif							/* SST_REPORT_ROWS_H */
