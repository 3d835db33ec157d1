/*-------------------------------------------------------------------------
 *
 * gin_posting.c
 *	  Posting lists and posting trees of a GIN index, old and new
 *
 * A list has its first TID as it is, and then the differences to the next ones,
 * seven bits a byte (ginpostinglist.c).  A build makes a list the tail of its
 * entry, or if it is too long for that, a tree: the first leaf page has lists of
 * the largest size, those appended to it lists of the target size; all are full
 * (createPostingTree() and leafRepackItems() in gindatapage.c).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_posting.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "rebuild/gin_entry_tree.h"
#include "rebuild/gin_keys.h"
#include "rebuild/gin_posting.h"

/* Items of an inner page */
#define INNER_ITEMS ((int) (GinDataPageMaxDataSize / sizeof(PostingItem)))

/* Most pages of posting trees that are kept: 2 MB */
#define MAX_POSTING_PAGES (64 * 1024)

/* Roots that say how large trees are */
#define MIN_ROOTS 3

/* More levels than a posting tree can have */
#define MAX_POSTING_LEVELS 16

/* Bytes of a difference between TIDs */
int
sst_gin_difference_bytes(uint64 difference)
{
	int			nbytes = 1;

	while (difference > 0x7f)
	{
		difference >>= 7;
		nbytes++;
	}
	return nbytes;
}

/*
 * Bytes of an average difference between so many TIDs, which lie at random in so
 * many blocks: one as a rule within a block, two up to 2^14, and so on.
 */
double
sst_gin_expected_difference(double ntids, double nblocks)
{
	double		density = Max(ntids / nblocks, 1e-9);
	double		result = 1;

	/* the next one is in another block, or even so many blocks away */
	result += Min((1 - exp(-density)) / density, 1);
	for (int bits = 14; bits < SST_GIN_TID_BITS; bits += 7)
		result += exp(-density * (UINT64CONST(1) << (bits - SST_GIN_OFFSET_BITS)));
	return result;
}

/* The TIDs that are being read */
typedef struct TidReader
{
	const SstRebuild *rebuild;
	SstGinTids *tids;
	SstGinTidCallback callback;
	void	   *arg;
	bool		any;			/* was there one in this list? */
	uint64		last;
} TidReader;

/* Take a TID that a list has, or leave it out. */
static void
take_tid(TidReader *reader, uint64 tid)
{
	SstGinTids *tids = reader->tids;
	BlockNumber blkno = (BlockNumber) (tid >> SST_GIN_OFFSET_BITS);

	if (reader->rebuild->dead_tids != NULL)
	{
		ItemPointerData pointer;

		ItemPointerSet(&pointer, blkno,
					   tid & ((1 << SST_GIN_OFFSET_BITS) - 1));
		if (sst_rebuild_leaves_out(reader->rebuild, &pointer))
		{
			tids->ndead++;
			return;
		}
	}

	tids->ntids++;
	if (!reader->any)
		tids->nlists++;
	else
		tids->bytes += sst_gin_difference_bytes(tid - reader->last);
	reader->any = true;
	reader->last = tid;
	tids->last_block = Max(tids->last_block, blkno);
	if (reader->callback != NULL)
		reader->callback(reader->arg, tid);
}

static uint64
tid_number(const ItemPointerData *tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) << SST_GIN_OFFSET_BITS |
		(ItemPointerGetOffsetNumberNoCheck(tid) &
		 ((1 << SST_GIN_OFFSET_BITS) - 1));
}

/*
 * Read a posting list that has up to size bytes, which can be anything.  Adds its
 * TIDs, without the dead ones, and shows them to the callback, if there is one.
 * Returns the bytes that the list takes with its header and padding, or 0 if it
 * has not that many.
 */
int
sst_gin_read_list(const SstRebuild *rebuild, const char *list, int size,
				  SstGinTids *tids, SstGinTidCallback callback, void *arg)
{
	TidReader	reader = {rebuild, tids, callback, arg, false, 0};
	const unsigned char *bytes;
	GinPostingList header;
	uint64		tid;
	int			pos = 0;

	if (size < SST_GIN_LIST_HEADER)
		return 0;
	memcpy(&header, list, SST_GIN_LIST_HEADER);
	if (SST_GIN_LIST_HEADER + header.nbytes > size)
		return 0;

	bytes = (const unsigned char *) list + SST_GIN_LIST_HEADER;
	tid = tid_number(&header.first);
	take_tid(&reader, tid);
	while (pos < header.nbytes)
	{
		uint64		difference = 0;
		int			shift = 0;

		while (pos < header.nbytes && bytes[pos] > 0x7f)
		{
			if (shift < 64)
				difference |= (uint64) (bytes[pos] & 0x7f) << shift;
			shift += 7;
			pos++;
		}
		if (pos == header.nbytes)
			break;
		if (shift < 64)
			difference |= (uint64) bytes[pos] << shift;
		pos++;

		/* In order, and no larger than any TID, whatever is there */
		if (difference == 0 ||
			difference > (UINT64CONST(1) << SST_GIN_TID_BITS) - 1 - tid)
			break;
		tid += difference;
		take_tid(&reader, tid);
	}

	return SST_GIN_LIST_HEADER + SHORTALIGN(header.nbytes);
}

/* Read an array of TIDs, as sst_gin_read_list() does (before 9.4). */
void
sst_gin_read_tids(const SstRebuild *rebuild, const char *array, int ntids,
				  SstGinTids *tids, SstGinTidCallback callback, void *arg)
{
	TidReader	reader = {rebuild, tids, callback, arg, false, 0};

	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid;

		memcpy(&tid, array + i * sizeof(ItemPointerData), sizeof(tid));
		take_tid(&reader, tid_number(&tid));
	}
}

/* Does the list of a key become part of its entry? (GinFormTuple()) */
bool
sst_gin_fits_in_entry(int key_size, double list_bytes)
{
	return MAXALIGN(SHORTALIGN(key_size)) + list_bytes <=
		MAXALIGN_DOWN(GinMaxItemSize);
}

/* Average difference between TIDs, in bytes */
double
sst_gin_difference(const SstGinTids *tids)
{
	return tids->ntids > tids->nlists ?
		Max((double) tids->bytes / (tids->ntids - tids->nlists), 1) : 1;
}

/* Bytes of one list with all the TIDs */
double
sst_gin_list_bytes(const SstGinTids *tids)
{
	if (tids->ntids == 0)
		return 0;
	return SST_GIN_LIST_HEADER +
		SHORTALIGN((uint64) rint((tids->ntids - 1) * sst_gin_difference(tids)));
}

/* Bytes of the lists of a posting tree page with these TIDs */
double
sst_gin_tree_bytes(const SstGinTids *tids)
{
	double		one = sst_gin_list_bytes(tids);

	if (one <= SST_GIN_MAX_LIST)
		return one;
	return SST_GIN_TARGET_LIST * tids->ntids /
		(1 + (SST_GIN_TARGET_LIST - SST_GIN_LIST_HEADER) /
		 sst_gin_difference(tids));
}

/*
 * Pages of a new posting tree with so many TIDs, which differ by so many bytes
 * each.  "whole" asks for whole pages; else it is the average of about as many.
 */
double
sst_gin_posting_pages(double ntids, double difference, bool whole)
{
	int			first_lists = GinDataPageMaxDataSize / SST_GIN_MAX_LIST;
	int			next_lists = GinDataPageMaxDataSize / SST_GIN_TARGET_LIST;
	double		max_list = 1 + (SST_GIN_MAX_LIST - SST_GIN_LIST_HEADER) / difference;
	double		target_list = 1 +
		(SST_GIN_TARGET_LIST - SST_GIN_LIST_HEADER) / difference;
	double		leaves = (ntids - first_lists * max_list) /
		(next_lists * target_list);
	double		pages;
	double		level;

	if (leaves <= 0)
		return 1;
	leaves = 1 + (whole ? ceil(leaves) : leaves + 0.5 * Min(leaves, 1));
	pages = leaves;
	for (level = leaves; level > 1; pages += level)
	{
		level /= INNER_ITEMS;
		level = level <= 1 ? 1 : sst_round_up(level, whole);
	}
	return pages;
}

void
sst_gin_trees_add(SstGinTrees *trees, const SstGinPostingPage *page)
{
	if (trees->npages == trees->maxpages && !trees->incomplete)
	{
		SstGinPostingPage *bigger = sst_gin_grow(trees->pages, &trees->maxpages,
												 MAX_POSTING_PAGES,
												 sizeof(SstGinPostingPage));

		if (bigger != NULL)
			trees->pages = bigger;
		trees->incomplete = (bigger == NULL);
	}

	/* Pages come in the order of blocks, but for one that is read again. */
	if (trees->npages > 0 &&
		trees->pages[trees->npages - 1].blkno >= page->blkno)
		trees->incomplete = true;
	if (!trees->incomplete)
		trees->pages[trees->npages++] = *page;
}

static SstGinPostingPage *
find_page(const SstGinTrees *trees, BlockNumber blkno)
{
	uint32		low = 0;
	uint32		high = trees->npages;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (trees->pages[middle].blkno == blkno)
			return &trees->pages[middle];
		if (trees->pages[middle].blkno < blkno)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/*
 * Add up the leaf pages of a tree from the leftmost one.  All trees are gone
 * through twice; no more links are followed in trees that are damaged.
 */
static void
add_up_leaves(SstGinTrees *trees, SstGinPostingPage *page, SstGinTids *tids)
{
	memset(tids, 0, sizeof(SstGinTids));
	while (page != NULL && trees->nfollowed++ < 4 * (uint64) trees->npages)
	{
		tids->ntids += page->ntids;
		tids->nlists += page->nlists;
		tids->bytes += page->bytes;
		page = page->next == InvalidBlockNumber ? NULL :
			find_page(trees, page->next);
	}
}

/*
 * Pages of new posting trees for all old ones, but those whose lists become part
 * of an entry.  NaN if not all pages are known.
 */
double
sst_gin_trees_pages(SstGinTrees *trees)
{
	double		pages = 0;

	if (trees->incomplete)
		return NAN;

	for (uint32 i = 0; i < trees->npages; i++)
	{
		SstGinPostingPage *next = find_page(trees, trees->pages[i].next);

		if (next != NULL)
			next->linked = true;
	}
	for (uint32 i = 0; i < trees->npages; i++)
	{
		SstGinPostingPage *page = &trees->pages[i];
		SstGinTids	tids;

		if (page->linked || page->child != InvalidBlockNumber)
			continue;
		add_up_leaves(trees, page, &tids);
		if (!sst_gin_fits_in_entry(MAXALIGN(sizeof(IndexTupleData) + 1),
								   sst_gin_list_bytes(&tids)))
			pages += sst_gin_posting_pages(tids.ntids, sst_gin_difference(&tids),
										   true);
	}
	return pages;
}

/*
 * Pages of new posting trees, for each TID of old ones, when each leaf page has so
 * many TIDs: by the number of leaf pages that the known roots have.  NaN if too few
 * are known.
 */
double
sst_gin_trees_by_roots(const SstGinTrees *trees, double leaf_tids,
					   double difference)
{
	double		pages = 0;
	double		ntids = 0;
	int			nroots = 0;

	for (uint32 i = 0; i < trees->npages; i++)
	{
		const SstGinPostingPage *page = &trees->pages[i];

		if (page->nchildren == 0 || page->next != InvalidBlockNumber)
			continue;

		/* Its pages are not known: the average of a few sizes around that */
		for (int j = 0; j < 4; j++)
		{
			double		n = leaf_tids * (page->nchildren + (j - 1.5) / 8);

			pages += sst_gin_posting_pages(n, difference, true);
			ntids += n;
		}
		nroots++;
	}
	return nroots >= MIN_ROOTS && ntids > 0 ? pages / ntids : NAN;
}

/* Add up the TIDs of the tree with this root.  False if that is not known. */
bool
sst_gin_tree_of(SstGinTrees *trees, BlockNumber root, SstGinTids *tids)
{
	SstGinPostingPage *page = find_page(trees, root);

	if (trees->incomplete)
		return false;
	for (int i = 0; page != NULL && i < MAX_POSTING_LEVELS; i++)
	{
		if (page->child == InvalidBlockNumber)
		{
			add_up_leaves(trees, page, tids);
			return true;
		}
		page = find_page(trees, page->child);
	}
	return false;
}
