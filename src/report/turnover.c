/*-------------------------------------------------------------------------
 *
 * turnover.c
 *	  Is the free space of a table being used again?
 *
 * A table used as a queue is mostly free space, and needs it: the next inserts
 * use the space of deleted rows.  A rebuild reclaims it only until then.  The
 * cumulative statistics distinguish such a table from one that lost its rows
 * permanently: enough rows were inserted to fill the table several times.
 *
 * The space needed depends on the inserts between two runs of VACUUM.  Far
 * more than that is left over from an earlier time.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/turnover.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "report/turnover.h"

/*
 * Rows that came, in rows that the table can hold.  The first filling is no reuse,
 * and a table that was loaded, rebuilt and loaded once more is no queue.
 */
#define MANY_FILLINGS 4

/* A smaller part of the space that is needed leaves the rest as a large gain. */
#define LARGE_PART 0.5

/* A rebuild of a smaller table that changes all the time is not worth its lock. */
#define SMALL_BLOCKS ((BlockNumber) (1024 * 1024 / BLCKSZ))

/* Rows that a VACUUM finds can have come since the last one, or before it. */
#define CYCLES 2

/* A number of the cumulative statistics of a table; 0 if there are none of it */
double
sst_table_statistic(PGFunction function, Oid tableoid)
{
	return DatumGetInt64(DirectFunctionCall1(function,
											 ObjectIdGetDatum(tableoid)));
}

/*
 * Bytes of a row, by the widths that ANALYZE has found; these stay when the table
 * is empty, as a queue mostly is.  0 if it has found none.
 */
static double
analyzed_row_bytes(Oid tableoid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(tableoid));
	double		width = 0;
	int			natts;

	if (!HeapTupleIsValid(tuple))
		return 0;
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);

	for (int i = 1; i <= natts; i++)
		width += get_attavgwidth(tableoid, i);

	/* What is longer is mostly in the TOAST table. */
	return width > 0 ?
		MAXALIGN(SizeofHeapTupleHeader) + Min(width, TOAST_TUPLE_THRESHOLD) : 0;
}

/* Rows that fit into the table's blocks */
static double
capacity(Oid tableoid, const SstBloatEstimate *table)
{
	double		rows = MaxHeapTuplesPerPage;
	double		row_bytes = table->row_bytes > 0 ? table->row_bytes :
		analyzed_row_bytes(tableoid);

	if (row_bytes > 0)
		rows = (BLCKSZ - SizeOfPageHeaderData) /
			(row_bytes + sizeof(ItemIdData));

	return Max(rows, 1) * table->nblocks;
}

/* Entries of rows that fit into an index's blocks, by the widths that ANALYZE has found */
static double
index_capacity(Oid indexoid, Oid tableoid, const SstBloatEstimate *index)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexoid));
	Form_pg_index form;
	Size		width = 0;

	if (!HeapTupleIsValid(tuple))
		return 0;
	form = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; i < form->indnatts; i++)
	{
		if (form->indkey.values[i] > 0)
			width += get_attavgwidth(tableoid, form->indkey.values[i]);
	}
	ReleaseSysCache(tuple);

	width = MAXALIGN(sizeof(IndexTupleData) + Max(width, 1)) + sizeof(ItemIdData);

	return (double) (BLCKSZ - SizeOfPageHeaderData) / width * index->nblocks;
}

/*
 * Do rows come and go that need most of this room, in rows?  False if the statistics
 * do not know.
 */
static bool
is_needed(Oid tableoid, double room)
{
	double		moved = sst_table_statistic(pg_stat_get_tuples_updated, tableoid) -
		sst_table_statistic(pg_stat_get_tuples_hot_updated, tableoid);
	double		come = sst_table_statistic(pg_stat_get_tuples_inserted, tableoid) + moved;
	double		gone = sst_table_statistic(pg_stat_get_tuples_deleted, tableoid) + moved;
	double		vacuums = sst_table_statistic(pg_stat_get_vacuum_count, tableoid) +
		sst_table_statistic(pg_stat_get_autovacuum_count, tableoid);
	double		live = sst_table_statistic(pg_stat_get_live_tuples, tableoid);

	if (room <= 0 || come < MANY_FILLINGS * room || gone < (MANY_FILLINGS - 1) * room)
		return false;

	return live + CYCLES * come / (vacuums + 1) >= LARGE_PART * room;
}

/* Have new versions of rows filled so much room, in rows, many times? */
static bool
is_busy(Oid tableoid, double room)
{
	return sst_table_statistic(pg_stat_get_tuples_updated, tableoid) >= MANY_FILLINGS * room;
}

/*
 * Is most of a table's space needed for rows that come and go?  Of an empty table,
 * which VACUUM has truncated, that of its TOAST table, if it has one.
 */
bool
sst_space_is_reused(Oid tableoid, const SstBloatEstimate *table,
					const SstBloatEstimate *toast)
{
	if (table->nblocks > 0 && table->nblocks <= SMALL_BLOCKS &&
		is_busy(tableoid, capacity(tableoid, table)))
		return true;
	return is_needed(tableoid, table->nblocks > 0 || toast == NULL ?
					 capacity(tableoid, table) :
					 (double) EXTERN_TUPLES_PER_PAGE * toast->nblocks);
}

/*
 * The same of an index.  Its table can be much smaller, as VACUUM truncates tables and
 * not their indexes.
 */
bool
sst_index_space_is_reused(Oid indexoid, Oid tableoid, const SstBloatEstimate *index,
						  const SstBloatEstimate *table)
{
	return is_needed(tableoid, Max(capacity(tableoid, table),
								   index_capacity(indexoid, tableoid, index)));
}
