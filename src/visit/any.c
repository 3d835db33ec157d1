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
 * What to make of a page whose header is not sound: new if it is all zeros.
 */
SstPageCondition
sst_page_condition_slow(const PageData *page)
{
	for (int i = 0; i < BLCKSZ; i += sizeof(Size))
	{
		if (*(const Size *) (page + i) != 0)
			return SST_PAGE_CORRUPT;
	}

	return SST_PAGE_NEW;
}
