/*-------------------------------------------------------------------------
 *
 * table_stats.c
 *	  table_stats and table_stats_tree
 *
 * A table is measured by one pass over its blocks, and one over each of its
 * maps.  Counters add up over a table and its TOAST table, and over
 * partitions.
 *
 * A relation that cannot be read has a row with a note, so that a query over
 * pg_class does not fail.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/table_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "api/arguments.h"
#include "api/one_relation.h"
#include "run/call.h"
#include "run/progress.h"
#include "run/scan.h"

PG_FUNCTION_INFO_V1(sst_table_stats);
PG_FUNCTION_INFO_V1(sst_table_stats_tree);

static Datum
largest_free_bytes(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->counters.largest_free);
}

static Datum
fsm_largest_free_bytes(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->counters.map_largest_free);
}

static const SstColumn columns[] = {
	{"relation", REGCLASSOID, 0, sst_relation_column},
	{"is_sum", BOOLOID, 0, sst_is_sum_column},
	SST_SIZE_COLUMNS,
	{"all_visible_pages", INT8OID, SST_MAP_VISIBLE_BLOCKS},
	{"all_frozen_pages", INT8OID, SST_MAP_FROZEN_BLOCKS},
	{"truncatable_pages", INT8OID, SST_TRUNCATABLE_PAGES},
	{"fsm_nonfull_pages", INT8OID, SST_MAP_FREE_BLOCKS},
	{"live_tuples", INT8OID, SST_TUPLES},
	{"live_tuple_bytes", INT8OID, SST_TUPLE_BYTES},
	{"live_tuple_percent", FLOAT8OID, SST_TUPLE_BYTES, .percent_of = SST_PAGE_BYTES},
	{"dead_tuples", INT8OID, SST_DEAD_TUPLES},
	{"dead_tuple_bytes", INT8OID, SST_DEAD_TUPLE_BYTES},
	{"dead_tuple_percent", FLOAT8OID, SST_DEAD_TUPLE_BYTES, .percent_of = SST_PAGE_BYTES},
	{"recently_dead_tuples", INT8OID, SST_RECENTLY_DEAD_TUPLES},
	{"insert_in_progress_tuples", INT8OID, SST_INSERTING_TUPLES},
	{"delete_in_progress_tuples", INT8OID, SST_DELETING_TUPLES},
	{"dead_line_pointers", INT8OID, SST_DEAD_ITEMS},
	{"redirect_line_pointers", INT8OID, SST_REDIRECT_ITEMS},
	{"unused_line_pointers", INT8OID, SST_UNUSED_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"free_percent", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_PAGE_BYTES},
	{"largest_free_bytes", INT8OID, 0, largest_free_bytes},
	{"fsm_free_bytes", INT8OID, SST_MAP_FREE_BYTES},
	{"fsm_largest_free_bytes", INT8OID, 0, fsm_largest_free_bytes},
	SST_DAMAGE_COLUMNS,
	{"note", TEXTOID, 0, sst_note_column},
};

static void
put_row(SstRow *row, const SstRelationStats *found)
{
	sst_put_row(row, SST_COLUMNS(columns), found);
}

/*
 * Measure a table that can be read, and add up what its columns show.  Free space is
 * that in pages that are in use, and all of those that are new.
 */
static void
measure(const SstTarget *target, SstRelationStats *found, SstIoStats *io_stats)
{
	uint64	   *n = found->counters.n;

	sst_scan_visibility_map(target, NULL, NULL, NULL, &found->counters, io_stats);
	sst_scan_free_space_map(target, NULL, &found->counters, io_stats);
	sst_add_scan(target, &found->counters, io_stats);
	n[SST_TRUNCATABLE_PAGES] = target->nblocks - found->counters.kept_end;
	n[SST_DELETING_TUPLES] += n[SST_OWN_DELETED_TUPLES];
	n[SST_FREE_BYTES] += n[SST_NEW_PAGES] * BLCKSZ;
}

/*
 * Measure a table, and its TOAST table as asked: put a row, or two, and add them
 * to the sum unless it is NULL.  What cannot be read has a row with a note.
 */
static void
measure_with_toast(SstRow *row, const SstTarget *target,
				   SstWithToast with_toast, SstRelationStats *sum,
				   SstIoStats *io_stats)
{
	SstRelationStats found;

	sst_relation_stats_init(&found, target);
	if (found.unread)
	{
		put_row(row, &found);
		return;
	}

	measure(target, &found, io_stats);
	if (with_toast != SST_TOAST_SUMMED)
		put_row(row, &found);

	if (with_toast != SST_TOAST_LEFT_OUT && sst_has_toast(target))
	{
		SstTarget	toast;
		SstRelationStats toast_found;

		sst_target_try_open(&toast, target->rel->rd_rel->reltoastrelid,
							SST_HEAP);
		sst_relation_stats_init(&toast_found, &toast);
		if (!toast_found.unread)
			measure(&toast, &toast_found, io_stats);
		sst_target_close(&toast);

		if (with_toast == SST_TOAST_ROW)
			put_row(row, &toast_found);
		else if (found.note == NULL)
			found.note = toast_found.note;
		sst_add_to_sum(&found, &toast_found);
	}

	if (with_toast == SST_TOAST_SUMMED)
		put_row(row, &found);
	if (sum != NULL)
		sst_add_to_sum(sum, &found);
}

Datum
sst_table_stats(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstTarget	target;
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 1);
	SstCall		call;

	sst_call_try_open(&call, fcinfo, &target, SST_TABLE);
	if (with_toast != SST_TOAST_LEFT_OUT && sst_has_toast(&target))
		sst_progress_totals(2, SST_PROGRESS_UNKNOWN);
	sst_rows_begin(&row, fcinfo);

	measure_with_toast(&row, &target, with_toast, NULL, &call.io_stats);

	sst_call_close(&call, &target);

	return (Datum) 0;
}

/*
 * A row for each table of an inheritance or partition tree, and one for their
 * sum; of a table without children, its rows only.
 */
Datum
sst_table_stats_tree(PG_FUNCTION_ARGS)
{
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 1);
	SstRow		row;
	SstTree		tree;
	SstRelationStats sum;
	SstTarget	target;

	sst_tree_begin(&tree, fcinfo, SST_TABLE);
	sst_tree_init_sum(&tree, &sum);
	sst_rows_begin(&row, fcinfo);

	while (sst_tree_next(&tree, &target))
	{
		measure_with_toast(&row, &target, with_toast, &sum,
						   &tree.call.io_stats);
		sst_target_close(&target);
	}
	if (tree.has_sum)
		put_row(&row, &sum);

	sst_tree_end(&tree);

	return (Datum) 0;
}
