/*-------------------------------------------------------------------------
 *
 * gin_entry_tree.h
 *	  Filling the pages of a new GIN entry tree
 *
 * Only the sizes and the order of tuples matter: a key is a number, its
 * position among all keys that the tree will have.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_entry_tree.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_ENTRY_TREE_H
#define SST_GIN_ENTRY_TREE_H

#include "access/gin_private.h"
#include "storage/bufpage.h"

/* A page with line pointers has this many bytes for them and tuples. */
#define SST_GIN_PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData - \
						   (int) MAXALIGN(sizeof(GinPageOpaqueData)))

/* What a tuple of the entry tree takes on a page */
#define SST_GIN_ITEM_BYTES(size) \
	((int) (MAXALIGN(size) + sizeof(ItemIdData)))

/* More levels than a tree can have whose pages have two tuples each */
#define SST_GIN_MAX_LEVELS 24

/* A tuple on a page of one level, in the order of keys */
typedef struct SstGinItem
{
	uint32		key;
	uint32		next;			/* on the same page */
	uint16		size;
} SstGinItem;

typedef struct SstGinFillPage
{
	uint32		first;			/* tuple */
	uint32		low;			/* keys that belong here: from this */
	uint32		bound;			/* to this */
	uint32		next;			/* page */
	uint32		used;			/* bytes */
} SstGinFillPage;

typedef struct SstGinLevel
{
	SstGinFillPage *pages;		/* the first is the leftmost */
	uint32		npages;
	uint32		maxpages;

	/* Where the last insertion was, and the tuple before it */
	uint32		page;
	uint32		item;
} SstGinLevel;

typedef struct SstGinEntryTree
{
	const uint16 *pivots;		/* what each key takes on inner pages */
	SstGinItem *items;
	uint32		nitems;
	uint32		maxitems;
	SstGinLevel levels[SST_GIN_MAX_LEVELS];
	int			nlevels;
	bool		failed;			/* for want of memory */
} SstGinEntryTree;

extern void sst_gin_tree_init(SstGinEntryTree *tree, const uint16 *pivots);
extern void sst_gin_tree_insert(SstGinEntryTree *tree, uint32 key, int size);
extern uint32 sst_gin_tree_pages(const SstGinEntryTree *tree);
extern uint32 sst_gin_tree_last_bytes(const SstGinEntryTree *tree);
extern void sst_gin_tree_free(SstGinEntryTree *tree);

extern void *sst_gin_grow(void *array, uint32 *max, uint32 limit, Size size);

#endif							/* SST_GIN_ENTRY_TREE_H */
