/*-------------------------------------------------------------------------
 *
 * relation_stats.c
 *	  table_stats and index_stats, which have the same columns for every access method,
 *	  both for a tree, and the function of each access method: btree_stats, hash_stats, ...;
 *	  estimates from a sample; summaries of the maps
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"

#include "api/api.h"

PG_FUNCTION_INFO_V1(sst_table_stats);
PG_FUNCTION_INFO_V1(sst_table_stats_tree);
PG_FUNCTION_INFO_V1(sst_index_stats);
PG_FUNCTION_INFO_V1(sst_index_stats_tree);
PG_FUNCTION_INFO_V1(sst_sample_stats);
PG_FUNCTION_INFO_V1(sst_visibility_map_summary);
PG_FUNCTION_INFO_V1(sst_unfrozen_ranges);
PG_FUNCTION_INFO_V1(sst_free_space_map_summary);

static Datum
relation_column(const SstRelationStats *found, bool *isnull)
{
	return ObjectIdGetDatum(found->relid);
}

static Datum
is_sum_column(const SstRelationStats *found, bool *isnull)
{
	return BoolGetDatum(found->is_sum);
}

static Datum
note_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->note == NULL;
	return *isnull ? (Datum) 0 : CStringGetTextDatum(found->note);
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

static const SstColumn table_columns[] = {
	{"relation", REGCLASSOID, 0, relation_column},
	{"is_sum", BOOLOID, 0, is_sum_column},
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
	{"note", TEXTOID, 0, note_column},
};

static Datum
access_method(const SstRelationStats *found, bool *isnull)
{
	*isnull = !OidIsValid(found->amoid);
	return *isnull ? (Datum) 0 :
		CStringGetTextDatum(get_am_name(found->amoid));
}

/*
 * Free bytes are those of unused pages, too, where they are reserved; the density is that
 * of leaf pages.
 */
static uint64
unused_bytes(const SstRelationStats *found)
{
	uint64		npages = SST_COUNT(found, SST_UNUSED_PAGES);

	return npages == 0 ? 0 : npages *
		(BLCKSZ - SizeOfPageHeaderData - MAXALIGN(found->am->special_size));
}

static Datum
avg_leaf_density(const SstRelationStats *found, bool *isnull)
{
	uint64		usable = SST_COUNT(found, SST_USABLE_BYTES);

	return sst_percent(usable - SST_COUNT(found, SST_FREE_BYTES),
					   usable - unused_bytes(found), isnull);
}

/* Empty pages are shown among the deleted ones. */
static Datum
deleted_pages(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum(SST_COUNT(found, SST_DELETED_PAGES) + SST_COUNT(found, SST_EMPTY_PAGES));
}

/* Of an unknown access method, only what all pages have is known. */
static const SstColumn index_columns[] = {
	{"relation", REGCLASSOID, 0, relation_column},
	{"is_sum", BOOLOID, 0, is_sum_column},
	{"access_method", TEXTOID, 0, access_method},
	SST_SIZE_COLUMNS,
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES, .of_known = true},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .of_known = true},
	{"deleted_pages", INT8OID, 0, deleted_pages, .of_known = true},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, avg_leaf_density, .of_known = true},
	{"leaf_fragmentation", FLOAT8OID, SST_BACKWARD_LEAVES, .percent_of = SST_ORDERED_LEAF_PAGES},
	SST_DAMAGE_COLUMNS,
	{"note", TEXTOID, 0, note_column},
};

/*
 * Measure a relation, if it can be read; else the note says why not.  Add up what its
 * columns show.  Free space of a table is that in pages that are in use, and all of those
 * that are new.
 */
static void
measure(const SstTarget *target, SstRelationStats *found, SstIoStats *io_stats)
{
	uint64	   *n = found->counters.n;
	SstScanPlan plan;
	SstScanResult result;

	sst_relation_stats_init(found, target);
	if (found->unread)
		return;

	if (target->kind != SST_INDEX)
	{
		sst_scan_map(target, VISIBILITYMAP_FORKNUM, NULL, NULL, NULL, &found->counters, io_stats);
		sst_scan_map(target, FSM_FORKNUM, NULL, NULL, NULL, &found->counters, io_stats);
	}
	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	sst_scan_run(&plan, target->rel, NULL, &result);
	sst_counters_merge(&found->counters, &result.counters);
	sst_io_stats_merge(io_stats, &result.io_stats);

	found->meta = result.meta;

	if (target->kind == SST_INDEX)
	{
		if ((target->am->flags & SST_AM_UNKNOWN) != 0)
			found->note = _("unknown access method: page headers only");
		return;
	}
	n[SST_TRUNCATABLE_PAGES] = target->nblocks - found->counters.kept_end;
	n[SST_DELETING_TUPLES] += n[SST_OWN_DELETED_TUPLES];
	n[SST_FREE_BYTES] += n[SST_NEW_PAGES] * BLCKSZ;
}

/* Add what was found of one relation to a sum, where block numbers say nothing. */
static void
add_to_sum(SstRelationStats *sum, const SstRelationStats *found)
{
	sum->nblocks += found->nblocks;
	sst_counters_merge(&sum->counters, &found->counters);
	sum->counters.first_new = InvalidBlockNumber;
	sum->counters.first_corrupt = InvalidBlockNumber;
}

/*
 * Measure a relation, and a table's TOAST table as asked: put a row, or two, and add them
 * to the sum.  What cannot be read has a row with a note.
 */
static void
measure_with_toast(SstRow *row, const SstColumns *columns, const SstTarget *target,
				   SstWithToast with_toast, SstRelationStats *sum, SstIoStats *io_stats)
{
	SstRelationStats found;
	bool		two;

	measure(target, &found, io_stats);
	two = with_toast != SST_TOAST_LEFT_OUT && !found.unread && sst_has_toast(target);
	if (!two || with_toast != SST_TOAST_SUMMED)
		sst_put_row(row, columns, &found);

	if (two)
	{
		SstTarget	toast;
		SstRelationStats toast_found;

		sst_target_try_open(&toast, target->rel->rd_rel->reltoastrelid, InvalidOid,
							SST_HEAP, true);
		measure(&toast, &toast_found, io_stats);
		sst_target_close(&toast);

		if (with_toast == SST_TOAST_SUMMED && found.note == NULL)
			found.note = toast_found.note;
		add_to_sum(&found, &toast_found);
		sst_put_row(row, columns, with_toast == SST_TOAST_ROW ? &toast_found : &found);
	}

	/* The partitions of an index all have its access method. */
	sum->am = found.am;
	add_to_sum(sum, &found);
}

/*
 * A row for each relation of a partition or inheritance tree, and one for their sum; of one
 * that is alone, or without others below it, its rows only.
 */
static Datum
measure_tree(FunctionCallInfo fcinfo, int kinds, bool alone, const SstColumns *columns,
			 SstWithToast with_toast)
{
	SstRow		row;
	SstTree		tree;
	SstRelationStats sum;
	SstTarget	target;

	sst_tree_begin(&tree, fcinfo, kinds, alone);
	if (alone && with_toast != SST_TOAST_LEFT_OUT && sst_has_toast(&tree.root))
		sst_progress_totals(2, SST_PROGRESS_UNKNOWN);
	sst_relation_stats_init(&sum, &tree.root);
	sum.nblocks = 0;
	sum.unread = false;
	sum.is_sum = true;
	sum.note = NULL;
	sst_rows_begin(&row, fcinfo);

	while (sst_tree_next(&tree, &target))
	{
		measure_with_toast(&row, columns, &target, with_toast, &sum,
						   &tree.call.io_stats);
		sst_target_close(&target);
	}
	if (tree.has_sum)
		sst_put_row(&row, columns, &sum);

	sst_tree_end(&tree);

	return (Datum) 0;
}

Datum
sst_table_stats(PG_FUNCTION_ARGS)
{
	return measure_tree(fcinfo, SST_TABLE, true, SST_COLUMNS(table_columns),
						sst_with_toast_argument(fcinfo, 1));
}

Datum
sst_table_stats_tree(PG_FUNCTION_ARGS)
{
	return measure_tree(fcinfo, SST_TABLE, false, SST_COLUMNS(table_columns),
						sst_with_toast_argument(fcinfo, 1));
}

Datum
sst_index_stats(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;
	SstCall		call;

	sst_call_try_open(&call, fcinfo, &target, SST_INDEX);
	measure(&target, &found, &call.io_stats);
	sst_call_close(&call, &target);

	return sst_form_row(fcinfo, SST_COLUMNS(index_columns), &found);
}

Datum
sst_index_stats_tree(PG_FUNCTION_ARGS)
{
	return measure_tree(fcinfo, SST_INDEX, false, SST_COLUMNS(index_columns),
						SST_TOAST_LEFT_OUT);
}

/* ----------
 * The function of each access method
 * ----------
 */

/* Return a row about an index of the access method, which argument 0 names. */
static Datum
index_row(FunctionCallInfo fcinfo, const SstAccessMethod *am)
{
	bool		summarizes = (am->flags & SST_AM_SUMMARIZES) != 0;
	Oid			relid = sst_relation_argument(fcinfo);
	Oid			tableoid = InvalidOid;
	BlockNumber table_blocks = 0;
	SstTarget	target;
	SstRelationStats found;
	SstCall		call;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_target_adopt_index(&target, summarizes ?
						   sst_open_with_table(relid, &tableoid) :
						   relation_open(relid, AccessShareLock),
						   am, SST_RULES_TOLERANT);
	target.tableoid = tableoid;
	if (summarizes)
	{
		Relation	table = relation_open(tableoid, NoLock);

		table_blocks = RelationGetNumberOfBlocks(table);
		relation_close(table, NoLock);
	}

	sst_call_set_relation(&call, target.rel);
	measure(&target, &found, &call.io_stats);
	found.table_blocks = table_blocks;
	sst_call_close(&call, &target);

	return sst_form_row(fcinfo, &am->columns, &found);
}

#define DEFINE_STATS(name) \
PG_FUNCTION_INFO_V1(sst_##name##_stats); \
Datum \
sst_##name##_stats(PG_FUNCTION_ARGS) \
{ \
	return index_row(fcinfo, &sst_##name##_am); \
}
SST_ACCESS_METHODS(DEFINE_STATS)

/* ----------
 * sample_stats: the same numbers from a random sample of blocks, with confidence intervals
 * ----------
 */

/* Say where the first damaged page is: the rows only count them. */
static void
report_damage(const SstTarget *target, const SstCounters *counters)
{
	const char *relname = RelationGetRelationName(target->rel);

	if (counters->first_corrupt != InvalidBlockNumber)
		ereport(WARNING,
				(errcode(target->kind == SST_HEAP ? ERRCODE_DATA_CORRUPTED :
						 ERRCODE_INDEX_CORRUPTED),
				 errmsg("first corrupt page in sample of relation \"%s\" is block %u",
						relname, counters->first_corrupt)));
}

/*
 * Put a row for a statistic of a target that was sampled; or one with the target's
 * note, if it cannot be read: statistic and sample are NULL then.
 */
static void
put_statistic(SstRow *row, const SstTarget *target, const SstColumn *statistic,
			  const SstPageSample *sample, SstSampleEnd end)
{
	static const char *const ends[] = {"margin", "blocks", "all", "max_time"};
	SstEstimate estimate = {NAN, NAN, NAN};
	const char *measured = "skipped";

	if (statistic != NULL)
	{
		estimate = sst_estimate(statistic, sample);
		if (end != SST_SAMPLE_LIMITS || sample->nsampled > 0)
			measured = sst_sample_is_exact(sample) ? "exact" : "sampled";
	}

	sst_put_text(row, "statistic", statistic ? statistic->name : NULL);
	sst_put_float8(row, "estimate", estimate.value);
	sst_put_float8(row, "low", estimate.low);
	sst_put_float8(row, "high", estimate.high);
	sst_put_count(row, "blocks_read", statistic ? (int64) sample->nsampled : -1);
	sst_put_count(row, "blocks_total", statistic ? (int64) target->nblocks : -1);
	sst_put_text(row, "measured", measured);
	sst_put_text(row, "ended_by", statistic ? ends[end] : NULL);
	sst_put_text(row, "note", target->note);
	sst_row_store(row);
}

Datum
sst_sample_stats(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstTarget	target;
	SstPageSample sample;
	SstScanResult result;
	SstCall		call;
	BlockNumber nblocks;
	double		margin = PG_ARGISNULL(2) ? INFINITY : PG_GETARG_FLOAT8(2);
	SstLimits	limits = {.bytes_left = PG_INT64_MAX};
	SstLimits  *limited;
	SstSampleEnd end;

	nblocks = sst_sample_size_argument(fcinfo, 1);
	sst_check_positive(margin, "margin",
					   gettext_noop("Specify the margin in percentage points."));
	limited = sst_max_time_argument(fcinfo, 3, &limits);

	sst_call_try_open(&call, fcinfo, &target, SST_INDEX | SST_TABLE);
	sst_rows_begin(&row, fcinfo);

	if (!sst_target_is_readable(&target))
	{
		put_statistic(&row, &target, NULL, NULL, SST_SAMPLE_ALL);
		sst_call_close(&call, &target);
		return (Datum) 0;
	}

	if (!isinf(margin))
		end = sst_sample_to_margin(&target, margin, nblocks,
								   sst_seed_argument(fcinfo, 4), limited,
								   &sample, &result);
	else if (sst_sample_scan(&target, nblocks, sst_seed_argument(fcinfo, 4), NULL,
							 limited, &sample, &result))
		end = sst_sample_is_exact(&sample) ? SST_SAMPLE_ALL : SST_SAMPLE_BLOCKS;
	else
	{
		sample.nsampled = 0;
		end = SST_SAMPLE_LIMITS;
	}
	call.io_stats = result.io_stats;
	sst_call_end(&call);

	for (int i = 0; i < target.am->columns.n; i++)
	{
		const SstColumn *column = &target.am->columns.column[i];

		if (sst_is_estimated(column))
			put_statistic(&row, &target, column, &sample, end);
	}

	report_damage(&target, &result.counters);
	sst_target_close(&target);

	return (Datum) 0;
}

/* ----------
 * visibility_map_summary, unfrozen_ranges and free_space_map_summary
 * ----------
 */

/* Blocks from one look at interrupts and blocked sessions to the next, a power of two */
#define CHECK_BLOCKS (1 << 25)

static void
look_around(void)
{
	CHECK_FOR_INTERRUPTS();
	sst_check_blocking();
}

/*
 * The first block from the given one on that is in the set, or that is not; the
 * number of blocks if there is none.
 */
static BlockNumber
find_block(const SstBlockSet *set, BlockNumber blkno, bool member)
{
	for (; blkno < set->nblocks && sst_block_set_contains(set, blkno) != member; blkno++)
	{
		if (blkno % CHECK_BLOCKS == 0)
			look_around();
	}
	return blkno;
}

/*
 * Find the next range of blocks that are not in the set, from *first on; false
 * if there is none.  *end is one past its last block.
 */
static bool
next_range(const SstBlockSet *frozen, BlockNumber *first, BlockNumber *end)
{
	look_around();
	*first = find_block(frozen, *first, false);
	*end = find_block(frozen, *first, true);

	return *first < *end;
}

/* Read a map of the relation that argument 0 names.  Returns the frozen blocks, if it tells. */
static SstBlockSet *
read_map(FunctionCallInfo fcinfo, int kinds, ForkNumber forknum, SstRelationStats *found)
{
	SstTarget	target;
	SstBlockSet *frozen = NULL;
	SstCall		call;

	sst_call_open(&call, fcinfo, &target, kinds);
	sst_relation_stats_init(found, &target);
	if (forknum == VISIBILITYMAP_FORKNUM)
		frozen = sst_block_set_create(target.nblocks);
	sst_scan_map(&target, forknum, NULL, frozen, NULL, &found->counters, &call.io_stats);
	sst_call_close(&call, &target);

	return frozen;
}

Datum
sst_visibility_map_summary(PG_FUNCTION_ARGS)
{
	SstRelationStats found;
	SstBlockSet *frozen = read_map(fcinfo, SST_HEAP, VISIBILITYMAP_FORKNUM, &found);
	SstRow		row;
	BlockNumber first = 0;
	BlockNumber end;
	BlockNumber largest = 0;
	int64		nranges = 0;

	for (; next_range(frozen, &first, &end); first = end)
	{
		nranges++;
		largest = Max(largest, end - first);
	}

	sst_row_init(&row, fcinfo);
	sst_put_int64(&row, "pages", found.nblocks);
	sst_put_int64(&row, "all_visible_pages", SST_COUNT(&found, SST_MAP_VISIBLE_BLOCKS));
	sst_put_int64(&row, "all_frozen_pages", SST_COUNT(&found, SST_MAP_FROZEN_BLOCKS));
	sst_put_int64(&row, "largest_unfrozen_range_pages", largest);
	sst_put_int64(&row, "unfrozen_ranges", nranges);
	sst_put_int64(&row, "corrupt_map_pages", SST_COUNT(&found, SST_MAP_CORRUPT_PAGES));

	return sst_row_datum(&row);
}

Datum
sst_unfrozen_ranges(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstRelationStats found;
	SstBlockSet *frozen;
	BlockNumber first = 0;
	BlockNumber end;

	sst_rows_begin(&row, fcinfo);
	frozen = read_map(fcinfo, SST_HEAP, VISIBILITYMAP_FORKNUM, &found);

	for (; next_range(frozen, &first, &end); first = end)
	{
		sst_put_int64(&row, "first_block", first);
		sst_put_int64(&row, "last_block", (int64) end - 1);
		sst_row_store(&row);
	}

	return (Datum) 0;
}

Datum
sst_free_space_map_summary(PG_FUNCTION_ARGS)
{
	SstRelationStats found;
	SstRow		row;
	uint64		free;

	(void) read_map(fcinfo, SST_INDEX | SST_HEAP, FSM_FORKNUM, &found);
	free = SST_COUNT(&found, SST_MAP_FREE_BYTES);

	sst_row_init(&row, fcinfo);
	sst_put_int64(&row, "pages", found.nblocks);
	sst_put_int64(&row, "nonfull_pages", SST_COUNT(&found, SST_MAP_FREE_BLOCKS));
	sst_put_int64(&row, "free_bytes", free);
	sst_put_float8(&row, "free_percent", found.nblocks == 0 ? NAN :
				   100.0 * free / (found.nblocks * BLCKSZ));
	sst_put_int64(&row, "largest_free_bytes", found.counters.map_largest_free);
	sst_put_int64(&row, "corrupt_map_pages", SST_COUNT(&found, SST_MAP_CORRUPT_PAGES));

	return sst_row_datum(&row);
}
