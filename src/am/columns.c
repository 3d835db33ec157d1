/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  Columns that the functions of several access methods have
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/columns.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "am/columns.h"

/* Bytes of the main fork */
Datum
sst_size_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->nblocks * BLCKSZ);
}

Datum
sst_blocks_column(const SstRelationStats *found, bool *isnull)
{
	*isnull = found->unread;
	return Int64GetDatum((int64) found->nblocks);
}

static Datum
block_or_null(BlockNumber blkno, bool *isnull)
{
	*isnull = blkno == InvalidBlockNumber;
	return Int64GetDatum((int64) blkno);
}

Datum
sst_first_new_block_column(const SstRelationStats *found, bool *isnull)
{
	return block_or_null(found->counters.first_new, isnull);
}

Datum
sst_first_corrupt_block_column(const SstRelationStats *found, bool *isnull)
{
	return block_or_null(found->counters.first_corrupt, isnull);
}

/* What a sample is to estimate for a column; false if that is nothing */
bool
sst_column_statistic(const SstColumn *column, SstStatistic *statistic)
{
	memset(statistic, 0, sizeof(SstStatistic));
	statistic->name = column->name;
	statistic->y = column->count;
	statistic->x = column->percent_of;
	statistic->most = column->most;
	statistic->items = column->items;
	statistic->plus_pages = column->plus_pages;
	if (column->percent_of == 0)
		statistic->estimator = column->most == 1 ? SST_PAGES : SST_TOTAL;
	else if (column->left)
		statistic->estimator = SST_RATIO_LEFT;
	else
		statistic->estimator = column->most == 1 ? SST_PAGE_PERCENT : SST_RATIO;

	return column->percent_of != 0 || column->most > 0;
}

/* Percent of the whole, or null if that is nothing */
Datum
sst_percent(uint64 part, uint64 whole, bool *isnull)
{
	*isnull = whole == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(100.0 * part / whole);
}

/*
 * pgstattuple's functions mostly give percentages in two decimals.  These are printed only
 * where rounding could go either way: a quotient is the same number as one that is read.
 */
Datum
sst_two_decimals(double percent)
{
	double		hundredths = rint(100 * percent);
	char		str[32];

	if (fabs(100 * percent - hundredths) < 0.499)
		return Float8GetDatum(hundredths / 100);
	snprintf(str, sizeof(str), "%.2f", percent);
	return Float8GetDatum(strtod(str, NULL));
}
