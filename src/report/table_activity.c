/*-------------------------------------------------------------------------
 *
 * table_activity.c
 *	  Is the free space of a table used again, and does autovacuum come late?
 *
 * The cumulative statistics tell both.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "postmaster/autovacuum.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat/compat.h"
#include "report/plan.h"

/* A number of the cumulative statistics of a table; 0 if there are none of it */
static double
table_statistic(PGFunction function, Oid tableoid)
{
	return DatumGetInt64(DirectFunctionCall1(function,
											 ObjectIdGetDatum(tableoid)));
}

/* ----------
 * Is free space used again?
 *
 * A table used as a queue is mostly free space, and needs it: the next inserts
 * use the space of deleted rows.  A rebuild reclaims it only until then.  The
 * cumulative statistics distinguish such a table from one that lost its rows
 * permanently: enough rows were inserted to fill the table several times.
 *
 * The space needed depends on the inserts between two runs of VACUUM.  Far
 * more than that is left over from an earlier time.
 * ----------
 */

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

/*
 * Bytes of a row, by the widths that ANALYZE has found; these stay when the table
 * is empty, as a queue mostly is.  0 if it has found none.
 */
static double
analyzed_row_bytes(Oid tableoid)
{
	double		width = 0;

	for (int i = 1; SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(tableoid), Int16GetDatum(i)); i++)
		width += get_attavgwidth(tableoid, i);

	/* What is longer is mostly in the TOAST table. */
	return width > 0 ?
		MAXALIGN(SizeofHeapTupleHeader) + Min(width, TOAST_TUPLE_THRESHOLD) : 0;
}

/* Rows that fit into the table's blocks */
static double
capacity(const SstReportEntry *entry)
{
	const SstBloatEstimate *table = &entry->estimate;
	double		rows = MaxHeapTuplesPerPage;
	double		row_bytes = table->row_bytes > 0 ? table->row_bytes :
		analyzed_row_bytes(entry->relation->relid);

	if (row_bytes > 0)
		rows = (BLCKSZ - SizeOfPageHeaderData) /
			(row_bytes + sizeof(ItemIdData));

	return Max(rows, 1) * table->nblocks;
}

/* Entries of rows that fit into an index's blocks, by the widths that ANALYZE has found */
static double
index_capacity(const SstReportEntry *index, Oid tableoid)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index->relation->relid));
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

	return (double) (BLCKSZ - SizeOfPageHeaderData) / width * index->estimate.nblocks;
}

/*
 * Do rows come and go that need most of this room, in rows?  False if the statistics
 * do not know.
 */
static bool
is_needed(Oid tableoid, double room)
{
	double		moved = table_statistic(pg_stat_get_tuples_updated, tableoid) -
		table_statistic(pg_stat_get_tuples_hot_updated, tableoid);
	double		come = table_statistic(pg_stat_get_tuples_inserted, tableoid) + moved;
	double		gone = table_statistic(pg_stat_get_tuples_deleted, tableoid) + moved;
	double		vacuums = table_statistic(pg_stat_get_vacuum_count, tableoid) +
		table_statistic(pg_stat_get_autovacuum_count, tableoid);
	double		live = table_statistic(pg_stat_get_live_tuples, tableoid);

	if (room <= 0 || come < MANY_FILLINGS * room || gone < (MANY_FILLINGS - 1) * room)
		return false;

	return live + CYCLES * come / (vacuums + 1) >= LARGE_PART * room;
}

/*
 * Is most of a table's space needed for rows that come and go?  Of an empty table,
 * which VACUUM has truncated, that of its TOAST table, if it has one.
 */
bool
sst_space_is_reused(const SstReportEntry *table, const SstReportEntry *toast)
{
	Oid			tableoid = table->relation->relid;
	uint64		nblocks = table->estimate.nblocks;

	/* Have new versions of rows filled a small table many times? */
	if (nblocks > 0 && nblocks <= SMALL_BLOCKS &&
		table_statistic(pg_stat_get_tuples_updated, tableoid) >=
		MANY_FILLINGS * capacity(table))
		return true;
	return is_needed(tableoid, nblocks > 0 || toast == NULL ? capacity(table) :
					 (double) EXTERN_TUPLES_PER_PAGE * toast->estimate.nblocks);
}

/*
 * The same of an index.  Its table can be much smaller, as VACUUM truncates tables and
 * not their indexes.
 */
bool
sst_index_space_is_reused(const SstReportEntry *index, const SstReportEntry *table)
{
	Oid			tableoid = table->relation->relid;

	return is_needed(tableoid, Max(capacity(table), index_capacity(index, tableoid)));
}

/* ----------
 * Do the settings let autovacuum come late?
 *
 * Autovacuum waits for a number of dead rows, by default a fifth of the table and
 * a few more.  The space of so many rows stays free afterwards.  The cumulative
 * statistics show whether that is what happens: as many rows die between two runs
 * as the settings say, or so many are dead now that it is not far from that.  If
 * they show anything else, then the settings are not the cause, or it is not known:
 * one command can delete many rows, workers can be busy, and counts are lost in a
 * crash.
 * ----------
 */

/* Dead rows that are no reason to change a setting, as a part of the rows */
#define LOW_PART 0.05

/* Of fewer rows, it does not matter. */
#define MANY_ROWS 1000

/* A mean over fewer runs says little. */
#define MANY_RUNS 4

/*
 * The options of a table, in the current memory context, or NULL if it has none.  *rows is
 * what the catalog says of its rows; negative if nothing, or if the table is gone.
 */
static StdRdOptions *
table_options(Oid tableoid, double *rows)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(tableoid));
	StdRdOptions *options = NULL;
	Datum		reloptions;
	bool		isnull;

	*rows = -1;
	if (!HeapTupleIsValid(tuple))
		return NULL;
	*rows = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
		options = (StdRdOptions *) heap_reloptions(RELKIND_RELATION, reloptions, false);
	ReleaseSysCache(tuple);

	return options;
}

/* Does the table leave a part of its pages free for updates? */
bool
sst_has_fillfactor(Oid tableoid)
{
	double		rows;
	const StdRdOptions *options = table_options(tableoid, &rows);

	return options != NULL && options->fillfactor < HEAP_DEFAULT_FILLFACTOR;
}

/*
 * Why so much of a table can be dead, or free again, and what to change: translated, in the
 * current memory context.  NULL if its settings are not known to be the cause, which are those
 * that autovacuum finds (relation_needs_vacanalyze() in autovacuum.c).  dead: it is about rows
 * that are dead now.
 */
const char *
sst_late_vacuum_reason(const SstRelation *table, bool dead)
{
	Oid			relid = table->relid;
	double		rows_dead = table_statistic(pg_stat_get_dead_tuples, relid);
	double		runs = table_statistic(pg_stat_get_autovacuum_count, relid);
	double		died = table_statistic(pg_stat_get_tuples_updated, relid) -
		table_statistic(pg_stat_get_tuples_hot_updated, relid) +
		table_statistic(pg_stat_get_tuples_deleted, relid);
	double		mean = died / (runs + table_statistic(pg_stat_get_vacuum_count, relid) + 1);
	double		rows;
	double		scale = autovacuum_vac_scale;	/* the part of all rows that
												 * it waits for */
	double		threshold = autovacuum_vac_thresh;	/* ... and a base */
	StdRdOptions *options;
	const char *name;
	const char *command;

	if (!AutoVacuumingActive() || table->catalog || table->persistence == RELPERSISTENCE_TEMP)
		return NULL;
	options = table_options(relid, &rows);
	if (rows < MANY_ROWS)
		return NULL;
	name = quote_qualified_identifier(table->schema, table->name);
	if (options != NULL && !options->autovacuum.enabled)
		return Max(rows_dead, mean) <= LOW_PART * rows ? NULL :
			psprintf(_("autovacuum is off for this table: ALTER TABLE %s RESET (autovacuum_enabled)"), name);

	if (options != NULL && options->autovacuum.vacuum_scale_factor >= 0)
		scale = options->autovacuum.vacuum_scale_factor;
	if (options != NULL && options->autovacuum.vacuum_threshold >= 0)
		threshold = options->autovacuum.vacuum_threshold;
	threshold = sst_limited_vacuum_threshold(options, threshold + scale * rows);
	if (threshold <= 2 * LOW_PART * rows)
		return NULL;
	command = scale > LOW_PART ?
		psprintf("ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = %g)", name, LOW_PART) :
		psprintf("ALTER TABLE %s SET (autovacuum_vacuum_threshold = %.0f)", name, LOW_PART * rows);
	if (dead && rows_dead > LOW_PART * rows && rows_dead <= threshold)
		return psprintf(_("autovacuum waits for %.0f dead rows, and there are %.0f; it comes earlier after: %s"),
						threshold, rows_dead, command);
	if (runs >= MANY_RUNS && mean >= threshold / 2 && mean <= 2 * threshold)
		return psprintf(_("autovacuum waits for %.0f dead rows, and has run %.0f times, after %.0f on average; it comes earlier after: %s"),
						threshold, runs, mean, command);

	return NULL;
}
