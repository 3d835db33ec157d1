/*-------------------------------------------------------------------------
 *
 * ivfflat.c
 *	  Reading the pages of an ivfflat index of pgvector
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/ivfflat/ivfflat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "am/am.h"
#include "am/ivfflat/layout.h"

/* Of the metapage */
enum
{
	META_DIMENSIONS = SST_META_OWN,
	META_LISTS
};

static bool
meta_page(SstVisitor *visitor, const PageData *page, SstCounters *counters)
{
	const IvfflatMeta *metad = (const IvfflatMeta *)
		(page + MAXALIGN(SizeOfPageHeaderData));

	if (metad->magic != IVFFLAT_MAGIC || metad->version != IVFFLAT_VERSION ||
		metad->dimensions < 1 ||
		metad->lists < 1 || metad->lists > IVFFLAT_MAX_LISTS)
		return false;

	counters->n[SST_OTHER_PAGES]++;
	visitor->meta.known = true;
	visitor->meta.field[SST_META_VERSION] = metad->version;
	visitor->meta.field[META_DIMENSIONS] = metad->dimensions;
	visitor->meta.field[META_LISTS] = metad->lists;
	return true;
}

static bool
ivfflat_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			 SstCounters *counters)
{
	if (!sst_page_is_sound(page, sizeof(IvfflatSpecial)))
		return sst_count_if_new(page, blkno, counters);
	if (sst_page_id(page) != IVFFLAT_ID)
		return false;
	if (blkno == 0)
		return meta_page(visitor, page, counters);

	if (!sst_items_are_normal(page))
		return false;

	switch (sst_ivfflat_page_kind(page, blkno))
	{
		case IVFFLAT_LISTS:
			counters->n[SST_INTERNAL_PAGES]++;
			return true;
		case IVFFLAT_ENTRIES:
			sst_count_leaf(counters, PageGetExactFreeSpace((Page) page), IVFFLAT_PAGE_BYTES);
			counters->n[SST_LIVE_ITEMS] += sst_page_items(page);
			return true;
		default:
			return false;
	}
}

/* Only an entry says its length, and a tuple that says another one is none. */
static int
tuple_length(const PageData *page, const ItemIdData *item)
{
	return ItemIdGetLength(item);
}

static const SstColumn ivfflat_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"dimensions", INT4OID, .meta = META_DIMENSIONS},
	{"lists", INT4OID, .meta = META_LISTS},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"list_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"avg_leaf_density", FLOAT8OID, 0, sst_avg_density_column},
	SST_DAMAGE_COLUMNS,
};

#define MAX_ENTRIES \
	(IVFFLAT_PAGE_BYTES / (MAXALIGN(sizeof(IvfflatList) + 1) + sizeof(ItemIdData)))

static const SstStatistic ivfflat_statistics[] = {
	{"list_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MAX_ENTRIES, &sst_leaf_items},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	SST_DAMAGE_STATISTICS,
};

const SstAccessMethod sst_ivfflat_am = {
	.name = "ivfflat",
	.handler = "ivfflathandler",
	.kind = SST_INDEX,
	.flags = SST_AM_META,
	.function = "ivfflat_stats",
	.refusal = gettext_noop("relation \"%s\" is not an ivfflat index"),
	.page = ivfflat_page,
	.part = SST_PART_ALL,
	.special_size = sizeof(IvfflatSpecial),
	.page_id = IVFFLAT_ID,
	.magic = IVFFLAT_MAGIC,
	.version = IVFFLAT_VERSION,
	.page_type = sst_page_type_by_block,
	.tuple_length = tuple_length,
	.columns = {ivfflat_columns, lengthof(ivfflat_columns)},
	.statistics = {ivfflat_statistics, lengthof(ivfflat_statistics)},
	.model = &sst_ivfflat_model,
};
