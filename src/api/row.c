/*-------------------------------------------------------------------------
 *
 * row.c
 *	  Result rows that are filled by column name
 *
 * The library and the SQL script can have different versions: a package
 * upgrade replaces the library, and ALTER EXTENSION UPDATE may follow months
 * later.  So the columns of a row are those that the SQL script declares.  A
 * function offers all the columns that it knows, and those that the script
 * does not declare are left out.  A column that the script declares and the
 * function does not offer, or offers with another type, is an error that says
 * which of the two must be updated.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "api/api.h"

/*
 * The extension's version, as CREATE EXTENSION or ALTER EXTENSION UPDATE left it,
 * or NULL if there is no extension.  The function need not belong to one.
 */
static char *
script_version(Oid funcid)
{
	Oid			extoid = getExtensionOfObject(ProcedureRelationId, funcid);
	char	   *version = NULL;
	Relation	rel;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	if (!OidIsValid(extoid))
		extoid = get_extension_oid("streamstat", true);
	if (!OidIsValid(extoid))
		return NULL;

	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extoid));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;

		/* It is never null. */
		version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion,
												   RelationGetDescr(rel), &isnull));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	return version;
}

/* Compare two versions number by number: "1.10" is greater than "1.9". */
static int
compare_versions(const char *a, const char *b)
{
	while (*a != '\0' || *b != '\0')
	{
		char	   *a_end;
		char	   *b_end;
		long		a_number = strtol(a, &a_end, 10);
		long		b_number = strtol(b, &b_end, 10);

		if (a_number != b_number)
			return a_number < b_number ? -1 : 1;
		if (a_end == a && b_end == b && *a != *b)
			return *a < *b ? -1 : 1;
		a = *a_end == '\0' ? a_end : a_end + 1;
		b = *b_end == '\0' ? b_end : b_end + 1;
	}

	return 0;
}

/* The detail, and the hint that says which of library and script is behind */
static int
explain_by_versions(const char *version)
{
	int			order = version == NULL ? 0 :
		compare_versions(version, STREAMSTAT_VERSION);

	errdetail("The extension's SQL objects have version %s, its library has version %s.",
			  version ? version : "unknown", STREAMSTAT_VERSION);
	if (order < 0)
		return errhint("Run \"ALTER EXTENSION streamstat UPDATE\".");
	if (order > 0)
		return errhint("The library is older than the extension's SQL objects. Install the newer package, and reconnect.");
	return errhint("The extension's SQL objects have been changed. DROP EXTENSION and CREATE EXTENSION restore them.");
}

/*
 * ERROR: a column is declared that the function does not offer, for which type is
 * InvalidOid, or with another type than it offers.
 */
static void
report_column(const SstRow *row, Form_pg_attribute declared, Oid type)
{
	Oid			funcid = row->fcinfo->flinfo->fn_oid;
	char	   *version = script_version(funcid);
	const char *column = NameStr(declared->attname);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of function %s is not known to the library",
						column, get_func_name(funcid)),
				 explain_by_versions(version)));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of function %s has type %s, but the library returns type %s",
					column, get_func_name(funcid),
					format_type_be(declared->atttypid), format_type_be(type)),
			 explain_by_versions(version)));
}

/* Set up an empty row, in the current memory context. */
static void
init_row(SstRow *row, FunctionCallInfo fcinfo, TupleDesc tupdesc)
{
	int			natts = tupdesc->natts;

	row->fcinfo = fcinfo;
	row->tupdesc = tupdesc;
	row->next_attno = 0;
	row->values = palloc(natts * (sizeof(Datum) + 2 * sizeof(bool)));
	row->nulls = (bool *) (row->values + natts);
	row->filled = row->nulls + natts;
	memset(row->nulls, true, natts * sizeof(bool));
	memset(row->filled, false, natts * sizeof(bool));
}

/*
 * Begin the row of a function that returns one row.  In FROM, the executor has looked up
 * its columns, which takes longer than to read a small index.
 */
void
sst_row_init(SstRow *row, FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TupleDesc	tupdesc;

	if (rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) && rsinfo->expectedDesc != NULL)
		tupdesc = rsinfo->expectedDesc;
	else if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	init_row(row, fcinfo, BlessTupleDesc(tupdesc));
}

/*
 * Begin the result of a function that returns a set: sst_row_store() adds a row.
 * All rows use the memory that is allocated here.  A function that returns many can make
 * each of them in row->context.
 */
void
sst_rows_begin(SstRow *row, FunctionCallInfo fcinfo)
{
	InitMaterializedSRF(fcinfo, 0);
	init_row(row, fcinfo, ((ReturnSetInfo *) fcinfo->resultinfo)->setDesc);
	row->context = AllocSetContextCreate(CurrentMemoryContext, "streamstat row",
										 ALLOCSET_DEFAULT_SIZES);
}

/*
 * The index of a column, or -1 if the SQL script does not declare it; ERROR if it
 * declares another type.  Most columns are looked for in the order of their declaration.
 */
int
sst_row_find(SstRow *row, const char *column, Oid type)
{
	for (int i = 0; i < row->tupdesc->natts; i++)
	{
		int			attno = row->next_attno;
		Form_pg_attribute att = TupleDescAttr(row->tupdesc, attno);

		row->next_attno = (attno + 1) % row->tupdesc->natts;
		if (att->attisdropped || strcmp(NameStr(att->attname), column) != 0)
			continue;
		if (att->atttypid != type)
			report_column(row, att, type);
		return attno;
	}

	return -1;
}

/* Set the column that sst_row_find() found. */
void
sst_row_set(SstRow *row, int attno, Datum value, bool isnull)
{
	row->values[attno] = value;
	row->nulls[attno] = isnull;
	row->filled[attno] = true;
}

/* Set a column, if it is declared. */
void
sst_put_datum(SstRow *row, const char *column, Oid type, Datum value,
			  bool isnull)
{
	int			attno = sst_row_find(row, column, type);

	if (attno >= 0)
		sst_row_set(row, attno, value, isnull);
}

void
sst_put_bool(SstRow *row, const char *column, bool value)
{
	sst_put_datum(row, column, BOOLOID, BoolGetDatum(value), false);
}

void
sst_put_int32(SstRow *row, const char *column, int32 value)
{
	sst_put_datum(row, column, INT4OID, Int32GetDatum(value), false);
}

void
sst_put_int64(SstRow *row, const char *column, int64 value)
{
	sst_put_datum(row, column, INT8OID, Int64GetDatum(value), false);
}

/* A count; a negative one is not known, and becomes null. */
void
sst_put_count(SstRow *row, const char *column, int64 value)
{
	sst_put_datum(row, column, INT8OID, Int64GetDatum(value), value < 0);
}

/* NaN becomes null. */
void
sst_put_float8(SstRow *row, const char *column, double value)
{
	sst_put_datum(row, column, FLOAT8OID, Float8GetDatum(value), isnan(value));
}

/*
 * An estimated number of bytes; NaN becomes null.  An upper end can be infinite,
 * or larger than any relation.
 */
void
sst_put_bytes(SstRow *row, const char *column, double value)
{
	int64		bytes = isnan(value) ? 0 : (int64) rint(Min(value, 1e18));

	sst_put_datum(row, column, INT8OID, Int64GetDatum(bytes), isnan(value));
}

/* InvalidOid becomes null. */
void
sst_put_oid(SstRow *row, const char *column, Oid oid)
{
	sst_put_datum(row, column, OIDOID, ObjectIdGetDatum(oid),
				  !OidIsValid(oid));
}

/* InvalidOid becomes null. */
void
sst_put_regclass(SstRow *row, const char *column, Oid relid)
{
	sst_put_datum(row, column, REGCLASSOID, ObjectIdGetDatum(relid),
				  !OidIsValid(relid));
}

/* NULL becomes null. */
void
sst_put_text(SstRow *row, const char *column, const char *value)
{
	sst_put_datum(row, column, TEXTOID,
				  value ? CStringGetTextDatum(value) : (Datum) 0, value == NULL);
}

/* 0 becomes null. */
void
sst_put_timestamptz(SstRow *row, const char *column, TimestampTz value)
{
	sst_put_datum(row, column, TIMESTAMPTZOID, TimestampTzGetDatum(value),
				  value == 0);
}

/* Seconds, as an interval of milliseconds; NaN becomes null. */
void
sst_put_seconds(SstRow *row, const char *column, double seconds)
{
	Interval   *interval = palloc0(sizeof(Interval));

	if (!isnan(seconds))
		interval->time = (int64) ceil(Min(seconds, 1e9) * 1000) * 1000;
	sst_put_datum(row, column, INTERVALOID, IntervalPGetDatum(interval), isnan(seconds));
}

/* An estimate, and the ends of its interval in "<column>_low" and "..._high" */
void
sst_put_estimate(SstRow *row, const char *column, SstEstimate estimate,
				 void (*put) (SstRow *row, const char *column, double value))
{
	put(row, column, estimate.value);
	put(row, psprintf("%s_low", column), estimate.low);
	put(row, psprintf("%s_high", column), estimate.high);
}

/* ERROR if a declared column was not put; make the row empty for the next one. */
static void
finish_row(SstRow *row)
{
	int			natts = row->tupdesc->natts;

	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tupdesc, i);

		if (!att->attisdropped && !row->filled[i])
			report_column(row, att, InvalidOid);
	}

	memset(row->filled, false, natts * sizeof(bool));
}

/* The row as the result of a function that returns one */
Datum
sst_row_datum(SstRow *row)
{
	finish_row(row);
	return HeapTupleGetDatum(heap_form_tuple(row->tupdesc, row->values,
											 row->nulls));
}

/* Add the row to the result of a function that returns a set. */
void
sst_row_store(SstRow *row)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) row->fcinfo->resultinfo;

	finish_row(row);
	tuplestore_putvalues(rsinfo->setResult, row->tupdesc, row->values,
						 row->nulls);
	MemoryContextReset(row->context);
}

/* ----------
 * Result rows from counters
 * ----------
 */

static Datum
meta_value(Oid type, int64 field)
{
	return type == INT8OID ? Int64GetDatum(field) :
		type == INT4OID ? Int32GetDatum((int32) field) : BoolGetDatum(field != 0);
}

/*
 * Put the columns that the SQL script declares.  Of what was not read, the
 * counts are null, and all else is up to the column.
 */
static void
put_columns(SstRow *row, const SstColumns *columns,
			const SstRelationStats *found)
{
	for (int i = 0; i < columns->n; i++)
	{
		const SstColumn *column = &columns->column[i];
		int			attno = sst_row_find(row, column->name, column->type);
		bool		isnull = false;
		Datum		value;

		if (attno < 0)
			continue;
		if (column->of_known && found->am != NULL &&
			(found->am->flags & SST_AM_UNKNOWN) != 0)
		{
			isnull = true;
			value = (Datum) 0;
		}
		else if (column->compute)
			value = column->compute(found, &isnull);
		else if (column->percent_of != 0)
		{
			uint64		part = SST_COUNT(found, column->count);
			uint64		whole = SST_COUNT(found, column->percent_of);

			value = sst_percent(column->left ? whole - part : part, whole, &isnull);
		}
		else if (column->meta != SST_META_NONE)
		{
			isnull = !found->meta.known;
			value = meta_value(column->type, found->meta.field[column->meta]);
		}
		else
		{
			isnull = found->unread;
			value = Int64GetDatum(SST_COUNT(found, column->count));
		}
		sst_row_set(row, attno, value, isnull);
	}
}

/* Make the row of a function that returns one. */
Datum
sst_form_row(FunctionCallInfo fcinfo, const SstColumns *columns,
			 const SstRelationStats *found)
{
	SstRow		row;

	sst_row_init(&row, fcinfo);
	put_columns(&row, columns, found);

	return sst_row_datum(&row);
}

/* Add a row to the result of a function that returns a set. */
void
sst_put_row(SstRow *row, const SstColumns *columns,
			const SstRelationStats *found)
{
	put_columns(row, columns, found);
	sst_row_store(row);
}

/* What is known of a target before anything is read */
void
sst_relation_stats_init(SstRelationStats *found, const SstTarget *target)
{
	memset(found, 0, sizeof(SstRelationStats));
	found->relid = target->relid;
	found->amoid = target->rel ? target->rel->rd_rel->relam : InvalidOid;
	found->am = target->am;
	found->nblocks = target->nblocks;
	sst_counters_init(&found->counters);
	found->unread = !sst_target_is_readable(target);
	found->note = target->state == SST_TARGET_PARTITIONED ?
		sst_partitioned_note(sst_tree_function(target->rel)) : target->note;
}

/* ----------
 * The columns that say which relation a row is about
 *
 * Rows about all relations have names instead of regclass, so that stored rows
 * survive dump and restore.
 * ----------
 */

/* What the relation is, for the column kind; NULL if that is not known */
const char *
sst_kind_name(const SstRelation *relation)
{
	static const char *const names[UCHAR_MAX + 1] = {
		[RELKIND_INDEX] = "index",
		[RELKIND_TOASTVALUE] = "toast table",
		[RELKIND_MATVIEW] = "materialized view",
		[RELKIND_RELATION] = "table",
		[RELKIND_SEQUENCE] = "sequence",
		[RELKIND_VIEW] = "view",
		[RELKIND_FOREIGN_TABLE] = "foreign table",
		[RELKIND_COMPOSITE_TYPE] = "composite type",
		[RELKIND_PARTITIONED_TABLE] = "partitioned table",
		[RELKIND_PARTITIONED_INDEX] = "partitioned index"
	};

	return relation->relkind == RELKIND_RELATION && relation->partition ?
		"partition" : names[(unsigned char) relation->relkind];
}

void
sst_put_relation(SstRow *row, const SstRelation *relation)
{
	sst_put_oid(row, "relid", relation->relid);
	sst_put_text(row, "schema_name", relation->schema);
	sst_put_text(row, "relation_name", relation->name);
	sst_put_text(row, "parent_name", relation->parent_name == NULL ? NULL :
				 quote_qualified_identifier(relation->parent_schema,
											relation->parent_name));
	sst_put_text(row, "kind", sst_kind_name(relation));
}
