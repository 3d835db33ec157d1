/*-------------------------------------------------------------------------
 *
 * spgist.c
 *	  Reading the pages of an SP-GiST index
 *
 * The roots of two trees follow the metapage: one for keys, and one for nulls.
 * Moved or removed tuples leave others in their place, which a tuple's state
 * distinguishes; access/spgist_private.h has the layouts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/spgist_private.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "am/am.h"

/* What is counted of SP-GiST indexes only */
enum
{
	SST_NULLS_PAGES = SST_OWN,	/* leaf or internal pages */
	SST_INNER_FREE_BYTES,		/* of inner pages */
	SST_INNER_USABLE_BYTES
};

#define USABLE_BYTES SST_PAGE_ROOM(sizeof(SpGistPageOpaqueData))

/* Tuples of a page, by their state */
#define NSTATES (SPGIST_PLACEHOLDER + 1)

/* Nobody sets SPGIST_DELETED, but the server heeds it. */
#define KNOWN_FLAGS (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF | SPGIST_NULLS)

/*
 * A page's flags and its block number must agree.  Each tree keeps its root,
 * and the root its tree.
 */
static bool
flags_are_sound(uint16 flags, BlockNumber blkno)
{
	if ((flags & ~KNOWN_FLAGS) != 0)
		return false;

	switch (blkno)
	{
		case SPGIST_ROOT_BLKNO:
			return (flags & ~SPGIST_LEAF) == 0;
		case SPGIST_NULL_BLKNO:
			return (flags & ~SPGIST_LEAF) == SPGIST_NULLS;
		default:
			return (flags & SPGIST_META) == 0;
	}
}

/*
 * Count a page's tuples by their state; false if one of them makes no sense.
 *
 * All line pointers are in use.  A tuple of any kind is long enough to become
 * one that is not live, and has its state in the same place.
 */
static bool
count_states(const PageData *page, int ntuples[NSTATES])
{
	int			nitems = sst_page_items(page);

	memset(ntuples, 0, NSTATES * sizeof(int));

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		SpGistDeadTupleData tuple;

		if (!ItemIdIsNormal(item) || sst_item_is_outside(page, offnum) ||
			ItemIdGetLength(item) < SGDTSIZE)
			return false;

		/* The tuple of a damaged page can be anywhere: align it. */
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
		ntuples[tuple.tupstate]++;
	}

	return true;
}

/* A page of one of the trees */
static bool
tree_page(const PageData *page, uint16 flags, SstCounters *counters)
{
	Size		freespace = sst_page_free_space(page);
	int			ntuples[NSTATES];

	if (!count_states(page, ntuples))
		return false;

	if (flags & SPGIST_LEAF)
	{
		sst_count_leaf(counters, freespace, USABLE_BYTES);
		counters->n[SST_LIVE_ITEMS] += ntuples[SPGIST_LIVE];
	}
	else
	{
		counters->n[SST_INTERNAL_PAGES]++;
		counters->n[SST_INNER_FREE_BYTES] += freespace;
		counters->n[SST_INNER_USABLE_BYTES] += USABLE_BYTES;
	}
	if (flags & SPGIST_NULLS)
		counters->n[SST_NULLS_PAGES]++;

	counters->n[SST_REDIRECT_ITEMS] += ntuples[SPGIST_REDIRECT];
	counters->n[SST_DEAD_ITEMS] += ntuples[SPGIST_DEAD];
	counters->n[SST_PLACEHOLDER_ITEMS] += ntuples[SPGIST_PLACEHOLDER];
	return true;
}

static bool
read_meta(SstMeta *meta, const PageData *page)
{
	return SpGistPageGetOpaque((Page) page)->flags == SPGIST_META &&
		SpGistPageGetMeta((Page) page)->magicNumber == SPGIST_MAGIC_NUMBER;
}

static bool
spgist_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			SstCounters *counters)
{
	uint16		flags = SpGistPageGetOpaque((Page) page)->flags;

	if (!flags_are_sound(flags, blkno))
		return false;

	/*
	 * As VACUUM does, to have it used again (spgvacuumpage() in
	 * access/spgist/spgvacuum.c)
	 */
	if (flags & SPGIST_DELETED ||
		(blkno > SPGIST_NULL_BLKNO && sst_page_items(page) == 0))
	{
		counters->n[SST_DELETED_PAGES]++;
		return true;
	}

	return tree_page(page, flags, counters);
}

/* What a page is, for a diagnosis */
static void
page_type(const PageData *page, BlockNumber blkno, SstPageType *type)
{
	type->flags = SpGistPageGetOpaque((Page) page)->flags;
	type->known = (type->flags & ~KNOWN_FLAGS) == 0 &&
		((type->flags & SPGIST_META) != 0) == (blkno == SPGIST_METAPAGE_BLKNO);
	type->has_contents = blkno == SPGIST_METAPAGE_BLKNO;
	type->has_tuples = !type->has_contents && (type->flags & SPGIST_DELETED) == 0;
}

/* Tuples have their state and length in one place, but for live inner ones. */
static int
tuple_length(const PageData *page, const ItemIdData *item)
{
	const char *tuple = page + ItemIdGetOffset(item);

	return SpGistPageIsLeaf((Page) page) ||
		((const SpGistDeadTupleData *) tuple)->tupstate != SPGIST_LIVE ?
		((const SpGistDeadTupleData *) tuple)->size :
		((const SpGistInnerTupleData *) tuple)->size;
}

static const SstColumn spgist_columns[] = {
	SST_SIZE_COLUMNS,
	{"inner_pages", INT8OID, SST_INTERNAL_PAGES, .most = 1},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES, .most = 1},
	{"nulls_pages", INT8OID, SST_NULLS_PAGES, .most = 1},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES, .most = 1},
	{"live_items", INT8OID, SST_LIVE_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"dead_items", INT8OID, SST_DEAD_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"redirect_items", INT8OID, SST_REDIRECT_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"placeholder_items", INT8OID, SST_PLACEHOLDER_ITEMS, .most = MaxIndexTuplesPerPage, .items = &sst_leaf_items},
	{"free_bytes", INT8OID, SST_FREE_BYTES, .most = BLCKSZ},
	{"inner_free_bytes", INT8OID, SST_INNER_FREE_BYTES, .most = BLCKSZ},
	{"avg_leaf_density", FLOAT8OID, SST_FREE_BYTES, .percent_of = SST_USABLE_BYTES, .left = true, .main = true},
	{"avg_inner_density", FLOAT8OID, SST_INNER_FREE_BYTES, .percent_of = SST_INNER_USABLE_BYTES, .left = true},
	SST_DAMAGE_COLUMNS,
};

const SstAccessMethod sst_spgist_am = {
	.name = "spgist",
	.oid = SPGIST_AM_OID,
	.kind = SST_INDEX,
	.flags = SST_AM_META | SST_AM_ENTRY_A_ROW,
	.refusal = gettext_noop("relation \"%s\" is not an SP-GiST index"),
	.page = sst_index_page,
	.read_meta = read_meta,
	.sound_page = spgist_page,
	.part = SST_PART_ALL,
	.special_size = sizeof(SpGistPageOpaqueData),
	.page_id = SPGIST_PAGE_ID,
	.page_type = page_type,
	.tuple_length = tuple_length,
	.columns = {spgist_columns, lengthof(spgist_columns)},
	.model = &sst_spgist_model,
};
