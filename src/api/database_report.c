/*-------------------------------------------------------------------------
 *
 * database_report.c
 *	  Bloat of every relation of the database, read within limits
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/database_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/pquery.h"
#include "utils/timestamp.h"

#include "api/arguments.h"
#include "api/database_report.h"
#include "api/report_rows.h"
#include "report/schedule.h"
#include "run/call.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_database_report);
PG_FUNCTION_INFO_V1(sst_run_database_report);
PG_FUNCTION_INFO_V1(sst_last_database_report);
PG_FUNCTION_INFO_V1(sst_database_report_summary);
PG_FUNCTION_INFO_V1(sst_database_plan);
PG_FUNCTION_INFO_V1(sst_last_database_plan);

/*
 * Arguments
 */

/* The limits of a report that is given none */
#define DEFAULT_MARGIN 2.0
#define DEFAULT_SECONDS 60.0

/* Fill in the limits from the arguments: margin, budget, max_time, max_rate, seed */
void
sst_report_limits_arguments(FunctionCallInfo fcinfo, SstReportLimits *limits)
{
	memset(limits, 0, sizeof(SstReportLimits));

	limits->margin = PG_ARGISNULL(0) ? DEFAULT_MARGIN : PG_GETARG_FLOAT8(0);
	if (!(limits->margin >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("margin must not be negative")));

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget cannot be null")));
	limits->budget = sst_bytes_argument(fcinfo, 1);
	if (limits->budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget must not be negative")));

	limits->max_seconds = PG_ARGISNULL(2) ? DEFAULT_SECONDS :
		sst_seconds_argument(fcinfo, 2);

	limits->max_rate = sst_max_rate_argument(fcinfo, 3);
	limits->seed = sst_seed_argument(fcinfo, 4);
}

/*
 * Making a report
 */

/*
 * Make a report, the session's last one from the beginning on.  An error in the
 * middle leaves in it what was found before.
 *
 * "commits" ends the transaction, with all that it holds, after the catalogs were
 * read and after each relation.  The next one has no snapshot while it reads pages,
 * so that CREATE INDEX CONCURRENTLY does not wait for it.
 */
static void
make_report(FunctionCallInfo fcinfo, const SstReportLimits *limits,
			bool commits)
{
	SstCall		call;
	SstReport  *report;
	SstSchedule *schedule;

	sst_call_begin(&call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	report = sst_create_report(limits);
	schedule = sst_schedule_begin(report);
	PG_TRY();
	{
		do
		{
			if (commits)
				SPI_commit();
		} while (sst_schedule_next(schedule));
	}
	PG_FINALLY();
	{
		sst_schedule_end(schedule);
	}
	PG_END_TRY();
	call.io_stats = report->io_stats;
	sst_call_end(&call);
}

/*
 * Make a report for a procedure, which commits where CALL allows it; returns whether
 * it did.  It does so before the report begins as well, so that triggers that were
 * deferred to the end of the transaction run then, and cannot make a report of their
 * own in the middle of this one.
 */
bool
sst_run_report(FunctionCallInfo fcinfo, const SstReportLimits *limits)
{
	bool		commits = fcinfo->context != NULL &&
		IsA(fcinfo->context, CallContext) &&
		!castNode(CallContext, fcinfo->context)->atomic && !IsSubTransaction();

	if (!commits)
	{
		make_report(fcinfo, limits, false);
		return false;
	}

	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	SPI_commit();
	EnsurePortalSnapshotExists();
	make_report(fcinfo, limits, true);
	EnsurePortalSnapshotExists();
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");

	return true;
}

/*
 * SQL entry points
 */

Datum
sst_database_report(PG_FUNCTION_ARGS)
{
	SstReportLimits limits;

	sst_report_limits_arguments(fcinfo, &limits);
	make_report(fcinfo, &limits, false);
	sst_return_report(fcinfo, sst_last_report());

	return (Datum) 0;
}

Datum
sst_last_database_report(PG_FUNCTION_ARGS)
{
	sst_return_report(fcinfo, sst_last_report());

	return (Datum) 0;
}

Datum
sst_database_report_summary(PG_FUNCTION_ARGS)
{
	return sst_form_summary(fcinfo, sst_last_report());
}

Datum
sst_database_plan(PG_FUNCTION_ARGS)
{
	SstReportLimits limits;

	sst_report_limits_arguments(fcinfo, &limits);
	make_report(fcinfo, &limits, false);
	sst_return_plan(fcinfo, sst_last_report());

	return (Datum) 0;
}

Datum
sst_last_database_plan(PG_FUNCTION_ARGS)
{
	sst_return_plan(fcinfo, sst_last_report());

	return (Datum) 0;
}

Datum
sst_run_database_report(PG_FUNCTION_ARGS)
{
	SstReportLimits limits;

	sst_report_limits_arguments(fcinfo, &limits);
	(void) sst_run_report(fcinfo, &limits);

	PG_RETURN_VOID();
}
