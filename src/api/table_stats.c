/*-------------------------------------------------------------------------
 *
 * table_stats.c
 *	  table_stats and table_stats_tree
 *
 * A table is measured by one pass over its blocks, and one over each of its maps.
 * What is counted adds up: over a table and its TOAST table, and over partitions.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/table_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"

#include "api/call.h"
#include "api/tree.h"
#include "run/maps.h"
#include "run/progress.h"
#include "run/scan.h"

PG_FUNCTION_INFO_V1(sst_table_stats);
PG_FUNCTION_INFO_V1(sst_table_stats_tree);

static Datum
delete_in_progress_tuples(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum(SST_COUNT(found, SST_DELETING_TUPLES) +
						 SST_COUNT(found, SST_OWN_DELETED_TUPLES));
}

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

/* A count of bytes in percent of the table's bytes */
static Datum
percent_of_bytes(const SstRelationStats *found, SstCount part, bool *isnull)
{
	*isnull = found->unread;
	return *isnull ? (Datum) 0 :
		sst_percent(SST_COUNT(found, part), found->nblocks * BLCKSZ, isnull);
}

static Datum
live_tuple_percent(const SstRelationStats *found, bool *isnull)
{
	return percent_of_bytes(found, SST_TUPLE_BYTES, isnull);
}

static Datum
dead_tuple_percent(const SstRelationStats *found, bool *isnull)
{
	return percent_of_bytes(found, SST_DEAD_TUPLE_BYTES, isnull);
}

static Datum
free_percent(const SstRelationStats *found, bool *isnull)
{
	return percent_of_bytes(found, SST_FREE_BYTES, isnull);
}

static const SstColumn columns[] = {
	{"relation", REGCLASSOID, 0, sst_relation_column},
	{"is_sum", BOOLOID, 0, sst_is_sum_column},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"all_visible_pages", INT8OID, SST_MAP_VISIBLE_BLOCKS},
	{"all_frozen_pages", INT8OID, SST_MAP_FROZEN_BLOCKS},
	{"truncatable_pages", INT8OID, SST_TRUNCATABLE_PAGES},
	{"fsm_nonfull_pages", INT8OID, SST_MAP_FREE_BLOCKS},
	{"live_tuples", INT8OID, SST_TUPLES},
	{"live_tuple_bytes", INT8OID, SST_TUPLE_BYTES},
	{"live_tuple_percent", FLOAT8OID, 0, live_tuple_percent},
	{"dead_tuples", INT8OID, SST_DEAD_TUPLES},
	{"dead_tuple_bytes", INT8OID, SST_DEAD_TUPLE_BYTES},
	{"dead_tuple_percent", FLOAT8OID, 0, dead_tuple_percent},
	{"recently_dead_tuples", INT8OID, SST_RECENTLY_DEAD_TUPLES},
	{"insert_in_progress_tuples", INT8OID, SST_INSERTING_TUPLES},
	{"delete_in_progress_tuples", INT8OID, 0, delete_in_progress_tuples},
	{"dead_line_pointers", INT8OID, SST_DEAD_ITEMS},
	{"redirect_line_pointers", INT8OID, SST_REDIRECT_ITEMS},
	{"unused_line_pointers", INT8OID, SST_UNUSED_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, free_percent},
	{"largest_free_bytes", INT8OID, 0, largest_free_bytes},
	{"fsm_free_bytes", INT8OID, SST_MAP_FREE_BYTES},
	{"fsm_largest_free_bytes", INT8OID, 0, fsm_largest_free_bytes},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
	{"note", TEXTOID, 0, sst_note_column},
};

static void
put_row(SstRow *row, const SstRelationStats *found)
{
	sst_put_row(row, columns, lengthof(columns), found);
}

/* Measure a table that can be read; its counts are added to those found. */
static void
measure(const SstTarget *target, SstRelationStats *found, SstIoStats *io_stats)
{
	SstScanPlan plan;
	SstScanResult result;

	sst_scan_visibility_map(target, NULL, NULL, NULL, &found->counters, io_stats);
	sst_scan_free_space_map(target, NULL, &found->counters, io_stats);

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	sst_scan_run(&plan, target->rel, NULL, &result);
	result.counters.n[SST_TRUNCATABLE_PAGES] = target->nblocks -
		result.counters.kept_end;

	sst_counters_merge(&found->counters, &result.counters);
	sst_io_stats_merge(io_stats, &result.io_stats);
}

/*
 * Measure a table, and its TOAST table as asked: put a row, or two, and add them
 * to the sum unless it is NULL.
 */
static void
measure_with_toast(SstRow *row, const SstTarget *target,
				   SstWithToast with_toast, SstRelationStats *sum,
				   SstIoStats *io_stats)
{
	Oid			toastid = target->rel->rd_rel->reltoastrelid;
	SstRelationStats found;

	sst_relation_stats_init(&found, target);
	measure(target, &found, io_stats);
	if (with_toast != SST_TOAST_SUMMED)
		put_row(row, &found);

	if (OidIsValid(toastid) && with_toast != SST_TOAST_LEFT_OUT)
	{
		SstTarget	toast;
		SstRelationStats toast_found;

		sst_target_open(&toast, toastid, SST_HEAP);
		sst_relation_stats_init(&toast_found, &toast);
		measure(&toast, &toast_found, io_stats);
		sst_target_close(&toast);

		if (with_toast == SST_TOAST_ROW)
			put_row(row, &toast_found);
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
	SstIoStats io_stats;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	sst_progress_begin("table_stats", 1, SST_PROGRESS_UNKNOWN);
	sst_open_argument(fcinfo, &target, SST_TABLE);
	if (with_toast != SST_TOAST_LEFT_OUT &&
		OidIsValid(target.rel->rd_rel->reltoastrelid))
		sst_progress_totals(2, SST_PROGRESS_UNKNOWN);
	sst_rows_begin(&row, fcinfo);
	sst_io_stats_init(&io_stats, sst_choose_io_path(target.rel));

	measure_with_toast(&row, &target, with_toast, NULL, &io_stats);

	sst_remember_call("table_stats", RelationGetRelid(target.rel), start,
					  &io_stats);
	sst_target_close(&target);

	return (Datum) 0;
}

/*
 * A row for each table of an inheritance or partition tree, and one for their
 * sum; of a table without children, its rows only.  A table that cannot be read
 * has a row that says why.
 */
Datum
sst_table_stats_tree(PG_FUNCTION_ARGS)
{
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 1);
	SstRow		row;
	SstTree		tree;
	SstRelationStats sum;
	SstTarget	target;

	sst_tree_begin(&tree, fcinfo, SST_TABLE, RELKIND_PARTITIONED_TABLE, &sum,
				   "table_stats_tree");
	sst_rows_begin(&row, fcinfo);

	while (sst_tree_next(&tree, &target))
	{
		if (sst_target_is_readable(&target))
			measure_with_toast(&row, &target, with_toast, &sum,
							   &tree.io_stats);
		else
		{
			SstRelationStats found;

			sst_relation_stats_init(&found, &target);
			put_row(&row, &found);
		}
		sst_target_close(&target);
	}
	if (tree.has_sum)
		put_row(&row, &sum);

	sst_tree_end(&tree);

	return (Datum) 0;
}
