/*-------------------------------------------------------------------------
 *
 * hnsw.c
 *	  Reading the pages of an hnsw index of pgvector
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/hnsw/hnsw.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "am/am.h"
#include "am/hnsw/layout.h"

/* Of the metapage */
enum
{
	META_DIMENSIONS = SST_META_OWN,
	META_M,
	META_EF_CONSTRUCTION,
	META_ENTRY_LEVEL
};

/* What is counted of hnsw indexes only; model.c has more of it */
enum
{
	SST_NEIGHBOR_ITEMS = SST_OWN,
	SST_HEAP_TIDS
};

static bool
meta_page(SstVisitor *visitor, const PageData *page, SstCounters *counters)
{
	const HnswMeta *metad = (const HnswMeta *)
		(page + MAXALIGN(SizeOfPageHeaderData));
	int64	   *field = visitor->meta.field;

	if (metad->magic != HNSW_MAGIC || metad->version != HNSW_VERSION ||
		metad->dimensions < 1 || metad->dimensions > PG_INT32_MAX ||
		metad->m < HNSW_MIN_M || metad->m > HNSW_MAX_M)
		return false;

	counters->n[SST_OTHER_PAGES]++;
	visitor->meta.known = true;
	field[SST_META_VERSION] = metad->version;
	field[META_DIMENSIONS] = metad->dimensions;
	field[META_M] = metad->m;
	field[META_EF_CONSTRUCTION] = metad->ef_construction;
	field[META_ENTRY_LEVEL] = metad->entry_level;
	return true;
}

/* Count the tuple of a line pointer; false if it is of neither kind. */
static bool
count_tuple(const PageData *page, const ItemIdData *item, SstCounters *counters)
{
	HnswElement element;
	int			ntids;

	if (sst_hnsw_element(page, item, &element))
	{
		ntids = sst_hnsw_ntids(&element);
		counters->n[ntids > 0 ? SST_LIVE_ITEMS : SST_DEAD_ITEMS]++;
		counters->n[SST_HEAP_TIDS] += ntids;
		return true;
	}
	counters->n[SST_NEIGHBOR_ITEMS]++;
	return ItemIdGetLength(item) > sizeof(HnswNeighbors) &&
		page[ItemIdGetOffset(item)] == HNSW_NEIGHBORS;
}

static bool
hnsw_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	SstCounters own;
	int			nitems = sst_page_items(page);

	if (!sst_page_is_sound(page, sizeof(HnswSpecial)))
		return sst_count_if_new(page, blkno, counters);
	if (sst_page_id(page) != HNSW_ID)
		return false;
	if (blkno == 0)
		return meta_page(visitor, page, counters);
	if (!sst_items_are_normal(page))
		return false;

	sst_counters_init(&own);
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		if (!count_tuple(page, PageGetItemId((Page) page, offnum), &own))
			return false;
	}
	sst_count_leaf(&own, PageGetExactFreeSpace((Page) page), HNSW_PAGE_BYTES);
	sst_counters_merge(counters, &own);
	return true;
}

/* That of a deleted element is not known: its vector is zeroed. */
static int
tuple_length(const PageData *page, const ItemIdData *item)
{
	const char *tuple = page + ItemIdGetOffset(item);
	HnswElement element;

	if (!sst_hnsw_element(page, item, &element))
		return HNSW_NEIGHBORS_SIZE(((const HnswNeighbors *) tuple)->count);
	return element.deleted ? ItemIdGetLength(item) :
		MAXALIGN(sizeof(HnswElement) + VARSIZE_4B(tuple + sizeof(HnswElement)));
}

static const SstColumn hnsw_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"dimensions", INT4OID, .meta = META_DIMENSIONS},
	{"m", INT4OID, .meta = META_M},
	{"ef_construction", INT4OID, .meta = META_EF_CONSTRUCTION},
	{"entry_level", INT4OID, .meta = META_ENTRY_LEVEL},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"neighbor_items", INT8OID, SST_NEIGHBOR_ITEMS},
	{"heap_tids", INT8OID, SST_HEAP_TIDS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, sst_free_space_percent_column},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

#define MAX_ELEMENTS (HNSW_PAGE_BYTES / (sizeof(HnswElement) + sizeof(ItemIdData)))
#define MAX_NEIGHBORS \
	(HNSW_PAGE_BYTES / (HNSW_NEIGHBORS_SIZE(2 * HNSW_MIN_M) + sizeof(ItemIdData)))

static const SstStatistic hnsw_statistics[] = {
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MAX_ELEMENTS},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MAX_ELEMENTS},
	{"neighbor_items", SST_TOTAL, SST_NEIGHBOR_ITEMS, 0, MAX_NEIGHBORS},
	{"heap_tids", SST_TOTAL, SST_HEAP_TIDS, 0, MAX_ELEMENTS * HNSW_MAX_TIDS},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

const SstAccessMethod sst_hnsw_am = {
	.name = "hnsw",
	.handler = "hnswhandler",
	.kind = SST_INDEX,
	.flags = SST_AM_META,
	.function = "hnsw_stats",
	.refusal = gettext_noop("relation \"%s\" is not an hnsw index"),
	.page = hnsw_page,
	.part = SST_PART_ALL,
	.special_size = sizeof(HnswSpecial),
	.page_id = HNSW_ID,
	.magic = HNSW_MAGIC,
	.version = HNSW_VERSION,
	.page_type = sst_page_type_by_block,
	.tuple_length = tuple_length,
	.columns = {hnsw_columns, lengthof(hnsw_columns)},
	.statistics = {hnsw_statistics, lengthof(hnsw_statistics)},
	.model = &sst_hnsw_model,
};
