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

/* Percent of the whole, or null if that is nothing */
Datum
sst_percent(uint64 part, uint64 whole, bool *isnull)
{
	*isnull = whole == 0;
	return *isnull ? (Datum) 0 : Float8GetDatum(100.0 * part / whole);
}

/* Percent of the space that is free, in the pages whose space is counted */
Datum
sst_free_space_percent_column(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_FREE_BYTES),
					   SST_COUNT(found, SST_USABLE_BYTES), isnull);
}

/* pgstattuple's functions mostly give percentages in two decimals. */
Datum
sst_two_decimals(double percent)
{
	char		str[32];

	snprintf(str, sizeof(str), "%.2f", percent);
	return Float8GetDatum(strtod(str, NULL));
}
