/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  What the keys and posting lists of a GIN index take in a new one
 *
 * A build collects keys and their TIDs in maintenance_work_mem, and then adds
 * them to the entry tree in the order of keys (access/gin/gininsert.c).  A page
 * that is full is split in the middle (entrySplitPage() in ginentrypage.c), and
 * what comes in order never goes back to the left half: the pages stay half full.
 * Where memory does not suffice, further batches come upon these pages, and
 * fill them up to what splits leave.  How far depends on the order of the keys,
 * and is not known.
 *
 * A list that is too long for a page of the entry tree becomes a posting tree,
 * the pages of which are filled (leafRepackItems() in gindatapage.c), whatever
 * the number of batches.
 *
 * VACUUM takes no key away that has no TID left; a build does not find it.
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
#include "miscadmin.h"
#include "optimizer/paths.h"

#include "rebuild/rebuild.h"

/* A page with line pointers has this many bytes for them and tuples. */
#define PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData - \
				   (int) MAXALIGN(sizeof(GinPageOpaqueData)))

/* Where the data of a posting tree page begins: GinDataPageGetData() */
#define POSTING_DATA_OFFSET ((int) (MAXALIGN(SizeOfPageHeaderData) + \
									MAXALIGN(sizeof(ItemPointerData))))

/*
 * A list on a posting tree page has this many bytes, as long as there are more
 * TIDs (GinPostingListSegmentTargetSize, ...MaxSize in gindatapage.c).
 */
#define LIST_BYTES		256
#define MAX_LIST_BYTES	384
#define LIST_HEADER		((int) offsetof(GinPostingList, bytes))

/* On a full page, half a list is missing. */
#define FULL_POSTING_PAGE ((int) GinDataPageMaxDataSize - LIST_BYTES / 2)

/* Longest list in an entry, next to a key of 24 bytes */
#define MAX_ENTRY_LIST ((int) GinMaxItemSize - 32)

/* What a difference between TIDs takes where it cannot be told */
#define UNKNOWN_DIFFERENCE 2.0

/* Memory for a key and for a TID, about (ginInsertBAEntry() in ginbulk.c) */
#define KEY_MEMORY 120
#define TID_MEMORY 9

/* How full the pages of the entry tree get with several batches, about */
#define FILL_OF_BATCHES 0.61

#define UNCERTAINTY				0.03
#define UNCERTAINTY_OF_BATCHES	0.25

/* Add an entry to the last page of the entry tree. */
static void
add_entry(SstGinRebuild *gin, int size)
{
	int			left = 0;
	int			nleft = 0;

	size = Max(size, BLCKSZ / SST_MAX_GIN_ENTRIES);
	if (gin->used + size > PAGE_ROOM)
	{
		/* Half of all is the left page's, and the tuple that crosses it. */
		while (nleft < gin->nitems && left <= (gin->used + size) / 2)
			left += gin->sizes[nleft++];

		gin->npages++;
		gin->bytes += left;
		gin->used -= left;
		gin->nitems -= nleft;
		memmove(gin->sizes, &gin->sizes[nleft], gin->nitems * sizeof(uint16));
	}
	if (gin->nitems < SST_MAX_GIN_ENTRIES)
	{
		gin->sizes[gin->nitems++] = size;
		gin->used += size;
	}
}

/* An entry leaf page, the line pointers of which are within the page */
static void
entry_page(SstGinRebuild *gin, const PageData *page, SstCounters *counters)
{
	int			nitems = sst_page_items(page);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		int			length = ItemIdGetLength(item);
		int			size = MAXALIGN(length) + (int) sizeof(ItemIdData);
		IndexTupleData tuple;
		int			ntids;
		int			key;

		if (length < (int) sizeof(IndexTupleData))
			continue;
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));

		ntids = GinItemPointerGetOffsetNumber(&tuple.t_tid);
		if (ntids == 0)
			continue;
		if (ntids == GIN_TREE_POSTING)
		{
			key = length;
			counters->n[SST_REBUILT_TREE_POINTERS]++;
		}
		else
		{
			key = Min(GinGetPostingOffset(&tuple), (uint32) length);
			gin->memory += TID_MEMORY * (double) ntids;
			counters->n[SST_REBUILT_ENTRIES] += ntids;
		}

		add_entry(gin, size);
		counters->n[SST_REBUILT_BYTES] += size;
		counters->n[SST_REBUILT_PIVOTS]++;
		counters->n[SST_REBUILT_PIVOT_BYTES] += MAXALIGN(key) + sizeof(ItemIdData);
		gin->memory += KEY_MEMORY + 2 * key;
	}
}

/* What so many TIDs take with the given bytes for each difference */
static double
list_bytes(double ntids, double difference)
{
	double		one = LIST_HEADER + (ntids - 1) * difference;

	if (ntids < 1)
		return 0;
	if (one <= MAX_LIST_BYTES)
		return one;

	return LIST_BYTES * ntids / (1 + (LIST_BYTES - LIST_HEADER) / difference);
}

/* A leaf page of a posting tree.  Its lists end where its data do. */
static void
posting_page(SstGinRebuild *gin, const PageData *page, SstCounters *counters)
{
	const GinPageOpaqueData *opaque = GinPageGetOpaque((Page) page);
	int			ntids = 0;
	double		difference = UNKNOWN_DIFFERENCE;
	uint64		bytes;

	if (opaque->flags & GIN_COMPRESSED)
	{
		int			lower = ((const PageHeaderData *) page)->pd_lower;
		int			pos = POSTING_DATA_OFFSET;
		int			nlists = 0;
		int			all_bytes = 0;

		while (lower - pos >= LIST_HEADER)
		{
			const unsigned char *list = (const unsigned char *) page + pos;
			uint16		nbytes;

			memcpy(&nbytes, list + offsetof(GinPostingList, nbytes),
				   sizeof(nbytes));
			pos += LIST_HEADER + SHORTALIGN(nbytes);
			if (pos > lower)
				break;
			for (int i = 0; i < nbytes; i++)
				ntids += list[LIST_HEADER + i] < 0x80;
			all_bytes += nbytes;
			nlists++;
		}
		if (ntids > 0)
			difference = (double) all_bytes / ntids;
		ntids += nlists;
	}
	else
		ntids = opaque->maxoff;

	counters->n[SST_REBUILT_ENTRIES] += ntids;
	bytes = (uint64) rint(list_bytes(ntids, difference));
	counters->n[SST_REBUILT_TREE_BYTES] += bytes;
	if (opaque->rightlink == InvalidBlockNumber)
	{
		double		in_entry = LIST_HEADER + (ntids - 1) * difference;

		counters->n[SST_REBUILT_TREES]++;
		counters->n[SST_REBUILT_LAST_BYTES] += bytes;
		if (in_entry <= MAX_ENTRY_LIST)
		{
			counters->n[SST_REBUILT_SHORT_TREES]++;
			counters->n[SST_REBUILT_SHORT_BYTES] += bytes;
		}
	}
	gin->memory += TID_MEMORY * (double) ntids;
}

static void
pending_page(SstGinRebuild *gin, const PageData *page, SstCounters *counters)
{
	int			nitems = sst_page_items(page);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		int			length = ItemIdGetLength(PageGetItemId((Page) page, offnum));

		counters->n[SST_REBUILT_PENDING_BYTES] += MAXALIGN(length) +
			sizeof(ItemIdData);
	}
}

/* Will a build by this session write in several batches? */
static bool
needs_batches(double memory)
{
#ifdef SST_HAVE_PARALLEL_GIN_BUILD
	/* Workers sort what they find, each in 32 MB at least. */
	if (max_parallel_maintenance_workers > 0 &&
		maintenance_work_mem >= 2 * 32 * 1024)
		return false;
#endif
	return memory > maintenance_work_mem * 1024.0;
}

static void
gin_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		 const SstKeptItems *kept, SstCounters *counters)
{
	SstGinRebuild *gin = &rebuild->u.gin;
	const GinPageOpaqueData *opaque;

	gin->nseen++;
	if (PageIsNew((Page) page))
		return;

	opaque = GinPageGetOpaque((Page) page);
	if (opaque->flags & (GIN_DELETED | GIN_META))
		return;

	if (opaque->flags & GIN_LIST)
		pending_page(gin, page, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == GIN_LEAF)
		entry_page(gin, page, counters);
	else if ((opaque->flags & (GIN_DATA | GIN_LEAF)) == (GIN_DATA | GIN_LEAF))
		posting_page(gin, page, counters);
	else if (opaque->flags & GIN_DATA &&
			 opaque->rightlink == InvalidBlockNumber)
		counters->n[SST_REBUILT_DEEP_TREES]++;

	gin->batches = needs_batches(gin->memory / gin->nseen * gin->nblocks);
	rebuild->uncertainty = gin->batches ? UNCERTAINTY_OF_BATCHES : UNCERTAINTY;
	rebuild->note = gin->batches ?
		gettext_noop("a build needs more than maintenance_work_mem, and how full that leaves pages depends on the keys") :
		NULL;
}

/* Pages of the entry tree for so many bytes of entries, on all levels */
static double
entry_tree_blocks(const SstGinRebuild *gin, double bytes, double pivot,
				  bool whole)
{
	double		fill = PAGE_ROOM / 2.0;
	double		inner_fill = fill;
	double		blocks;
	double		level;

	if (gin->npages > 0)
		fill = Max((double) gin->bytes / gin->npages, 1);
	if (gin->batches)
		fill = inner_fill = Max(fill, FILL_OF_BATCHES * PAGE_ROOM);

	if (bytes <= PAGE_ROOM)
		return 1;

	/* The last page has what a split has left, and more. */
	level = Max(2, sst_round_up((bytes - PAGE_ROOM) / fill, whole) + 1);
	blocks = level;
	while (level > 1)
	{
		double		level_bytes = level * pivot;
		double		most = sst_round_up(level / 2, whole);

		/* A page has two pivots at least, whatever a damaged one says. */
		if (level_bytes <= PAGE_ROOM)
			level = 1;
		else
			level = Min(Max(2, sst_round_up((level_bytes - PAGE_ROOM) / inner_fill,
											whole) + 1), most);
		blocks += level;
	}

	return blocks;
}

static double
gin_blocks(const SstRebuild *rebuild, const double *counts,
		   const SstMeta *meta, bool whole)
{
	const double page_items = GinDataPageMaxDataSize / sizeof(PostingItem);
	double		entries = counts[SST_REBUILT_PIVOTS];
	double		bytes = counts[SST_REBUILT_BYTES];
	double		trees = counts[SST_REBUILT_TREES];
	double		deep = Min(counts[SST_REBUILT_DEEP_TREES], trees);
	double		flat_fraction = trees > 0 ? (trees - deep) / trees : 0;
	double		in_entries = counts[SST_REBUILT_SHORT_TREES] * flat_fraction;
	double		deep_bytes = counts[SST_REBUILT_TREE_BYTES] -
		counts[SST_REBUILT_LAST_BYTES] * flat_fraction;
	double		pivot = 24;
	double		blocks = 1;

	/*
	 * At least three tuples go on a page (GinMaxItemSize); those of a damaged
	 * page can be longer.
	 */
	if (entries > 0)
		pivot = Min(counts[SST_REBUILT_PIVOT_BYTES] / entries, PAGE_ROOM / 3);

	/*
	 * Of trees with one page, those that are short become part of their
	 * entries.
	 */
	bytes += counts[SST_REBUILT_SHORT_BYTES] * flat_fraction;
	blocks += trees - deep - in_entries;

	/* The last page of a tree is half full. */
	if (deep > 0)
	{
		double		leaves = deep_bytes / FULL_POSTING_PAGE + deep / 2;
		double		inner = sst_round_up(leaves / deep / page_items, whole);

		blocks += leaves + deep * (inner > 1 ? inner + 1 : 1);
	}

	/*
	 * A pending tuple is a key with one TID.  Where keys have many, it adds
	 * to those.
	 */
	if (entries > 0 &&
		counts[SST_POSTING_ITEMS] / entries < 1 && trees == 0)
		bytes += counts[SST_REBUILT_PENDING_BYTES];
	else
		bytes += counts[SST_PENDING_ITEMS] * UNKNOWN_DIFFERENCE;

	return sst_round_up(blocks + entry_tree_blocks(&rebuild->u.gin, bytes, pivot,
												   whole), whole);
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

void
sst_rebuild_gin_init(SstRebuild *rebuild, Relation rel)
{
	sst_rebuild_set_model(rebuild, gin_page, gin_blocks, gin_scale_entries,
						  UNCERTAINTY);
	rebuild->u.gin.nblocks = RelationGetNumberOfBlocks(rel);
}
