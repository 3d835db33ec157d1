/*-------------------------------------------------------------------------
 *
 * stored_report.c
 *	  Reports in tables of the extension
 *
 * Only their owner may write to the tables, so that a role that may make
 * reports cannot forge one.  A function of the SQL script inserts the rows, as
 * its owner.  Its names were bound when the extension was made, so that it depends on
 * nothing that others can rename or set.  The plan that it stores is made with the
 * rights of pg_stat_scan_tables, whose members read it: the caller and the owner may
 * see more (for example, sessions that keep dead rows).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "api/api.h"
#include "report/plan.h"

/*
 * Storing
 */

#define STORE_REPORT_ARGS 5

/* The function of the script, in this schema, that stores a report; ERROR if there is none */
Oid
sst_find_store_report(Oid namespace)
{
	const Oid	types[STORE_REPORT_ARGS] = {TIMESTAMPTZOID, INT4OID, TEXTOID, BOOLOID, TEXTOID};
	oidvector  *vector = buildoidvector(types, STORE_REPORT_ARGS);
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										   CStringGetDatum("store_report"),
										   PointerGetDatum(vector),
										   ObjectIdGetDatum(namespace));

	if (!OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function %s.store_report does not exist", get_namespace_name(namespace))));
	return function;
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
call_store_report(const SstStoreOptions *options, TimestampTz keep_since)
{
	FmgrInfo	flinfo;
	Oid			userid;
	int			sec_context;
	Datum		oldest;

	LOCAL_FCINFO(fcinfo, STORE_REPORT_ARGS);

	fmgr_info(options->function, &flinfo);
	InitFunctionCallInfoData(*fcinfo, &flinfo, STORE_REPORT_ARGS, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = TimestampTzGetDatum(keep_since);
	fcinfo->args[1].value = Int32GetDatum(options->top_relations);
	fcinfo->args[2].value = CStringGetTextDatum(psprintf(INT64_FORMAT, options->min_bytes));
	fcinfo->args[3].value = BoolGetDatum(options->is_partial);
	fcinfo->args[4].value = options->note == NULL ? (Datum) 0 : CStringGetTextDatum(options->note);
	for (int i = 0; i < STORE_REPORT_ARGS; i++)
		fcinfo->args[i].isnull = i == 4 && options->note == NULL;

	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(function_owner(options->function), sec_context |
						   SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	sst_plan_as(ROLE_PG_STAT_SCAN_TABLES);
	PG_TRY();
	{
		oldest = FunctionCallInvoke(fcinfo);
	}
	PG_FINALLY();
	{
		sst_plan_as(InvalidOid);
	}
	PG_END_TRY();
	SetUserIdAndSecContext(userid, sec_context);

	return fcinfo->isnull ? DT_NOEND : DatumGetTimestampTz(oldest);
}

/*
 * Store the session's last report, in the current transaction, and delete the runs that are too
 * old.  Tell a role that may not delete them that there are some.
 */
void
sst_store_report(const SstStoreOptions *options)
{
	Oid			namespace = get_func_namespace(options->function);
	bool		may_delete = pg_class_aclcheck(get_relname_relid("report_runs", namespace),
											   GetUserId(), ACL_DELETE) == ACLCHECK_OK;
	TimestampTz oldest = call_store_report(options, may_delete ? options->keep_since : DT_NOBEGIN);
	const char *schema = quote_identifier(get_namespace_name(namespace));
	const char *role = GetUserNameFromId(GetUserId(), false);

	if (!may_delete && oldest < options->keep_since)
		ereport(WARNING,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("stored reports older than retention were not deleted"),
				 errdetail("Role \"%s\" may not delete from %s.report_runs.", role, schema),
				 errhint("The owner of the table can use GRANT DELETE ON %s.report_runs TO %s.",
						 schema, quote_identifier(role))));
}

/*
 * The last stored report, for a session that has made none
 */

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
	Oid			namespace = get_func_namespace(fcinfo->flinfo->fn_oid);
	const char *schema = get_namespace_name(namespace);
	int			nestlevel = NewGUCNestLevel();
	const char *run;

	if (schema == NULL)
		elog(ERROR, "cache lookup failed for schema %u", namespace);
	schema = quote_identifier(schema);
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	run = find_last_run(schema, namespace);
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
void
sst_return_stored(FunctionCallInfo fcinfo, const char *table, const char *order)
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
Datum
sst_form_stored_summary(FunctionCallInfo fcinfo)
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
