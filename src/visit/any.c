/*-------------------------------------------------------------------------
 *
 * any.c
 *	  Reading page headers, which all kinds of pages have
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

/* What the visitors of all kinds begin with; the rest is zero. */
void
sst_visitor_init(SstVisitor *visitor, SstVisitPage page, int prefetch_bytes,
				 SstPagePart part)
{
	memset(visitor, 0, sizeof(SstVisitor));
	visitor->page = page;
	visitor->prefetch_bytes = prefetch_bytes;
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

/*
 * A page of an access method that we know nothing of: its header says how much
 * is free, if it keeps to what headers are for.
 */
static bool
any_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		 SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;

	if (header->pd_lower < SizeOfPageHeaderData ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_special > BLCKSZ ||
		header->pd_pagesize_version != (BLCKSZ | PG_PAGE_LAYOUT_VERSION))
		return sst_count_if_new(page, blkno, counters);

	counters->n[SST_OTHER_PAGES]++;
	counters->n[SST_FREE_BYTES] += sst_page_free_space(page);
	counters->n[SST_USABLE_BYTES] += header->pd_special - SizeOfPageHeaderData;
	return true;
}

void
sst_any_visitor_init(SstVisitor *visitor)
{
	sst_visitor_init(visitor, any_page, 1, SST_PART_NONE);
}
