/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a GIN index after a rebuild
 *
 * What a new index takes follows from sums over the pages of the old one, so that
 * a sample of pages is enough:
 *
 * - Entries are taken as they are, but for TIDs that are left out.  Items are looked at on the
 *   pages of a sample; what others have follows from the bytes that they use.  How full a build
 *   leaves pages, batches.c finds out from the sampled keys.
 * - Posting trees are full, but for their last page.  Those with inner pages have half a page and a
 *   root more; of others with few TIDs, the list becomes part of an entry.
 * - Keys of the pending list can all be new, or all be in the entry tree, so that what
 *   becomes of it is known in between only.
 *
 * VACUUM does not remove keys without TIDs; a rebuild does.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "am/gin/state.h"

/* What is likely, and what is possible */
typedef enum Case
{
	LIKELY,
	LEAST,
	MOST
} Case;

#define NCASES 3

/*
 * Entries' bytes for each byte of the pending list's tuples, which take 20 bytes at least.
 * If no key is new, a TID takes a byte, of a full page of a posting tree; if all are, a tuple
 * gets a list of 8 bytes.  What is likely is between, and bench/bloat shows how wrong that is.
 */
static const double pending_factors[NCASES] = {0.6, 0.04, 1.4};

/* From this part of the new entries on, the pending list is worth a note. */
#define NOTEWORTHY_PART 0.1

/*
 * By which part the memory that a build takes may be wrong; and that of keys with many TIDs,
 * if these are as many for each: their arrays are full, or have just become twice as large
 */
#define MEMORY_MARGIN			0.03
#define MEMORY_MARGIN_OF_TREES	0.33

/* With more batches, it makes less difference how many: one build is enough. */
#define MANY_BATCHES			2

/* Memory that a build takes for a key of the pending list, and for a TID of a key with many */
#define MEMORY_OF_KEY			130.0
#define MEMORY_OF_TID			9.0

/* By which part of the leaf pages of entries the model can be wrong */
#define UNCERTAINTY				0.025
#define UNCERTAINTY_OF_BATCHES	0.11
#define UNCERTAINTY_OF_INNER	0.5

/* Blocks of which leaf pages are kept, so that each posting tree is known: 0.3 MB */
#define MAX_LEAVES		32768

/* By which part entries with lists of short trees, and the bytes of known and of other trees, can be wrong */
#define UNCERTAINTY_OF_SHORT	0.03
#define UNCERTAINTY_OF_KNOWN	0.003
#define UNCERTAINTY_OF_TREES	0.03

/* The target size of lists on a posting tree page, and a full page of these (access/gin/gindatapage.c) */
#define TARGET_LIST		256
#define FULL_PAGE		((double) (GinDataPageMaxDataSize / TARGET_LIST * TARGET_LIST))

/* The first page of a tree has larger lists, which have more TIDs; and an only one a short list at its end. */
#define FIRST_PAGE		8130.0
#define ONLY_PAGE		8212.0

/* Items of an inner page of a posting tree */
#define INNER_ITEMS		((double) (GinDataPageMaxDataSize / sizeof(PostingItem)))

/* A tree's pages besides full ones: half a page, and a root */
#define MORE_THAN_FULL			1.5

/* A tuple that begins within its page */
typedef struct EntryTuple
{
	const char *data;
	int			length;
	IndexTupleData header;
} EntryTuple;

/* A leaf page of the entry tree whose tuples were looked at */
typedef struct EntryPage
{
	uint32		used;			/* by all tuples and line pointers */
	uint32		bytes;			/* by those that a build makes, too */
	uint32		ntids;
	uint32		ndead;			/* TIDs that are left out */
	uint32		npivots;
	uint32		pivot_bytes;
} EntryPage;

/* A leaf page of a posting tree */
typedef struct Leaf
{
	BlockNumber next;			/* to the right; 0: the block has none */
	uint16		bytes;			/* that its lists take in a new tree, or entry */
	bool		is_short;		/* lists may become part of an entry */
	bool		linked;			/* another one is to its left */
} Leaf;

typedef struct SstGinModel
{
	SstRebuild	base;
	SstParallelBuild parallel;	/* will workers build the new index? */
	bool		several;		/* columns */
	bool		by_value;		/* keys of all of them */
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */
	SstKeys		keys;			/* without those of posting trees */

	SstGinSample *sample;
	EntryPage	looked;			/* the last one */
	uint32		nskipped;		/* since the last one */
	double		entry_bytes;	/* counted for all */
	double		doubt;			/* variance of these, for those skipped */

	/* Posting trees */
	uint64		tree_tids;
	uint64		difference_bytes;	/* between these */
	uint64		ntree_keys;		/* that point to them */
	double		tree_key_bytes;
	Leaf	   *leaves;			/* of the first blocks */
	BlockNumber nleaves;
	float	   *trees;			/* bytes of each tree, if all pages are known */
	uint32		ntrees;

	/* After the last page */
	bool		all;			/* pages were seen */
	bool		knows_trees;	/* all of them are known */
	double		tree_bytes;		/* of all */
	double		last_used;		/* bytes on the last leaf page */
	double		left_fill;		/* bytes on the others, with one batch */
	double		pivot;			/* bytes on inner pages for each page */
	double		short_fill[NCASES]; /* with lists of short posting trees */
	double		short_part;		/* of the short pages that are trees of their
								 * own */
	double		batches[NCASES];	/* pages with all batches, for those with
									 * one */
	double		uncertainty;	/* part of the leaf pages */
	bool		certain;		/* all was read: one batch, and no pending
								 * list */
} SstGinModel;

/* Bytes of one list with so many differences' bytes */
static inline double
list_size(double bytes)
{
	return SST_GIN_LIST_HEADER + 2 * ceil(floor(bytes) / 2);
}

/* Average bytes of a difference */
static inline double
average_difference(double bytes, double ntids)
{
	return ntids > 0 ? Max(bytes / ntids, 1) : 1;
}

/* The least that a tuple has: a key of which hardly anything is there */
#define MIN_KEY			((int) MAXALIGN(sizeof(IndexTupleData) + 1))

/* ---------------------------------------------------------------- entries */

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

static inline bool
is_left_out(const SstGinModel *model, uint64 tid)
{
	return model->base.dead_tids != NULL &&
		sst_dead_tids_contain(model->base.dead_tids, tid >> SST_GIN_OFFSET_BITS,
							  tid & ((1 << SST_GIN_OFFSET_BITS) - 1));
}

/* Take a TID, or leave it out. */
static inline void
take_tid(const SstGinModel *model, uint64 tid, Tids *tids)
{
	if (is_left_out(model, tid))
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
}

/*
 * Read a posting list that has up to size bytes, which can be anything.  Returns the
 * bytes that it takes, or 0 if it has not that many.
 */
static int
read_list(const SstGinModel *model, const char *data, int size, Tids *tids)
{
	SstGinList	list;

	if (!sst_gin_list_begin(&list, data, size))
		return 0;

	/* To count differences, their last bytes are enough. */
	if (model->base.dead_tids == NULL)
	{
		tids->n += sst_gin_list_ntids(&list);
		tids->nlists++;
		tids->bytes += list.nbytes;
		return list.size;
	}

	tids->any = false;
	do
		take_tid(model, list.tid, tids);
	while (sst_gin_list_next(&list));
	return list.size;
}

/* Read an array of TIDs (before 9.4). */
static void
read_array(const SstGinModel *model, const char *array, int ntids, Tids *tids)
{
	tids->any = false;
	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid;

		memcpy(&tid, array + i * sizeof(tid), sizeof(tid));
		take_tid(model, sst_gin_tid_number(&tid), tids);
	}
}

/*
 * Memory that a build takes for a key by itself: about what its tuple has of it, or without compression;
 * nothing if it is passed by value.  With several columns, the tuple has the number of the column first.
 */
static int
datum_size(const SstGinModel *model, const EntryTuple *item, int key_size)
{
	int			pos = sizeof(IndexTupleData) + (model->several ? sizeof(uint16) : 0);
	uint32		words[2];

	if (model->by_value || (item->header.t_info & INDEX_NULL_MASK) != 0)
		return 0;
	if ((item->header.t_info & INDEX_VAR_MASK) != 0 && !VARATT_IS_1B(item->data + pos) &&
		INTALIGN(pos) + (int) sizeof(words) <= key_size)
	{
		memcpy(words, item->data + INTALIGN(pos), sizeof(words));
		if (VARATT_IS_4B_C(words))
			return Min(VARDATA_COMPRESSED_GET_EXTSIZE(words), BLCKSZ);
	}
	return Max(key_size - pos, 0);
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
	if (item->length < MIN_KEY || *left < 0)
		return false;
	memcpy(&item->header, item->data, sizeof(item->header));
	return true;
}

/* Read the posting list of an entry, behind its key, and leave it at its first TID in a build. */
static void
read_entry(const SstGinModel *model, const EntryTuple *item, int key_size,
		   SstGinList *list, Tids *tids)
{
	const char *data = item->data + key_size;
	int			size = item->length - key_size;
	uint32		ntids = GinItemPointerGetOffsetNumber(&item->header.t_tid);

	if (!GinItupIsCompressed(&item->header))
		read_array(model, data, Min(ntids, size / sizeof(ItemPointerData)), tids);
	else if (sst_gin_list_begin(list, data, size))
	{
		if (model->base.dead_tids != NULL)
			(void) read_list(model, data, size, tids);
		else
		{
			/* A tuple says how many they are. */
			tids->n = ntids;
			tids->bytes = list->nbytes;
		}
		while (is_left_out(model, list->tid) && sst_gin_list_next(list))
			 /* to the first one that comes in a build */ ;
	}
}

/* Count what an entry leaf page has by its bytes: it is like the last one that was looked at. */
static void
count_entries(SstGinModel *model, uint32 used, SstCounters *counters)
{
	const EntryPage *like = &model->looked;
	double		part = (double) used / Max(like->used, 1);

	model->entry_bytes += part * like->bytes;
	counters->n[SST_REBUILT_ENTRIES] += (uint64) rint(part * like->ntids);
	counters->n[SST_REBUILT_DEAD_ENTRIES] += (uint64) rint(part * like->ndead);
	counters->n[SST_REBUILT_BYTES] += (uint64) rint(part * like->bytes);
	counters->n[SST_REBUILT_PIVOTS] += (uint64) rint(part * like->npivots);
	counters->n[SST_REBUILT_PIVOT_BYTES] += (uint64) rint(part * like->pivot_bytes);
}

/* An entry leaf page, the line pointers of which are within the page */
static void
entry_page(SstGinModel *model, const PageData *page, BlockNumber blkno,
		   SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	bool		sampled = sst_gin_sample_page(model->sample, blkno);
	int			nitems = sst_page_items(page);
	int			left = BLCKSZ;
	EntryPage	looked = {.used = header->pd_special - header->pd_upper +
	nitems * sizeof(ItemIdData)};
	EntryTuple	item;

	/* The page of the sample that came before stands for this one. */
	if (!sampled && model->looked.used > 0)
	{
		model->nskipped++;
		count_entries(model, looked.used, counters);
		return;
	}

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		uint32		ntids;
		int			key_size;
		int			size;
		Tids		tids = {0};
		SstGinList	list = {0};

		if (!get_item(page, offnum, &left, &item))
			continue;
		ntids = GinItemPointerGetOffsetNumber(&item.header.t_tid);
		if (ntids == 0)
			continue;
		if (ntids == GIN_TREE_POSTING)
		{
			size = key_size = item.length;
			model->ntree_keys++;
			model->tree_key_bytes += key_size;
		}
		else
		{
			key_size = (int) Min(GinGetPostingOffset(&item.header), (uint32) item.length);
			key_size = Max(key_size, (int) sizeof(IndexTupleData));
			read_entry(model, &item, key_size, &list, &tids);
			looked.ndead += tids.ndead;
			if (tids.n == 0)
				continue;
			looked.ntids += tids.n;
			size = SHORTALIGN(key_size) + SST_GIN_LIST_HEADER + SHORTALIGN(tids.bytes);
			sst_keys_add(&model->keys, 1, tids.n);
		}
		looked.npivots++;
		looked.pivot_bytes += SST_GIN_ITEM_BYTES(key_size);
		looked.bytes += SST_GIN_ITEM_BYTES(Min(size, GinMaxItemSize));
		if (sampled)
			sst_gin_sample_key(model->sample, key_size, datum_size(model, &item, key_size),
							   &list, tids.n, tids.bytes);
	}
	sst_add_doubt(&model->doubt, looked.bytes - (double) model->looked.bytes *
				  looked.used / Max(model->looked.used, 1), model->nskipped);
	model->nskipped = 0;
	model->looked = looked;
	count_entries(model, looked.used, counters);
}

/* A page of the pending list, which has a tuple for each key of a row */
static void
pending_page(SstGinModel *model, const PageData *page,
			 SstCounters *counters)
{
	int			nitems = sst_page_items(page);
	int			left = BLCKSZ;
	EntryTuple	item;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		if (!get_item(page, offnum, &left, &item))
			continue;
		if (sst_rebuild_leaves_out(&model->base, &item.header.t_tid))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
			continue;
		}
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_PENDING_BYTES] += SST_GIN_ITEM_BYTES(item.length);
	}
}

/* ---------------------------------------------------------- posting trees */

/* Bytes of a key of a posting tree, on average */
static int
tree_key_size(const SstGinModel *model)
{
	return model->ntree_keys > 0 ?
		(int) (model->tree_key_bytes / model->ntree_keys) : MIN_KEY;
}

/* Does a list become part of its entry?  (GinFormTuple()) */
static bool
list_fits(const SstGinModel *model, double list_bytes)
{
	return MAXALIGN(SHORTALIGN(tree_key_size(model))) + list_bytes <=
		MAXALIGN_DOWN(GinMaxItemSize);
}

/* Read the TIDs of a leaf page of a posting tree.  Its lists end where its data do. */
static void
read_posting_page(const SstGinModel *model, const PageData *page, Tids *tids)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	int			lower = ((const PageHeaderData *) page)->pd_lower;
	int			pos = SST_GIN_POSTING_OFFSET;
	int			size;

	if ((opaque->flags & GIN_COMPRESSED) == 0)
		read_array(model, page + pos, opaque->maxoff, tids);
	else
	{
		while (pos < lower &&
			   (size = read_list(model, page + pos, lower - pos, tids)) > 0)
			pos += size;
	}
}

static void
posting_page(SstGinModel *model, const PageData *page, BlockNumber blkno,
			 SstCounters *counters)
{
	BlockNumber next = GinPageGetOpaque((Page) page)->rightlink;
	bool		last = next == InvalidBlockNumber;
	bool		is_short;
	Tids		tids = {0};
	double		difference;
	double		one_list;		/* bytes, if it has all TIDs */
	uint32		bytes;			/* of a new tree's lists, all of the target
								 * size */

	read_posting_page(model, page, &tids);
	difference = average_difference(tids.bytes, (double) tids.n - tids.nlists);
	one_list = list_size((Max(tids.n, 1) - 1) * difference);
	bytes = (uint32) rint(TARGET_LIST * tids.n /
						  (1 + (TARGET_LIST - SST_GIN_LIST_HEADER) / difference));
	is_short = last && list_fits(model, one_list);
	counters->n[SST_REBUILT_ENTRIES] += tids.n;
	counters->n[SST_REBUILT_DEAD_ENTRIES] += tids.ndead;
	counters->n[SST_REBUILT_TREE_BYTES] += bytes;
	model->tree_tids += tids.n;
	model->difference_bytes += tids.bytes;
	if (blkno < model->nleaves)
	{
		model->leaves[blkno].next = next;
		model->leaves[blkno].bytes = Min(is_short ? one_list : bytes, PG_UINT16_MAX);
		model->leaves[blkno].is_short = is_short;
	}
	if (next < model->nleaves)
		model->leaves[next].linked = true;
	if (!last)
		return;

	counters->n[SST_REBUILT_TREES]++;
	counters->n[SST_REBUILT_LAST_BYTES] += bytes;
	if (is_short)
	{
		counters->n[SST_REBUILT_SHORT_TREES]++;
		counters->n[SST_REBUILT_SHORT_BYTES] += (uint64) one_list;
	}
}

/* An inner page of a posting tree, whose items are within the page */
static void
posting_inner_page(const PageData *page, SstCounters *counters)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);

	if (opaque->rightlink == InvalidBlockNumber && opaque->maxoff > 0)
		counters->n[SST_REBUILT_DEEP_TREES]++;
}

/* ---------------------------------------------------------------- the size */

static void
gin_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		 const SstItemList *kept, SstCounters *counters)
{
	SstGinModel *model = (SstGinModel *) rebuild;
	const GinPageOpaqueData *opaque;

	model->nseen++;
	if (PageIsNew((Page) page))
		return;

	opaque = GinPageGetOpaque((Page) page);
	if (opaque->flags & (GIN_DELETED | GIN_META))
		return;
	if (opaque->flags & GIN_LIST)
		pending_page(model, page, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == GIN_LEAF)
		entry_page(model, page, blkno, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == (GIN_DATA | GIN_LEAF))
		posting_page(model, page, blkno, counters);
	else if (opaque->flags & GIN_DATA)
		posting_inner_page(page, counters);
}

/* Pages of a level above the leaf level, and all above it, for so many pages below */
static double
inner_pages(const SstGinModel *model, double level, bool whole)
{
	double		pivot = model->pivot;
	double		fill = SST_GIN_PAGE_ROOM / 2.0 + 0.75 * pivot;
	double		pages = 0;

	while (level > 1)
	{
		double		bytes = (level - 1) * pivot + SST_GIN_ITEM_BYTES(MIN_KEY);
		double		most = sst_round_up(level / 2, whole);

		/* A page has two pivots at least, whatever a damaged one says. */
		level = bytes <= SST_GIN_PAGE_ROOM ? 1 :
			Min(1 + sst_round_up((bytes - SST_GIN_PAGE_ROOM) / fill, whole), most);
		pages += level;
	}
	return pages;
}

/*
 * Find out how many bytes each posting tree has, when all pages are known; which part of
 * the short pages is a tree of its own, and so becomes part of an entry; and the number and the bytes
 * of all trees that do.  In damaged trees no more links are followed than there are.
 */
static void
find_trees(SstGinModel *model, double *nshort, double *short_bytes)
{
	uint32		nfollowed = 0;
	double		all_short = 0;
	double		own = 0;
	double		larger = 0;		/* of several pages, which become part of an
								 * entry as well */

	*nshort = 0;

	for (BlockNumber i = 0; i < model->nleaves; i++)
	{
		const Leaf *leaf = &model->leaves[i];
		double		bytes = leaf->bytes;

		if (leaf->is_short)
			all_short += bytes;
		if (leaf->next == 0 || leaf->linked)
			continue;
		if (leaf->is_short)
		{
			own += bytes;
			(*nshort)++;
			continue;
		}

		/* What is on one page fits on one again. */
		if (leaf->next == InvalidBlockNumber)
			bytes = Min(bytes, ONLY_PAGE / (1 + UNCERTAINTY_OF_KNOWN));
		while (leaf->next < model->nleaves && model->leaves[leaf->next].next != 0 &&
			   nfollowed++ < model->nleaves)
		{
			leaf = &model->leaves[leaf->next];
			bytes += leaf->bytes;
		}
		model->trees[model->ntrees++] = bytes;
		if (list_fits(model, bytes))
		{
			larger += bytes;
			(*nshort)++;
		}
	}
	model->short_part = own / Max(all_short, 1);
	*short_bytes = own + larger;
}

/*
 * Find out how full entries with the lists of so many short trees leave leaf pages, and by which part
 * that may be wrong.  A page that one entry more would not fit on is split in half; it depends on which
 * of an even number of entries are a little longer whether one more than half of them stays.
 */
static void
find_short_fill(SstGinModel *model, double nshort, double bytes)
{
	double		fill = model->left_fill;
	double		uncertainty = UNCERTAINTY_OF_SHORT;

	if (nshort > 0)
	{
		double		size = Min(tree_key_size(model) + bytes / nshort, GinMaxItemSize);
		int			most;

		size = SST_GIN_ITEM_BYTES((int) size);
		most = (int) (SST_GIN_PAGE_ROOM / size);
		fill = size * (most + 2) / 2;
		if (most % 2 == 1)
			uncertainty += 1.0 / (most + 2);
	}
	model->short_fill[LIKELY] = fill;
	model->short_fill[LEAST] = fill / (1 - uncertainty);
	model->short_fill[MOST] = fill / (1 + uncertainty);
}

/* Pages of a known posting tree with so many bytes, or of the entry that its list becomes part of */
static double
pages_of_tree(const SstGinModel *model, double bytes, Case which)
{
	double		level = 1 + ceil((bytes - FIRST_PAGE) / FULL_PAGE);
	double		pages = level;

	if (list_fits(model, bytes))
		return bytes / model->short_fill[which];
	if (bytes <= ONLY_PAGE)
		return 1;
	for (; level > 1; pages += level)
		level = ceil(level / INNER_ITEMS);
	return pages;
}

/* Trees with inner pages, of those with these counts.  One at least has a page that is not the last. */
static double
deep_trees(const double *counts)
{
	double		deep = counts[SST_REBUILT_DEEP_TREES];

	if (deep <= 0 && counts[SST_REBUILT_TREE_BYTES] <= counts[SST_REBUILT_LAST_BYTES])
		return 0;

	/* If more roots than last pages were found, all trees have both. */
	return Max(Min(deep, (deep + counts[SST_REBUILT_TREES]) / 2), 1);
}

/*
 * Pages that posting trees will have, if each has so many bytes for one.  Those that become
 * part of their entries have none.
 */
static double
tree_pages(const SstGinModel *model, const double *counts, double part, Case which)
{
	double		trees = counts[SST_REBUILT_TREES];
	double		bytes = counts[SST_REBUILT_TREE_BYTES];
	double		last_bytes = counts[SST_REBUILT_LAST_BYTES];
	double		deep = deep_trees(counts);
	double		pages = 0;
	double		full;			/* pages for each tree with inner pages */

	if (bytes <= 0)
		return 0;
	if (model->knows_trees)
	{
		part *= bytes / Max(model->tree_bytes, 1);
		for (uint32 i = 0; i < model->ntrees; i++)
			pages += pages_of_tree(model, part * model->trees[i], which);
		return pages;
	}

	pages = Max(trees - deep - counts[SST_REBUILT_SHORT_TREES] * model->short_part, 0);
	if (deep <= 0)
		return pages;

	/*
	 * Their last pages are like others.  Half a page and a root more, if they
	 * are not short.
	 */
	bytes = part * (Max(bytes - last_bytes, 0) + last_bytes * Min(deep / Max(trees, 1), 1));
	full = bytes / FULL_PAGE * (1 + 1 / INNER_ITEMS) / deep;
	return pages + deep * (full < 0.5 ? 1 : full + Min(full, MORE_THAN_FULL));
}

/* Widen an estimate by what the pages of posting trees can differ from those that are expected. */
static void
widen_by_trees(const SstGinModel *model, const double *counts, SstEstimate *blocks)
{
	double		part = model->knows_trees ? UNCERTAINTY_OF_KNOWN : UNCERTAINTY_OF_TREES;
	double		middle_pages = counts[SST_POSTING_LEAF_PAGES] - counts[SST_REBUILT_TREES];
	double		middle_bytes = counts[SST_REBUILT_TREE_BYTES] - counts[SST_REBUILT_LAST_BYTES];
	double		pages = tree_pages(model, counts, 1, LIKELY);
	double		error = 0;

	/* The emptier pages have become, the less is known of where a tree ends. */
	if (!model->knows_trees)
		error = deep_trees(counts) *
			Max(2.5 - 2 * middle_bytes / Max(middle_pages * FULL_PAGE, 1), 0.5);
	sst_widen(blocks, hypot(pages - tree_pages(model, counts, 1 - part, LIKELY), error),
			  hypot(tree_pages(model, counts, 1 + part, LIKELY) - pages, error));
}

static double
blocks_for(const SstGinModel *model, const double *counts, Case which, bool whole)
{
	static const double signs[NCASES] = {0, -1, 1};
	const double rounding = whole ? 1e-6 : 0;
	double		pending = counts[SST_REBUILT_PENDING_BYTES] * pending_factors[which];
	double		bytes = counts[SST_REBUILT_BYTES] + (which == LEAST ? 0 : pending);
	double		own_short = counts[SST_REBUILT_SHORT_BYTES] * model->short_part;
	double		short_bytes = own_short;
	double		leaves = 1;
	double		error;
	double		trees;

	if (bytes + short_bytes > SST_GIN_PAGE_ROOM)
	{
		/* Long lists come to what is on the last page, too. */
		double		more = bytes - model->last_used;

		leaves += Max(more, 0) / model->left_fill;
		short_bytes = Max(short_bytes + Min(more, 0), 0);
	}
	else
		short_bytes = 0;
	error = hypot((leaves - 1) * model->batches[LIKELY] * model->uncertainty,
				  leaves * (model->batches[which] - model->batches[LIKELY]));
	leaves = leaves * model->batches[LIKELY] + signs[which] * error +
		short_bytes / model->short_fill[which];
	leaves = Max(sst_round_up(leaves - rounding, whole), 1);
	trees = tree_pages(model, counts, 1, which);

	/*
	 * In the best case, the pending list fills pages of posting trees that
	 * have room.
	 */
	if (which == LEAST && pending > 0)
		trees = Max(trees, (counts[SST_REBUILT_TREE_BYTES] - own_short + pending) / ONLY_PAGE);

	return sst_round_up(1 + leaves + inner_pages(model, leaves, whole) + trees - rounding, whole);
}

static double
gin_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	return blocks_for((const SstGinModel *) rebuild, counts, LIKELY, whole);
}

/* Take a case into account, the likely one first. */
static void
take_case(double *cases, bool likely, double value)
{
	if (likely)
		cases[LIKELY] = cases[LEAST] = cases[MOST] = value;
	cases[LEAST] = Min(cases[LEAST], value);
	cases[MOST] = Max(cases[MOST], value);
}

/*
 * Find out how a build in batches differs from one with enough memory.  That goes up
 * and down with the memory, so that some more and some less is tried as well.  False if
 * there is memory enough.
 */
static bool
build_in_batches(SstGinModel *model, SstGinBuild *build, const SstGinBuilt *one,
				 double pending_keys)
{
	static const double margins[] = {0, -1, 1, -0.5, 0.5};
	double		memory = maintenance_work_mem * 1024.0;
	double		tree_memory = MEMORY_OF_TID * build->ntrees * build->tree_tids;
	SstGinBuilt few;			/* keys in one batch */
	double		margin = MEMORY_MARGIN +
		MEMORY_MARGIN_OF_TREES * Min(1, tree_memory / Max(one->memory, 1));

	take_case(model->batches, true, 1);
	if (!model->all)
		margin = Min(margin + 1 / sqrt(model->nseen), 0.9);

	/* Workers sort what they find. */
	if (model->parallel == SST_PARALLEL_YES ||
		(one->memory + pending_keys * MEMORY_OF_KEY) * (1 + margin) < memory)
		return false;

	sst_gin_sample_for_batches(model->sample, model->nblocks);
	sst_gin_build(model->sample, build, &few);
	for (int i = 0; i < (model->all ? 3 : lengthof(margins)); i++)
	{
		SstGinBuilt built;

		build->memory = memory * (1 + margins[i] * margin);
		build->part = build->memory / one->memory;
		sst_gin_build(model->sample, build, &built);
		take_case(model->batches, i == 0, built.pages / few.pages);
		if (built.batches > MANY_BATCHES)
			break;
	}

	/* Functions in expressions may be parallel unsafe. */
	if (model->parallel == SST_PARALLEL_PERHAPS)
		take_case(model->batches, false, 1);

	if (model->base.note == NULL)
		model->base.note = gettext_noop("a build needs more than maintenance_work_mem; the size is for the current setting");
	return true;
}

static void
gin_finish(SstGinModel *model, const double *counts, bool all)
{
	double		pending_keys = pending_factors[LIKELY] * counts[SST_PENDING_ITEMS];
	double		trees = counts[SST_REBUILT_TREES];
	double		nshort = counts[SST_REBUILT_SHORT_TREES];
	double		short_bytes = counts[SST_REBUILT_SHORT_BYTES];
	SstGinBuild build = {.nkeys = counts[SST_REBUILT_PIVOTS], .ntrees = trees,
		.tree_tids = counts[SST_POSTING_ITEMS] / Max(trees, 1),
		.difference = average_difference(model->difference_bytes, model->tree_tids),
	.memory = INFINITY, .part = 1, .pause = model->base.pause};
	SstGinBuilt one;
	bool		has_all = sst_gin_sample_has_all(model->sample);

	model->knows_trees = all && model->nseen <= model->nleaves;
	sst_gin_build(model->sample, &build, &one);
	model->all = all;
	model->left_fill = one.pages > 1 ? one.fill : SST_GIN_PAGE_ROOM / 2.0;
	model->pivot = one.pages > 1 ? one.pivot : 24;
	/* What short trees come to, the last page is not known to have. */
	model->last_used = all && has_all && one.pages > 1 ? one.last :
		0.75 * SST_GIN_PAGE_ROOM;
	model->tree_bytes = counts[SST_REBUILT_TREE_BYTES];
	model->short_part = 1;
	if (model->knows_trees)
		find_trees(model, &nshort, &short_bytes);
	find_short_fill(model, nshort, short_bytes);
	build.nkeys += pending_keys;
	model->uncertainty = UNCERTAINTY;
	if (build_in_batches(model, &build, &one, pending_keys))
		model->uncertainty = UNCERTAINTY_OF_BATCHES;
	else
		model->certain = all && has_all && pending_keys == 0;
	model->uncertainty = hypot(model->uncertainty,
							   sst_doubt_part(model->doubt, model->entry_bytes));

	/* Inner pages are too few to be found in a small sample, or not. */
	if (!all && one.pages > 1)
		model->uncertainty += UNCERTAINTY_OF_INNER *
			sqrt(model->pivot / model->left_fill / Max(model->nseen, 1));
}

/* Leave these parts of the keys, and of what lists take besides their headers. */
static void
leave_parts(double *counts, double keys, double lists)
{
	static const SstCount of_lists[] = {
		SST_REBUILT_TREE_BYTES, SST_REBUILT_LAST_BYTES,
		SST_REBUILT_SHORT_BYTES, SST_REBUILT_PENDING_BYTES
	};
	double		bytes = Max(counts[SST_REBUILT_BYTES] - counts[SST_REBUILT_PIVOT_BYTES], 0);
	double		headers = Min(counts[SST_REBUILT_PIVOTS] * SST_GIN_LIST_HEADER, bytes);

	counts[SST_REBUILT_PIVOTS] *= keys;
	counts[SST_REBUILT_PIVOT_BYTES] *= keys;
	counts[SST_REBUILT_BYTES] = counts[SST_REBUILT_PIVOT_BYTES] + headers * keys +
		(bytes - headers) * lists;
	for (int i = 0; i < lengthof(of_lists); i++)
		counts[of_lists[i]] *= lists;
}

/*
 * Keys vanish with rows that were deleted.  Of rows that were updated, all keys may
 * stay as long as there are as many TIDs as keys.
 */
static void
gin_scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	const SstGinModel *model = (const SstGinModel *) rebuild;
	double		diff = average_difference(model->difference_bytes, model->tree_tids);
	double		keys = 1;
	double		lists = fraction;

	/*
	 * With fewer TIDs, the differences between them are larger: each factor
	 * of 128 adds a byte.
	 */
	if (fraction > 0)
		lists = Min(fraction * (1 - log(fraction) / log(128) / diff), 1);
	if (counts[SST_REBUILT_PIVOTS] > 0)
	{
		keys = Min(counts[SST_REBUILT_ENTRIES] * fraction / counts[SST_REBUILT_PIVOTS], 1);
		keys += rebuild->deleted_part *
			(Min(sst_keys_left(&model->keys, fraction), keys) - keys);
	}
	counts[SST_REBUILT_ENTRIES] *= fraction;
	leave_parts(counts, keys, lists);
}

/* The least blocks with this fraction of the entries, if others have keys of their own */
static double
least_blocks(const SstGinModel *model, const SstPageSample *sample, double fraction)
{
	double		entries = sample->totals[SST_REBUILT_ENTRIES];
	double		keys = sample->totals[SST_REBUILT_PIVOTS];
	double		gone = Min(entries * (1 - fraction), keys);
	double		counts[lengthof(sample->totals)];

	memcpy(counts, sample->totals, sizeof(counts));
	leave_parts(counts, 1 - gone / Max(keys, 1), entries * fraction / Max(entries - gone, 1));
	return blocks_for(model, counts, LEAST, true);
}

static void
gin_predict(SstRebuild *rebuild, const SstPageSample *sample,
			const SstEstimate *kept, SstEstimate *blocks)
{
	SstGinModel *model = (SstGinModel *) rebuild;
	const double *counts = sample->totals;
	double		ends[NCASES] = {0};
	bool		many_pending;

	gin_finish(model, counts, sst_sample_is_exact(sample));
	rebuild->certain = model->certain;
	many_pending = counts[SST_REBUILT_PENDING_BYTES] > NOTEWORTHY_PART *
		(counts[SST_REBUILT_BYTES] + counts[SST_REBUILT_TREE_BYTES]);
	if (many_pending)
		rebuild->note = gettext_noop("the size depends on how many keys of the pending list are new; gin_clean_pending_list() moves them to the tree");
	*blocks = sst_predict_blocks(rebuild, sample);
	widen_by_trees(model, counts, blocks);
	for (int i = 0; i < NCASES; i++)
		take_case(ends, i == LIKELY, blocks_for(model, counts, i, true));
	sst_widen(blocks, Max(blocks->value - ends[LEAST], 0), Max(ends[MOST] - blocks->value, 0));

	/*
	 * That none or all keys of a long pending list are new is no error of a
	 * part.
	 */
	if (many_pending)
	{
		blocks->low = Min(blocks->low, blocks_for(model, counts, LEAST, false));
		blocks->high = Max(blocks->high, ends[MOST]);
	}
	sst_leave_out(rebuild, sample, kept, 0, blocks);
	if (kept->low < 1)
		blocks->low = Min(blocks->low, least_blocks(model, sample, kept->low));
}

static SstRebuild *
gin_begin(Relation rel)
{
	SstGinModel *model = palloc0(sizeof(SstGinModel));
	TupleDesc	tupdesc = RelationGetDescr(rel);

#ifdef SST_HAVE_PARALLEL_GIN_BUILD
	SstTableFacts table;

	(void) sst_get_table_facts(rel, &table);
	model->parallel = table.parallel;
#endif
	model->nblocks = RelationGetNumberOfBlocks(rel);
	model->several = tupdesc->natts > 1;
	model->by_value = true;
	for (int i = 0; i < tupdesc->natts; i++)
		model->by_value &= TupleDescAttr(tupdesc, i)->attbyval;
	model->sample = sst_gin_sample_create(model->nblocks);
	model->nleaves = Min(model->nblocks, MAX_LEAVES);
	model->leaves = palloc0(Max(model->nleaves, 1) * sizeof(Leaf));
	model->trees = palloc(Max(model->nleaves, 1) * sizeof(float));
	return &model->base;
}

const SstModel sst_gin_model = {gin_begin, gin_page, gin_predict, gin_blocks,
gin_scale_entries};
