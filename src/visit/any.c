/*-------------------------------------------------------------------------
 *
 * any.c
 *	  What holds for pages of every kind
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/any.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "visit/visit.h"

/*
 * Count a page whose header is not sound: as new if it is all zeros, then the
 * result is true, or else as corrupt.
 */
bool
sst_count_unsound_page(const PageData *page, BlockNumber blkno,
					   SstCounters *counters)
{
	for (int i = 0; i < BLCKSZ; i += sizeof(Size))
	{
		if (*(const Size *) (page + i) != 0)
		{
			sst_count_corrupt(counters, blkno);
			return false;
		}
	}

	sst_count_new(counters, blkno);
	return true;
}
