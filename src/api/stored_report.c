/*-------------------------------------------------------------------------
 *
 * stored_report.c
 *	  Reports in tables of the extension
 *
 * Only their owner may write to the tables, so that a role that may make
 * reports cannot forge one.  The rows of the session's last report are made
 * with the rights of pg_stat_scan_tables, whose members read them: the caller may
 * see more (for example, sessions that keep dead rows).  Then the owner inserts
 * these rows.  Its statements do not depend on the caller's settings: all names are
 * qualified or in pg_catalog, and quoting in the rows is fixed.
 *
 * Columns are matched by name, as in row.c: what both a table and its row type have
 * is stored.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/stored_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/queryenvironment.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "api/row.h"
#include "api/stored_report.h"

/*
 * What there is in the schema
 */

static Oid
find_relation(const SstStoredReport *stored, Oid namespace, const char *name)
{
	Oid			relid = get_relname_relid(name, namespace);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s.%s\" does not exist", stored->schema,
						name)));
	return relid;
}

static Oid
find_function(const SstStoredReport *stored, const char *name)
{
	return LookupFuncName(list_make2(makeString(stored->schema),
									 makeString(pstrdup(name))),
						  -1, NULL, false);
}

static Oid
relation_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);

	return owner;
}

/*
 * Rows are stored as the tables' owner, who finds the tables by the name of the schema.
 * Its owner can rename it meanwhile, and give that name to a schema with tables and
 * triggers of his own.  ERROR if he could gain rights by that.
 */
static void
check_schema_owner(const SstStoredReport *stored, Oid namespace)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(namespace));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for schema %u", namespace);
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);

	if (owner != stored->owner && !superuser_arg(owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("reports cannot be stored in schema \"%s\"", stored->schema),
				 errdetail("Its owner, role \"%s\", is neither a superuser nor the owner of the tables.",
						   GetUserNameFromId(owner, false)),
				 errhint("A superuser can use ALTER SCHEMA %s OWNER TO %s.",
						 quote_identifier(stored->schema),
						 quote_identifier(GetUserNameFromId(stored->owner, false)))));
}

/*
 * Find the tables and functions in the schema; ERROR if one is not there, or if its
 * owner is not to be trusted.
 */
void
sst_find_stored_report(SstStoredReport *stored, Oid namespace)
{
	stored->schema = get_namespace_name(namespace);
	if (stored->schema == NULL)
		elog(ERROR, "cache lookup failed for schema %u", namespace);
	stored->sequence = find_relation(stored, namespace, "report_runs_run_seq");
	stored->runs = find_relation(stored, namespace, "report_runs");
	stored->relations = find_relation(stored, namespace, "report_run_relations");
	stored->commands = find_relation(stored, namespace, "report_run_commands");
	stored->owner = relation_owner(stored->runs);
	check_schema_owner(stored, namespace);
	stored->report_function = find_function(stored, "last_database_report");
	stored->plan_function = find_function(stored, "last_database_plan");
	stored->summary_function = find_function(stored, "database_report_summary");
}

/*
 * Rows
 */

/*
 * Call a function, all of whose arguments have defaults, and have its rows as a table of this name in
 * queries of the current SPI connection.  Returns them, to be freed.  EXECUTE is not
 * asked for: the right to collect includes it.
 */
static Tuplestorestate *
register_rows(const char *name, Oid funcid)
{
	EphemeralNamedRelation enr = palloc0(sizeof(EphemeralNamedRelationData));
	FmgrInfo	flinfo;
	ReturnSetInfo result = {
		.type = T_ReturnSetInfo,
		.econtext = CreateStandaloneExprContext(),
		.allowedModes = SFRM_Materialize | SFRM_Materialize_Random
	};

	LOCAL_FCINFO(fcinfo, 0);

	fmgr_info(funcid, &flinfo);
	InitFunctionCallInfoData(*fcinfo, &flinfo, 0, InvalidOid, NULL,
							 (Node *) &result);
	(void) FunctionCallInvoke(fcinfo);

	enr->md.name = pstrdup(name);
	enr->md.tupdesc = result.setDesc;
	enr->md.enrtype = ENR_NAMED_TUPLESTORE;
	enr->md.enrtuples = tuplestore_tuple_count(result.setResult);
	enr->reldata = result.setResult;
	if (SPI_register_relation(enr) != SPI_OK_REL_REGISTER)
		elog(ERROR, "SPI_register_relation failed");

	return result.setResult;
}

/* The columns that a table and the rows of a function have in common, each after a comma */
static char *
common_columns(Oid relid, Oid funcid)
{
	TupleDesc	tupdesc = lookup_rowtype_tupdesc_copy(get_func_rettype(funcid), -1);
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		const char *name = NameStr(att->attname);

		if (!att->attisdropped && get_attnum(relid, name) != InvalidAttrNumber)
			appendStringInfo(&list, ", %s", quote_identifier(name));
	}

	return list.data;
}

/*
 * Statements
 */

/* Execute a statement that inserts, updates or deletes rows. */
static void
execute(const char *statement, int nargs, Oid *types, Datum *values,
		const char *nulls)
{
	int			rc = SPI_execute_with_args(statement, nargs, types, values,
										   nulls, false, 0);

	if (rc < 0)
		elog(ERROR, "could not store a report: %s", SPI_result_code_string(rc));
}

/* Store the row of the run; returns its number. */
static int64
store_run(const SstStoredReport *stored, const SstStoreOptions *options,
		  Datum summary)
{
	Oid			types[] = {get_func_rettype(stored->summary_function), REGCLASSOID,
	INT4OID, INT8OID, BOOLOID, TEXTOID};
	Datum		values[] = {summary, ObjectIdGetDatum(stored->sequence),
		Int32GetDatum(options->top_relations), Int64GetDatum(options->min_bytes),
		BoolGetDatum(options->is_partial),
	options->note == NULL ? (Datum) 0 : CStringGetTextDatum(options->note)};
	const char *nulls = options->note == NULL ? "     n" : "      ";
	const char *columns = common_columns(stored->runs, stored->summary_function);
	bool		isnull;

	execute(psprintf("INSERT INTO %s.report_runs (run, datname%s,"
					 " top_relations, min_bytes, server_version, is_partial, note)"
					 " SELECT nextval($2), current_database()%s,"
					 " $3, $4, current_setting('server_version'), $5, $6"
					 " FROM (SELECT ($1).*) AS s RETURNING run",
					 quote_identifier(stored->schema), columns, columns),
			lengthof(types), types, values, nulls);
	if (SPI_processed != 1)
		elog(ERROR, "the run of a report was not stored");

	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
									   SPI_tuptable->tupdesc, 1, &isnull));
}

/* A mean percentage of the relations "o" of which it is known, by bytes */
#define MEAN_PERCENT(percent, unknown, known) \
	" sum(coalesce(o." percent ", " unknown ") * o.bytes) FILTER (WHERE o." known " IS NOT NULL)" \
	" / nullif(sum(o.bytes) FILTER (WHERE o." known " IS NOT NULL), 0),"

/* Such a mean and the ends of its interval */
#define MEAN_PERCENTS(percent) \
	MEAN_PERCENT(percent, "0", percent) \
	MEAN_PERCENT(percent "_low", "0", percent) \
	MEAN_PERCENT(percent "_high", "100", percent)

/* The columns of relations that are summed up, and what they become */
#define SUMMED_COLUMNS \
	"kind, last_vacuum, bytes, free_percent, free_percent_low, free_percent_high," \
	" dead_percent, dead_percent_low, dead_percent_high, predicted_bytes," \
	" reclaimable_bytes, reclaimable_bytes_low, reclaimable_bytes_high, measured"
#define SUMS \
	" o.kind, min(o.last_vacuum), coalesce(sum(o.bytes), 0)," \
	MEAN_PERCENTS("free_percent") \
	MEAN_PERCENTS("dead_percent") \
	" sum(o.predicted_bytes), sum(o.reclaimable_bytes)," \
	" sum(coalesce(o.reclaimable_bytes_low, 0)) FILTER (WHERE o.reclaimable_bytes IS NOT NULL)," \
	" sum(coalesce(o.reclaimable_bytes_high, o.bytes)) FILTER (WHERE o.reclaimable_bytes IS NOT NULL)," \
	" CASE WHEN bool_and(o.measured = 'exact') THEN 'exact'" \
	" WHEN bool_or(o.measured = 'skipped') THEN 'skipped' ELSE 'sampled' END"

/*
 * Store the rows of relations, and by kind the sums of those that metrics do not show.
 * A relation is stored for its size, for what it would give back, or because it is
 * damaged or has a command.  Metrics show it if it is damaged, or large enough and among
 * the first.  In the sums, an end that is not known is taken to be the farthest.
 */
static void
store_relations(const SstStoredReport *stored, const SstStoreOptions *options,
				int64 run)
{
	Oid			types[] = {INT8OID, INT4OID, INT8OID};
	Datum		values[] = {Int64GetDatum(run),
	Int32GetDatum(options->top_relations), Int64GetDatum(options->min_bytes)};
	const char *schema = quote_identifier(stored->schema);
	const char *columns = common_columns(stored->relations, stored->report_function);

	execute(psprintf("WITH ranked AS MATERIALIZED ("
					 "SELECT r.*, is_large AND is_first OR is_damaged AS is_shown,"
					 " is_large OR is_first OR is_damaged OR r.command IS NOT NULL AS is_stored"
					 " FROM (SELECT b.*, (row_number() OVER (ORDER BY b.bytes DESC NULLS LAST,"
					 " b.schema_name COLLATE \"C\", b.relation_name COLLATE \"C\"))::int AS bytes_rank"
					 " FROM (SELECT a.*, (row_number() OVER ())::int AS reclaimable_rank"
					 " FROM report_rows AS a) AS b) AS r,"
					 " LATERAL (SELECT coalesce(r.bytes >= $3, false) AS is_large,"
					 " least(r.bytes_rank, r.reclaimable_rank) <= $2 AS is_first,"
					 " coalesce(r.corrupt_pages > 0, false) OR r.is_valid IS FALSE AS is_damaged) AS q),"
					 " stored AS ("
					 "INSERT INTO %s.report_run_relations"
					 " (run%s, bytes_rank, reclaimable_rank, is_shown)"
					 " SELECT $1%s, r.bytes_rank, r.reclaimable_rank, r.is_shown"
					 " FROM ranked AS r WHERE r.is_stored)"
					 " INSERT INTO %s.report_run_others (run, relations, " SUMMED_COLUMNS ")"
					 " SELECT $1, count(*), " SUMS
					 " FROM ranked AS o WHERE NOT o.is_shown GROUP BY o.kind",
					 schema, columns, columns, schema),
			lengthof(types), types, values, NULL);
}

static void
store_commands(const SstStoredReport *stored, int64 run)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(run)};
	const char *columns = common_columns(stored->commands, stored->plan_function);

	execute(psprintf("INSERT INTO %s.report_run_commands (run%s)"
					 " SELECT $1%s FROM plan_rows",
					 quote_identifier(stored->schema), columns, columns),
			lengthof(types), types, values, NULL);
}

/*
 * Delete the runs that are too old, but not this one.  What another session is
 * deleting is left to it.  Tell a role that may not delete them that there are some.
 */
static void
delete_old_runs(const SstStoredReport *stored, int64 run, TimestampTz keep_since,
				Oid userid)
{
	Oid			types[] = {INT8OID, TIMESTAMPTZOID};
	Datum		values[] = {Int64GetDatum(run), TimestampTzGetDatum(keep_since)};
	const char *schema = quote_identifier(stored->schema);
	const char *role;

	if (pg_class_aclcheck(stored->runs, userid, ACL_DELETE) == ACLCHECK_OK)
	{
		execute(psprintf("DELETE FROM %s.report_runs WHERE run IN"
						 " (SELECT run FROM %s.report_runs WHERE started < $2 AND run <> $1"
						 " FOR UPDATE SKIP LOCKED)",
						 schema, schema),
				lengthof(types), types, values, NULL);
		return;
	}

	role = GetUserNameFromId(userid, false);
	execute(psprintf("SELECT FROM %s.report_runs WHERE started < $2 AND run <> $1 LIMIT 1",
					 schema),
			lengthof(types), types, values, NULL);
	if (SPI_processed > 0)
		ereport(WARNING,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("stored reports older than retention were not deleted"),
				 errdetail("Role \"%s\" may not delete from %s.report_runs.", role,
						   schema),
				 errhint("The owner of the table can use GRANT DELETE ON %s.report_runs TO %s.",
						 schema, quote_identifier(role))));
}

/* End what began with a GUC nest level and a connection to SPI. */
static void
end_queries(int nestlevel)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);
}

static void
set_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Store the session's last report, and delete old ones if the caller may, in the
 * current transaction.
 */
void
sst_store_report(const SstStoredReport *stored, const SstStoreOptions *options)
{
	Tuplestorestate *report_rows;
	Tuplestorestate *plan_rows;
	Datum		summary;
	Oid			userid;
	int			sec_context;
	int			nestlevel = NewGUCNestLevel();
	int64		run;

	set_option("quote_all_identifiers", "off");
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(ROLE_PG_STAT_SCAN_TABLES,
						   sec_context | SECURITY_LOCAL_USERID_CHANGE);
	report_rows = register_rows("report_rows", stored->report_function);
	plan_rows = register_rows("plan_rows", stored->plan_function);
	summary = OidFunctionCall0(stored->summary_function);

	set_option("search_path", "pg_catalog, pg_temp");
	set_option("jit", "off");
	SetUserIdAndSecContext(stored->owner, sec_context |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	run = store_run(stored, options, summary);
	store_relations(stored, options, run);
	store_commands(stored, run);
	delete_old_runs(stored, run, options->keep_since, userid);
	SetUserIdAndSecContext(userid, sec_context);

	tuplestore_end(report_rows);
	tuplestore_end(plan_rows);
	end_queries(nestlevel);
}

/*
 * The last stored report, for a session that has made none
 */

/*
 * The columns of a row as a table "r" of stored rows has them.  It has names instead of an
 * OID; what it does not have is null.
 */
static char *
stored_columns(const SstRow *row, Oid relid)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < row->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tupdesc, i);
		const char *name = NameStr(att->attname);
		const char *value = "NULL";

		if (att->attisdropped)
			continue;
		if (get_attnum(relid, name) != InvalidAttrNumber)
			value = psprintf("r.%s", quote_identifier(name));
		else if (strcmp(name, "relid") == 0)
			value = "(SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n"
				" ON n.oid = c.relnamespace WHERE n.nspname = r.schema_name"
				" AND c.relname = r.relation_name)";
		appendStringInfo(&list, "%s%s::%s AS %s", list.len > 0 ? ", " : "", value,
						 format_type_be(att->atttypid), quote_identifier(name));
	}

	return list.data;
}

/*
 * Find the last stored report in the schema, of a part of the database only if there is no
 * other, and say once in a statement that it is shown and
 * how old it is.  ERROR if there is none that the caller may read.  Returns its number.
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

/*
 * Query a table for the rows of the last stored report, by the columns that the function
 * being called returns.  The caller ends that with end_queries().
 */
static int
query_stored(FunctionCallInfo fcinfo, const SstRow *row, const char *table, const char *order)
{
	Oid			namespace = get_func_namespace(fcinfo->flinfo->fn_oid);
	const char *schema = get_namespace_name(namespace);
	int			nestlevel = NewGUCNestLevel();
	const char *run;

	if (schema == NULL)
		elog(ERROR, "cache lookup failed for schema %u", namespace);
	schema = quote_identifier(schema);
	set_option("search_path", "pg_catalog, pg_temp");
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	run = find_last_run(schema, namespace);
	if (SPI_execute(psprintf("SELECT %s FROM %s.%s AS r WHERE r.run = %s ORDER BY r.%s",
							 stored_columns(row, get_relname_relid(table, namespace)),
							 schema, table, run, order),
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read a stored report");

	return nestlevel;
}

/* Put the columns of a row of the query. */
static void
put_stored(SstRow *row, uint64 number)
{
	TupleDesc	tupdesc = SPI_tuptable->tupdesc;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[number], tupdesc, i + 1, &isnull);
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		sst_put_datum(row, NameStr(att->attname), att->atttypid, value, isnull);
	}
}

/* Return the rows that a table has of the last stored report, in the order of a column. */
void
sst_return_stored(FunctionCallInfo fcinfo, const char *table, const char *order)
{
	SstRow		row;
	int			nestlevel;

	sst_rows_begin(&row, fcinfo);
	nestlevel = query_stored(fcinfo, &row, table, order);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		put_stored(&row, i);
		sst_row_store(&row);
	}
	end_queries(nestlevel);
}

/* The row about the last stored report */
Datum
sst_form_stored_summary(FunctionCallInfo fcinfo)
{
	MemoryContext context = CurrentMemoryContext;
	SstRow		row;
	Datum		result;
	int			nestlevel;

	sst_row_init(&row, fcinfo);
	nestlevel = query_stored(fcinfo, &row, "report_runs", "run");
	put_stored(&row, 0);
	MemoryContextSwitchTo(context);
	result = sst_row_datum(&row);
	end_queries(nestlevel);

	return result;
}
