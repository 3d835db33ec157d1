/*-------------------------------------------------------------------------
 *
 * result.c
 *	  From what was counted to a row
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/result.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/tuplestore.h"

#include "api/result.h"

/*
 * The table of columns must be what the SQL declares: a library that is newer or
 * older than the SQL script says so instead of returning columns under wrong
 * names.
 */
static void
check_columns(TupleDesc tupdesc, const SstColumn *columns, int ncolumns)
{
	if (tupdesc->natts != ncolumns)
		elog(ERROR, "function has %d result columns where the library has %d",
			 tupdesc->natts, ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->atttypid != columns[i].type ||
			strcmp(NameStr(att->attname), columns[i].name) != 0)
			elog(ERROR, "result column %d is \"%s\" where the library has \"%s\"",
				 i + 1, NameStr(att->attname), columns[i].name);
	}
}

/* Of what was not read, the counts are null, and all else is up to the column. */
static void
fill_row(const SstColumn *columns, int ncolumns, const SstRelationStats *found,
		 Datum *values, bool *nulls)
{
	for (int i = 0; i < ncolumns; i++)
	{
		nulls[i] = false;
		if (columns[i].compute)
			values[i] = columns[i].compute(found, &nulls[i]);
		else
		{
			nulls[i] = found->unread;
			values[i] = Int64GetDatum(SST_COUNT(found, columns[i].count));
		}
	}
}

/* Make the row of a function that returns one. */
Datum
sst_form_row(FunctionCallInfo fcinfo, const SstColumn *columns, int ncolumns,
			 const SstRelationStats *found)
{
	Datum	   *values = palloc(sizeof(Datum) * ncolumns);
	bool	   *nulls = palloc(sizeof(bool) * ncolumns);
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_columns(tupdesc, columns, ncolumns);
	fill_row(columns, ncolumns, found, values, nulls);

	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
											 values, nulls));
}

/* Begin the result of a function that returns a set of rows. */
void
sst_begin_rows(FunctionCallInfo fcinfo, const SstColumn *columns, int ncolumns)
{
	InitMaterializedSRF(fcinfo, 0);
	check_columns(((ReturnSetInfo *) fcinfo->resultinfo)->setDesc,
				  columns, ncolumns);
}

/* Add a row to it. */
void
sst_put_row(FunctionCallInfo fcinfo, const SstColumn *columns, int ncolumns,
			const SstRelationStats *found)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum	   *values = palloc(sizeof(Datum) * ncolumns);
	bool	   *nulls = palloc(sizeof(bool) * ncolumns);

	fill_row(columns, ncolumns, found, values, nulls);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);

	pfree(values);
	pfree(nulls);
}

/*
 * Columns of more than one function
 */

Datum
sst_relation_column(const SstRelationStats *found, bool *isnull)
{
	return ObjectIdGetDatum(found->relid);
}

Datum
sst_note_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->note == NULL;
	return *isnull ? (Datum) 0 : CStringGetTextDatum(found->note);
}

Datum
sst_version_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int32GetDatum(found->meta.version);
}

/* Bytes of the main fork */
Datum
sst_size_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->nblocks * BLCKSZ);
}

Datum
sst_blocks_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->nblocks);
}

static Datum
block_or_null(BlockNumber blkno, bool *isnull)
{
	*isnull = blkno == InvalidBlockNumber;
	return Int64GetDatum((int64) blkno);
}

Datum
sst_first_new_block_column(const SstRelationStats *found, bool *isnull)
{
	return block_or_null(found->counters.first_new, isnull);
}

Datum
sst_first_corrupt_block_column(const SstRelationStats *found, bool *isnull)
{
	return block_or_null(found->counters.first_corrupt, isnull);
}

/* Percent of the whole, or null if that is nothing */
Datum
sst_percent(uint64 part, uint64 whole, bool *isnull)
{
	*isnull = whole == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(100.0 * part / whole);
}

/* pgstattuple's functions mostly give percentages in two decimals. */
Datum
sst_two_decimals(double percent)
{
	char		str[32];

	snprintf(str, sizeof(str), "%.2f", percent);
	return DirectFunctionCall1(float8in, CStringGetDatum(str));
}

/* pgstattuple's percentages are of all bytes of the table. */
static Datum
percent_of_table(const SstRelationStats *found, SstCount part, bool *isnull)
{
	uint64		table_len = found->nblocks * BLCKSZ;

	*isnull = found->unread;
	return *isnull ? (Datum) 0 :
		sst_two_decimals(table_len == 0 ? 0.0 :
						 100.0 * SST_COUNT(found, part) / table_len);
}

Datum
sst_tuple_percent_column(const SstRelationStats *found, bool *isnull)
{
	return percent_of_table(found, SST_TUPLE_BYTES, isnull);
}

Datum
sst_dead_tuple_percent_column(const SstRelationStats *found, bool *isnull)
{
	return percent_of_table(found, SST_DEAD_TUPLE_BYTES, isnull);
}

Datum
sst_free_percent_column(const SstRelationStats *found, bool *isnull)
{
	return percent_of_table(found, SST_FREE_BYTES, isnull);
}

/* What is known of a target before anything is read */
void
sst_relation_stats_init(SstRelationStats *found, const SstTarget *target)
{
	memset(found, 0, sizeof(SstRelationStats));
	found->relid = target->relid;
	found->amoid = target->rel ? target->rel->rd_rel->relam : InvalidOid;
	found->kind = target->kind;
	found->nblocks = target->nblocks;
	sst_counters_init(&found->counters);
	found->unread = !sst_target_is_readable(target);
	found->note = target->note;
}
