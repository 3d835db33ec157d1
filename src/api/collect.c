/*-------------------------------------------------------------------------
 *
 * collect.c
 *	  Make a report, and store it
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/collect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "api/arguments.h"
#include "api/database_report.h"
#include "api/stored_report.h"

PG_FUNCTION_INFO_V1(sst_collect);

/* Arguments after those of a report */
#define ARG_RETENTION 5
#define ARG_TOP_RELATIONS 6
#define ARG_MIN_BYTES 7

/* Runs that began before this time are deleted; DT_NOBEGIN for a null retention */
static TimestampTz
retention_argument(FunctionCallInfo fcinfo)
{
	Interval	none = {0};

	if (PG_ARGISNULL(ARG_RETENTION))
		return DT_NOBEGIN;

	if (DatumGetBool(DirectFunctionCall2(interval_lt,
										 PG_GETARG_DATUM(ARG_RETENTION),
										 IntervalPGetDatum(&none))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("retention must not be negative")));

	return DatumGetTimestampTz(DirectFunctionCall2(timestamptz_mi_interval,
												   TimestampTzGetDatum(GetCurrentTimestamp()),
												   PG_GETARG_DATUM(ARG_RETENTION)));
}

static void
store_arguments(FunctionCallInfo fcinfo, SstStoreOptions *options)
{
	memset(options, 0, sizeof(SstStoreOptions));
	options->keep_since = retention_argument(fcinfo);

	if (PG_ARGISNULL(ARG_TOP_RELATIONS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("top_relations cannot be null")));
	options->top_relations = PG_GETARG_INT32(ARG_TOP_RELATIONS);
	if (options->top_relations < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("top_relations must not be negative")));

	if (PG_ARGISNULL(ARG_MIN_BYTES))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_bytes cannot be null")));
	options->min_bytes = sst_bytes_argument(fcinfo, ARG_MIN_BYTES);
	if (options->min_bytes < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("min_bytes must not be negative")));
}

/*
 * The procedure.  What would keep it from writing is an error before anything is read.
 */
Datum
sst_collect(PG_FUNCTION_ARGS)
{
	SstReportLimits limits;
	SstStoreOptions options;
	SstStoredReport stored;

	PreventCommandDuringRecovery("CALL streamstat.collect");
	PreventCommandIfReadOnly("CALL streamstat.collect");
	sst_report_limits_arguments(fcinfo, &limits);
	store_arguments(fcinfo, &options);
	sst_find_stored_report(&stored, get_func_namespace(fcinfo->flinfo->fn_oid));

	if (!sst_run_report(fcinfo, &limits))
		options.note = "made in a transaction block, which held a snapshot during the report";
	sst_store_report(&stored, &options);

	PG_RETURN_VOID();
}
