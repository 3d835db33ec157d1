/*-------------------------------------------------------------------------
 *
 * map_summary.c
 *	  visibility_map_summary, unfrozen_ranges, free_space_map_summary: from a relation's maps
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/map_summary.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "api/one_relation.h"
#include "run/call.h"
#include "run/maps.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_visibility_map_summary);
PG_FUNCTION_INFO_V1(sst_unfrozen_ranges);
PG_FUNCTION_INFO_V1(sst_free_space_map_summary);

/*
 * The first block from the given one on that is in the set, or that is not; the
 * number of blocks if there is none.
 */
static BlockNumber
find_block(const SstBlockSet *set, BlockNumber from, bool member)
{
	uint64		blkno = from;	/* the last word can end behind all numbers */

	for (; blkno < set->nblocks; blkno += 64 - blkno % 64)
	{
		uint64		word = set->words[blkno / 64];

		word = (member ? word : ~word) >> (blkno % 64);
		if (word != 0)
		{
			blkno += pg_rightmost_one_pos64(word);
			break;
		}
	}

	return (BlockNumber) Min(blkno, set->nblocks);
}

/*
 * Find the next range of blocks that are not in the set, from *first on; false
 * if there is none.  *end is one past its last block.
 */
static bool
next_range(const SstBlockSet *frozen, BlockNumber *first, BlockNumber *end)
{
	*first = find_block(frozen, *first, false);
	*end = find_block(frozen, *first, true);

	return *first < *end;
}

/* Read the visibility map of the table that argument 0 names. */
static SstBlockSet *
find_frozen(FunctionCallInfo fcinfo, SstRelationStats *found)
{
	SstTarget	target;
	SstBlockSet *frozen;
	SstCall		call;

	sst_call_open(&call, fcinfo, &target, SST_HEAP);
	sst_relation_stats_init(found, &target);

	frozen = sst_block_set_create(target.nblocks);
	sst_scan_visibility_map(&target, NULL, frozen, NULL, &found->counters,
							&call.io_stats);

	sst_call_close(&call, &target);

	return frozen;
}

static Datum
unfrozen_ranges(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(found->nranges);
}

static Datum
largest_unfrozen_range_pages(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum((int64) found->largest_range);
}

static const SstColumn visibility_columns[] = {
	{"pages", INT8OID, 0, sst_blocks_column},
	{"all_visible_pages", INT8OID, SST_MAP_VISIBLE_BLOCKS},
	{"all_frozen_pages", INT8OID, SST_MAP_FROZEN_BLOCKS},
	{"largest_unfrozen_range_pages", INT8OID, 0, largest_unfrozen_range_pages},
	{"unfrozen_ranges", INT8OID, 0, unfrozen_ranges},
	{"corrupt_map_pages", INT8OID, SST_MAP_CORRUPT_PAGES},
};

Datum
sst_visibility_map_summary(PG_FUNCTION_ARGS)
{
	SstRelationStats found;
	SstBlockSet *frozen = find_frozen(fcinfo, &found);
	BlockNumber first = 0;
	BlockNumber end;

	for (; next_range(frozen, &first, &end); first = end)
	{
		CHECK_FOR_INTERRUPTS();
		found.nranges++;
		found.largest_range = Max(found.largest_range, end - first);
	}

	return sst_form_row(fcinfo, visibility_columns,
						lengthof(visibility_columns), &found);
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
	frozen = find_frozen(fcinfo, &found);

	for (; next_range(frozen, &first, &end); first = end)
	{
		CHECK_FOR_INTERRUPTS();
		sst_put_int64(&row, "first_block", first);
		sst_put_int64(&row, "last_block", (int64) end - 1);
		sst_row_store(&row);
	}

	return (Datum) 0;
}

static Datum
free_percent(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_MAP_FREE_BYTES),
					   found->nblocks * BLCKSZ, isnull);
}

static Datum
largest_free_bytes(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum((int64) found->counters.map_largest_free);
}

static const SstColumn free_space_columns[] = {
	{"pages", INT8OID, 0, sst_blocks_column},
	{"nonfull_pages", INT8OID, SST_MAP_FREE_BLOCKS},
	{"free_bytes", INT8OID, SST_MAP_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, free_percent},
	{"largest_free_bytes", INT8OID, 0, largest_free_bytes},
	{"corrupt_map_pages", INT8OID, SST_MAP_CORRUPT_PAGES},
};

Datum
sst_free_space_map_summary(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;
	SstCall		call;

	sst_call_open(&call, fcinfo, &target, SST_ANY_INDEX | SST_HEAP);
	sst_relation_stats_init(&found, &target);
	sst_scan_free_space_map(&target, NULL, &found.counters, &call.io_stats);
	sst_call_close(&call, &target);

	return sst_form_row(fcinfo, free_space_columns,
						lengthof(free_space_columns), &found);
}
