/*-------------------------------------------------------------------------
 *
 * btree.c
 *	  btree_stats and pgstatindex
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/btree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "api/one_relation.h"

PG_FUNCTION_INFO_V1(sst_btree_stats);
PG_FUNCTION_INFO_V1(sst_pgstatindex);
PG_FUNCTION_INFO_V1(sst_pgstatindexbyid);

static Datum
tree_level(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int32GetDatum(found->meta.tree_level);
}

static Datum
root_block_no(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int64GetDatum((int64) found->meta.root);
}

static Datum
leaf_fragmentation(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_BACKWARD_LEAVES),
					   SST_COUNT(found, SST_LEAF_PAGES), isnull);
}

static Datum
allequalimage(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return BoolGetDatum(found->meta.allequalimage);
}

static Datum
posting_percent(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_POSTING_TUPLES),
					   SST_COUNT(found, SST_ITEMS_TOLD_APART), isnull);
}

static const SstColumn btree_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"tree_level", INT4OID, 0, tree_level},
	{"root_block_no", INT8OID, 0, root_block_no},
	{"allequalimage", BOOLOID, 0, allequalimage},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"empty_pages", INT8OID, SST_EMPTY_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"posting_percent", FLOAT8OID, 0, posting_percent},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, sst_avg_density_column},
	{"leaf_fragmentation", FLOAT8OID, 0, leaf_fragmentation},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

/* pgstatindex rounds, and has NaN where there are no leaf pages. */

static Datum
rounded_density(const SstRelationStats *found, bool *isnull)
{
	if (SST_COUNT(found, SST_USABLE_BYTES) == 0)
		return Float8GetDatum(NAN);

	return sst_two_decimals(100.0 - (double) SST_COUNT(found, SST_FREE_BYTES) /
							(double) SST_COUNT(found, SST_USABLE_BYTES) * 100.0);
}

static Datum
rounded_fragmentation(const SstRelationStats *found, bool *isnull)
{
	if (SST_COUNT(found, SST_LEAF_PAGES) == 0)
		return Float8GetDatum(NAN);

	return sst_two_decimals((double) SST_COUNT(found, SST_BACKWARD_LEAVES) /
							(double) SST_COUNT(found, SST_LEAF_PAGES) * 100.0);
}

static const SstColumn pgstatindex_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"tree_level", INT4OID, 0, tree_level},
	{"index_size", INT8OID, 0, sst_size_column},
	{"root_block_no", INT8OID, 0, root_block_no},
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"empty_pages", INT8OID, SST_EMPTY_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"avg_leaf_density", FLOAT8OID, 0, rounded_density},
	{"leaf_fragmentation", FLOAT8OID, 0, rounded_fragmentation},
};

Datum
sst_btree_stats(PG_FUNCTION_ARGS)
{
	return sst_index_row(fcinfo, SST_BTREE, btree_columns,
						 lengthof(btree_columns));
}

Datum
sst_pgstatindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;

	sst_target_adopt(&target, sst_open_name_or_oid(fcinfo), SST_BTREE,
					 SST_RULES_CONTRIB);
	sst_scan_as_contrib(fcinfo, &target, SST_COUNT_ITEMS, &found);
	sst_report_corrupt_index(&target, &found);
	sst_target_close(&target);

	return sst_form_row(fcinfo, pgstatindex_columns,
						lengthof(pgstatindex_columns), &found);
}

Datum
sst_pgstatindexbyid(PG_FUNCTION_ARGS)
{
	return sst_pgstatindex(fcinfo);
}
