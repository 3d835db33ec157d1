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

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "api/advice.h"
#include "api/call.h"
#include "api/row.h"
#include "report/schedule.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_database_report);
PG_FUNCTION_INFO_V1(sst_run_database_report);
PG_FUNCTION_INFO_V1(sst_last_database_report);
PG_FUNCTION_INFO_V1(sst_database_report_summary);

#define REPORT_COLUMNS 23
#define SUMMARY_COLUMNS 14

/*
 * Arguments
 */

static void
report_null(const char *argument)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s cannot be null", argument)));
}

/* A number of bytes, as pg_size_bytes() takes it */
static int64
bytes_argument(FunctionCallInfo fcinfo, int argno)
{
	return DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
											 PG_GETARG_DATUM(argno)));
}

/* Fill in the limits from the arguments: budget, max_time, max_rate, margin, seed */
static void
get_limits(FunctionCallInfo fcinfo, SstReportLimits *limits)
{
	memset(limits, 0, sizeof(SstReportLimits));

	if (PG_ARGISNULL(0))
		report_null("budget");
	limits->budget = bytes_argument(fcinfo, 0);
	if (limits->budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget must not be negative")));

	if (PG_ARGISNULL(1))
		report_null("time limit");
	limits->max_seconds = sst_seconds_argument(fcinfo, 1);

	if (!PG_ARGISNULL(2))
	{
		limits->max_rate = bytes_argument(fcinfo, 2);
		if (limits->max_rate <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rate must be greater than zero"),
					 errhint("Give bytes per second, or null for no limit.")));
	}

	if (PG_ARGISNULL(3))
		report_null("margin");
	limits->margin = PG_GETARG_FLOAT8(3);
	if (!(limits->margin >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("margin must not be negative")));

	limits->seed = sst_seed_argument(fcinfo, 4);
}

/*
 * Rows
 */

static int64
entry_bytes(const SstReport *report, int i)
{
	return (int64) report->entries[i].estimate.nblocks * BLCKSZ;
}

/* Bytes that the command of a row is expected to return */
static SstEstimate
reclaimable_bytes(const SstReport *report, int i)
{
	/* An index that is of no use is dropped. */
	if (sst_is_left_over(&report->relations.relation[i]))
	{
		double		bytes = (double) entry_bytes(report, i);

		return (SstEstimate)
		{
			bytes, bytes, bytes
		};
	}
	return sst_reclaimable_bytes(&report->entries[i].estimate);
}

static const char *
kind_name(const SstRelation *relation)
{
	switch (relation->relkind)
	{
		case RELKIND_INDEX:
			return "index";
		case RELKIND_TOASTVALUE:
			return "toast table";
		case RELKIND_MATVIEW:
			return "materialized view";
		default:
			return relation->partition ? "partition" : "table";
	}
}

static const char *
measured_name(SstMeasured measured)
{
	switch (measured)
	{
		case SST_EXACT:
			return "exact";
		case SST_SAMPLED:
			return "sampled";
		default:
			return "skipped";
	}
}

/* What is to be said of a relation, translated; or NULL */
static const char *
entry_note(const SstReportEntry *entry)
{
	if (entry->skipped == SST_SKIP_REFUSED)
		return entry->note;
	if (entry->measured != SST_SKIPPED)
		return sst_bloat_note(&entry->estimate);

	switch (entry->skipped)
	{
		case SST_SKIP_LOCKED:
			return _("locked by another session");
		case SST_SKIP_BUDGET:
			return _("not read: the budget of bytes was spent");
		case SST_SKIP_TIME:
			return _("not read: the time was up");
		default:
			return _("not read: the report was canceled");
	}
}

static void
put_estimate(SstRow *row, SstEstimate estimate)
{
	sst_put_float(row, estimate.value);
	sst_put_float(row, estimate.low);
	sst_put_float(row, estimate.high);
}

static void
fill_row(SstRow *row, const SstReport *report, int i)
{
	const SstRelation *relation = &report->relations.relation[i];
	const SstReportEntry *entry = &report->entries[i];
	SstEstimate reclaimable = reclaimable_bytes(report, i);

	row->n = 0;
	sst_put(row, ObjectIdGetDatum(relation->relid));
	sst_put_text(row, relation->schema);
	sst_put_text(row, relation->name);
	sst_put_oid(row, relation->parent);
	sst_put_text(row, relation->parent_name == NULL ? NULL :
				 quote_qualified_identifier(relation->parent_schema,
											relation->parent_name));
	sst_put_text(row, kind_name(relation));
	sst_put_text(row, OidIsValid(relation->amoid) ? get_am_name(relation->amoid) : NULL);
	sst_put_text(row, measured_name(entry->measured));

	if (relation->bytes < 0 && entry->measured == SST_SKIPPED)
		sst_put_null(row);
	else
		sst_put(row, Int64GetDatum(entry_bytes(report, i)));
	sst_put(row, Int64GetDatum((int64) entry->nread * BLCKSZ));
	put_estimate(row, entry->estimate.free_percent);
	put_estimate(row, entry->estimate.dead_percent);

	sst_put_bytes(row, entry->estimate.rebuilt_blocks.value * BLCKSZ);
	sst_put_bytes(row, reclaimable.value);
	sst_put_bytes(row, reclaimable.low);
	sst_put_bytes(row, reclaimable.high);

	if (relation->last_vacuum != 0)
		sst_put(row, TimestampTzGetDatum(relation->last_vacuum));
	else
		sst_put_null(row);
	sst_put_text(row, entry_note(entry));
	sst_put_text(row, relation->other_temp || relation->building ? NULL :
				 sst_advice(&report->relations, relation, &entry->estimate));
	Assert(row->n == REPORT_COLUMNS);
}

/* A row's place in the order */
typedef struct Place
{
	double		back;			/* -1 if not known */
	int64		bytes;
	int			i;
} Place;

static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->back != right->back)
		return left->back < right->back ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return left->i - right->i;
}

/* Return the rows of a report, the most reclaimable bytes first; none for NULL. */
static void
return_rows(FunctionCallInfo fcinfo, const SstReport *report)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Place	   *places;
	MemoryContext rowcontext;
	MemoryContext oldcontext;

	InitMaterializedSRF(fcinfo, 0);
	if (rsinfo->setDesc->natts != REPORT_COLUMNS)
		elog(ERROR, "function has %d result columns where the library has %d",
			 rsinfo->setDesc->natts, REPORT_COLUMNS);
	if (report == NULL)
		return;

	places = MemoryContextAllocHuge(CurrentMemoryContext,
									sizeof(Place) * (report->relations.n + 1));
	for (int i = 0; i < report->relations.n; i++)
	{
		double		back = reclaimable_bytes(report, i).value;

		places[i].back = isnan(back) ? -1 : back;
		places[i].bytes = entry_bytes(report, i);
		places[i].i = i;
	}
	qsort(places, report->relations.n, sizeof(Place), compare_places);

	rowcontext = AllocSetContextCreate(CurrentMemoryContext, "streamstat row",
									   ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(rowcontext);
	for (int i = 0; i < report->relations.n; i++)
	{
		SstRow		row;

		CHECK_FOR_INTERRUPTS();
		fill_row(&row, report, places[i].i);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row.values,
							 row.nulls);
		MemoryContextReset(rowcontext);
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(rowcontext);
	pfree(places);
}

static const char *
end_name(SstReportEnd end)
{
	switch (end)
	{
		case SST_REPORT_COMPLETE:
			return "complete";
		case SST_REPORT_BUDGET:
			return "budget";
		case SST_REPORT_TIME:
			return "max_time";
		default:
			return "canceled";
	}
}

/* Sums over the rows of a report */
typedef struct Sums
{
	int64		n[SST_EXACT + 1];	/* relations */
	int64		bytes;
	int64		bytes_skipped;	/* of relations of which nothing is known */
	int64		bytes_left;		/* that no sample had */
	SstEstimate reclaimable;
} Sums;

static void
add_up(const SstReport *report, Sums *sums)
{
	memset(sums, 0, sizeof(Sums));
	for (int i = 0; i < report->relations.n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];
		int64		bytes = entry_bytes(report, i);
		SstEstimate reclaimable = reclaimable_bytes(report, i);

		sums->n[entry->measured]++;
		sums->bytes += bytes;
		sums->bytes_left += bytes -
			Min((int64) entry->estimate.nread * BLCKSZ, bytes);
		if (entry->measured == SST_SKIPPED)
			sums->bytes_skipped += bytes;
		if (isnan(reclaimable.value))
			continue;
		sums->reclaimable.value += reclaimable.value;
		sums->reclaimable.low += reclaimable.low;
		sums->reclaimable.high += reclaimable.high;
	}
}

/* The row about a report; all nulls for NULL */
static Datum
form_summary(FunctionCallInfo fcinfo, const SstReport *report)
{
	TupleDesc	tupdesc;
	SstRow		row = {0};
	Sums		sums;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (tupdesc->natts != SUMMARY_COLUMNS)
		elog(ERROR, "function has %d result columns where the library has %d",
			 tupdesc->natts, SUMMARY_COLUMNS);

	if (report == NULL)
	{
		while (row.n < SUMMARY_COLUMNS)
			sst_put_null(&row);
		return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
												 row.values, row.nulls));
	}

	add_up(report, &sums);
	sst_put(&row, TimestampTzGetDatum(report->started));
	sst_put_float(&row, report->ended_by == SST_REPORT_CANCELED ? NAN :
				  report->elapsed_ms);
	sst_put_text(&row, end_name(report->ended_by));
	sst_put(&row, Int64GetDatum((int64) report->relations.n));
	sst_put(&row, Int64GetDatum(sums.n[SST_EXACT]));
	sst_put(&row, Int64GetDatum(sums.n[SST_SAMPLED]));
	sst_put(&row, Int64GetDatum(sums.n[SST_SKIPPED]));
	sst_put(&row, Int64GetDatum(sums.bytes));
	sst_put(&row, Int64GetDatum(report->bytes_read));
	sst_put(&row, Int64GetDatum(sums.bytes_skipped));
	sst_put(&row, Int64GetDatum(sums.bytes_left));
	sst_put_bytes(&row, sums.reclaimable.value);
	sst_put_bytes(&row, sums.reclaimable.low);
	sst_put_bytes(&row, sums.reclaimable.high);
	Assert(row.n == SUMMARY_COLUMNS);

	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
											 row.values, row.nulls));
}

/*
 * Making a report
 */

/* End the transaction, with its snapshot and all else that it holds; begin one. */
static void
commit_and_begin(void)
{
	SPI_commit();
	EnsurePortalSnapshotExists();
}

/*
 * Make a report, the session's last one from the beginning on.  An error in the
 * middle leaves in it what was found before.
 */
static void
make_report(const SstReportLimits *limits, bool commits)
{
	SstReport  *report;
	SstSchedule *schedule;

	sst_progress_begin("database_report", SST_PROGRESS_UNKNOWN,
					   SST_PROGRESS_UNKNOWN);
	report = sst_create_report(limits);
	schedule = sst_schedule_begin(report);
	PG_TRY();
	{
		while (sst_schedule_next(schedule))
		{
			if (commits)
				commit_and_begin();
		}
	}
	PG_FINALLY();
	{
		sst_schedule_end(schedule);
	}
	PG_END_TRY();
	sst_remember_call("database_report", InvalidOid, report->start,
					  &report->io_stats);
}

/*
 * SQL entry points
 */

Datum
sst_database_report(PG_FUNCTION_ARGS)
{
	SstReportLimits limits;

	get_limits(fcinfo, &limits);
	make_report(&limits, false);
	return_rows(fcinfo, sst_last_report());

	return (Datum) 0;
}

Datum
sst_last_database_report(PG_FUNCTION_ARGS)
{
	return_rows(fcinfo, sst_last_report());

	return (Datum) 0;
}

Datum
sst_database_report_summary(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(form_summary(fcinfo, sst_last_report()));
}

/*
 * The procedure commits where CALL allows it.  It does so before the report begins
 * as well, so that triggers that were deferred to the end of the transaction run
 * then, and cannot make a report of their own in the middle of this one.
 */
Datum
sst_run_database_report(PG_FUNCTION_ARGS)
{
	bool		atomic = fcinfo->context == NULL ||
		!IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic || IsSubTransaction();
	SstReportLimits limits;

	get_limits(fcinfo, &limits);
	if (atomic)
		make_report(&limits, false);
	else
	{
		if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		commit_and_begin();
		make_report(&limits, true);
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "SPI_finish failed");
	}

	PG_RETURN_DATUM(form_summary(fcinfo, sst_last_report()));
}
