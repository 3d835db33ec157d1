/*-------------------------------------------------------------------------
 *
 * heap.c
 *	  What the pages of a heap table say, without asking who sees its tuples
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/heap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"

#include "visit/visit.h"

/*
 * Tuples lie between pd_upper and pd_special, the other states of a line
 * pointer refer to no bytes.
 */
static bool
tuple_is_inside(const PageHeaderData *header, ItemId item)
{
	int			off = ItemIdGetOffset(item);
	int			len = ItemIdGetLength(item);

	return off >= header->pd_upper &&
		off + len <= header->pd_special &&
		len >= SizeofHeapTupleHeader;
}

static void
heap_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			nitems = sst_page_items(page);
	int			nstate[LP_DEAD + 1] = {0};

	if (!sst_page_is_sound(page, 0))
	{
		(void) sst_count_unsound_page(page, blkno, counters);
		return;
	}

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);

		nstate[ItemIdGetFlags(item)]++;
		if (ItemIdIsNormal(item) && !tuple_is_inside(header, item))
		{
			sst_count_corrupt(counters, blkno);
			return;
		}
	}

	counters->n[SST_HEAP_PAGES]++;
	counters->n[SST_LIVE_ITEMS] += nstate[LP_NORMAL];
	counters->n[SST_DEAD_ITEMS] += nstate[LP_DEAD];
	counters->n[SST_REDIRECT_ITEMS] += nstate[LP_REDIRECT];
	counters->n[SST_UNUSED_ITEMS] += nstate[LP_UNUSED];
	counters->n[SST_FREE_BYTES] += PageGetExactFreeSpace((Page) page);
	counters->n[SST_USABLE_BYTES] += BLCKSZ - SizeOfPageHeaderData;
	if (PageIsAllVisible((Page) page))
		counters->n[SST_ALL_VISIBLE_PAGES]++;
}

void
sst_heap_visitor_init(SstVisitor *visitor)
{
	memset(visitor, 0, sizeof(SstVisitor));
	visitor->page = heap_page;
	visitor->prefetch_bytes = SST_LINE_POINTER_PREFETCH;
}
