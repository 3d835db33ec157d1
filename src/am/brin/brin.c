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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin_page.h"
#include "access/brin_tuple.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/am.h"

/* What is counted of BRIN indexes only */
#define SST_SUMMARIZED_RANGES SST_OWN

/* Of the metapage */
#define META_PAGES_PER_RANGE SST_META_OWN

/* Most that the storage parameter can be (access/common/reloptions.c) */
#define MAX_PAGES_PER_RANGE 131072

static bool
read_meta(SstMeta *meta, const PageData *page)
{
	const BrinMetaPageData *metad = (const BrinMetaPageData *) PageGetContents((Page) page);

	if (!BRIN_IS_META_PAGE((Page) page) ||
		metad->brinMagic != BRIN_META_MAGIC ||
		metad->brinVersion != BRIN_CURRENT_VERSION ||
		metad->pagesPerRange < 1 ||
		metad->pagesPerRange > MAX_PAGES_PER_RANGE ||
		metad->lastRevmapPage > MaxBlockNumber)
		return false;

	meta->field[SST_META_VERSION] = metad->brinVersion;
	meta->field[META_PAGES_PER_RANGE] = metad->pagesPerRange;
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

	sst_count_leaf(counters, sst_page_free_space(page),
				   SST_PAGE_ROOM(sizeof(BrinSpecialSpace)));
	counters->n[SST_LIVE_ITEMS] += ntuples;
	counters->n[SST_PLACEHOLDER_ITEMS] += nplaceholders;
	return true;
}

static bool
brin_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
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

/* What a page is, for a diagnosis */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = BrinPageType((Page) page);
	type->has_tuples = type->flags == BRIN_PAGETYPE_REGULAR;
	type->has_contents = blkno == BRIN_METAPAGE_BLKNO ||
		type->flags == BRIN_PAGETYPE_REVMAP;
	type->known = blkno == BRIN_METAPAGE_BLKNO ? type->flags == BRIN_PAGETYPE_META :
		type->has_tuples || type->has_contents;
}

/* Ranges that the table has, the last one whole or not */
static Datum
ranges(const SstRelationStats *found, bool *isnull)
{
	int64		per_range = found->meta.field[META_PAGES_PER_RANGE];

	*isnull = !found->meta.known;
	return *isnull ? (Datum) 0 :
		Int64GetDatum(((int64) found->table_blocks + per_range - 1) / per_range);
}

/*
 * The summaries of ranges that the table lost, by being truncated, stay in the
 * index: there can be more than there are ranges.
 */
static Datum
unsummarized_ranges(const SstRelationStats *found, bool *isnull)
{
	int64		summarized = SST_COUNT(found, SST_SUMMARIZED_RANGES);
	Datum		all = ranges(found, isnull);

	return *isnull ? all : Int64GetDatum(Max(DatumGetInt64(all) - summarized, 0));
}

/* BRIN tuples can be shorter than those of other indexes. */
#define MAX_BRIN_TUPLES (BLCKSZ / (MAXALIGN(SizeOfBrinTuple) + sizeof(ItemIdData)))

static const SstColumn brin_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"pages_per_range", INT4OID, .meta = META_PAGES_PER_RANGE},
	SST_SIZE_COLUMNS,
	{"revmap_pages", INT8OID, SST_INTERNAL_PAGES, .most = 1},
	{"regular_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"ranges", INT8OID, 0, ranges},
	{"summarized_ranges", INT8OID, SST_SUMMARIZED_RANGES, .most = REVMAP_PAGE_MAXITEMS},
	{"unsummarized_ranges", INT8OID, 0, unsummarized_ranges},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MAX_BRIN_TUPLES, .items = &sst_leaf_items},
	{"placeholder_items", INT8OID, SST_PLACEHOLDER_ITEMS, .most = MAX_BRIN_TUPLES, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"avg_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_brin_am = {
	.name = "brin",
	.oid = BRIN_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_SUMMARIZES | SST_AM_UNUSED_ITEMS,
	.refusal = gettext_noop("relation \"%s\" is not a BRIN index"),
	.page = sst_index_page,
	.read_meta = read_meta,
	.sound_page = brin_page,
	.part = SST_PART_ALL,
	.special_size = sizeof(BrinSpecialSpace),
	.page_type = page_type,
	.tuple_length = sst_item_length,	/* they do not say it */
	.columns = {brin_columns, lengthof(brin_columns)},
	.no_model = gettext_noop("a BRIN index is taken to keep its size, but can become smaller with its table, or larger if ranges are not summarized"),
};
