/*-------------------------------------------------------------------------
 *
 * entries.c
 *	  The entries of an index page: TIDs and sizes
 *
 * If only some entries can be looked up in the table, the entries of each page
 * and their sizes must be known.  Entries that are marked dead are not listed.
 *
 * As everywhere in this directory, the visitor has accepted the page, and nothing
 * else may be assumed about its tuples.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/entries.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gin_private.h"
#include "access/gist.h"
#include "access/hash.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/spgist_private.h"

#include "rebuild/entries.h"
#include "rebuild/gin_list.h"
#include "visit/line_pointers.h"

/* TIDs of the largest posting list tuple of a b-tree's build, about, in bytes */
#define MAX_POSTING_LIST (BLCKSZ / 10 - 24)

static inline void
add_entry(SstEntries *entries, const ItemPointerData *tid)
{
	if (entries->n < SST_MAX_ENTRIES)
		entries->entry[entries->n++].tid = *tid;
}

/*
 * Divide the bytes that a key takes in a new index among its TIDs.  It takes so much
 * less without one of them.
 */
static inline void
divide_bytes(SstEntries *entries, int first, double bytes, double tid_bytes)
{
	double		each = bytes / (entries->n - first);
	double		shared = Max(each - tid_bytes, 0);

	for (int i = first; i < entries->n; i++)
	{
		entries->entry[i].bytes = each;
		entries->entry[i].key_bytes = shared;
	}
}

/* Add TIDs that are one behind the other. */
static void
add_tids(SstEntries *entries, const char *tids, int ntids)
{
	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid;

		memcpy(&tid, tids + i * sizeof(tid), sizeof(tid));
		add_entry(entries, &tid);
	}
}

/* What an item takes of its page */
static inline int
item_bytes(const ItemIdData *item)
{
	return MAXALIGN(ItemIdGetLength(item)) + (int) sizeof(ItemIdData);
}

/* An item with one TID, which begins with it as all index tuples do */
static void
add_item(SstEntries *entries, const PageData *page, const ItemIdData *item)
{
	if (ItemIdGetLength(item) < sizeof(IndexTupleData))
		return;
	add_tids(entries, page + ItemIdGetOffset(item), 1);
	divide_bytes(entries, entries->n - 1, item_bytes(item), item_bytes(item));
}

/* A b-tree's item: a key, with one TID or a posting list of them */
typedef struct BtreeItem
{
	const char *key;
	int			size;			/* of the tuple without a posting list */
	uint16		flags;			/* has nulls, has columns of any length */
} BtreeItem;

/* Read the key, and add the TIDs.  False if the item makes no sense. */
static bool
read_btree_item(const PageData *page, const ItemIdData *item,
				SstEntries *entries, BtreeItem *result)
{
	const char *tuple = page + ItemIdGetOffset(item);
	int			length = ItemIdGetLength(item);
	const char *tids = tuple;
	int			ntids = 1;
	IndexTupleData header;

	if (length < (int) sizeof(IndexTupleData))
		return false;
	memcpy(&header, tuple, sizeof(header));

	if (BTreeTupleIsPosting(&header))
	{
		int64		offset = BTreeTupleGetPostingOffset(&header);

		ntids = BTreeTupleGetNPosting(&header);
		if (offset < (int64) sizeof(IndexTupleData) ||
			offset + ntids * (int64) sizeof(ItemPointerData) > length)
			return false;
		tids += offset;
		length = (int) offset;
	}
	add_tids(entries, tids, ntids);

	result->key = tuple + sizeof(IndexTupleData);
	result->size = length;
	result->flags = header.t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK);
	return true;
}

/* Divide the bytes of a run of equal keys. */
static void
end_btree_run(SstEntries *entries, int first, const BtreeItem *item,
			  bool deduplicate)
{
	int			ntids = entries->n - first;
	double		key_bytes = MAXALIGN(item->size) + sizeof(ItemIdData);
	double		list_bytes = MAXALIGN(ntids * sizeof(ItemPointerData));
	double		nlists = ceil(list_bytes / MAX_POSTING_LIST);

	if (ntids == 0)
		return;
	if (!deduplicate)
		divide_bytes(entries, first, ntids * key_bytes, key_bytes);
	else if (ntids == 1)
		divide_bytes(entries, first, key_bytes, key_bytes);
	else
		divide_bytes(entries, first, list_bytes + nlists * key_bytes,
					 sizeof(ItemPointerData) + (nlists - 1) * key_bytes / ntids);
}

/* Items of a page that are neighbours with equal keys are put together. */
static void
list_btree_page(SstEntries *entries, const PageData *page,
				OffsetNumber first_offset, bool deduplicate)
{
	int			nitems = sst_page_items(page);
	BtreeItem	run = {0};
	int			first = 0;

	for (OffsetNumber offnum = first_offset; offnum <= nitems; offnum++)
	{
		ItemId		itemid = PageGetItemId((Page) page, offnum);
		int			before = entries->n;
		BtreeItem	item;

		if (ItemIdIsDead(itemid) ||
			!read_btree_item(page, itemid, entries, &item))
			continue;
		if (!deduplicate || item.size != run.size || item.flags != run.flags ||
			memcmp(item.key, run.key, item.size - sizeof(IndexTupleData)) != 0)
		{
			int			end = entries->n;

			entries->n = before;
			end_btree_run(entries, first, &run, deduplicate);
			entries->n = end;
			first = before;
			run = item;
		}
	}
	end_btree_run(entries, first, &run, deduplicate);
}

/*
 * Add the TIDs of a compressed list.  Returns the bytes of the list, or 0 if it does
 * not end before "limit".
 */
static int
add_list(SstEntries *entries, const char *list, int limit)
{
	SstGinList	reader;
	ItemPointerData tid;

	if (!sst_gin_list_begin(&reader, list, limit))
		return 0;
	do
	{
		tid = sst_gin_tid(reader.tid);
		add_entry(entries, &tid);
	} while (sst_gin_list_next(&reader));

	return reader.size;
}

/* A key with its list of TIDs; a posting tree has pages of its own. */
static void
add_gin_key(SstEntries *entries, const PageData *page, const ItemIdData *item)
{
	const char *data = page + ItemIdGetOffset(item);
	int			length = ItemIdGetLength(item);
	int			first = entries->n;
	IndexTupleData tuple;
	int			ntids;
	int64		offset;
	int			key_bytes;		/* with one TID */

	if (length < (int) sizeof(IndexTupleData))
		return;
	memcpy(&tuple, data, sizeof(tuple));
	ntids = GinItemPointerGetOffsetNumber(&tuple.t_tid);
	if (ntids == 0 || ntids == GIN_TREE_POSTING)
		return;

	offset = GinGetPostingOffset(&tuple);
	if (offset > length)
		return;
	if (GinItupIsCompressed(&tuple))
		(void) add_list(entries, data + offset, length - (int) offset);
	else if (offset + ntids * (int64) sizeof(ItemPointerData) <= length)
		add_tids(entries, data + offset, ntids);
	key_bytes = (int) (MAXALIGN(offset + SST_GIN_LIST_HEADER) + sizeof(ItemIdData));
	ntids = entries->n - first;
	divide_bytes(entries, first, item_bytes(item), ntids <= 1 ? item_bytes(item) :
				 (item_bytes(item) - key_bytes) / (ntids - 1.0));
}

/* A leaf page of a posting tree: lists, or TIDs where a server before 9.4 was */
static void
list_posting_page(SstEntries *entries, const PageData *page)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	int			lower = Min(((const PageHeaderData *) page)->pd_lower, BLCKSZ);
	int			pos = SST_GIN_POSTING_OFFSET;

	if (opaque->flags & GIN_COMPRESSED)
	{
		int			bytes;

		while ((bytes = add_list(entries, page + pos, lower - pos)) > 0)
			pos += bytes;
	}
	else
	{
		add_tids(entries, page + pos,
				 Min(opaque->maxoff,
					 (BLCKSZ - pos) / (int) sizeof(ItemPointerData)));
		pos += entries->n * sizeof(ItemPointerData);
	}

	/* TIDs are alike here. */
	for (int i = 0; i < entries->n; i++)
	{
		entries->entry[i].bytes = (double) (pos - SST_GIN_POSTING_OFFSET) /
			entries->n;
		entries->entry[i].key_bytes = 0;
	}
}

static void
list_gin_page(SstEntries *entries, const PageData *page)
{
	int			flags = GinPageGetOpaque((Page) page)->flags;
	int			nitems = sst_page_items(page);

	if (flags & (GIN_DELETED | GIN_META))
		return;
	if ((flags & (GIN_DATA | GIN_LEAF)) == (GIN_DATA | GIN_LEAF))
	{
		list_posting_page(entries, page);
		return;
	}
	if (flags & GIN_DATA || (flags & (GIN_LEAF | GIN_LIST)) == 0)
		return;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);

		/* The pending list has a tuple for each key of a row. */
		if (flags & GIN_LIST)
			add_item(entries, page, item);
		else
			add_gin_key(entries, page, item);
	}
}

static void
add_spgist_item(SstEntries *entries, const PageData *page,
				const ItemIdData *item)
{
	SpGistLeafTupleData tuple;

	if (ItemIdGetLength(item) < sizeof(tuple))
		return;
	memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
	if (tuple.tupstate != SPGIST_LIVE)
		return;
	add_entry(entries, &tuple.heapPtr);
	divide_bytes(entries, entries->n - 1, item_bytes(item), item_bytes(item));
}

/*
 * The first entry of a page that has entries as items; InvalidOffsetNumber of
 * another one
 */
static OffsetNumber
first_entry(SstTargetKind kind, const PageData *page, BlockNumber blkno)
{
	switch (kind)
	{
		case SST_BTREE:
			{
				const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);

				return blkno == BTREE_METAPAGE || P_IGNORE(opaque) ||
					!P_ISLEAF(opaque) ? InvalidOffsetNumber :
					P_FIRSTDATAKEY(opaque);
			}
		case SST_HASH:
			{
				int			type = HashPageGetOpaque((Page) page)->hasho_flag &
					LH_PAGE_TYPE;

				return type == LH_BUCKET_PAGE || type == LH_OVERFLOW_PAGE ?
					FirstOffsetNumber : InvalidOffsetNumber;
			}
		case SST_GIST:
			return (GistPageGetOpaque((Page) page)->flags &
					(F_LEAF | F_DELETED)) == F_LEAF ?
				FirstOffsetNumber : InvalidOffsetNumber;
		case SST_SPGIST:
			return blkno != SPGIST_METAPAGE_BLKNO &&
				(SpGistPageGetOpaque((Page) page)->flags &
				 (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF)) == SPGIST_LEAF ?
				FirstOffsetNumber : InvalidOffsetNumber;
		default:
			return InvalidOffsetNumber;
	}
}

/* List the entries of a page; of a b-tree, for a build that deduplicates or not. */
void
sst_list_entries(SstTargetKind kind, bool deduplicate, const PageData *page,
				 BlockNumber blkno, SstEntries *entries)
{
	int			nitems = sst_page_items(page);
	OffsetNumber first;

	entries->n = 0;
	if (PageIsNew((Page) page))
		return;
	if (kind == SST_GIN)
	{
		list_gin_page(entries, page);
		return;
	}

	first = first_entry(kind, page, blkno);
	if (first == InvalidOffsetNumber)
		return;
	if (kind == SST_BTREE)
	{
		list_btree_page(entries, page, first, deduplicate);
		return;
	}
	for (OffsetNumber offnum = first; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);

		if (ItemIdIsDead(item))
			continue;
		if (kind == SST_SPGIST)
			add_spgist_item(entries, page, item);
		else
			add_item(entries, page, item);
	}
}
