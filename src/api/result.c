/*-------------------------------------------------------------------------
 *
 * result.c
 *	  Result rows from counters
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/result.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "api/result.h"

/*
 * Put the columns that the SQL script declares.  Of what was not read, the
 * counts are null, and all else is up to the column.
 */
static void
put_columns(SstRow *row, const SstColumn *columns, int ncolumns,
			const SstRelationStats *found)
{
	for (int i = 0; i < ncolumns; i++)
	{
		int			attno = sst_row_find(row, columns[i].name, columns[i].type);
		bool		isnull = false;
		Datum		value;

		if (attno < 0)
			continue;
		if (columns[i].compute)
			value = columns[i].compute(found, &isnull);
		else
		{
			isnull = found->unread;
			value = Int64GetDatum(SST_COUNT(found, columns[i].count));
		}
		sst_row_set(row, attno, value, isnull);
	}
}

/* Make the row of a function that returns one. */
Datum
sst_form_row(FunctionCallInfo fcinfo, const SstColumn *columns, int ncolumns,
			 const SstRelationStats *found)
{
	SstRow		row;

	sst_row_init(&row, fcinfo);
	put_columns(&row, columns, ncolumns, found);

	return sst_row_datum(&row);
}

/* Add a row to the result of a function that returns a set. */
void
sst_put_row(SstRow *row, const SstColumn *columns, int ncolumns,
			const SstRelationStats *found)
{
	put_columns(row, columns, ncolumns, found);
	sst_row_store(row);
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
sst_is_sum_column(const SstRelationStats *found, bool *isnull)
{
	return BoolGetDatum(found->is_sum);
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

/* Percent of the space that is in use, in the pages whose space is counted */
Datum
sst_avg_density_column(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_USABLE_BYTES) -
					   SST_COUNT(found, SST_FREE_BYTES),
					   SST_COUNT(found, SST_USABLE_BYTES), isnull);
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
