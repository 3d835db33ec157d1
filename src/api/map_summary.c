/*-------------------------------------------------------------------------
 *
 * map_summary.c
 *	  visibility_summary, unfrozen_ranges, free_space_summary: from a relation's maps
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
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/tuplestore.h"

#include "api/call.h"
#include "run/call.h"
#include "run/maps.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_visibility_summary);
PG_FUNCTION_INFO_V1(sst_unfrozen_ranges);
PG_FUNCTION_INFO_V1(sst_free_space_summary);

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

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_open_argument(fcinfo, &target, SST_HEAP);
	sst_relation_stats_init(found, &target);
	sst_call_set_relation(&call, target.rel);

	frozen = sst_block_set_create(target.nblocks);
	sst_scan_visibility_map(&target, NULL, frozen, NULL, &found->counters,
							&call.io_stats);

	sst_call_end(&call);
	sst_target_close(&target);

	return frozen;
}

static Datum
unfrozen_ranges(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(found->nranges);
}

static Datum
largest_unfrozen_range(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum((int64) found->largest_range);
}

static const SstColumn visibility_columns[] = {
	{"pages", INT8OID, 0, sst_blocks_column},
	{"all_visible", INT8OID, SST_MAP_VISIBLE_BLOCKS},
	{"all_frozen", INT8OID, SST_MAP_FROZEN_BLOCKS},
	{"unfrozen_ranges", INT8OID, 0, unfrozen_ranges},
	{"largest_unfrozen_range", INT8OID, 0, largest_unfrozen_range},
	{"corrupt_map_pages", INT8OID, SST_MAP_CORRUPT_PAGES},
};

Datum
sst_visibility_summary(PG_FUNCTION_ARGS)
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
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	SstRelationStats found;
	SstBlockSet *frozen;
	BlockNumber first = 0;
	BlockNumber end;

	InitMaterializedSRF(fcinfo, 0);
	frozen = find_frozen(fcinfo, &found);

	for (; next_range(frozen, &first, &end); first = end)
	{
		Datum		values[2] = {Int64GetDatum((int64) first),
		Int64GetDatum((int64) end - 1)};
		bool		nulls[2] = {0};

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
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
largest_free_space(const SstRelationStats *found, bool *isnull)
{
	return Int32GetDatum(found->counters.map_largest_free);
}

static const SstColumn free_space_columns[] = {
	{"pages", INT8OID, 0, sst_blocks_column},
	{"pages_with_free_space", INT8OID, SST_MAP_FREE_BLOCKS},
	{"free_space", INT8OID, SST_MAP_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, free_percent},
	{"largest_free_space", INT4OID, 0, largest_free_space},
	{"corrupt_map_pages", INT8OID, SST_MAP_CORRUPT_PAGES},
};

Datum
sst_free_space_summary(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;
	SstCall		call;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_open_argument(fcinfo, &target, SST_ANY_INDEX | SST_HEAP);
	sst_relation_stats_init(&found, &target);
	sst_call_set_relation(&call, target.rel);
	sst_scan_free_space_map(&target, NULL, &found.counters, &call.io_stats);
	sst_call_end(&call);
	sst_target_close(&target);

	return sst_form_row(fcinfo, free_space_columns,
						lengthof(free_space_columns), &found);
}
