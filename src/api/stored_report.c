/*-------------------------------------------------------------------------
 *
 * stored_report.c
 *	  Reports in tables of the extension
 *
 * Only their owner may write to the tables, so that a role that may make
 * reports cannot forge one.  The rows of the session's last report are made
 * with the caller's rights, because the caller may see less than the owner
 * (for example, sessions that keep dead rows).  Then the owner inserts these
 * rows.  Its statements do not depend on the caller's settings: all names are
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
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/queryenvironment.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

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
						  0, NULL, false);
}

/* A relation's row of pg_class, without what can be null */
static FormData_pg_class
class_row(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	FormData_pg_class form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	memcpy(&form, GETSTRUCT(tuple), CLASS_TUPLE_SIZE);
	ReleaseSysCache(tuple);

	return form;
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
	stored->owner = class_row(stored->runs).relowner;
	check_schema_owner(stored, namespace);
	stored->report_function = find_function(stored, "last_database_report");
	stored->plan_function = find_function(stored, "last_database_plan");
	stored->summary_function = find_function(stored, "database_report_summary");
}

/*
 * Rows
 */

/*
 * Call a function without arguments, and have its rows as a table of this name in
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

/*
 * The columns that a table and the rows of a function have in common, each after a
 * comma and a prefix
 */
static char *
common_columns(Oid relid, Oid funcid, const char *prefix)
{
	Oid			rowtype = get_typ_typrelid(get_func_rettype(funcid));
	int			natts = class_row(relid).relnatts;
	StringInfoData list;

	initStringInfo(&list);
	for (AttrNumber attno = 1; attno <= natts; attno++)
	{
		const char *name = get_attname(relid, attno, true);

		if (name != NULL && get_attnum(rowtype, name) != InvalidAttrNumber)
			appendStringInfo(&list, ", %s%s", prefix, quote_identifier(name));
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
	INT4OID, INT8OID, TEXTOID};
	Datum		values[] = {summary, ObjectIdGetDatum(stored->sequence),
		Int32GetDatum(options->top_relations), Int64GetDatum(options->min_bytes),
	options->note == NULL ? (Datum) 0 : CStringGetTextDatum(options->note)};
	const char *nulls = options->note == NULL ? "    n" : "     ";
	bool		isnull;

	execute(psprintf("INSERT INTO %s.report_runs (run, datname%s,"
					 " top_relations, min_bytes, server_version, note)"
					 " SELECT nextval($2), current_database()%s,"
					 " $3, $4, current_setting('server_version'), $5"
					 " FROM (SELECT ($1).*) AS s RETURNING run",
					 quote_identifier(stored->schema),
					 common_columns(stored->runs, stored->summary_function, ""),
					 common_columns(stored->runs, stored->summary_function, "s.")),
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
 * Store the rows of the relations, and by kind the sums of those that metrics do not
 * show.  Metrics show a relation for its size, for what it would give back, or because
 * it is corrupt or not valid.  In the sums, an end that is not known is taken to be
 * the farthest.
 */
static void
store_relations(const SstStoredReport *stored, const SstStoreOptions *options,
				int64 run)
{
	Oid			types[] = {INT8OID, INT4OID, INT8OID};
	Datum		values[] = {Int64GetDatum(run),
	Int32GetDatum(options->top_relations), Int64GetDatum(options->min_bytes)};
	const char *schema = quote_identifier(stored->schema);

	execute(psprintf("WITH stored AS ("
					 "INSERT INTO %s.report_run_relations"
					 " (run%s, bytes_rank, reclaimable_rank, is_shown)"
					 " SELECT $1%s, r.bytes_rank, r.reclaimable_rank,"
					 " coalesce(r.bytes >= $3 AND least(r.bytes_rank, r.reclaimable_rank) <= $2, false)"
					 " OR coalesce(r.corrupt_pages > 0, false) OR r.is_valid IS FALSE"
					 " FROM (SELECT b.*, (row_number() OVER (ORDER BY b.bytes DESC NULLS LAST,"
					 " b.schema_name COLLATE \"C\", b.relation_name COLLATE \"C\"))::int AS bytes_rank"
					 " FROM (SELECT a.*, (row_number() OVER ())::int AS reclaimable_rank"
					 " FROM report_rows AS a) AS b) AS r"
					 " RETURNING is_shown, " SUMMED_COLUMNS ")"
					 " INSERT INTO %s.report_run_others (run, relations, " SUMMED_COLUMNS ")"
					 " SELECT $1, count(*), " SUMS
					 " FROM stored AS o WHERE NOT o.is_shown GROUP BY o.kind",
					 schema,
					 common_columns(stored->relations, stored->report_function, ""),
					 common_columns(stored->relations, stored->report_function, "r."),
					 schema),
			lengthof(types), types, values, NULL);
}

static void
store_commands(const SstStoredReport *stored, int64 run)
{
	Oid			types[] = {INT8OID};
	Datum		values[] = {Int64GetDatum(run)};

	execute(psprintf("INSERT INTO %s.report_run_commands (run%s)"
					 " SELECT $1%s FROM plan_rows AS p",
					 quote_identifier(stored->schema),
					 common_columns(stored->commands, stored->plan_function, ""),
					 common_columns(stored->commands, stored->plan_function, "p.")),
			lengthof(types), types, values, NULL);
}

/*
 * Delete the runs that are too old, but not this one.  What another session is
 * deleting is left to it.
 */
static void
delete_old_runs(const SstStoredReport *stored, int64 run, TimestampTz keep_since)
{
	Oid			types[] = {INT8OID, TIMESTAMPTZOID};
	Datum		values[] = {Int64GetDatum(run), TimestampTzGetDatum(keep_since)};
	const char *schema = quote_identifier(stored->schema);

	execute(psprintf("DELETE FROM %s.report_runs WHERE run IN"
					 " (SELECT run FROM %s.report_runs WHERE started < $2 AND run <> $1"
					 " FOR UPDATE SKIP LOCKED)",
					 schema, schema),
			lengthof(types), types, values, NULL);
}

static void
set_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Store the session's last report, and delete old ones, in the current transaction.
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
	report_rows = register_rows("report_rows", stored->report_function);
	plan_rows = register_rows("plan_rows", stored->plan_function);
	summary = OidFunctionCall0(stored->summary_function);

	set_option("search_path", "pg_catalog, pg_temp");
	set_option("jit", "off");
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(stored->owner, sec_context |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	run = store_run(stored, options, summary);
	store_relations(stored, options, run);
	store_commands(stored, run);
	if (!TIMESTAMP_IS_NOBEGIN(options->keep_since))
		delete_old_runs(stored, run, options->keep_since);
	SetUserIdAndSecContext(userid, sec_context);

	tuplestore_end(report_rows);
	tuplestore_end(plan_rows);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);
}
