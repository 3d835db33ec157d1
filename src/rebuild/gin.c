/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  The keys and posting lists of a GIN index, for a model of its build
 *
 * Pages are counted, and their keys and TIDs are kept as far as memory allows,
 * for the model in gin_size.c.
 *
 * VACUUM does not remove keys without TIDs; a rebuild does.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gin_private.h"
#include "utils/memutils.h"

#include "rebuild/gin_entry_tree.h"
#include "rebuild/gin_model.h"
#include "rebuild/rebuild.h"

/* Keep a TID of the key that was begun last. */
static void
keep_tid(void *arg, uint64 tid)
{
	sst_gin_keys_add_tid(arg, tid);
}

/*
 * Read the posting list of an entry, behind its key.  Returns what the entry takes
 * without the TIDs that are left out; 0 if no other is there.
 */
static int
read_entry_list(const SstRebuild *rebuild, const char *tuple, int length,
				const IndexTupleData *header, SstGinKey *key,
				SstGinTids *tids)
{
	SstGinKeys *keys = &rebuild->u.gin.model->keys;
	const char *list = tuple + key->size;
	int			size = length - key->size;
	bool		compressed = GinItupIsCompressed(header);
	int			ntids = Min(GinItemPointerGetOffsetNumber(&header->t_tid),
							size / (int) sizeof(ItemPointerData));
	SstGinTidCallback callback = NULL;
	SstGinTids	all = {0};

	/* Once for the size, and then to keep it */
	for (int i = 0; i < 2; i++)
	{
		if (compressed)
			(void) sst_gin_read_list(rebuild, list, size, &all, callback, keys);
		else
			sst_gin_read_tids(rebuild, list, ntids, &all, callback, keys);
		if (i == 1)
			break;

		*tids = all;
		if (all.ntids == 0)
			return 0;
		if (all.ndead > 0 || !compressed)
			length = key->size + (int) sst_gin_list_bytes(&all);
		key->item_bytes = SST_GIN_ITEM_BYTES(length);
		if (!sst_gin_keys_begin(keys, key, (int) all.ntids))
			break;
		callback = keep_tid;
	}
	return key->item_bytes;
}

/* An entry leaf page, the line pointers of which are within the page */
static void
entry_page(const SstRebuild *rebuild, const PageData *page,
		   SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	int			nitems = sst_page_items(page);
	int			left = BLCKSZ;

	model->entry_leaves++;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		const char *tuple = page + ItemIdGetOffset(item);
		int			length = Min(ItemIdGetLength(item), GinMaxItemSize);
		IndexTupleData header;
		SstGinTids	tids = {0};
		SstGinKey	key;
		int			ntids;
		int			key_size;
		int			size;

		/* Tuples that overlap are damage, and could be very many. */
		left -= length;
		if (length < (int) sizeof(IndexTupleData) || left < 0)
			continue;
		memcpy(&header, tuple, sizeof(header));
		ntids = GinItemPointerGetOffsetNumber(&header.t_tid);
		if (ntids == 0)
			continue;

		key_size = ntids == GIN_TREE_POSTING ? length :
			(int) Min(GinGetPostingOffset(&header), (uint32) length);
		key_size = Max(key_size, (int) sizeof(IndexTupleData));
		sst_gin_read_key(&model->keys, tuple, key_size, &key);
		if (ntids == GIN_TREE_POSTING)
		{
			size = key.item_bytes = SST_GIN_ITEM_BYTES(length);
			key.tree = GinItemPointerGetBlockNumber(&header.t_tid);
			counters->n[SST_REBUILT_TREE_POINTERS]++;
			(void) sst_gin_keys_begin(&model->keys, &key, 0);
		}
		else
			size = read_entry_list(rebuild, tuple, length, &header, &key, &tids);

		counters->n[SST_REBUILT_ENTRIES] += tids.ntids;
		counters->n[SST_REBUILT_DEAD_ENTRIES] += tids.ndead;
		model->last_block = Max(model->last_block, tids.last_block);
		if (size == 0)
			continue;
		counters->n[SST_REBUILT_BYTES] += size;
		counters->n[SST_REBUILT_PIVOTS]++;
		counters->n[SST_REBUILT_PIVOT_BYTES] += SST_GIN_ITEM_BYTES(key_size);
	}
}

/* Read the TIDs of a leaf page of a posting tree.  Its lists end where its data do. */
static void
read_posting_page(const SstRebuild *rebuild, const PageData *page,
				  SstGinTids *tids)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	int			lower = ((const PageHeaderData *) page)->pd_lower;
	int			pos = SST_GIN_POSTING_OFFSET;
	int			size;

	memset(tids, 0, sizeof(SstGinTids));
	if ((opaque->flags & GIN_COMPRESSED) == 0)
	{
		sst_gin_read_tids(rebuild, page + pos, opaque->maxoff, tids, NULL,
						  NULL);
		return;
	}
	while (pos < lower)
	{
		size = sst_gin_read_list(rebuild, page + pos, lower - pos, tids, NULL,
								 NULL);
		if (size == 0)
			break;
		pos += size;
	}
}

static void
posting_page(const SstRebuild *rebuild, const PageData *page,
			 BlockNumber blkno, SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	SstGinPostingPage posting;
	SstGinTids	tids;
	uint64		bytes;

	read_posting_page(rebuild, page, &tids);
	bytes = (uint64) rint(sst_gin_tree_bytes(&tids));
	posting = (SstGinPostingPage)
	{
		.blkno = blkno, .next = opaque->rightlink,
			.child = InvalidBlockNumber, .ntids = tids.ntids,
			.nlists = tids.nlists, .bytes = tids.bytes
	};
	sst_gin_trees_add(&model->trees, &posting);
	model->posting_leaves++;
	model->posting_differences += tids.bytes;
	model->posting_tids += tids.ntids;
	model->posting_bytes += bytes;
	model->last_block = Max(model->last_block, tids.last_block);

	counters->n[SST_REBUILT_ENTRIES] += tids.ntids;
	counters->n[SST_REBUILT_DEAD_ENTRIES] += tids.ndead;
	counters->n[SST_REBUILT_TREE_BYTES] += bytes;
	if (opaque->rightlink == InvalidBlockNumber)
	{
		model->last_leaves++;
		model->last_tids += tids.ntids;
		counters->n[SST_REBUILT_TREES]++;
		counters->n[SST_REBUILT_LAST_BYTES] += bytes;
		if (sst_gin_fits_in_entry(MAXALIGN(sizeof(IndexTupleData) + 1),
								  sst_gin_list_bytes(&tids)))
		{
			counters->n[SST_REBUILT_SHORT_TREES]++;
			counters->n[SST_REBUILT_SHORT_BYTES] += bytes;
		}
	}
}

/* An inner page of a posting tree, whose items are within the page */
static void
posting_inner_page(SstGinModel *model, const PageData *page,
				   BlockNumber blkno, SstCounters *counters)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	SstGinPostingPage posting = {.blkno = blkno, .next = opaque->rightlink};
	PostingItem first;

	memcpy(&first, page + SST_GIN_POSTING_OFFSET, sizeof(first));
	posting.child = opaque->maxoff > 0 ? PostingItemGetBlockNumber(&first) : 0;
	if (posting.child == InvalidBlockNumber)
		posting.child = 0;
	posting.nchildren = opaque->maxoff;
	sst_gin_trees_add(&model->trees, &posting);
	if (opaque->rightlink == InvalidBlockNumber)
	{
		model->roots++;
		counters->n[SST_REBUILT_DEEP_TREES]++;
	}
}

static void
pending_page(const SstRebuild *rebuild, const PageData *page,
			 SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	int			nitems = sst_page_items(page);
	int			left = BLCKSZ;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		const char *tuple = page + ItemIdGetOffset(item);
		int			length = Min(ItemIdGetLength(item), GinMaxItemSize);
		IndexTupleData header;
		SstGinTids	tids = {0};
		SstGinKey	key;

		left -= length;
		if (length < (int) sizeof(IndexTupleData) || left < 0)
			continue;
		memcpy(&header, tuple, sizeof(header));
		sst_gin_read_tids(rebuild, (const char *) &header.t_tid, 1, &tids,
						  NULL, NULL);
		counters->n[SST_REBUILT_ENTRIES] += tids.ntids;
		counters->n[SST_REBUILT_DEAD_ENTRIES] += tids.ndead;
		if (tids.ntids == 0)
			continue;
		counters->n[SST_REBUILT_PENDING_BYTES] += SST_GIN_ITEM_BYTES(length);
		model->last_block = Max(model->last_block, tids.last_block);

		sst_gin_read_key(&model->keys, tuple, length, &key);
		key.npending = 1;
		if (sst_gin_keys_begin(&model->keys, &key, 1))
			sst_gin_read_tids(rebuild, (const char *) &header.t_tid, 1, &tids,
							  keep_tid, &model->keys);
	}
}

static void
gin_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		 const SstKeptItems *kept, SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	MemoryContext oldcontext;
	const GinPageOpaqueData *opaque;

	model->nseen++;
	if (PageIsNew((Page) page))
		return;

	opaque = GinPageGetOpaque((Page) page);
	if (opaque->flags & (GIN_DELETED | GIN_META))
		return;

	oldcontext = MemoryContextSwitchTo(model->context);
	if (opaque->flags & GIN_LIST)
		pending_page(rebuild, page, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == GIN_LEAF)
		entry_page(rebuild, page, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == (GIN_DATA | GIN_LEAF))
		posting_page(rebuild, page, blkno, counters);
	else if (opaque->flags & GIN_DATA)
		posting_inner_page(model, page, blkno, counters);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Keys vanish with rows that were deleted.  Of rows that were updated, all keys may
 * stay as long as there are as many TIDs as keys.  Which of the two it is cannot be
 * known, so this takes the middle.
 */
static void
gin_scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	static const SstCount of_rows[] = {
		SST_REBUILT_ENTRIES, SST_REBUILT_TREE_BYTES, SST_REBUILT_LAST_BYTES,
		SST_REBUILT_SHORT_BYTES, SST_REBUILT_PENDING_BYTES
	};
	double		keys = counts[SST_REBUILT_PIVOTS];
	double		keys_fraction = 1;
	double		list_bytes = Max(counts[SST_REBUILT_BYTES] -
								 counts[SST_REBUILT_PIVOT_BYTES], 0);

	if (keys > 0)
		keys_fraction = (fraction +
						 Min(counts[SST_REBUILT_ENTRIES] * fraction / keys, 1)) / 2;

	counts[SST_REBUILT_PIVOTS] *= keys_fraction;
	counts[SST_REBUILT_PIVOT_BYTES] *= keys_fraction;
	counts[SST_REBUILT_BYTES] = counts[SST_REBUILT_PIVOT_BYTES] +
		list_bytes * fraction;
	for (int i = 0; i < lengthof(of_rows); i++)
		counts[of_rows[i]] *= fraction;
}

static void
gin_free(SstRebuild *rebuild)
{
	SstGinModel *model = rebuild->u.gin.model;

	sst_gin_keys_free(&model->keys);
	if (model->trees.pages != NULL)
		pfree(model->trees.pages);
	pfree(model);
}

void
sst_rebuild_gin_init(SstRebuild *rebuild, Relation rel)
{
	SstGinModel *model;

	sst_rebuild_set_model(rebuild, gin_page, sst_gin_blocks,
						  gin_scale_entries, 0);
	rebuild->finish = sst_gin_finish;
	rebuild->ends = sst_gin_ends;
	rebuild->free = gin_free;

	model = MemoryContextAllocExtended(CurrentMemoryContext,
									   sizeof(SstGinModel), MCXT_ALLOC_ZERO);
	model->context = CurrentMemoryContext;
	model->nblocks = RelationGetNumberOfBlocks(rel);
	sst_gin_keys_init(&model->keys, RelationGetDescr(rel));
	rebuild->u.gin.model = model;
}
