/*-------------------------------------------------------------------------
 *
 * database_report.c
 *	  Bloat of every relation of the database, read within limits, and reports that are stored
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "api/api.h"
#include "report/plan.h"

PG_FUNCTION_INFO_V1(sst_database_report);
PG_FUNCTION_INFO_V1(sst_run_database_report);
PG_FUNCTION_INFO_V1(sst_last_database_report);
PG_FUNCTION_INFO_V1(sst_database_report_summary);
PG_FUNCTION_INFO_V1(sst_database_plan);
PG_FUNCTION_INFO_V1(sst_last_database_plan);
PG_FUNCTION_INFO_V1(sst_collect);

/* ----------
 * Result rows
 * ----------
 */

static const char *const measured_names[] = {
	[SST_SKIPPED] = "skipped",
	[SST_SAMPLED] = "sampled",
	[SST_EXACT] = "exact"
};

static const char *const end_names[] = {
	[SST_REPORT_CANCELED] = "canceled",
	[SST_REPORT_COMPLETE] = "complete",
	[SST_REPORT_BUDGET] = "budget",
	[SST_REPORT_TIME] = "max_time"
};

/* Of relations of which nothing was read */
static const char *const skip_notes[] = {
	[SST_SKIP_NONE] = gettext_noop("not read: the report was canceled"),
	[SST_SKIP_LOCKED] = gettext_noop("locked by another session"),
	[SST_SKIP_BUDGET] = gettext_noop("not read: byte budget used up"),
	[SST_SKIP_TIME] = gettext_noop("not read: time limit reached")
};

/* The note on a relation, translated; or NULL */
static const char *
entry_note(const SstReportEntry *entry)
{
	const char *note;

	if (entry->skipped == SST_SKIP_REFUSED)
		return entry->note;
	if (entry->measured == SST_SKIPPED)
		return _(skip_notes[entry->skipped]);

	note = sst_bloat_note(&entry->estimate);
	if (note == NULL && entry->skipped == SST_SKIP_LOCKED)
		note = _("locked by another session before more of it was read");
	return note;
}

/* The advice on a relation: its command, or where that is, or why it has none */
static void
put_advice(SstRow *row, const SstAdvice *advice)
{
	const SstPlannedCommand *planned = advice->command;
	const char *command = NULL;
	const char *rebuilt_by = NULL;
	const char *reason = NULL;

	if (planned == NULL)
		reason = advice->withheld != NULL ? _(advice->withheld) : NULL;
	else if (planned->entry == advice->entry)
	{
		command = planned->command.text;
		reason = planned->reason;
	}
	else
	{
		const SstRelation *table = planned->entry->relation;

		rebuilt_by = quote_qualified_identifier(table->schema, table->name);
	}
	sst_put_text(row, "command", command);
	sst_put_text(row, "rebuilt_by", rebuilt_by);
	sst_put_text(row, "reason", reason);
}

static void
put_row(SstRow *row, const SstAdvice *advice)
{
	const SstReportEntry *entry = advice->entry;
	const SstRelation *relation = entry->relation;

	sst_put_relation(row, relation);
	sst_put_text(row, "access_method", OidIsValid(relation->amoid) ?
				 get_am_name(relation->amoid) : NULL);
	sst_put_timestamptz(row, "last_vacuum", relation->last_vacuum);
	sst_put_count(row, "bytes",
				  relation->bytes < 0 && entry->measured == SST_SKIPPED ?
				  -1 : (int64) sst_entry_bytes(entry));
	sst_put_estimate(row, "free_percent", entry->estimate.free_percent, sst_put_float8);
	sst_put_estimate(row, "dead_percent", entry->estimate.dead_percent, sst_put_float8);
	sst_put_bytes(row, "predicted_bytes",
				  entry->estimate.rebuilt_blocks.value * BLCKSZ);
	sst_put_estimate(row, "reclaimable_bytes",
					 sst_entry_reclaimable(entry), sst_put_bytes);
	sst_put_count(row, "corrupt_pages", entry->measured == SST_SKIPPED ? -1 :
				  (int64) entry->estimate.ncorrupt);
	sst_put_datum(row, "is_valid", BOOLOID, BoolGetDatum(relation->valid),
				  relation->relkind != RELKIND_INDEX);
	sst_put_int64(row, "bytes_read", (int64) entry->nread * BLCKSZ);
	sst_put_text(row, "measured", measured_names[entry->measured]);
	sst_put_text(row, "note", entry_note(entry));
	put_advice(row, advice);
	sst_row_store(row);
}

/* The most reclaimable bytes first, and what is not known last; then by size */
static int
compare_advice(const void *a, const void *b)
{
	const SstReportEntry *left = (*(const SstAdvice *const *) a)->entry;
	const SstReportEntry *right = (*(const SstAdvice *const *) b)->entry;
	double		back[2] = {sst_entry_reclaimable(left).value, sst_entry_reclaimable(right).value};

	for (int i = 0; i < 2; i++)
	{
		if (isnan(back[i]))
			back[i] = -1;
	}
	if (back[0] != back[1])
		return back[0] < back[1] ? 1 : -1;
	if (left->estimate.nblocks != right->estimate.nblocks)
		return left->estimate.nblocks < right->estimate.nblocks ? 1 : -1;
	return (left > right) - (left < right);
}

static void
return_report(FunctionCallInfo fcinfo, const SstReport *report)
{
	int			n = report->relations.n;
	const SstAdvice **order = palloc_extended(sizeof(SstAdvice *) * (n + 1), MCXT_ALLOC_HUGE);
	const SstCommandPlan *plan;
	SstRow		row;
	MemoryContext oldcontext;

	sst_rows_begin(&row, fcinfo);
	plan = sst_report_plan(report, true);
	for (int i = 0; i < n; i++)
		order[i] = &plan->advice[i];
	qsort(order, n, sizeof(SstAdvice *), compare_advice);

	oldcontext = MemoryContextSwitchTo(row.context);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_row(&row, order[i]);
	}
	MemoryContextSwitchTo(oldcontext);
	pfree(order);
}

/* The row about a report */
static Datum
form_summary(FunctionCallInfo fcinfo, const SstReport *report)
{
	const SstCommandPlan *plan = sst_report_plan(report, true);
	SstRow		row;
	int64		nrelations[SST_EXACT + 1] = {0};
	int64		bytes_total = 0;
	int64		bytes_skipped = 0;	/* of relations of which nothing is known */
	int64		bytes_left = 0; /* that no sample had */
	SstEstimate reclaimable = {0};

	for (int i = 0; i < report->relations.n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];
		int64		bytes = sst_entry_bytes(entry);

		nrelations[entry->measured]++;
		bytes_total += bytes;
		bytes_left += bytes - Min((int64) entry->estimate.nread * BLCKSZ, bytes);
		if (entry->measured == SST_SKIPPED)
			bytes_skipped += bytes;
		sst_add_known(&reclaimable, sst_entry_reclaimable(entry));
	}

	sst_row_init(&row, fcinfo);
	sst_put_timestamptz(&row, "started", report->started);
	sst_put_int64(&row, "relations", report->relations.n);
	sst_put_int64(&row, "exact_relations", nrelations[SST_EXACT]);
	sst_put_int64(&row, "sampled_relations", nrelations[SST_SAMPLED]);
	sst_put_int64(&row, "skipped_relations", nrelations[SST_SKIPPED]);
	sst_put_int64(&row, "commands", plan->ncommands);
	sst_put_estimate(&row, "reclaimable_bytes", reclaimable, sst_put_bytes);
	sst_put_estimate(&row, "planned_bytes", plan->reclaimable, sst_put_bytes);
	sst_put_int64(&row, "bytes_total", bytes_total);
	sst_put_int64(&row, "bytes_read", report->limits.budget - report->left.bytes_left);
	sst_put_int64(&row, "bytes_skipped", bytes_skipped);
	sst_put_int64(&row, "bytes_left", bytes_left);
	sst_put_float8(&row, "elapsed_ms",
				   report->ended_by == SST_REPORT_CANCELED ? NAN :
				   report->elapsed_ms);
	sst_put_text(&row, "ended_by", end_names[report->ended_by]);

	return sst_row_datum(&row);
}

/* Put a row of a plan.  Without a relation, it is about several commands. */
static void
put_planned(SstRow *row, int rank, const SstPlannedCommand *planned)
{
	const SstRelation *relation = planned->entry ? planned->entry->relation : NULL;
	const SstCommand *command = &planned->command;
	bool		none = command->text == NULL;

	sst_put_int64(row, "rank", rank);
	sst_put_oid(row, "relid", relation ? relation->relid : InvalidOid);
	sst_put_text(row, "schema_name", relation ? relation->schema : NULL);
	sst_put_text(row, "relation_name", relation ? relation->name : NULL);
	sst_put_text(row, "kind", relation ? sst_kind_name(relation) : NULL);
	sst_put_bytes(row, "bytes", planned->bytes);
	sst_put_int64(row, "relations", planned->nrelations);
	sst_put_estimate(row, "reclaimable_bytes", planned->reclaimable, sst_put_bytes);
	sst_put_float8(row, "reclaimable_percent", planned->bytes > 0 ?
				   100 * planned->reclaimable.value / planned->bytes : NAN);
	sst_put_bytes(row, "scratch_bytes", planned->scratch_bytes);
	sst_put_bytes(row, "bytes_to_read", planned->bytes_to_read);
	sst_put_bytes(row, "bytes_to_write", planned->bytes_to_write);
	sst_put_estimate(row, "duration", planned->duration, sst_put_seconds);
	sst_put_text(row, "command", command->text);
	sst_put_text(row, "lock_mode", command->lock_mode);
	sst_put_bool(row, "blocks_reads", command->blocks);
	sst_put_bool(row, "blocks_writes", command->blocks);
	sst_put_datum(row, "is_online", BOOLOID, BoolGetDatum(!command->blocks), none);
	sst_put_text(row, "waits_for", planned->waits_for);
	sst_put_text(row, "reason", planned->reason);
	sst_row_store(row);
}

/* A number of the result, the seconds of a duration, or 1 for true; NaN for null */
static double
get_number(SstRow *row, TupleTableSlot *slot, const char *name, Oid type)
{
	int			attno = sst_row_find(row, name, type);
	bool		isnull = true;
	Datum		value = attno < 0 ? (Datum) 0 : slot_getattr(slot, attno + 1, &isnull);

	if (isnull)
		return NAN;
	if (type == INTERVALOID)
		return DatumGetIntervalP(value)->time / (double) USECS_PER_SEC;
	return type == BOOLOID ? DatumGetBool(value) : (double) DatumGetInt64(value);
}

static SstEstimate
get_estimate(SstRow *row, TupleTableSlot *slot, const char *name, Oid type)
{
	return (SstEstimate)
	{
		.value = get_number(row, slot, name, type),
			.low = get_number(row, slot, psprintf("%s_low", name), type),
			.high = get_number(row, slot, psprintf("%s_high", name), type)
	};
}

/* Add a command to those that are left out. */
static void
leave_out(SstRow *row, TupleTableSlot *slot, SstPlannedCommand *left)
{
	left->nrelations += get_number(row, slot, "relations", INT8OID);
	left->bytes += get_number(row, slot, "bytes", INT8OID);
	sst_add_known(&left->reclaimable,
				  get_estimate(row, slot, "reclaimable_bytes", INT8OID));
	sst_add_known(&left->duration, get_estimate(row, slot, "duration", INTERVALOID));
}

/* Take over a row, with another rank. */
static void
copy_row(SstRow *row, TupleTableSlot *slot, int rank)
{
	slot_getallattrs(slot);
	for (int i = 0; i < row->tupdesc->natts; i++)
		sst_row_set(row, i, slot->tts_values[i], slot->tts_isnull[i]);
	sst_put_int64(row, "rank", rank);
	sst_row_store(row);
}

/*
 * Of the commands of a plan, which is the result of the call by now, return those that give
 * back most within so many seconds, if all take as long as they may, and a row that sums up the
 * others.  Repairs come before all else, but a stored plan does not say which commands are.
 */
static void
return_picked(FunctionCallInfo fcinfo, bool online, double seconds)
{
	Tuplestorestate *all = ((ReturnSetInfo *) fcinfo->resultinfo)->setResult;
	SstPlannedCommand left = {.scratch_bytes = NAN, .bytes_to_read = NAN, .bytes_to_write = NAN};
	const SstCommandPlan *plan = sst_last_report() == NULL ? NULL : sst_report_plan(sst_last_report(), online);
	SstChoice  *choices = palloc_extended(sizeof(SstChoice) * (tuplestore_tuple_count(all) + 1),
										  MCXT_ALLOC_HUGE);
	SstRow		row;
	TupleTableSlot *slot;
	int			n = 0;
	int			rank = 0;

	sst_rows_begin(&row, fcinfo);
	slot = MakeSingleTupleTableSlot(row.tupdesc, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(all, true, false, slot))
	{
		/* One that needs downtime is not picked in an online plan. */
		choices[n].gain = get_number(&row, slot, "reclaimable_bytes", INT8OID);
		choices[n].seconds = online && get_number(&row, slot, "is_online", BOOLOID) != 1 ?
			NAN : get_number(&row, slot, "duration_high", INTERVALOID);
		if (plan != NULL && ((SstPlannedCommand *) list_nth(plan->commands, n))->urgency != SST_ORDINARY)
			choices[n].gain = NAN;
		n++;
	}
	sst_pick(choices, n, seconds);

	tuplestore_rescan(all);
	for (int i = 0; tuplestore_gettupleslot(all, true, false, slot); i++)
	{
		/* What is no command is there in any case. */
		if (choices[i].picked || isnan(get_number(&row, slot, "is_online", BOOLOID)))
			copy_row(&row, slot, ++rank);
		else
			leave_out(&row, slot, &left);
	}
	if (rank < n)
	{
		left.reason = psprintf(ngettext("%d command is left out: it may not end within max_duration, or needs downtime",
										"%d commands are left out: they may not end within max_duration, or need downtime",
										n - rank), n - rank);
		put_planned(&row, rank + 1, &left);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(all);
}

/* ----------
 * The last stored report, for a session that has made none
 * ----------
 */

/*
 * Find the last stored report in the schema, of a part of the database only if there is no
 * other, and say once in a statement that it is shown and how old it is.  ERROR if there is
 * none that the caller may read.  Returns its number.
 */
static char *
find_last_run(const char *schema, Oid namespace)
{
	static TimestampTz told;
	Oid			runs = get_relname_relid("report_runs", namespace);
	char	   *run;

	if (OidIsValid(runs) &&
		pg_class_aclcheck(runs, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		SPI_execute(psprintf("SELECT run, date_trunc('second', clock_timestamp() - started)"
							 " FROM %s.report_runs ORDER BY is_partial, run DESC LIMIT 1", schema),
					true, 0);
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no report has been made in this session, and none is stored"),
				 errhint("Call %s.run_database_report() first. %s.collect() stores a report for other sessions.",
						 schema, schema)));
	run = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (told == GetCurrentStatementStartTimestamp())
		return run;

	told = GetCurrentStatementStartTimestamp();
	ereport(NOTICE,
			(errmsg("no report has been made in this session: stored report %s is shown, from %s ago",
					run, SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2))));

	return run;
}

/* The OID of a relation, of which the tables have the names */
#define RELID \
	", (SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace" \
	" WHERE n.nspname = r.schema_name AND c.relname = r.relation_name) AS relid"

/*
 * Query a table for the rows of the last stored report, with a column besides, or "".  The
 * caller ends that with end_queries().
 */
static int
query_stored(FunctionCallInfo fcinfo, const char *table, const char *column, const char *order)
{
	const char *schema = quote_identifier(sst_called_schema(fcinfo));
	int			nestlevel = NewGUCNestLevel();
	const char *run;

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	run = find_last_run(schema, get_func_namespace(fcinfo->flinfo->fn_oid));
	if (SPI_execute(psprintf("SELECT r.*%s FROM %s.%s AS r WHERE r.run = %s ORDER BY r.%s",
							 column, schema, table, run, order),
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read a stored report");

	return nestlevel;
}

/* End what began with a GUC nest level and a connection to SPI. */
static void
end_queries(int nestlevel)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);
}

/* Put the columns of a row of the query; what it does not have is null. */
static void
put_stored(SstRow *row, uint64 number)
{
	TupleDesc	tupdesc = SPI_tuptable->tupdesc;

	memset(row->filled, true, row->tupdesc->natts * sizeof(bool));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[number], tupdesc, i + 1, &isnull);
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		sst_put_datum(row, NameStr(att->attname), att->atttypid, value, isnull);
	}
}

/* Return the rows that a table has of the last stored report, in the order of a column. */
static void
return_stored(FunctionCallInfo fcinfo, const char *table, const char *order)
{
	SstRow		row;
	int			nestlevel;

	sst_rows_begin(&row, fcinfo);
	nestlevel = query_stored(fcinfo, table, RELID, order);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		put_stored(&row, i);
		sst_row_store(&row);
	}
	end_queries(nestlevel);
}

/* The row about the last stored report */
static Datum
form_stored_summary(FunctionCallInfo fcinfo)
{
	MemoryContext context = CurrentMemoryContext;
	SstRow		row;
	Datum		result;
	int			nestlevel;

	sst_row_init(&row, fcinfo);
	nestlevel = query_stored(fcinfo, "report_runs", "", "run");
	put_stored(&row, 0);
	MemoryContextSwitchTo(context);
	result = sst_row_datum(&row);
	end_queries(nestlevel);

	return result;
}

/* ----------
 * Arguments
 * ----------
 */

/* The limits of a report that is given none */
#define DEFAULT_MARGIN 2.0
#define DEFAULT_SECONDS 60.0

/*
 * Fill in the limits from the arguments: margin, budget, max_time, max_rate, seed, and those of
 * the scope, which are tables, schemas and min_table_size; there, null is no limit.
 */
static void
report_limits_arguments(FunctionCallInfo fcinfo, SstReportLimits *limits)
{
	SstReportScope *scope = &limits->scope;

	memset(limits, 0, sizeof(SstReportLimits));

	limits->margin = PG_ARGISNULL(0) ? DEFAULT_MARGIN : PG_GETARG_FLOAT8(0);
	if (!(limits->margin >= 0 && limits->margin <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("margin must be between 0 and 100"),
				 errhint("Specify percentage points.")));

	sst_require_argument(fcinfo, 1, "budget");
	limits->budget = sst_bytes_argument(fcinfo, 1);
	sst_check_not_negative(limits->budget, "budget");

	limits->max_seconds = PG_ARGISNULL(2) ? DEFAULT_SECONDS :
		sst_seconds_argument(fcinfo, 2, "time limit");

	limits->max_rate = sst_max_rate_argument(fcinfo, 3);
	limits->seed = sst_seed_argument(fcinfo, 4);

	if (!PG_ARGISNULL(5))
		scope->tables = sst_oids_argument(fcinfo, 5, "tables", &scope->ntables);
	if (!PG_ARGISNULL(6))
		scope->schemas = sst_oids_argument(fcinfo, 6, "schemas", &scope->nschemas);
	if (!PG_ARGISNULL(7))
		scope->min_bytes = sst_bytes_argument(fcinfo, 7);
	sst_check_not_negative(scope->min_bytes, "min_table_size");
}

/* ----------
 * Making a report
 * ----------
 */

/*
 * Make a report by the arguments, the session's last one from the beginning on.  An error in
 * the middle leaves in it what was found before.
 *
 * A procedure commits where CALL allows it, and this returns whether it did: the transaction
 * ends, with all that it holds, after the catalogs were read and after each relation.  The next
 * one has no snapshot while it reads pages, so that CREATE INDEX CONCURRENTLY does not wait for
 * it.  It commits before the report begins as well, so that triggers that were deferred to the
 * end of the transaction run then, and cannot make a report of their own in the middle of this
 * one.
 */
static bool
make_report(FunctionCallInfo fcinfo)
{
	bool		commits = fcinfo->context != NULL &&
		IsA(fcinfo->context, CallContext) &&
		!castNode(CallContext, fcinfo->context)->atomic && !IsSubTransaction();
	SstCall		call;
	SstReportLimits limits;
	SstReport  *report;

	report_limits_arguments(fcinfo, &limits);
	if (commits)
	{
		if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		SPI_commit();
		EnsurePortalSnapshotExists();
	}

	sst_call_begin(&call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	report = sst_create_report(&limits);
	if (report->relations.n == 0)
		ereport(NOTICE,
				(errmsg("the report is empty: no relation was chosen")));
	sst_read_report(report, commits ? SPI_commit : NULL);
	call.io_stats = report->io_stats;
	sst_call_end(&call);

	if (commits)
	{
		EnsurePortalSnapshotExists();
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "SPI_finish failed");
	}
	return commits;
}

/* ----------
 * SQL entry points
 * ----------
 */

Datum
sst_database_report(PG_FUNCTION_ARGS)
{
	make_report(fcinfo);
	return_report(fcinfo, sst_last_report());

	return (Datum) 0;
}

/*
 * These show the session's last report.  One that has made none gets the last stored one, if
 * there is one, and else an error.
 */
Datum
sst_last_database_report(PG_FUNCTION_ARGS)
{
	if (sst_last_report() != NULL)
		return_report(fcinfo, sst_last_report());
	else
		return_stored(fcinfo, "report_run_relations", "reclaimable_rank");

	return (Datum) 0;
}

Datum
sst_database_report_summary(PG_FUNCTION_ARGS)
{
	return sst_last_report() != NULL ? form_summary(fcinfo, sst_last_report()) :
		form_stored_summary(fcinfo);
}

/* Return the plan of the last report, by the arguments "online" and "max_duration". */
static void
return_plan(FunctionCallInfo fcinfo, int argno)
{
	bool		online = sst_bool_argument(fcinfo, argno, true);

	if (sst_last_report() != NULL)
	{
		SstRow		row;
		ListCell   *lc;

		sst_rows_begin(&row, fcinfo);
		foreach(lc, sst_report_plan(sst_last_report(), online)->commands)
			put_planned(&row, foreach_current_index(lc) + 1, lfirst(lc));
	}
	else if (online)
		return_stored(fcinfo, "report_run_commands", "rank");
	else
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no report has been made in this session, and stored plans are online"),
				 errhint("Call run_database_report() first.")));
	if (PG_NARGS() > argno + 1 && !PG_ARGISNULL(argno + 1))
		return_picked(fcinfo, online, sst_seconds_argument(fcinfo, argno + 1, "time limit"));
}

Datum
sst_database_plan(PG_FUNCTION_ARGS)
{
	make_report(fcinfo);
	return_plan(fcinfo, 8);

	return (Datum) 0;
}

Datum
sst_last_database_plan(PG_FUNCTION_ARGS)
{
	return_plan(fcinfo, 0);

	return (Datum) 0;
}

Datum
sst_run_database_report(PG_FUNCTION_ARGS)
{
	make_report(fcinfo);

	PG_RETURN_VOID();
}

/* ----------
 * collect: make a report, and store it
 *
 * Only their owner may write to the tables, so that a role that may make
 * reports cannot forge one.  A function of the SQL script inserts the rows, as
 * its owner.  Its names were bound when the extension was made, so that it depends on
 * nothing that others can rename or set.  The plan that it stores is made with the
 * rights of pg_stat_scan_tables, whose members read it: the caller and the owner may
 * see more (for example, sessions that keep dead rows).
 * ----------
 */

/* Arguments after those of a report */
#define ARG_RETENTION 8
#define ARG_TOP_RELATIONS 9
#define ARG_MIN_BYTES 10

#define STORE_ARGS 5

/* Runs that began before this time are deleted; DT_NOBEGIN for a null retention */
static TimestampTz
retention_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(ARG_RETENTION))
		return DT_NOBEGIN;

	(void) sst_seconds_argument(fcinfo, ARG_RETENTION, "retention");
	return DatumGetTimestampTz(DirectFunctionCall2(timestamptz_mi_interval,
												   TimestampTzGetDatum(GetCurrentTimestamp()),
												   PG_GETARG_DATUM(ARG_RETENTION)));
}

static Oid
function_owner(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);

	return owner;
}

/*
 * Call the function as its owner, with a plan that is made as pg_stat_scan_tables.  Returns
 * when the oldest of the other runs began; DT_NOEND if there are none.
 */
static TimestampTz
call_store_report(Oid function, const NullableDatum *args)
{
	FmgrInfo	flinfo;
	Oid			userid;
	int			sec_context;
	Datum		oldest;

	LOCAL_FCINFO(call, STORE_ARGS);

	fmgr_info(function, &flinfo);
	InitFunctionCallInfoData(*call, &flinfo, STORE_ARGS, InvalidOid, NULL, NULL);
	memcpy(call->args, args, STORE_ARGS * sizeof(NullableDatum));

	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(function_owner(function), sec_context |
						   SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	sst_plan_as(ROLE_PG_STAT_SCAN_TABLES);
	PG_TRY();
	{
		oldest = FunctionCallInvoke(call);
	}
	PG_FINALLY();
	{
		sst_plan_as(InvalidOid);
	}
	PG_END_TRY();
	SetUserIdAndSecContext(userid, sec_context);

	return call->isnull ? DT_NOEND : DatumGetTimestampTz(oldest);
}

/*
 * Store the session's last report, in the current transaction, and delete the runs that are too
 * old.  Tell a role that may not delete them that there are some.
 */
static void
store_report(Oid function, NullableDatum *args)
{
	Oid			namespace = get_func_namespace(function);
	bool		may_delete = pg_class_aclcheck(get_relname_relid("report_runs", namespace),
											   GetUserId(), ACL_DELETE) == ACLCHECK_OK;
	TimestampTz keep_since = DatumGetTimestampTz(args[0].value);
	const char *schema;
	const char *role;

	if (!may_delete)
		args[0].value = TimestampTzGetDatum(DT_NOBEGIN);
	if (call_store_report(function, args) >= keep_since || may_delete)
		return;

	schema = quote_identifier(get_namespace_name(namespace));
	role = GetUserNameFromId(GetUserId(), false);
	ereport(WARNING,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("stored reports older than retention were not deleted"),
			 errdetail("Role \"%s\" may not delete from %s.report_runs.", role, schema),
			 errhint("The owner of the table can use GRANT DELETE ON %s.report_runs TO %s.",
					 schema, quote_identifier(role))));
}

/*
 * The procedure.  What would keep it from writing is an error before anything is read.
 */
Datum
sst_collect(PG_FUNCTION_ARGS)
{
	/* Of store_report: keep_since, top_relations, min_bytes, is_partial, note */
	const Oid	types[STORE_ARGS] = {TIMESTAMPTZOID, INT4OID, TEXTOID, BOOLOID, TEXTOID};
	NullableDatum args[STORE_ARGS] = {0};
	const SstReportScope *scope;
	Oid			function;

	PreventCommandDuringRecovery("CALL streamstat.collect");
	PreventCommandIfReadOnly("CALL streamstat.collect");
	args[0].value = TimestampTzGetDatum(retention_argument(fcinfo));
	sst_require_argument(fcinfo, ARG_TOP_RELATIONS, "top_relations");
	sst_check_not_negative(PG_GETARG_INT32(ARG_TOP_RELATIONS), "top_relations");
	sst_require_argument(fcinfo, ARG_MIN_BYTES, "min_bytes");
	sst_check_not_negative(sst_bytes_argument(fcinfo, ARG_MIN_BYTES), "min_bytes");
	args[1].value = PG_GETARG_DATUM(ARG_TOP_RELATIONS);
	args[2].value = PG_GETARG_DATUM(ARG_MIN_BYTES);
	function = sst_beside_called(fcinfo, "store_report", STORE_ARGS, types);
	args[4].isnull = make_report(fcinfo);
	scope = &sst_last_report()->limits.scope;
	args[3].value = BoolGetDatum(scope->tables != NULL || scope->schemas != NULL ||
								 scope->min_bytes > 0);
	if (!args[4].isnull)
		args[4].value = CStringGetTextDatum("made in a transaction block, which held a snapshot during the report");
	store_report(function, args);

	PG_RETURN_VOID();
}
