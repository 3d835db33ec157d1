/*-------------------------------------------------------------------------
 *
 * spgist.c
 *	  spgist_stats
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/spgist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "api/one_relation.h"

PG_FUNCTION_INFO_V1(sst_spgist_stats);

static Datum
avg_inner_density(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_INNER_USABLE_BYTES) -
					   SST_COUNT(found, SST_INNER_FREE_BYTES),
					   SST_COUNT(found, SST_INNER_USABLE_BYTES), isnull);
}

static const SstColumn spgist_columns[] = {
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"inner_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"nulls_pages", INT8OID, SST_NULLS_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"redirect_items", INT8OID, SST_REDIRECT_ITEMS},
	{"placeholder_items", INT8OID, SST_PLACEHOLDER_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"inner_free_bytes", INT8OID, SST_INNER_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, sst_avg_density_column},
	{"avg_inner_density", FLOAT8OID, 0, avg_inner_density},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

Datum
sst_spgist_stats(PG_FUNCTION_ARGS)
{
	return sst_index_row(fcinfo, SST_SPGIST, spgist_columns,
						 lengthof(spgist_columns));
}
