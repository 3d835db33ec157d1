/*-------------------------------------------------------------------------
 *
 * brin.c
 *	  brin_stats
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/brin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"

#include "api/arguments.h"
#include "api/one_relation.h"

PG_FUNCTION_INFO_V1(sst_brin_stats);

static Datum
pages_per_range(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int32GetDatum((int32) found->meta.pages_per_range);
}

/* Ranges that the table has, the last one whole or not */
static int64
table_ranges(const SstRelationStats *found)
{
	int64		per_range = found->meta.pages_per_range;

	return ((int64) found->table_blocks + per_range - 1) / per_range;
}

static Datum
ranges(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return *isnull ? (Datum) 0 : Int64GetDatum(table_ranges(found));
}

/*
 * The summaries of ranges that the table lost, by being truncated, stay in the
 * index: there can be more than there are ranges.
 */
static Datum
unsummarized_ranges(const SstRelationStats *found, bool *isnull)
{
	int64		summarized = SST_COUNT(found, SST_SUMMARIZED_RANGES);

	*isnull = !found->meta.known;
	return *isnull ? (Datum) 0 :
		Int64GetDatum(Max(table_ranges(found) - summarized, 0));
}

static const SstColumn brin_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"pages_per_range", INT4OID, 0, pages_per_range},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"revmap_pages", INT8OID, SST_INTERNAL_PAGES},
	{"regular_pages", INT8OID, SST_LEAF_PAGES},
	{"ranges", INT8OID, 0, ranges},
	{"summarized_ranges", INT8OID, SST_SUMMARIZED_RANGES},
	{"unsummarized_ranges", INT8OID, 0, unsummarized_ranges},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"placeholder_items", INT8OID, SST_PLACEHOLDER_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_density", FLOAT8OID, 0, sst_avg_density_column},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

Datum
sst_brin_stats(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;
	Relation	table;
	Oid			tableoid;
	BlockNumber table_blocks;

	sst_target_adopt(&target,
					 sst_open_with_table(sst_relation_argument(fcinfo),
										 &tableoid),
					 SST_BRIN, SST_RULES_TOLERANT);

	table = relation_open(tableoid, NoLock);
	table_blocks = RelationGetNumberOfBlocks(table);
	relation_close(table, NoLock);

	sst_scan_target(fcinfo, &target, &found);
	found.table_blocks = table_blocks;

	sst_target_close(&target);
	UnlockRelationOid(tableoid, AccessShareLock);

	return sst_form_row(fcinfo, brin_columns, lengthof(brin_columns), &found);
}
