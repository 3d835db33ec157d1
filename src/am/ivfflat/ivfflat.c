/*-------------------------------------------------------------------------
 *
 * ivfflat.c
 *	  The pages of an ivfflat index of pgvector, and its size after a rebuild
 *
 * The layouts are those of src/ivfflat.h in pgvector 0.5.0 to 0.8.7.  An index of another
 * layout has another version number.
 *
 * A build computes new centers, and puts the entries of each list on pages of its own
 * (InsertTuples() in pgvector's ivfbuild.c).  How many entries each list gets is not
 * known: the ends allow for any.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"
#include "catalog/pg_type.h"
#include "utils/rel.h"

#include "am/am.h"
#include "am/rebuild.h"

/*
 * The special space of a page: the next page, two unused bytes, and the ID.  Lists, and the
 * entries of each list, are in chains of pages.
 */
#define IVFFLAT_SPECIAL_SIZE 8
#define IVFFLAT_ID 0xFF84
#define IVFFLAT_MAGIC 0x14FF1A7
#define IVFFLAT_VERSION 1

/* The option "lists", the only one */
#define IVFFLAT_DEFAULT_LISTS 100
#define IVFFLAT_MAX_LISTS 32768

typedef struct IvfflatMeta
{
	uint32		magic;
	uint32		version;
	uint16		dimensions;
	uint16		lists;
} IvfflatMeta;

/* A list: its pages, and the vector in its center */
typedef struct IvfflatList
{
	BlockNumber start_block;
	BlockNumber insert_block;
	int32		varlena_header; /* of the vector */
} IvfflatList;

#define IVFFLAT_PAGE_BYTES SST_PAGE_ROOM(IVFFLAT_SPECIAL_SIZE)

/* What a page has, which nothing but its tuples says */
typedef enum IvfflatPageKind
{
	IVFFLAT_LISTS,
	IVFFLAT_ENTRIES,
	IVFFLAT_NEITHER
} IvfflatPageKind;

/*
 * Is it the line pointer of an entry, which is an index tuple with a vector?  A list has the
 * upper half of a block number in the place of the tuple's length, which cannot be so high;
 * or the lower half, where the most significant byte comes first.
 */
static bool
is_entry(const PageData *page, const ItemIdData *item)
{
	IndexTupleData tuple;

	memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
	return tuple.t_info == (ItemIdGetLength(item) | INDEX_VAR_MASK);
}

/*
 * What a page behind the metapage has, whose line pointers are within it.  Lists come
 * first, and are never added or removed.
 */
static IvfflatPageKind
page_kind(const PageData *page, BlockNumber blkno)
{
	int			nitems = sst_page_items(page);
	bool		lists = blkno <= IVFFLAT_MAX_LISTS;
	bool		entries = blkno > 1;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		IvfflatList list;

		if (ItemIdGetLength(item) <= sizeof(list))
			return IVFFLAT_NEITHER;
		memcpy(&list, page + ItemIdGetOffset(item), sizeof(list));
		if (blkno == 1 || !is_entry(page, item))
			entries = false;
#ifndef WORDS_BIGENDIAN
		else
			lists = false;
#endif

		/* Neither is block 0, nor InvalidBlockNumber. */
		if (list.start_block + 1 <= 1 || list.insert_block + 1 <= 1)
			lists = false;
	}
	return entries ? IVFFLAT_ENTRIES : lists ? IVFFLAT_LISTS : IVFFLAT_NEITHER;
}

/* Of the metapage */
enum
{
	META_DIMENSIONS = SST_META_OWN,
	META_LISTS
};

static bool
read_meta(SstMeta *meta, const PageData *page)
{
	const IvfflatMeta *metad = (const IvfflatMeta *) PageGetContents((Page) page);

	if (metad->dimensions < 1 ||
		metad->lists < 1 || metad->lists > IVFFLAT_MAX_LISTS)
		return false;

	meta->field[SST_META_VERSION] = metad->version;
	meta->field[META_DIMENSIONS] = metad->dimensions;
	meta->field[META_LISTS] = metad->lists;
	return true;
}

static bool
ivfflat_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			 SstCounters *counters)
{
	if (!sst_items_are_normal(page))
		return false;

	switch (page_kind(page, blkno))
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

#define MAX_ENTRIES \
	(IVFFLAT_PAGE_BYTES / (MAXALIGN(sizeof(IvfflatList) + 1) + sizeof(ItemIdData)))

static const SstColumn ivfflat_columns[] = {
	{"version", INT4OID, .meta = SST_META_VERSION},
	{"dimensions", INT4OID, .meta = META_DIMENSIONS},
	{"lists", INT4OID, .meta = META_LISTS},
	SST_SIZE_COLUMNS,
	{"list_pages", INT8OID, SST_INTERNAL_PAGES, .most = 1},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MAX_ENTRIES, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"avg_leaf_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	SST_DAMAGE_COLUMNS,
};

typedef struct IvfflatRebuild
{
	SstRebuild	base;
	int			lists;
	double		list_size;		/* with the line pointer; 0 until one was seen */
	double		entry_size;		/* the same, on average */
} IvfflatRebuild;

static void
model_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstItemList *kept, SstCounters *counters)
{
	IvfflatRebuild *state = (IvfflatRebuild *) rebuild;
	int			nitems = sst_page_items(page);
	bool		lists;

	if (blkno == 0 || PageIsNew((Page) page))
		return;

	lists = page_kind(page, blkno) == IVFFLAT_LISTS;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		int			size = MAXALIGN(ItemIdGetLength(item)) + sizeof(ItemIdData);
		IndexTupleData tuple;

		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
		if (lists)
			state->list_size = size;
		else if (sst_rebuild_leaves_out(rebuild, &tuple.t_tid))
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
		else
		{
			counters->n[SST_REBUILT_ENTRIES]++;
			counters->n[SST_REBUILT_BYTES] += size;
		}
	}
}

/* How many of such a size a page has room for */
static double
per_page(double size)
{
	return Max(floor(IVFFLAT_PAGE_BYTES / Max(size, 1)), 1);
}

/* Pages that the entries would fill if there was one list */
static double
full_pages(const IvfflatRebuild *state, const double *counts)
{
	return state->entry_size == 0 ? 0 :
		counts[SST_REBUILT_ENTRIES] / per_page(state->entry_size);
}

/*
 * Pages of all lists' entries, of which each has one at least.  If the sizes of lists are
 * distributed exponentially, their numbers of pages are so geometrically.
 */
static double
entry_pages(const IvfflatRebuild *state, double full)
{
	return full > 0 ? state->lists / (1 - exp(-state->lists / full)) : state->lists;
}

static double
ivfflat_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const IvfflatRebuild *state = (const IvfflatRebuild *) rebuild;
	double		pages = entry_pages(state, full_pages(state, counts));

	return 1 + ceil(state->lists / per_page(state->list_size)) + sst_round_up(pages, whole);
}

static void
predict(SstRebuild *rebuild, const SstPageSample *sample,
		const SstEstimate *kept, SstEstimate *blocks)
{
	IvfflatRebuild *state = (IvfflatRebuild *) rebuild;
	const uint64 *seen = sample->sums.n;
	double		full;
	double		pages;

	state->entry_size = (double) seen[SST_REBUILT_BYTES] / Max(seen[SST_REBUILT_ENTRIES], 1);
	if (state->list_size == 0)
		state->list_size = state->entry_size;
	*blocks = sst_predict_blocks(rebuild, sample);

	/* Lists can end with full pages, or each with an entry on a last one. */
	full = full_pages(state, sample->totals);
	pages = entry_pages(state, full);
	sst_widen(blocks, ceil(pages) - Max(state->lists, full),
			  state->lists + full - pages);
	sst_leave_out(rebuild, sample, kept, 0, blocks);
}

static SstRebuild *
model_begin(Relation rel)
{
	IvfflatRebuild *state = palloc0(sizeof(IvfflatRebuild));

	state->lists = sst_extension_option(rel, 1, IVFFLAT_MAX_LISTS, IVFFLAT_DEFAULT_LISTS);
	return &state->base;
}

static const SstModel ivfflat_model = {model_begin, model_page, predict, ivfflat_blocks};

const SstAccessMethod sst_ivfflat_am = {
	.name = "ivfflat",
	.handler = "ivfflathandler",
	.kind = SST_INDEX,
	.flags = SST_AM_META,
	.refusal = gettext_noop("relation \"%s\" is not an ivfflat index"),
	.page = sst_index_page,
	.read_meta = read_meta,
	.sound_page = ivfflat_page,
	.part = SST_PART_ALL,
	.special_size = IVFFLAT_SPECIAL_SIZE,
	.page_id = IVFFLAT_ID,
	.magic = IVFFLAT_MAGIC,
	.version = IVFFLAT_VERSION,
	.page_type = sst_page_type_by_block,

	/*
	 * Only an entry says its length, and a tuple that says another one is
	 * none.
	 */
	.tuple_length = sst_item_length,
	.columns = {ivfflat_columns, lengthof(ivfflat_columns)},
	.model = &ivfflat_model,
};
