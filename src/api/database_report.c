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

#include "access/xact.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/pquery.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "api/advice.h"
#include "api/arguments.h"
#include "api/relation_columns.h"
#include "api/row.h"
#include "report/schedule.h"
#include "run/call.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_database_report);
PG_FUNCTION_INFO_V1(sst_run_database_report);
PG_FUNCTION_INFO_V1(sst_last_database_report);
PG_FUNCTION_INFO_V1(sst_database_report_summary);

/*
 * Arguments
 */

/* A number of bytes, as pg_size_bytes() takes it */
static int64
bytes_argument(FunctionCallInfo fcinfo, int argno)
{
	return DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
											 PG_GETARG_DATUM(argno)));
}

/* The limits of a report that is given none */
#define DEFAULT_MARGIN 2.0
#define DEFAULT_SECONDS 60.0

/* Fill in the limits from the arguments: margin, budget, max_time, max_rate, seed */
static void
get_limits(FunctionCallInfo fcinfo, SstReportLimits *limits)
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
	limits->budget = bytes_argument(fcinfo, 1);
	if (limits->budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget must not be negative")));

	limits->max_seconds = PG_ARGISNULL(2) ? DEFAULT_SECONDS :
		sst_seconds_argument(fcinfo, 2);

	if (!PG_ARGISNULL(3))
	{
		limits->max_rate = bytes_argument(fcinfo, 3);
		if (limits->max_rate <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rate must be greater than zero"),
					 errhint("Give bytes per second, or null for no limit.")));
	}

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
put_row(SstRow *row, const SstReport *report, int i)
{
	const SstRelation *relation = &report->relations.relation[i];
	const SstReportEntry *entry = &report->entries[i];
	SstEstimate reclaimable = reclaimable_bytes(report, i);

	sst_put_relation(row, relation);
	sst_put_text(row, "access_method", OidIsValid(relation->amoid) ?
				 get_am_name(relation->amoid) : NULL);
	sst_put_timestamptz(row, "last_vacuum", relation->last_vacuum);
	sst_put_count(row, "bytes",
				  relation->bytes < 0 && entry->measured == SST_SKIPPED ?
				  -1 : entry_bytes(report, i));
	sst_put_estimate(row, "free_percent", entry->estimate.free_percent);
	sst_put_estimate(row, "dead_percent", entry->estimate.dead_percent);
	sst_put_bytes(row, "predicted_bytes",
				  entry->estimate.rebuilt_blocks.value * BLCKSZ);
	sst_put_bytes_estimate(row, "reclaimable_bytes", reclaimable);
	sst_put_int64(row, "bytes_read", (int64) entry->nread * BLCKSZ);
	sst_put_text(row, "measured", measured_name(entry->measured));
	sst_put_text(row, "note", entry_note(entry));
	sst_put_text(row, "command",
				 relation->other_temp || relation->building ? NULL :
				 sst_advice(&report->relations, relation, &entry->estimate));
	sst_row_store(row);
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
	SstRow		row;
	Place	   *places;
	MemoryContext rowcontext;
	MemoryContext oldcontext;

	sst_rows_begin(&row, fcinfo);
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
		CHECK_FOR_INTERRUPTS();
		put_row(&row, report, places[i].i);
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

/* The row about a report; null for NULL */
static Datum
form_summary(FunctionCallInfo fcinfo, const SstReport *report)
{
	SstRow		row;
	Sums		sums;

	if (report == NULL)
		PG_RETURN_NULL();

	add_up(report, &sums);
	sst_row_init(&row, fcinfo);
	sst_put_timestamptz(&row, "started", report->started);
	sst_put_int64(&row, "relations", report->relations.n);
	sst_put_int64(&row, "exact_relations", sums.n[SST_EXACT]);
	sst_put_int64(&row, "sampled_relations", sums.n[SST_SAMPLED]);
	sst_put_int64(&row, "skipped_relations", sums.n[SST_SKIPPED]);
	sst_put_bytes_estimate(&row, "reclaimable_bytes", sums.reclaimable);
	sst_put_int64(&row, "bytes_total", sums.bytes);
	sst_put_int64(&row, "bytes_read", report->bytes_read);
	sst_put_int64(&row, "bytes_skipped", sums.bytes_skipped);
	sst_put_int64(&row, "bytes_left", sums.bytes_left);
	sst_put_float8(&row, "elapsed_ms",
				   report->ended_by == SST_REPORT_CANCELED ? NAN :
				   report->elapsed_ms);
	sst_put_text(&row, "ended_by", end_name(report->ended_by));

	return sst_row_datum(&row);
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
 * SQL entry points
 */

Datum
sst_database_report(PG_FUNCTION_ARGS)
{
	SstReportLimits limits;

	get_limits(fcinfo, &limits);
	make_report(fcinfo, &limits, false);
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
	return form_summary(fcinfo, sst_last_report());
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
		make_report(fcinfo, &limits, false);
	else
	{
		if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		SPI_commit();
		EnsurePortalSnapshotExists();
		make_report(fcinfo, &limits, true);
		EnsurePortalSnapshotExists();
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "SPI_finish failed");
	}

	PG_RETURN_VOID();
}
