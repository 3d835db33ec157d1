/*-------------------------------------------------------------------------
 *
 * brin_ranges.c
 *	  Which ranges of a BRIN index's table have rows
 *
 * A summary stays as it is when the rows of its range are deleted, but a build
 * makes a very small one for a range without rows.  VACUUM leaves a trace of
 * that: an empty page is all-visible, and the free space map shows all of it
 * as free.  An insert clears the all-visible bit.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/brin_ranges.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"

#include "rebuild/brin_ranges.h"

/* Ranges of larger tables are not looked at: most have a row. */
#define MOST_RANGES (1 << 20)

/*
 * The free space map knows 256 classes of free space; the last but one begins
 * here (freespace.c).  An empty page is in the last.
 */
#define EMPTY_PAGE_BYTES ((Size) (254 * (BLCKSZ / 256)))

static double
statistic(PGFunction function, Relation table)
{
	return DatumGetInt64(DirectFunctionCall1(function,
											 ObjectIdGetDatum(RelationGetRelid(table))));
}

/* What this session has not reported yet has its own functions. */
static void
read_statistics(SstBrinRanges *ranges, Relation table)
{
	double		dead = statistic(pg_stat_get_dead_tuples, table);
	double		pending = statistic(pg_stat_get_xact_tuples_updated, table) +
		statistic(pg_stat_get_xact_tuples_deleted, table);

	ranges->gone = statistic(pg_stat_get_tuples_updated, table) +
		statistic(pg_stat_get_tuples_deleted, table) + pending;
	ranges->rows = statistic(pg_stat_get_live_tuples, table) + dead;
	ranges->dead = dead + pending;
}

static bool
page_is_empty(Relation table, BlockNumber blkno, Buffer *map)
{
	return visibilitymap_get_status(table, blkno, map) != 0 &&
		GetRecordedFreeSpace(table, blkno) > EMPTY_PAGE_BYTES;
}

static bool
range_is_empty(Relation table, BlockNumber begin, BlockNumber end, Buffer *map)
{
	for (BlockNumber blkno = begin; blkno < end; blkno++)
	{
		if (!page_is_empty(table, blkno, map))
			return false;
	}
	return true;
}

/*
 * See which ranges of a table are empty, and what the statistics say of its rows.
 * Reads the table's maps only.
 */
void
sst_brin_look_at_table(SstBrinRanges *ranges, Relation table,
					   BlockNumber nblocks, BlockNumber pages_per_range)
{
	Buffer		map = InvalidBuffer;

	read_statistics(ranges, table);
	ranges->pages_per_range = pages_per_range;
	ranges->nranges = nblocks / pages_per_range +
		(nblocks % pages_per_range > 0 ? 1 : 0);
	if (ranges->nranges > MOST_RANGES)
		return;

	ranges->empty = palloc0(ranges->nranges / 8 + 1);
	for (BlockNumber i = 0; i < ranges->nranges; i++)
	{
		BlockNumber begin = i * pages_per_range;

		CHECK_FOR_INTERRUPTS();
		if (range_is_empty(table, begin,
						   Min((uint64) begin + pages_per_range, nblocks), &map))
			ranges->empty[i / 8] |= 1 << i % 8;
	}
	if (BufferIsValid(map))
		ReleaseBuffer(map);
}

/* Is the range that this block begins known to have no row? */
bool
sst_brin_range_is_empty(const SstBrinRanges *ranges, BlockNumber blkno)
{
	BlockNumber i = ranges->empty == NULL ? 0 : blkno / ranges->pages_per_range;

	return ranges->empty != NULL && i < ranges->nranges &&
		(ranges->empty[i / 8] & 1 << i % 8) != 0;
}
