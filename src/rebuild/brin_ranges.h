/*-------------------------------------------------------------------------
 *
 * brin_ranges.h
 *	  Which ranges of a BRIN index's table have rows
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/brin_ranges.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BRIN_RANGES_H
#define SST_BRIN_RANGES_H

#include "storage/block.h"
#include "utils/relcache.h"

typedef struct SstBrinRanges
{
	BlockNumber pages_per_range;
	BlockNumber nranges;
	uint8	   *empty;			/* a bit for each range, or NULL */

	/* Rows by the server's statistics, which can be zero for not known */
	double		gone;			/* updated or deleted, ever */
	double		rows;			/* live or dead */
	double		dead;			/* not vacuumed yet */
} SstBrinRanges;

extern void sst_brin_look_at_table(SstBrinRanges *ranges, Relation table,
								   BlockNumber nblocks,
								   BlockNumber pages_per_range);
extern bool sst_brin_range_is_empty(const SstBrinRanges *ranges,
									BlockNumber blkno);

#endif							/* SST_BRIN_RANGES_H */
