/*-------------------------------------------------------------------------
 *
 * index_stats.c
 *	  index_stats and index_stats_tree, with the same columns for every access method,
 *	  and the function of each: btree_stats, hash_stats, ...
 *
 * A relation that cannot be read has a row with a note, so that a query over
 * pg_class does not fail.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/index_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"

#include "api/arguments.h"
#include "api/one_relation.h"
#include "run/call.h"

PG_FUNCTION_INFO_V1(sst_index_stats);
PG_FUNCTION_INFO_V1(sst_index_stats_tree);

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

/* Of an unknown access method, only what all pages have is known. */
static const SstColumn columns[] = {
	{"relation", REGCLASSOID, 0, sst_relation_column},
	{"is_sum", BOOLOID, 0, sst_is_sum_column},
	{"access_method", TEXTOID, 0, access_method},
	SST_SIZE_COLUMNS,
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES, .of_known = true},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .of_known = true},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .of_known = true},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, avg_leaf_density, .of_known = true},
	{"leaf_fragmentation", FLOAT8OID, SST_BACKWARD_LEAVES, .percent_of = SST_ORDERED_LEAF_PAGES},
	SST_DAMAGE_COLUMNS,
	{"note", TEXTOID, 0, sst_note_column},
};

/*
 * Scan an index and count, if it can be read; else the note says why not.  Empty pages
 * are shown among the deleted ones.
 */
static void
measure(const SstTarget *target, SstRelationStats *found, SstIoStats *io_stats)
{
	sst_relation_stats_init(found, target);
	if (found->unread)
		return;

	sst_add_scan(target, &found->counters, io_stats);
	found->counters.n[SST_DELETED_PAGES] += SST_COUNT(found, SST_EMPTY_PAGES);
	if ((target->am->flags & SST_AM_UNKNOWN) != 0)
		found->note = _("unknown access method: page headers only");
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

	return sst_form_row(fcinfo, SST_COLUMNS(columns), &found);
}

/*
 * A row for each index of a partition tree, and one for their sum; of an index
 * that is not partitioned, its row only.
 */
Datum
sst_index_stats_tree(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstTree		tree;
	SstRelationStats sum;
	SstRelationStats found;
	SstTarget	target;

	sst_tree_begin(&tree, fcinfo, SST_INDEX);
	sst_tree_init_sum(&tree, &sum);
	sst_rows_begin(&row, fcinfo);

	while (sst_tree_next(&tree, &target))
	{
		measure(&target, &found, &tree.call.io_stats);
		sst_target_close(&target);
		sst_put_row(&row, SST_COLUMNS(columns), &found);

		/* The partitions of an index all have its access method. */
		sum.am = found.am;
		sst_add_to_sum(&sum, &found);
	}
	if (tree.has_sum)
		sst_put_row(&row, SST_COLUMNS(columns), &sum);

	sst_tree_end(&tree);

	return (Datum) 0;
}

/* ----------
 * The function of each access method
 * ----------
 */

/*
 * Scan an index of the access method, which argument 0 names, by our own rules, and
 * return a row about it.
 */
static Datum
index_row(FunctionCallInfo fcinfo, const SstAccessMethod *am)
{
	bool		summarizes = (am->flags & SST_AM_SUMMARIZES) != 0;
	Oid			relid = sst_relation_argument(fcinfo);
	Oid			tableoid = InvalidOid;
	BlockNumber table_blocks = 0;
	SstTarget	target;
	SstRelationStats found;

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

	sst_scan_target(fcinfo, &target, SST_RULES_TOLERANT, SST_COUNT_ITEMS, &found);
	found.table_blocks = table_blocks;

	sst_target_close(&target);

	return sst_form_row(fcinfo, &am->columns, &found);
}

#define SST_ACCESS_METHOD(name) \
PG_FUNCTION_INFO_V1(sst_##name##_stats); \
Datum \
sst_##name##_stats(PG_FUNCTION_ARGS) \
{ \
	return index_row(fcinfo, &sst_##name##_am); \
}
#include "am/list.h"
#undef SST_ACCESS_METHOD
