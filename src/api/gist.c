/*-------------------------------------------------------------------------
 *
 * gist.c
 *	  gist_stats
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/gist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "api/one_relation.h"

PG_FUNCTION_INFO_V1(sst_gist_stats);

static const SstColumn gist_columns[] = {
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, sst_avg_density_column},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

Datum
sst_gist_stats(PG_FUNCTION_ARGS)
{
	return sst_index_row(fcinfo, SST_GIST, gist_columns,
						 lengthof(gist_columns));
}
