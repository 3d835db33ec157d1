/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  The size of a GIN index after a rebuild
 *
 * What a new index takes follows from sums over the pages of the old one, so that
 * a sample of pages is enough:
 *
 * - Entries are taken as they are, but for TIDs that are left out.  While pages are
 *   shown, their entries are put on imaginary pages, which are split in half as those
 *   of a build with enough memory are.  How a build of several batches differs from
 *   that, gin_batches.c finds out.
 * - Posting trees are full, but for their last page.  A tree's root says how many
 *   leaf pages it had.
 * - Of the pending list, keys are looked up among those of the entries, as far as
 *   both are kept: those whose hash is below a threshold.
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
#include "access/itup.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "rebuild/gin_model.h"

/* Leaf pages of posting trees that are kept, and roots: 0.6 MB */
#define MAX_LEAVES		32768

/* So many entry pages are looked at, and some of those that follow. */
#define ALL_ENTRY_PAGES	1024

/* A key of which hardly anything is there */
#define MIN_KEY			((int) MAXALIGN(sizeof(IndexTupleData) + 1))

/* How full several batches leave inner pages */
#define INNER_FILL_OF_BATCHES 0.62

/* From this part of the new entries on, the pending list is worth a note. */
#define NOTEWORTHY_PART 0.1

/* By which part the memory that a build takes may be wrong */
#define MEMORY_MARGIN			0.03

/* From this part of the keys on, those of the pending list decide how full pages are. */
#define MOST_PENDING			0.3
#define MEMORY_OF_KEY			130.0
#define FILL_OF_BATCHES			0.64
#define MOST_FILL_OF_BATCHES	0.85

/* By which part of the size the model can be wrong */
#define UNCERTAINTY				0.015
#define UNCERTAINTY_SAMPLED		0.02
#define UNCERTAINTY_OF_BATCHES	0.06
#define UNCERTAINTY_OF_BATCHES_SAMPLED 0.045
#define UNCERTAINTY_OF_PENDING	0.06
#define UNCERTAINTY_OF_PENDING_SAMPLED 0.4
#define UNCERTAINTY_OF_INNER	0.8
#define MOST_UNCERTAINTY		0.9

/* ---------------------------------------------------------------- entries */

/* Add an entry to the new leaf pages.  Most builds insert keys in their order. */
static inline void
fill_entry(EntryFill *fill, int size, int pivot)
{
	int			left = 0;
	int			n = 0;

	fill->pivots[fill->nitems] = pivot;
	fill->sizes[fill->nitems++] = size;
	fill->used += size;
	if (fill->used <= SST_GIN_PAGE_ROOM)
		return;

	/* The left half stays as it is (entrySplitPage() in ginentrypage.c). */
	while (left <= fill->used / 2)
		left += fill->sizes[n++];
	fill->npages++;
	fill->bytes += left;
	fill->pivot_bytes += fill->pivots[n - 1];
	fill->used -= left;
	fill->nitems -= n;
	memmove(fill->sizes, fill->sizes + n, fill->nitems * sizeof(uint16));
	memmove(fill->pivots, fill->pivots + n, fill->nitems * sizeof(uint16));
}

/* TIDs that have been read, without those that are left out */
typedef struct Tids
{
	uint32		n;
	uint32		ndead;
	uint32		nlists;			/* that have one */
	uint32		bytes;			/* of differences */
	uint64		last;
	bool		any;			/* in this list */
} Tids;

/* Bytes of a difference between TIDs */
static inline int
difference_bytes(uint64 difference)
{
	return pg_leftmost_one_pos64(difference | 1) / 7 + 1;
}

/* Take a TID, or leave it out. */
static inline void
take_tid(const SstRebuild *rebuild, uint64 tid, Tids *tids, SstGinSample *sample)
{
	ItemPointerData pointer = sst_gin_tid(tid);

	if (sst_rebuild_leaves_out(rebuild, &pointer))
	{
		tids->ndead++;
		return;
	}
	if (tids->any)
		tids->bytes += difference_bytes(tid - tids->last);
	else
		tids->nlists++;
	tids->n++;
	tids->any = true;
	tids->last = tid;
	if (sample != NULL)
		sst_gin_sample_tid(sample, tid);
}

/*
 * Read a posting list that has up to size bytes, which can be anything, and show its
 * TIDs to the sample, which can be NULL.  Returns the bytes that it takes, or 0 if it
 * has not that many.
 */
static int
read_list(const SstRebuild *rebuild, const char *data, int size, Tids *tids,
		  SstGinSample *sample)
{
	SstGinList	list;

	if (!sst_gin_list_begin(&list, data, size))
		return 0;

	/* To count differences, their last bytes are enough. */
	if (rebuild->dead_tids == NULL && sample == NULL)
	{
		uint32		n = 1;

		for (int i = 0; i < list.nbytes; i++)
			n += list.pos[i] < 0x80;
		tids->n += n;
		tids->nlists++;
		tids->bytes += list.nbytes;
		return list.size;
	}

	tids->any = false;
	do
		take_tid(rebuild, list.tid, tids, sample);
	while (sst_gin_list_next(&list));
	return list.size;
}

/* Read an array of TIDs, as sst_gin_read_list() does (before 9.4). */
static void
read_array(const SstRebuild *rebuild, const char *array, int ntids, Tids *tids,
		   SstGinSample *sample)
{
	tids->any = false;
	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid;

		memcpy(&tid, array + i * sizeof(tid), sizeof(tid));
		take_tid(rebuild, sst_gin_tid_number(&tid), tids, sample);
	}
}

/*
 * Memory that a build takes for a key by itself, 0 for one that is passed by value.
 * With several columns, the tuple has the number of the column first.
 */
static int
datum_size(const SstGinModel *model, const EntryTuple *item, int key_size)
{
	int			pos = MAXALIGN(sizeof(IndexTupleData));
	uint16		column = 1;

	if (item->header.t_info & INDEX_NULL_MASK)
		return 0;
	if (model->ncolumns > 1 && key_size - pos >= (int) sizeof(uint16))
	{
		memcpy(&column, item->data + pos, sizeof(uint16));
		pos += sizeof(uint16);
	}
	column = Min(Max(column, 1), model->ncolumns);

	/* In memory, a value has a header of four bytes in place of one. */
	return model->lengths[column - 1] > 0 ? 0 :
		Max(key_size - pos, 1) + VARHDRSZ - 1;
}

/* Get an item, which the visitor knows to be within the page.  False if it is no tuple. */
static inline bool
get_item(const PageData *page, OffsetNumber offnum, int *left, EntryTuple *item)
{
	const ItemIdData *itemid = PageGetItemId((Page) page, offnum);

	/* Tuples that overlap are damage, and could be very many. */
	item->data = page + ItemIdGetOffset(itemid);
	item->length = Min(ItemIdGetLength(itemid), GinMaxItemSize);
	*left -= item->length;
	if (item->length < (int) sizeof(IndexTupleData) || *left < 0)
		return false;
	memcpy(&item->header, item->data, sizeof(item->header));
	return true;
}

/*
 * Read the posting list of an entry, behind its key.  Returns what the entry takes
 * without the TIDs that are left out; 0 if there are no others.
 */
static int
read_entry(const SstRebuild *rebuild, const EntryTuple *item, int key_size,
		   SstGinSample *sample, Tids *tids)
{
	const char *data = item->data + key_size;
	int			size = item->length - key_size;
	uint32		ntids = GinItemPointerGetOffsetNumber(&item->header.t_tid);
	bool		compressed = GinItupIsCompressed(&item->header);
	SstGinList	list;

	if (!compressed)
		read_array(rebuild, data, Min(ntids, size / sizeof(ItemPointerData)),
				   tids, sample);
	else if (rebuild->dead_tids != NULL || sample != NULL)
		(void) read_list(rebuild, data, size, tids, sample);
	else if (sst_gin_list_begin(&list, data, size))
	{
		/* A tuple says how many they are. */
		tids->n = ntids;
		tids->bytes = list.nbytes;
	}

	if (sample != NULL)
		sst_gin_sample_list(sample, tids->n, tids->bytes);
	if (tids->n == 0)
		return 0;
	size = SHORTALIGN(key_size) + (int) sst_gin_list_size(tids->bytes);
	return SST_GIN_ITEM_BYTES(Min(size, GinMaxItemSize));
}

/*
 * Of many entry pages, some are enough, unless dead rows or pending keys have to be
 * found.  The others are like them, but for their bytes.
 */
static bool
is_like_others(const SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
			   SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	const PageHeaderData *header = (const PageHeaderData *) page;
	double		nitems = sst_page_items(page);
	double		used = header->pd_special - header->pd_upper +
		nitems * sizeof(ItemIdData);
	double		part;

	if (model->nseen <= ALL_ENTRY_PAGES || rebuild->dead_tids != NULL ||
		model->any_pending || model->used_bytes == 0 ||
		(hash_bytes_uint32(blkno ^ 1) & ((1 << (pg_leftmost_one_pos32(model->nseen) -
												pg_leftmost_one_pos32(ALL_ENTRY_PAGES))) - 1)) == 0)
	{
		model->nitems += nitems;
		model->used_bytes += used;
		return false;
	}
	part = used / model->used_bytes;
	counters->n[SST_REBUILT_BYTES] += (uint64) (part * model->entry_bytes);
	counters->n[SST_REBUILT_PIVOT_BYTES] += (uint64) (part * model->pivot_bytes);
	counters->n[SST_REBUILT_ENTRIES] += (uint64) (part * model->list_tids);
	part = nitems / Max(model->nitems, 1);
	nitems = part * model->nentries_looked;
	counters->n[SST_REBUILT_PIVOTS] += (uint64) nitems;
	model->nentries += (uint64) nitems;
	return true;
}

/* An entry leaf page, the line pointers of which are within the page */
static void
entry_page(const SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	SstGinSample *sample = NULL;
	int			nitems = sst_page_items(page);
	int			left = BLCKSZ;
	EntryTuple	item;

	if (is_like_others(rebuild, page, blkno, counters))
		return;
	if (sst_gin_sample_page(model->sample, blkno))
		sample = model->sample;
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		uint32		ntids;
		int			key_size;
		int			pivot;
		int			size;
		bool		tree;
		Tids		tids = {0};
		PendingKey *key;

		if (!get_item(page, offnum, &left, &item))
			continue;
		ntids = GinItemPointerGetOffsetNumber(&item.header.t_tid);
		if (ntids == 0)
			continue;
		tree = ntids == GIN_TREE_POSTING;
		key_size = tree ? item.length :
			(int) Min(GinGetPostingOffset(&item.header), (uint32) item.length);
		key_size = Max(key_size, (int) sizeof(IndexTupleData));
		pivot = SST_GIN_ITEM_BYTES(key_size);
		if (sample != NULL)
			sst_gin_sample_key(sample, key_size, datum_size(model, &item, key_size),
							   tree ? 0 : ntids);
		if (tree)
		{
			model->ntree_keys++;
			model->tree_key_bytes += key_size;
		}
		size = tree ? pivot :
			read_entry(rebuild, &item, key_size, sample, &tids);

		counters->n[SST_REBUILT_ENTRIES] += tids.n;
		counters->n[SST_REBUILT_DEAD_ENTRIES] += tids.ndead;
		if (size == 0)
			continue;
		counters->n[SST_REBUILT_BYTES] += size;
		counters->n[SST_REBUILT_PIVOTS]++;
		counters->n[SST_REBUILT_PIVOT_BYTES] += pivot;
		fill_entry(&model->fill, size, pivot);
		model->nentries++;
		model->nentries_looked++;
		model->entry_bytes += size;
		model->pivot_bytes += pivot;
		model->list_tids += tids.n;

		key = sst_gin_keep_key(model, &item, key_size);
		if (key != NULL)
		{
			key->ntids = Max(tids.n, 1);
			key->list_bytes = Min(tids.bytes, PG_UINT16_MAX);
			key->tree = tree;
		}
	}
}

/* A page of the pending list, which has a tuple for each key of a row */
static void
pending_page(const SstRebuild *rebuild, const PageData *page,
			 SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	int			nitems = sst_page_items(page);
	int			left = BLCKSZ;
	EntryTuple	item;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		PendingKey *key;

		if (!get_item(page, offnum, &left, &item))
			continue;
		if (sst_rebuild_leaves_out(rebuild, &item.header.t_tid))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
			continue;
		}
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_PENDING_BYTES] += SST_GIN_ITEM_BYTES(item.length);
		key = sst_gin_keep_key(model, &item, item.length);
		if (key != NULL)
			key->npending++;
	}
}

/* ---------------------------------------------------------- posting trees */

/* Read the TIDs of a leaf page of a posting tree.  Its lists end where its data do. */
static void
read_posting_page(const SstRebuild *rebuild, const PageData *page, Tids *tids)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	int			lower = ((const PageHeaderData *) page)->pd_lower;
	int			pos = SST_GIN_POSTING_OFFSET;
	int			size;

	if ((opaque->flags & GIN_COMPRESSED) == 0)
		read_array(rebuild, page + pos, opaque->maxoff, tids, NULL);
	else
	{
		while (pos < lower &&
			   (size = read_list(rebuild, page + pos, lower - pos, tids, NULL)) > 0)
			pos += size;
	}
}

/* Bytes of a new tree's lists with these TIDs, all of the target size */
static double
tree_bytes(const Tids *tids)
{
	double		diff = sst_gin_difference(tids->bytes, (double) tids->n - tids->nlists);

	return SST_GIN_TARGET_LIST * tids->n /
		(1 + (SST_GIN_TARGET_LIST - SST_GIN_LIST_HEADER) / diff);
}

/* Bytes of one list with these TIDs */
static double
one_list(const Tids *tids)
{
	double		diff = sst_gin_difference(tids->bytes, (double) tids->n - tids->nlists);

	return sst_gin_list_size((Max(tids->n, 1) - 1) * diff);
}

static void
posting_page(const SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
			 SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	BlockNumber next = GinPageGetOpaque((Page) page)->rightlink;
	bool		last = next == InvalidBlockNumber;
	int			key_size = MIN_KEY;
	bool		is_short;
	Tids		tids = {0};
	uint32		bytes;

	read_posting_page(rebuild, page, &tids);
	bytes = (uint32) rint(tree_bytes(&tids));
	if (model->ntree_keys > 0)
		key_size = (int) (model->tree_key_bytes / model->ntree_keys);
	is_short = last && sst_gin_fits_in_entry(key_size, one_list(&tids));
	counters->n[SST_REBUILT_ENTRIES] += tids.n;
	counters->n[SST_REBUILT_DEAD_ENTRIES] += tids.ndead;
	counters->n[SST_REBUILT_TREE_BYTES] += bytes;
	model->tree_tids += tids.n;
	model->difference_bytes += tids.bytes;
	if (model->nleaves < MAX_LEAVES)
		model->leaves[model->nleaves++] = (PostingLeaf)
	{
		blkno, next, Min(bytes, PG_UINT16_MAX), is_short, false
	};
	if (!last)
	{
		model->nmiddle++;
		model->middle_bytes += bytes;
		return;
	}

	model->nlast++;
	model->last_bytes += bytes;
	counters->n[SST_REBUILT_TREES]++;
	counters->n[SST_REBUILT_LAST_BYTES] += bytes;
	if (is_short)
	{
		counters->n[SST_REBUILT_SHORT_TREES]++;
		counters->n[SST_REBUILT_SHORT_BYTES] += (uint64) one_list(&tids);
	}
}

/* An inner page of a posting tree, whose items are within the page */
static void
posting_inner_page(SstGinModel *model, const PageData *page,
				   SstCounters *counters)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);

	if (opaque->rightlink != InvalidBlockNumber || opaque->maxoff == 0)
		return;
	counters->n[SST_REBUILT_DEEP_TREES]++;
	if (model->nroots < MAX_LEAVES)
		model->roots[model->nroots++] = opaque->maxoff;
}

/* Of the trees with one page, those that are short become part of their entries. */
static double
short_trees(const double *counts)
{
	double		trees = counts[SST_REBUILT_TREES];
	double		deep = Min(counts[SST_REBUILT_DEEP_TREES], trees);

	/* The last page of a deep tree is as often short. */
	return Min(Max(counts[SST_REBUILT_SHORT_TREES] - deep / 3, 0), trees - deep);
}

/* Pages that posting trees are expected to have */
static double
expected_tree_pages(const double *counts)
{
	double		trees = counts[SST_REBUILT_TREES];
	double		deep = Min(counts[SST_REBUILT_DEEP_TREES], trees);
	double		last = counts[SST_REBUILT_LAST_BYTES];
	double		bytes = Max(counts[SST_REBUILT_TREE_BYTES] - last, 0);

	/* A tree without TIDs vanishes. */
	if (counts[SST_REBUILT_TREE_BYTES] <= 0)
		return 0;
	if (bytes > 0)
		deep = Max(deep, 1);
	if (deep == 0)
		return Max(trees - short_trees(counts), 0);
	if (trees > 0)
		bytes += last * Min(deep / trees, 1);
	return Max(trees - deep - short_trees(counts), 0) +
		deep * sst_gin_tree_pages(bytes / deep, false);
}

static PostingLeaf *
find_leaf(const SstGinModel *model, BlockNumber blkno)
{
	uint32		low = 0;
	uint32		high = model->nleaves;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (model->leaves[middle].blkno == blkno)
			return &model->leaves[middle];
		if (model->leaves[middle].blkno < blkno)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/*
 * Pages of all posting trees but those that become part of their entry, when all leaf
 * pages are known.  In damaged trees no more links are followed than there are.
 */
static double
known_tree_pages(const SstGinModel *model, double *counts)
{
	uint32		nfollowed = 0;
	double		pages = 0;

	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];
		PostingLeaf *next = find_leaf(model, leaf->next);

		if (next != NULL)
			next->linked = true;
		counts[SST_REBUILT_TREE_BYTES] += leaf->bytes;
		if (leaf->next == InvalidBlockNumber)
		{
			counts[SST_REBUILT_TREES]++;
			counts[SST_REBUILT_LAST_BYTES] += leaf->bytes;
			counts[SST_REBUILT_SHORT_TREES] += leaf->is_short;
		}
	}
	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];
		double		bytes = leaf->bytes;

		CHECK_FOR_INTERRUPTS();
		if (leaf->linked)
			continue;
		if (leaf->next == InvalidBlockNumber && leaf->is_short)
			continue;
		while (nfollowed++ < model->nleaves &&
			   (leaf = find_leaf(model, leaf->next)) != NULL)
			bytes += leaf->bytes;

		/* A tree without TIDs vanishes. */
		if (bytes > 0)
			pages += sst_gin_tree_pages(bytes, true);
	}
	return pages;
}

/*
 * Pages of posting trees by the trees that are known, for each one of those that are
 * expected.  If all pages are known, this makes up for all that is not expected.
 */
static double
tree_factor(const SstGinModel *model)
{
	double		counts[SST_NCOUNTS] = {0};
	double		pages = 0;
	double		expected;

	counts[SST_REBUILT_DEEP_TREES] = model->nroots;
	if (model->all && model->nleaves == model->nmiddle + model->nlast)
		pages = known_tree_pages(model, counts);
	else
	{
		/* Their leaf pages are like others. */
		double		middle = model->middle_bytes / Max(model->nmiddle, 1);
		double		last = model->last_bytes / Max(model->nlast, 1);

		for (uint32 i = 0; i < model->nroots; i++)
		{
			double		bytes = (model->roots[i] - 1) * middle + last;

			counts[SST_REBUILT_TREE_BYTES] += bytes;
			pages += sst_gin_tree_pages(bytes, true);
		}
		counts[SST_REBUILT_TREES] = model->nroots;
	}
	expected = expected_tree_pages(counts);
	return expected >= 1 ? pages / expected : 1;
}

/* ---------------------------------------------------------------- the size */

static void
gin_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		 const SstKeptItems *kept, SstCounters *counters)
{
	SstGinModel *model = rebuild->u.gin.model;
	const GinPageOpaqueData *opaque;

	model->nseen++;
	if (PageIsNew((Page) page))
		return;

	opaque = GinPageGetOpaque((Page) page);
	if (opaque->flags & GIN_DELETED)
		return;
	if (opaque->flags & GIN_META)
		model->any_pending = GinPageGetMeta((Page) page)->head != InvalidBlockNumber;
	else if (opaque->flags & GIN_LIST)
		pending_page(rebuild, page, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == GIN_LEAF)
		entry_page(rebuild, page, blkno, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == (GIN_DATA | GIN_LEAF))
		posting_page(rebuild, page, blkno, counters);
	else if (opaque->flags & GIN_DATA)
		posting_inner_page(model, page, counters);
}

/* Pages of a level above the leaf level, and all above it, for so many pages below */
static double
inner_pages(const SstGinModel *model, double level, bool whole)
{
	double		pivot = model->pivot;
	double		fill = model->several ? INNER_FILL_OF_BATCHES * SST_GIN_PAGE_ROOM :
		SST_GIN_PAGE_ROOM / 2.0 + 0.75 * pivot;
	double		pages = 0;

	while (level > 1)
	{
		double		bytes = level * pivot;
		double		most = sst_round_up(level / 2, whole);

		/* A page has two pivots at least, whatever a damaged one says. */
		level = bytes <= SST_GIN_PAGE_ROOM ? 1 :
			Min(1 + sst_round_up((bytes - SST_GIN_PAGE_ROOM) / fill, whole), most);
		pages += level;
	}
	return pages;
}

/* Pages that are added to posting trees by so many more bytes of lists */
static double
grown_pages(const double *counts, double bytes)
{
	/* Those of one page have room. */
	if (counts[SST_REBUILT_DEEP_TREES] == 0)
		bytes = Max(bytes + counts[SST_REBUILT_LAST_BYTES] -
					counts[SST_REBUILT_TREES] * SST_GIN_FIRST_PAGE, 0);
	return bytes / SST_GIN_FULL_PAGE;
}

static double
blocks_for(const SstGinModel *model, const double *counts, Case which, bool whole)
{
	const Pending *pending = &model->pending[which];
	double		pending_bytes = counts[SST_REBUILT_PENDING_BYTES];
	double		nshort = counts[SST_REBUILT_SHORT_TREES];
	double		bytes = counts[SST_REBUILT_BYTES] + pending_bytes * pending->bytes;
	double		short_bytes = 0;
	double		trees;
	double		leaves;

	bytes = Max(bytes, 0);
	if (nshort > 0)
		short_bytes = counts[SST_REBUILT_SHORT_BYTES] * short_trees(counts) / nshort;

	leaves = 1;
	if (bytes + short_bytes > SST_GIN_PAGE_ROOM)
		leaves += Max(bytes - model->last_used, 0) / model->left_fill *
			model->batches[which] + short_bytes / model->short_fill;
	leaves = sst_round_up(leaves - (whole ? 1e-6 : 0), whole);
	trees = expected_tree_pages(counts) * model->tree_factor +
		pending_bytes * pending->tree_pages +
		grown_pages(counts, pending_bytes * pending->tree_bytes);

	return sst_round_up(1 + leaves + inner_pages(model, leaves, whole) + trees -
						(whole ? 1e-6 : 0), whole);
}

static double
gin_blocks(const SstRebuild *rebuild, const double *counts, const SstMeta *meta,
		   bool whole)
{
	return blocks_for(rebuild->u.gin.model, counts, LIKELY, whole);
}

static void
gin_ends(const SstRebuild *rebuild, const double *counts, const SstMeta *meta,
		 double *low, double *high)
{
	*low = *high = gin_blocks(rebuild, counts, meta, true);
	for (int i = 0; i < NCASES; i++)
	{
		double		blocks = blocks_for(rebuild->u.gin.model, counts, i, true);

		*low = Min(*low, blocks);
		*high = Max(*high, blocks);
	}
}

/*
 * Find out how a build in batches differs from one with enough memory.  That goes up
 * and down with the memory, so that some more and some less is tried as well.
 */
static void
build_in_batches(SstRebuild *rebuild, double pending_keys)
{
	static const double margins[] = {0, -1, 1, -0.5, 0.5};
	SstGinModel *model = rebuild->u.gin.model;
	double		memory = maintenance_work_mem * 1024.0;
	double		margin = MEMORY_MARGIN;
	double		nkeys = model->nentries / model->pages_seen + pending_keys;
	SstGinBuild build = {.nkeys = nkeys, .memory = INFINITY};
	SstGinBuilt one = {0};
	SstGinBuilt built;

	for (int i = 0; i < NCASES; i++)
		model->batches[i] = 1;

	/* Workers sort what they find, so that there are no batches. */
	if (rebuild->u.gin.in_parallel)
		return;
	if (pending_keys > MOST_PENDING * nkeys)
	{
		/* They come in another order than those that are known. */
		model->several = pending_keys * MEMORY_OF_KEY > memory;
		if (!model->several)
			return;
		model->batches[LIKELY] = 0.5 / FILL_OF_BATCHES;
		model->batches[LEAST] = 0.5 / MOST_FILL_OF_BATCHES;
	}
	else if (model->fill.npages > 0)
	{
		if (model->pages_seen < 1)
			margin += 1 / sqrt(model->nseen);
		build.ntrees = model->nlast / model->pages_seen;
		if (model->nlast > 0)
			build.tree_tids = (double) model->tree_tids / model->nlast;
		sst_gin_sample_sort(model->sample);
		for (int i = 0; i < (model->all ? 3 : lengthof(margins)); i++)
		{
			double		factor;

			CHECK_FOR_INTERRUPTS();
			build.memory = memory * (1 + margins[i] * margin);
			sst_gin_build(model->sample, &build, &built);
			if (i == 0)
			{
				if (built.part * (1 + margin) < 1)
					return;
				model->several = built.nbatches > 1;
				build.memory = INFINITY;
				sst_gin_build(model->sample, &build, &one);
			}
			factor = (built.pages - 0.5) / (one.pages - 0.5);
			if (i == 0)
				model->batches[LIKELY] = model->batches[LEAST] =
					model->batches[MOST] = factor;
			model->batches[LEAST] = Min(model->batches[LEAST], factor);
			model->batches[MOST] = Max(model->batches[MOST], factor);
		}
	}
	else
		return;

	rebuild->uncertainty += model->pages_seen < 1 ?
		UNCERTAINTY_OF_BATCHES_SAMPLED : UNCERTAINTY_OF_BATCHES;
	if (rebuild->note == NULL)
		rebuild->note = gettext_noop("a build needs more than maintenance_work_mem; the size is for the current setting");
}

/* Take the pending list into account.  Returns new keys of it. */
static double
add_pending(SstRebuild *rebuild)
{
	SstGinModel *model = rebuild->u.gin.model;
	double		entries = (double) model->fill.bytes + model->fill.used;
	double		bytes = 0;
	double		part;
	double		kept;			/* fraction of keys */

	for (int i = 0; i < NCASES; i++)
		sst_gin_expect_pending(model, i, &model->pending[i]);
	for (uint32 i = 0; i < model->nkeys; i++)
		bytes += (double) model->keys[i].npending *
			SST_GIN_ITEM_BYTES(model->keys[i].size);
	kept = model->threshold / (double) PG_UINT64_MAX;
	bytes /= kept;
	if (bytes == 0)
		return 0;

	part = Max(model->pending[LIKELY].bytes, 0) * bytes;
	part /= Max(part + entries, 1);
	rebuild->uncertainty += part *
		(model->all ? UNCERTAINTY_OF_PENDING : UNCERTAINTY_OF_PENDING_SAMPLED);
	if (!model->all && part >= NOTEWORTHY_PART)
		rebuild->note = gettext_noop("keys in the pending list are estimated from a sample; gin_clean_pending_list() moves them to the tree");
	return model->pending[LIKELY].keys * bytes / model->pages_seen;
}

/* Bytes on a leaf page of entries that are as long as the lists of short trees are */
static double
short_fill(const SstGinModel *model)
{
	EntryFill	fill = {0};
	double		bytes = 0;
	int			n = 0;

	for (uint32 i = 0; i < model->nleaves; i++)
	{
		bytes += model->leaves[i].is_short ? model->leaves[i].bytes : 0;
		n += model->leaves[i].is_short;
	}
	if (n == 0)
		return model->left_fill;
	while (fill.npages < 3)
		fill_entry(&fill, SST_GIN_ITEM_BYTES(Min(MIN_KEY + (int) (bytes / n), GinMaxItemSize)), 0);
	return (double) fill.bytes / fill.npages;
}

static void
gin_finish(SstRebuild *rebuild, bool all)
{
	SstGinModel *model = rebuild->u.gin.model;
	const EntryFill *fill = &model->fill;

	model->all = all;
	model->pages_seen = all || model->nblocks <= model->nseen ? 1 :
		Max(model->nseen, 1) / (double) model->nblocks;
	rebuild->uncertainty = all ? UNCERTAINTY : UNCERTAINTY_SAMPLED;
	model->left_fill = fill->npages > 0 ? (double) fill->bytes / fill->npages :
		SST_GIN_PAGE_ROOM / 2.0;
	model->pivot = fill->npages > 0 ? (double) fill->pivot_bytes / fill->npages : 24;
	model->last_used = all && fill->npages > 0 ? fill->used : 0.75 * SST_GIN_PAGE_ROOM;
	model->short_fill = short_fill(model);
	model->tree_factor = tree_factor(model);
	build_in_batches(rebuild, add_pending(rebuild));

	/* Inner pages are too few to be found in a small sample, or not. */
	if (!all && fill->npages > 0)
		rebuild->uncertainty += UNCERTAINTY_OF_INNER *
			sqrt(model->pivot / model->left_fill / Max(model->nseen, 1));
	rebuild->uncertainty = Min(rebuild->uncertainty, MOST_UNCERTAINTY);
}

/*
 * Keys vanish with rows that were deleted.  Of rows that were updated, all keys may
 * stay as long as there are as many TIDs as keys.  Which of the two it is cannot be
 * known, so this takes the middle.
 */
static void
gin_scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	static const SstCount of_lists[] = {
		SST_REBUILT_TREE_BYTES, SST_REBUILT_LAST_BYTES,
		SST_REBUILT_SHORT_BYTES, SST_REBUILT_PENDING_BYTES
	};
	const SstGinModel *model = rebuild->u.gin.model;
	double		keys = counts[SST_REBUILT_PIVOTS];
	double		keys_fraction = 1;
	double		list_bytes = Max(counts[SST_REBUILT_BYTES] -
								 counts[SST_REBUILT_PIVOT_BYTES], 0);
	double		diff = sst_gin_difference(model->difference_bytes, model->tree_tids);
	double		lists = fraction;

	/* Differences grow: 128 times as large ones take a byte more. */
	if (fraction > 0)
		lists = Min(fraction * (1 - log(fraction) / log(128) / diff), 1);
	if (keys > 0)
		keys_fraction = (fraction +
						 Min(counts[SST_REBUILT_ENTRIES] * fraction / keys, 1)) / 2;

	counts[SST_REBUILT_PIVOTS] *= keys_fraction;
	counts[SST_REBUILT_PIVOT_BYTES] *= keys_fraction;
	counts[SST_REBUILT_BYTES] = counts[SST_REBUILT_PIVOT_BYTES] +
		list_bytes * lists;
	counts[SST_REBUILT_ENTRIES] *= fraction;
	for (int i = 0; i < lengthof(of_lists); i++)
		counts[of_lists[i]] *= lists;
}

static void
gin_free(SstRebuild *rebuild)
{
	SstGinModel *model = rebuild->u.gin.model;

	sst_gin_sample_free(model->sample);
	pfree(model->leaves);
	pfree(model->roots);
	pfree(model->keys);
	pfree(model->slots);
	pfree(model);
}

void
sst_rebuild_gin_init(SstRebuild *rebuild, Relation rel)
{
	SstGinModel *model = palloc0(sizeof(SstGinModel));
	TupleDesc	tupdesc = RelationGetDescr(rel);

	sst_rebuild_set_model(rebuild, gin_page, gin_blocks, gin_scale_entries, 0);
	rebuild->finish = gin_finish;
	rebuild->ends = gin_ends;
	rebuild->free = gin_free;
	rebuild->u.gin.model = model;

	model->nblocks = RelationGetNumberOfBlocks(rel);
	model->ncolumns = Min(tupdesc->natts, INDEX_MAX_KEYS);
	for (int i = 0; i < model->ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		model->lengths[i] = att->attbyval ? att->attlen : 0;
	}
	model->any_pending = true;
	model->threshold = PG_UINT64_MAX;
	model->sample = sst_gin_sample_create();
	model->leaves = palloc(MAX_LEAVES * sizeof(PostingLeaf));
	model->roots = palloc(MAX_LEAVES * sizeof(uint32));
	model->keys = palloc(SST_GIN_MAX_KEYS * sizeof(PendingKey));
	model->slots = palloc(SST_GIN_KEY_SLOTS * sizeof(uint32));
	memset(model->slots, 0xff, SST_GIN_KEY_SLOTS * sizeof(uint32));
}
