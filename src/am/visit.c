/*-------------------------------------------------------------------------
 *
 * visit.c
 *	  What visitors of all kinds of relations have in common
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/visit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/visit.h"

/* What the visitors of all kinds begin with; the rest is zero. */
void
sst_visitor_init(SstVisitor *visitor, SstVisitPage page, SstPagePart part)
{
	memset(visitor, 0, sizeof(SstVisitor));
	visitor->page = page;
	visitor->needs = SST_NEEDS(part);
}

/*
 * Count a page whose header is not sound as new, if it is all zeros; false if
 * it is not.
 */
bool
sst_count_if_new(const PageData *page, BlockNumber blkno,
				 SstCounters *counters)
{
	for (int i = 0; i < BLCKSZ; i += sizeof(Size))
	{
		if (*(const Size *) (page + i) != 0)
			return false;
	}

	sst_count_new(counters, blkno);
	return true;
}
