/*-------------------------------------------------------------------------
 *
 * brin.c
 *	  Reading the pages of a BRIN index
 *
 * Behind the metapage stand the pages of the range map, which has a TID for
 * each range of the table's blocks; all others are regular pages, with a
 * tuple for each range that is summarized.  access/brin_page.h has the layouts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/brin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin_page.h"
#include "access/brin_tuple.h"

#include "visit/visit.h"

/* Most that the storage parameter can be (access/common/reloptions.c) */
#define MAX_PAGES_PER_RANGE 131072

#define USABLE_BYTES (BLCKSZ - SizeOfPageHeaderData - \
					  MAXALIGN(sizeof(BrinSpecialSpace)))

static bool
meta_page(SstVisitor *visitor, const PageData *page, SstCounters *counters)
{
	const BrinMetaPageData *metad =
		(const BrinMetaPageData *) PageGetContents((Page) page);

	if (metad->brinMagic != BRIN_META_MAGIC ||
		metad->brinVersion != BRIN_CURRENT_VERSION ||
		metad->pagesPerRange < 1 ||
		metad->pagesPerRange > MAX_PAGES_PER_RANGE ||
		metad->lastRevmapPage > MaxBlockNumber)
		return false;

	counters->n[SST_OTHER_PAGES]++;
	visitor->meta.known = true;
	visitor->meta.version = metad->brinVersion;
	visitor->meta.pages_per_range = metad->pagesPerRange;
	visitor->meta.last_revmap_page = metad->lastRevmapPage;
	return true;
}

/*
 * A page of the range map is an array of TIDs that fills it.  Those of ranges
 * without a summary are not valid.
 */
static bool
revmap_page(const PageData *page, SstCounters *counters)
{
	const ItemPointerData *tids =
		((const RevmapContents *) PageGetContents((Page) page))->rm_tids;
	int			nsummarized = 0;

	for (int i = 0; i < REVMAP_PAGE_MAXITEMS; i++)
	{
		BlockNumber blkno = ItemPointerGetBlockNumberNoCheck(&tids[i]);
		OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(&tids[i]);

		if (offnum == InvalidOffsetNumber)
			continue;
		if (blkno == BRIN_METAPAGE_BLKNO || blkno == InvalidBlockNumber ||
			offnum > MaxOffsetNumber)
			return false;
		nsummarized++;
	}

	counters->n[SST_INTERNAL_PAGES]++;
	counters->n[SST_SUMMARIZED_RANGES] += nsummarized;
	return true;
}

/*
 * A regular page.  The line pointer of a tuple that went elsewhere stays
 * behind unused (PageIndexTupleDeleteNoCompact()).  A page that is being
 * emptied to become one of the range map is still a regular one.
 */
static bool
regular_page(const PageData *page, SstCounters *counters)
{
	int			nitems = sst_page_items(page);
	int			ntuples = 0;
	int			nplaceholders = 0;

	if (BrinPageFlags((Page) page) & ~BRIN_EVACUATE_PAGE)
		return false;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);

		if (!ItemIdIsUsed(item))
			continue;
		if (!ItemIdIsNormal(item) || sst_item_is_outside(page, offnum) ||
			ItemIdGetLength(item) < SizeOfBrinTuple)
			return false;
		ntuples++;

		/* BrinTupleIsPlaceholder() is for tuples that are aligned. */
		nplaceholders +=
			(page[ItemIdGetOffset(item) + offsetof(BrinTuple, bt_info)] &
			 BRIN_PLACEHOLDER_MASK) != 0;
	}

	sst_count_leaf(counters, sst_page_free_space(page), USABLE_BYTES);
	counters->n[SST_LIVE_ITEMS] += ntuples;
	counters->n[SST_PLACEHOLDER_ITEMS] += nplaceholders;
	return true;
}

static bool
brin_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	if (!sst_page_is_sound(page, sizeof(BrinSpecialSpace)))
		return sst_count_if_new(page, blkno, counters);

	if (blkno == BRIN_METAPAGE_BLKNO)
		return BRIN_IS_META_PAGE((Page) page) &&
			meta_page(visitor, page, counters);

	switch (BrinPageType((Page) page))
	{
		case BRIN_PAGETYPE_REVMAP:
			return revmap_page(page, counters);
		case BRIN_PAGETYPE_REGULAR:
			return regular_page(page, counters);
		default:
			return false;
	}
}

void
sst_brin_visitor_init(SstVisitor *visitor)
{
	sst_visitor_init(visitor, brin_page, SST_LINE_POINTER_PREFETCH,
					 SST_PART_ALL);
}
