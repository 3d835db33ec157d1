/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  gin_stats and pgstatginindex
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "api/one_relation.h"

PG_FUNCTION_INFO_V1(sst_gin_stats);
PG_FUNCTION_INFO_V1(sst_pgstatginindex);

static Datum
pending_pages(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int64GetDatum((int64) found->meta.pending_pages);
}

static Datum
contrib_pending_pages(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return UInt32GetDatum(found->meta.pending_pages);
}

static Datum
pending_tuples(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int64GetDatum(found->meta.pending_tuples);
}

static Datum
entry_leaf_density(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_ENTRY_USABLE_BYTES) -
					   SST_COUNT(found, SST_ENTRY_FREE_BYTES),
					   SST_COUNT(found, SST_ENTRY_USABLE_BYTES), isnull);
}

static Datum
posting_leaf_density(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_POSTING_USABLE_BYTES) -
					   SST_COUNT(found, SST_POSTING_FREE_BYTES),
					   SST_COUNT(found, SST_POSTING_USABLE_BYTES), isnull);
}

static Datum
leaf_fragmentation(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_BACKWARD_LEAVES),
					   SST_COUNT(found, SST_TREE_LEAF_PAGES), isnull);
}

static const SstColumn gin_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"entry_internal_pages", INT8OID, SST_ENTRY_INTERNAL_PAGES},
	{"entry_leaf_pages", INT8OID, SST_ENTRY_LEAF_PAGES},
	{"posting_internal_pages", INT8OID, SST_POSTING_INTERNAL_PAGES},
	{"posting_leaf_pages", INT8OID, SST_POSTING_LEAF_PAGES},
	{"pending_list_pages", INT8OID, SST_PENDING_PAGES},
	{"pending_pages", INT8OID, 0, pending_pages},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"entry_items", INT8OID, SST_ENTRY_ITEMS},
	{"posting_items", INT8OID, SST_POSTING_ITEMS},
	{"pending_items", INT8OID, SST_PENDING_ITEMS},
	{"pending_tuples", INT8OID, 0, pending_tuples},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"entry_free_bytes", INT8OID, SST_ENTRY_FREE_BYTES},
	{"posting_free_bytes", INT8OID, SST_POSTING_FREE_BYTES},
	{"pending_free_bytes", INT8OID, SST_PENDING_FREE_BYTES},
	{"entry_leaf_density", FLOAT8OID, 0, entry_leaf_density},
	{"posting_leaf_density", FLOAT8OID, 0, posting_leaf_density},
	{"leaf_fragmentation", FLOAT8OID, 0, leaf_fragmentation},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

static const SstColumn pgstatginindex_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"pending_pages", INT4OID, 0, contrib_pending_pages},
	{"pending_tuples", INT8OID, 0, pending_tuples},
};

Datum
sst_gin_stats(PG_FUNCTION_ARGS)
{
	return sst_index_row(fcinfo, SST_GIN, gin_columns, lengthof(gin_columns));
}

Datum
sst_pgstatginindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;

	sst_open_argument(fcinfo, &target, SST_GIN, SST_RULES_CONTRIB);
	target.nblocks = Min(target.nblocks, 1);
	sst_scan_as_contrib(fcinfo, &target, SST_COUNT_ITEMS, &found);
	sst_target_close(&target);

	return sst_form_row(fcinfo, pgstatginindex_columns,
						lengthof(pgstatginindex_columns), &found);
}
