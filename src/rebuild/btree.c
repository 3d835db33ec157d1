/*-------------------------------------------------------------------------
 *
 * btree.c
 *	  What the leaf pages of a b-tree would take in a new one
 *
 * The items go, page by page as they come, through what an index build does with
 * the sorted ones (access/nbtree/nbtsort.c): a leaf page is filled until the
 * fillfactor's free space is touched, its last item then moves to the next page
 * and leaves a high key behind; in an index that deduplicates, equal keys are
 * first put into posting list tuples of a bounded size.
 *
 * The pages of an index that has just been built come in the order of their keys,
 * so that this ends with the pages it has.  In another order, a run of equal keys
 * that goes on on the next page is seen as two.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/btree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"
#include "access/nbtree.h"

#include "rebuild/rebuild.h"

/* Between the line pointers and the tuples of a page with nothing on it */
#define EMPTY_PAGE_BYTES \
	(BLCKSZ - (int) SizeOfPageHeaderData - \
	 (int) MAXALIGN(sizeof(BTPageOpaqueData)))

/* A leaf page has the line pointer of its high key from the start. */
#define EMPTY_LEAF_BYTES (EMPTY_PAGE_BYTES - (int) sizeof(ItemIdData))

/* The largest posting list tuple of a build (_bt_load()); they are aligned. */
#define MAX_POSTING_TUPLE \
	((int) MAXALIGN_DOWN(MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData)))

#define TID_BYTES ((int) sizeof(ItemPointerData))

/* An item of a leaf page, as it is now */
typedef struct LeafItem
{
	const char *tuple;
	int			size;			/* without a posting list */
	int			ntids;
	uint16		flags;			/* has nulls, has columns of any length */
} LeafItem;

/*
 * Take an item apart.  Its line pointer is within the page, and all else can be
 * anything.  False if it is too short for a tuple.
 */
static inline bool
read_item(const PageData *page, ItemId item, LeafItem *result)
{
	IndexTupleData header;
	int			length = ItemIdGetLength(item);

	if (length < (int) sizeof(IndexTupleData))
		return false;

	result->tuple = page + ItemIdGetOffset(item);
	memcpy(&header, result->tuple, sizeof(IndexTupleData));
	result->flags = header.t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK);
	result->size = length;
	result->ntids = 1;

	if (BTreeTupleIsPosting(&header))
	{
		int64		offset = BTreeTupleGetPostingOffset(&header);
		int			ntids = BTreeTupleGetNPosting(&header);

		if (offset >= (int64) sizeof(IndexTupleData) && ntids > 0 &&
			offset + ntids * TID_BYTES <= length)
		{
			result->size = (int) offset;
			result->ntids = ntids;
		}
	}
	result->size = MAXALIGN(result->size);

	return true;
}

/* Add an item to the leaf page, or to a new one behind it (_bt_buildadd()). */
static inline void
add_item(SstBtreeFill *fill, int target_free, int size, int posting)
{
	/* PageGetFreeSpace() leaves out the next line pointer. */
	int			space = fill->free - (int) sizeof(ItemIdData);

	if (fill->nitems > 1 &&
		(space < size + (int) MAXALIGN(sizeof(ItemPointerData)) ||
		 Max(space, 0) + fill->last_posting < target_free))
	{
		fill->npages++;
		fill->nitems = 1;
		fill->free = EMPTY_LEAF_BYTES - fill->last_size -
			(int) sizeof(ItemIdData);
	}
	fill->nitems++;
	fill->free -= size + (int) sizeof(ItemIdData);
	fill->last_size = size;
	fill->last_posting = posting;
}

/* TIDs that a tuple of this size can have in a build that deduplicates */
static inline int
most_tids(int size)
{
	return Max((MAX_POSTING_TUPLE - size) / TID_BYTES, 1);
}

/* Add a key with its TIDs, which one tuple can have, to the leaf page. */
static inline void
add_tuple(SstBtreeFill *fill, int target_free, int size, int ntids)
{
	if (ntids == 1)
		add_item(fill, target_free, size, 0);
	else if (ntids > 1)
	{
		int			whole = MAXALIGN(size + ntids * TID_BYTES);

		add_item(fill, target_free, whole, whole - size);
	}
}

/* Is it the key that is yet to be added? */
static inline bool
is_same_key(const SstBtreeRebuild *state, const char *tuple,
			const LeafItem *item)
{
	return state->ntids > 0 && state->size == item->size &&
		state->flags == item->flags &&
		memcmp(tuple + sizeof(IndexTupleData),
			   item->tuple + sizeof(IndexTupleData),
			   item->size - sizeof(IndexTupleData)) == 0;
}

/* Bytes of line pointers and items on a page that is full by the fillfactor */
static inline int
full_page_bytes(const SstBtreeRebuild *state)
{
	return Max(EMPTY_LEAF_BYTES - state->target_free, 1);
}

/*
 * How far all so far fills new pages, in bytes.  The last page counts by how
 * near it is to being full by the fillfactor.
 */
static uint64
filled_bytes(const SstBtreeRebuild *state)
{
	SstBtreeFill fill = state->fill;
	int			full = full_page_bytes(state);
	int			used;

	add_tuple(&fill, state->target_free, state->size, state->ntids);
	used = EMPTY_LEAF_BYTES - fill.free;

	return fill.npages * BLCKSZ +
		(used >= full ? BLCKSZ : (uint64) used * BLCKSZ / full);
}

static void
btree_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstKeptItems *kept, SstCounters *counters)
{
	SstBtreeRebuild *state = &rebuild->u.btree;
	const BTPageOpaqueData *opaque;
	int			nitems = sst_page_items(page);
	const char *pending = state->tuple;
	OffsetNumber first;
	uint64		bytes;

	if (blkno == BTREE_METAPAGE || PageIsNew((Page) page))
		return;
	opaque = BTPageGetOpaque((Page) page);
	if (P_IGNORE(opaque) || !P_ISLEAF(opaque))
		return;

	first = P_FIRSTDATAKEY(opaque);
	if (first > P_HIKEY && nitems >= P_HIKEY)
	{
		counters->n[SST_REBUILT_PIVOTS]++;
		counters->n[SST_REBUILT_PIVOT_BYTES] +=
			MAXALIGN(ItemIdGetLength(PageGetItemId((Page) page, P_HIKEY)));
	}

	for (OffsetNumber offnum = first; offnum <= nitems; offnum++)
	{
		ItemId		itemid = PageGetItemId((Page) page, offnum);
		LeafItem	item;

		if (!read_item(page, itemid, &item))
			continue;
		if (ItemIdIsDead(itemid))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES] += item.ntids;
			continue;
		}
		counters->n[SST_REBUILT_ENTRIES] += item.ntids;

		if (!state->deduplicate)
		{
			for (int i = 0; i < item.ntids; i++)
				add_item(&state->fill, state->target_free, item.size, 0);
			continue;
		}

		if (!is_same_key(state, pending, &item))
		{
			add_tuple(&state->fill, state->target_free, state->size,
					  state->ntids);
			counters->n[SST_REBUILT_KEYS]++;
			counters->n[SST_REBUILT_KEY_BYTES] += item.size + sizeof(ItemIdData);
			state->ntids = 0;
			state->size = item.size;
			state->flags = item.flags;
			pending = item.tuple;
		}
		state->ntids += item.ntids;
		while (state->ntids > most_tids(item.size))
		{
			add_tuple(&state->fill, state->target_free, item.size,
					  most_tids(item.size));
			state->ntids -= most_tids(item.size);
		}
	}

	if (pending != state->tuple)
		memcpy(state->tuple, pending, state->size);

	bytes = filled_bytes(state);
	if (bytes > state->bytes)
	{
		counters->n[SST_REBUILT_BYTES] += bytes - state->bytes;
		state->bytes = bytes;
	}
}

/*
 * Pages of an internal level with so many children.  Its pages are filled to the
 * fixed fillfactor; the first item of each has no key, and the last moves on to
 * the next page, as on the leaf level.
 */
static double
internal_pages(double nchildren, double pivot_size, bool whole)
{
	double		target_free = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	double		room = EMPTY_LEAF_BYTES - target_free -
		(double) (sizeof(IndexTupleData) + 2 * sizeof(ItemIdData));
	double		per_page = room / (pivot_size + sizeof(ItemIdData)) + 1;

	if (whole)
		per_page = floor(per_page);
	return Max(sst_round_up((nchildren - 1) / Max(per_page, 2), whole), 1);
}

static double
btree_blocks(const SstRebuild *rebuild, const double *counts,
			 const SstMeta *meta, bool whole)
{
	double		npages = sst_round_up(counts[SST_REBUILT_BYTES] / BLCKSZ, whole);
	double		result = 1;		/* the metapage */
	double		pivot_size = MAXALIGN(sizeof(IndexTupleData) + 1);

	if (counts[SST_REBUILT_PIVOTS] > 0)
		pivot_size = counts[SST_REBUILT_PIVOT_BYTES] / counts[SST_REBUILT_PIVOTS];

	result += npages;
	while (npages > 1)
	{
		npages = internal_pages(npages, pivot_size, whole);
		result += npages;
	}

	return result;
}

/*
 * Where keys are deduplicated, the TIDs of a key can be versions of one row, of
 * which one is left.  So no key is assumed to vanish as long as as many TIDs are
 * left as there are keys.
 */
static void
btree_scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	const SstBtreeRebuild *state = &rebuild->u.btree;
	double		entries = counts[SST_REBUILT_ENTRIES];
	double		keys = counts[SST_REBUILT_KEYS];
	double		kept_keys = Min(keys, entries * fraction);

	if (state->deduplicate && keys > 0 && entries > keys)
	{
		double		key_bytes = Min(counts[SST_REBUILT_KEY_BYTES] * BLCKSZ /
									full_page_bytes(state),
									counts[SST_REBUILT_BYTES]);
		double		posting_bytes = counts[SST_REBUILT_BYTES] - key_bytes;

		counts[SST_REBUILT_BYTES] = key_bytes * kept_keys / keys +
			posting_bytes * (entries * fraction - kept_keys) / (entries - keys);
	}
	else
		counts[SST_REBUILT_BYTES] *= fraction;
	counts[SST_REBUILT_ENTRIES] *= fraction;
}

void
sst_rebuild_btree_init(SstRebuild *rebuild, Relation rel)
{
	SstBtreeRebuild *state = &rebuild->u.btree;

	sst_rebuild_set_model(rebuild, btree_page, btree_blocks,
						  btree_scale_entries, 0.01);
	rebuild->fillfactor = BTGetFillFactor(rel);

	/* The conditions of _bt_load() */
	state->deduplicate = !rel->rd_index->indisunique &&
		BTGetDeduplicateItems(rel) && _bt_allequalimage(rel, false);
	state->target_free = BTGetTargetPageFreeSpace(rel);
	state->fill.free = EMPTY_LEAF_BYTES;
}
