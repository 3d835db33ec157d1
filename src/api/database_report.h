/*-------------------------------------------------------------------------
 *
 * database_report.h
 *	  Bloat of every relation of the database, read within limits
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/database_report.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DATABASE_REPORT_H
#define SST_DATABASE_REPORT_H

#include "fmgr.h"
#include "report/report.h"

extern void sst_report_limits_arguments(FunctionCallInfo fcinfo,
										SstReportLimits *limits);
extern bool sst_run_report(FunctionCallInfo fcinfo,
						   const SstReportLimits *limits);

#endif							/* SST_DATABASE_REPORT_H */
