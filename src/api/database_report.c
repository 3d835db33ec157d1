/*-------------------------------------------------------------------------
 *
 * database_report.c
 *	  What every relation of the database would give back, within limits
 *
 * A report is kept in the session's memory from its beginning on, until the next
 * one, so that one that was canceled shows what it had found.
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
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lock.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "api/advice.h"
#include "api/call.h"
#include "api/row.h"
#include "relation/refuse.h"
#include "run/progress.h"
#include "report/schedule.h"

PG_FUNCTION_INFO_V1(sst_database_report);
PG_FUNCTION_INFO_V1(sst_run_database_report);
PG_FUNCTION_INFO_V1(sst_last_database_report);
PG_FUNCTION_INFO_V1(sst_database_report_summary);

/* A report: entries and relations have the same order. */
typedef struct Report
{
	MemoryContext context;
	TimestampTz started;
	SstReport	run;
	SstRelations relations;
} Report;

/* The session's last one, or NULL */
static Report *last;

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
get_limits(FunctionCallInfo fcinfo, SstReport *run)
{
	memset(run, 0, sizeof(SstReport));

	run->margin = PG_ARGISNULL(0) ? DEFAULT_MARGIN : PG_GETARG_FLOAT8(0);
	if (!(run->margin >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("margin must not be negative")));

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget cannot be null")));
	run->budget = bytes_argument(fcinfo, 1);
	if (run->budget < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("budget must not be negative")));

	run->max_seconds = PG_ARGISNULL(2) ? DEFAULT_SECONDS :
		sst_seconds_argument(fcinfo, 2);

	if (!PG_ARGISNULL(3))
	{
		run->max_rate = bytes_argument(fcinfo, 3);
		if (run->max_rate <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rate must be greater than zero"),
					 errhint("Give bytes per second, or null for no limit.")));
	}

	run->seed = sst_seed_argument(fcinfo, 4);
}

/*
 * Making a report
 */

/* Does somebody hold a lock on the table as those who build its indexes do? */
static bool
is_being_worked_on(Oid tableoid)
{
	LOCKTAG		tag;
	int			n;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, tableoid);
	(void) GetLockConflicts(&tag, ShareUpdateExclusiveLock, &n);

	return n > 0;
}

/* Why a relation is not even tried, or NULL */
static const char *
known_reason(const SstRelation *relation)
{
	SstTargetState state = sst_listed_state(relation);

	if ((state == SST_TARGET_INVALID || state == SST_TARGET_NOT_READY) &&
		is_being_worked_on(relation->parent))
		return _("index is not valid, or not yet: its table is locked by another session");
	return sst_state_note(state);
}

/* Make the session's report anew, and list what it is about. */
static Report *
begin_report(const SstReport *limits)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "streamstat report",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	Report	   *report = palloc0(sizeof(Report));

	if (last != NULL)
		MemoryContextDelete(last->context);
	last = report;

	report->context = context;
	report->run = *limits;
	report->run.context = context;
	report->started = GetCurrentTimestamp();
	INSTR_TIME_SET_CURRENT(report->run.start);
	sst_io_stats_init(&report->run.streams,
						   sst_io_path == SST_IO_PATH_BUFFER ?
						   SST_IO_PATH_BUFFER : SST_IO_PATH_FILE);
	sst_progress_begin("database_report", SST_PROGRESS_UNKNOWN,
					   SST_PROGRESS_UNKNOWN);
	sst_progress_phase(SST_PHASE_CATALOG);

	sst_list_relations(&report->relations);
	report->run.entries =
		MemoryContextAllocExtended(context, sizeof(SstReportEntry) *
								   (report->relations.n + 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < report->relations.n; i++)
	{
		const SstRelation *relation = &report->relations.relation[i];
		SstReportEntry *entry = &report->run.entries[i];

		entry->relid = relation->relid;
		if (relation->relkind == RELKIND_INDEX)
			entry->tableoid = relation->parent;
		entry->nblocks = Max(relation->bytes, 0) / BLCKSZ;
		entry->fileless = relation->bytes < 0;
		entry->reason = known_reason(relation);
	}
	report->run.nentries = report->relations.n;
	MemoryContextSwitchTo(oldcontext);

	return report;
}

/*
 * Rows
 */

static int64
entry_bytes(const Report *report, int i)
{
	if (report->run.entries[i].method == SST_REPORT_SKIPPED)
		return Max(report->relations.relation[i].bytes, 0);
	return (int64) report->run.entries[i].nblocks * BLCKSZ;
}

/* What is expected to be given back */
static SstEstimate
expected_back(const Report *report, int i)
{
	const SstReportEntry *entry = &report->run.entries[i];

	/* An index that is no use at all goes as a whole. */
	if (sst_is_left_over(&report->relations.relation[i]))
	{
		double		bytes = (double) entry_bytes(report, i);

		return (SstEstimate)
		{
			bytes, bytes, bytes
		};
	}
	return sst_bytes_back(entry->nblocks, entry->rebuilt_blocks);
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
method_name(SstReportMethod method)
{
	switch (method)
	{
		case SST_REPORT_EXACT:
			return "exact";
		case SST_REPORT_SAMPLED:
			return "sampled";
		default:
			return "skipped";
	}
}

/* More entries than this, in percent, are for rows that VACUUM would remove. */
#define MANY_DEAD_ENTRIES 2

/*
 * Percent of an index's entries that are for dead rows, as far as its table has
 * been looked at
 */
static double
dead_entries(const Report *report, int i)
{
	const SstRelation *relation = &report->relations.relation[i];
	const SstRelation *table = NULL;
	const SstReportEntry *entry;

	if (relation->relkind == RELKIND_INDEX && relation->amoid != BRIN_AM_OID)
		table = sst_find_relation(&report->relations, relation->parent);
	if (table == NULL)
		return 0;

	entry = &report->run.entries[table - report->relations.relation];
	return isnan(entry->kept_share.value) ? 0 : 100 - entry->kept_share.value;
}

/* What is to be said of a relation, or NULL */
static const char *
entry_reason(const Report *report, int i)
{
	const SstReportEntry *entry = &report->run.entries[i];
	double		dead = dead_entries(report, i);

	if (entry->reason != NULL)
		return entry->reason;
	if (entry->method == SST_REPORT_SKIPPED)
		return _("not read: the report was canceled");
	if (entry->ncorrupt > 0)
		return psprintf(_("%llu corrupt pages among those read, the first is block %u"),
						(unsigned long long) entry->ncorrupt,
						entry->first_corrupt);
	if (isnan(entry->rebuilt_blocks.value) && entry->obstacle != NULL)
		return psprintf(_("size after a rebuild: %s"), _(entry->obstacle));
	if (dead > MANY_DEAD_ENTRIES && entry->nsampled > 0)
		return psprintf(_("about %.0f %% of its entries are for dead rows, and more comes back after VACUUM of the table"),
						dead);
	if (entry->note != NULL)
		return _(entry->note);
	return NULL;
}

static void
put_row(SstRow *row, const Report *report, int i)
{
	const SstRelation *relation = &report->relations.relation[i];
	const SstReportEntry *entry = &report->run.entries[i];
	SstEstimate back = expected_back(report, i);
	bool		in_the_making = !relation->valid &&
		entry->reason != NULL && strcmp(entry->reason,
			   sst_state_note(relation->ready ? SST_TARGET_INVALID :
							  SST_TARGET_NOT_READY)) != 0;

	sst_put_regclass(row, "relation", relation->relid);
	sst_put_text(row, "schema_name", relation->schema);
	sst_put_text(row, "relation_name", relation->name);
	sst_put_regclass(row, "parent", relation->parent);
	sst_put_text(row, "parent_name", relation->parent_name == NULL ? NULL :
				 quote_qualified_identifier(relation->parent_schema,
											relation->parent_name));
	sst_put_text(row, "kind", kind_name(relation));
	sst_put_text(row, "access_method", OidIsValid(relation->amoid) ?
				 get_am_name(relation->amoid) : NULL);
	sst_put_timestamptz(row, "last_vacuum", relation->last_vacuum);
	sst_put_count(row, "bytes",
				  relation->bytes < 0 && entry->method == SST_REPORT_SKIPPED ?
				  -1 : entry_bytes(report, i));
	sst_put_estimate(row, "free_percent", entry->free_share);
	sst_put_estimate(row, "dead_percent", entry->dead_share);
	sst_put_bytes(row, "predicted_bytes", entry->rebuilt_blocks.value * BLCKSZ);
	sst_put_bytes_estimate(row, "reclaimable_bytes", back);
	sst_put_int64(row, "bytes_read", (int64) entry->nread * BLCKSZ);
	sst_put_text(row, "measured", method_name(entry->method));
	sst_put_text(row, "note", entry_reason(report, i));
	sst_put_text(row, "command", in_the_making || relation->other_temp ? NULL :
				 sst_advice(&report->relations, relation, entry->nblocks, back,
							entry->dead_share));
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

/* Return the session's report, what gives back most first. */
static void
return_rows(FunctionCallInfo fcinfo)
{
	SstRow		row;
	Place	   *places;
	MemoryContext rowcontext;
	MemoryContext oldcontext;

	sst_rows_begin(&row, fcinfo);
	if (last == NULL)
		return;

	places = MemoryContextAllocHuge(CurrentMemoryContext,
									sizeof(Place) * (last->run.nentries + 1));
	for (int i = 0; i < last->run.nentries; i++)
	{
		double		back = expected_back(last, i).value;

		places[i].back = isnan(back) ? -1 : back;
		places[i].bytes = entry_bytes(last, i);
		places[i].i = i;
	}
	qsort(places, last->run.nentries, sizeof(Place), compare_places);

	rowcontext = AllocSetContextCreate(CurrentMemoryContext, "streamstat row",
									   ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(rowcontext);
	for (int i = 0; i < last->run.nentries; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_row(&row, last, places[i].i);
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

/* The sums over a report */
typedef struct Sums
{
	int64		n[SST_REPORT_EXACT + 1];	/* relations by method */
	int64		bytes;			/* of all relations */
	int64		skipped;		/* of those that were skipped */
	int64		left;			/* that no sample has looked at */
	SstEstimate back;
} Sums;

static void
sum_up(const Report *report, Sums *sums)
{
	memset(sums, 0, sizeof(Sums));

	for (int i = 0; i < report->run.nentries; i++)
	{
		const SstReportEntry *entry = &report->run.entries[i];
		int64		bytes = entry_bytes(report, i);
		SstEstimate one = expected_back(report, i);

		sums->n[entry->method]++;
		sums->bytes += bytes;
		sums->left += bytes - Min((int64) entry->nsampled * BLCKSZ, bytes);
		if (entry->method == SST_REPORT_SKIPPED)
			sums->skipped += bytes;
		if (isnan(one.value))
			continue;
		sums->back.value += one.value;
		sums->back.low += isnan(one.low) ? 0 : one.low;
		sums->back.high += isnan(one.high) ? (double) bytes : one.high;
	}
}

/* The row about the session's report; null if there is none */
static Datum
form_summary(FunctionCallInfo fcinfo)
{
	SstRow		row;
	Sums		sums;

	if (last == NULL)
		PG_RETURN_NULL();

	sum_up(last, &sums);
	sst_row_init(&row, fcinfo);
	sst_put_timestamptz(&row, "started", last->started);
	sst_put_int64(&row, "relations", last->run.nentries);
	sst_put_int64(&row, "exact_relations", sums.n[SST_REPORT_EXACT]);
	sst_put_int64(&row, "sampled_relations", sums.n[SST_REPORT_SAMPLED]);
	sst_put_int64(&row, "skipped_relations", sums.n[SST_REPORT_SKIPPED]);
	sst_put_bytes_estimate(&row, "reclaimable_bytes", sums.back);
	sst_put_int64(&row, "bytes_total", sums.bytes);
	sst_put_int64(&row, "bytes_read", last->run.bytes_read);
	sst_put_int64(&row, "bytes_skipped", sums.skipped);
	sst_put_int64(&row, "bytes_left", sums.left);
	sst_put_float8(&row, "elapsed_ms",
				   last->run.ended_by == SST_REPORT_CANCELED ? NAN :
				   last->run.elapsed_ms);
	sst_put_text(&row, "ended_by", end_name(last->run.ended_by));

	return sst_row_datum(&row);
}

/* Make a report. */
static void
make_report(const SstReport *limits)
{
	SstReport  *run = &begin_report(limits)->run;

	sst_report_run(run);
	sst_remember_call("database_report", InvalidOid, run->start, &run->streams);
}

/*
 * SQL entry points
 */

Datum
sst_database_report(PG_FUNCTION_ARGS)
{
	SstReport	limits;

	get_limits(fcinfo, &limits);
	make_report(&limits);
	return_rows(fcinfo);

	return (Datum) 0;
}

Datum
sst_last_database_report(PG_FUNCTION_ARGS)
{
	return_rows(fcinfo);

	return (Datum) 0;
}

Datum
sst_database_report_summary(PG_FUNCTION_ARGS)
{
	return form_summary(fcinfo);
}

/* Let go of the snapshot, and of whatever else a transaction holds. */
static void
begin_transaction_anew(void)
{
	SPI_commit();
	EnsurePortalSnapshotExists();
}

/*
 * The procedure commits where CALL allows it, before the report begins as
 * well: what others have deferred to the end of a transaction is done then, and
 * cannot make a report of its own in the middle of this one.
 */
Datum
sst_run_database_report(PG_FUNCTION_ARGS)
{
	bool		atomic = fcinfo->context == NULL ||
		!IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic || IsSubTransaction();
	SstReport	limits;

	get_limits(fcinfo, &limits);
	if (atomic)
		make_report(&limits);
	else
	{
		if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		begin_transaction_anew();
		limits.between = begin_transaction_anew;
		make_report(&limits);
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "SPI_finish failed");
	}

	PG_RETURN_VOID();
}
