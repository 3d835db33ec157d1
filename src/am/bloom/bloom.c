/*-------------------------------------------------------------------------
 *
 * bloom.c
 *	  Reading the pages of a bloom index
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/bloom/bloom.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "am/am.h"
#include "am/bloom/layout.h"

/* Of the metapage */
#define META_SIGNATURE_BITS SST_META_OWN
#define META_NONFULL_PAGES (SST_META_OWN + 1)

static bool
meta_page(SstVisitor *visitor, const PageData *page, SstCounters *counters)
{
	const BloomMeta *metad = (const BloomMeta *)
		(page + MAXALIGN(SizeOfPageHeaderData));

	if (metad->magic != BLOOM_MAGIC ||
		metad->settings.nwords < 1 || metad->settings.nwords > BLOOM_MAX_WORDS ||
		metad->list_start > metad->list_end || metad->list_end > BLOOM_LIST_SIZE)
		return false;

	counters->n[SST_OTHER_PAGES]++;
	visitor->meta.known = true;
	visitor->meta.field[META_SIGNATURE_BITS] = metad->settings.nwords * BLOOM_WORD_BITS;
	visitor->meta.field[META_NONFULL_PAGES] = metad->list_end - metad->list_start;
	return true;
}

/*
 * A page with tuples.  All have the size that the metapage tells, but a visitor may not
 * have seen that: they have one that signatures can have, and end at pd_lower.
 */
static bool
tuple_page(const PageData *page, SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			ntuples = sst_bloom_special(page)->ntuples;
	int			nbytes = header->pd_lower - MAXALIGN(SizeOfPageHeaderData);
	int			size = ntuples > 0 ? sst_bloom_tuple_size(page) : 0;

	if (header->pd_upper != header->pd_special || nbytes != ntuples * size)
		return false;
	if (ntuples > 0 &&
		(size < BLOOM_TUPLE_SIZE(1) || size > BLOOM_TUPLE_SIZE(BLOOM_MAX_WORDS) ||
		 size % sizeof(uint16) != 0))
		return false;

	for (int i = 0; i < ntuples; i++)
	{
		const ItemPointerData *tid = sst_bloom_tid(page, i, size);
		OffsetNumber offnum = ItemPointerGetOffsetNumberNoCheck(tid);

		if (ItemPointerGetBlockNumberNoCheck(tid) == InvalidBlockNumber ||
			offnum == InvalidOffsetNumber || offnum > MaxOffsetNumber)
			return false;
	}

	sst_count_leaf(counters, BLOOM_PAGE_BYTES - nbytes, BLOOM_PAGE_BYTES);
	counters->n[SST_LIVE_ITEMS] += ntuples;
	return true;
}

static bool
bloom_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	const BloomSpecial *special = sst_bloom_special(page);

	if (!sst_page_is_sound(page, sizeof(BloomSpecial)))
		return sst_count_if_new(page, blkno, counters);
	if (special->page_id != BLOOM_ID)
		return false;
	if (blkno == 0)
		return special->flags == BLOOM_PAGE_IS_META &&
			meta_page(visitor, page, counters);

	switch (special->flags)
	{
		case 0:
			return tuple_page(page, counters);
		case BLOOM_PAGE_IS_DELETED:
			if (special->ntuples > 0 ||
				((const PageHeaderData *) page)->pd_lower != SizeOfPageHeaderData)
				return false;
			counters->n[SST_DELETED_PAGES]++;
			return true;
		default:
			return false;
	}
}

/* What a page is, for a diagnosis; the special space has the number of its tuples. */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = sst_bloom_special(page)->flags;
	type->known = blkno == 0 ? type->flags == BLOOM_PAGE_IS_META :
		(type->flags & ~BLOOM_PAGE_IS_DELETED) == 0;
	type->has_tuples = false;
	type->has_contents = true;
	type->empty_lower = type->flags == BLOOM_PAGE_IS_DELETED ? SizeOfPageHeaderData : 0;
}

static const SstColumn bloom_columns[] = {
	{"signature_bits", INT4OID, .meta = META_SIGNATURE_BITS},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"nonfull_pages", INT8OID, .meta = META_NONFULL_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, sst_avg_density_column},
	SST_DAMAGE_COLUMNS,
};

#define MAX_BLOOM_TUPLES (BLOOM_PAGE_BYTES / BLOOM_TUPLE_SIZE(1))

static const SstStatistic bloom_statistics[] = {
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MAX_BLOOM_TUPLES},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	SST_DAMAGE_STATISTICS,
};

const SstAccessMethod sst_bloom_am = {
	.name = "bloom",
	.handler = "blhandler",
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW,
	.function = "bloom_stats",
	.refusal = gettext_noop("relation \"%s\" is not a bloom index"),
	.page = bloom_page,
	.part = SST_PART_LINE_POINTERS,
	.special_size = sizeof(BloomSpecial),
	.page_id = BLOOM_ID,
	.magic = BLOOM_MAGIC,
	.page_type = page_type,
	.columns = {bloom_columns, lengthof(bloom_columns)},
	.statistics = {bloom_statistics, lengthof(bloom_statistics)},
	.model = &sst_bloom_model,
};
