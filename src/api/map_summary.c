/*-------------------------------------------------------------------------
 *
 * map_summary.c
 *	  visibility_map_summary, unfrozen_ranges, free_space_map_summary: from a relation's maps
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "api/api.h"

PG_FUNCTION_INFO_V1(sst_visibility_map_summary);
PG_FUNCTION_INFO_V1(sst_unfrozen_ranges);
PG_FUNCTION_INFO_V1(sst_free_space_map_summary);

/* Blocks from one look at interrupts and blocked sessions to the next, a power of two */
#define CHECK_BLOCKS (UINT64CONST(1) << 25)

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
find_block(const SstBlockSet *set, BlockNumber from, bool member)
{
	uint64		blkno = from;	/* the last word can end behind all numbers */

	for (; blkno < set->nblocks; blkno += 64 - blkno % 64)
	{
		uint64		word = set->words[blkno / 64];

		if (blkno % CHECK_BLOCKS == 0)
			look_around();
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
	look_around();
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
	sst_scan_map(&target, VISIBILITYMAP_FORKNUM, NULL, frozen, NULL,
				 &found->counters, &call.io_stats);

	sst_call_close(&call, &target);

	return frozen;
}

Datum
sst_visibility_map_summary(PG_FUNCTION_ARGS)
{
	SstRelationStats found;
	SstBlockSet *frozen = find_frozen(fcinfo, &found);
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
	frozen = find_frozen(fcinfo, &found);

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
	SstTarget	target;
	SstRelationStats found;
	SstCall		call;
	SstRow		row;
	uint64		free;

	sst_call_open(&call, fcinfo, &target, SST_INDEX | SST_HEAP);
	sst_relation_stats_init(&found, &target);
	sst_scan_map(&target, FSM_FORKNUM, NULL, NULL, NULL, &found.counters, &call.io_stats);
	sst_call_close(&call, &target);
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
