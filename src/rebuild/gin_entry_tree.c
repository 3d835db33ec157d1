/*-------------------------------------------------------------------------
 *
 * gin_entry_tree.c
 *	  Filling the pages of a new GIN entry tree
 *
 * A page that has no room for a tuple is split so that half of its bytes go to
 * each side (entrySplitPage() in ginentrypage.c).  Keys in ascending order
 * never reach the left half again, which stays half full; keys of a later
 * batch do.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_entry_tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "rebuild/gin_entry_tree.h"

#define NONE PG_UINT32_MAX

/*
 * Make room for more elements of an array, which can be NULL.  Returns NULL and
 * leaves all as it is if there is no memory, or the limit is reached.
 */
void *
sst_gin_grow(void *array, uint32 *max, uint32 limit, Size size)
{
	uint32		new_max = Min(*max == 0 ? 64 : *max * 2, limit);
	void	   *result;

	if (new_max <= *max)
		return NULL;
	result = MemoryContextAllocExtended(CurrentMemoryContext, new_max * size,
										MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
	if (result == NULL)
		return NULL;
	if (array != NULL)
	{
		memcpy(result, array, *max * size);
		pfree(array);
	}
	*max = new_max;
	return result;
}

/* Return a new tuple, or NONE. */
static uint32
new_item(SstGinEntryTree *tree, uint32 key, uint32 next)
{
	if (tree->nitems == tree->maxitems)
	{
		SstGinItem *items = sst_gin_grow(tree->items, &tree->maxitems,
										 NONE / 2, sizeof(SstGinItem));

		if (items == NULL)
		{
			tree->failed = true;
			return NONE;
		}
		tree->items = items;
	}
	tree->items[tree->nitems] = (SstGinItem)
	{
		key, next, 0
	};
	return tree->nitems++;
}

/* Return a new page of a level, or NULL. */
static SstGinFillPage *
new_page(SstGinEntryTree *tree, SstGinLevel *level)
{
	if (level->npages == level->maxpages)
	{
		SstGinFillPage *pages = sst_gin_grow(level->pages, &level->maxpages,
											 NONE / 2,
											 sizeof(SstGinFillPage));

		if (pages == NULL)
		{
			tree->failed = true;
			return NULL;
		}
		level->pages = pages;
	}
	level->item = NONE;
	return &level->pages[level->npages++];
}

/* Add a level, whose page has all keys. */
static void
add_level(SstGinEntryTree *tree)
{
	SstGinLevel *level = &tree->levels[tree->nlevels];
	SstGinFillPage *page;

	if (tree->nlevels == SST_GIN_MAX_LEVELS)
	{
		tree->failed = true;
		return;
	}
	memset(level, 0, sizeof(SstGinLevel));
	page = new_page(tree, level);
	if (page != NULL)
	{
		*page = (SstGinFillPage)
		{
			NONE, 0, NONE, NONE, 0
		};
		tree->nlevels++;
	}
}

void
sst_gin_tree_init(SstGinEntryTree *tree, const uint16 *pivots)
{
	memset(tree, 0, sizeof(SstGinEntryTree));
	tree->pivots = pivots;
	add_level(tree);
}

static void insert_at(SstGinEntryTree *tree, int height, uint32 key, int size);

/* What a tuple of a level takes on the level above */
static int
pivot_size(const SstGinEntryTree *tree, int height, uint32 item)
{
	return height == 0 ? tree->pivots[tree->items[item].key] :
		tree->items[item].size;
}

/* Split the page of the last insertion of a level. */
static void
split_page(SstGinEntryTree *tree, int height, uint32 key)
{
	SstGinLevel *level = &tree->levels[height];
	SstGinFillPage *right = new_page(tree, level);
	SstGinFillPage *page = &level->pages[level->page];
	uint32		half = page->used / 2;
	uint32		left = 0;
	uint32		last = NONE;
	uint32		rightmost;
	int			pivot;

	if (right == NULL)
		return;

	/* The tuple that crosses the middle is the left page's. */
	for (uint32 i = page->first; i != NONE && left <= half; i = tree->items[i].next)
	{
		left += tree->items[i].size;
		last = i;
	}
	*right = (SstGinFillPage)
	{
		tree->items[last].next, tree->items[last].key + 1, page->bound,
			page->next, page->used - left
	};
	tree->items[last].next = NONE;
	page->bound = tree->items[last].key;
	page->next = level->npages - 1;
	page->used = left;
	pivot = pivot_size(tree, height, last);

	/* A new root has the last key of both pages. */
	if (height + 1 == tree->nlevels)
	{
		rightmost = right->first == NONE ? last : right->first;
		while (tree->items[rightmost].next != NONE)
			rightmost = tree->items[rightmost].next;
		add_level(tree);
		if (tree->failed)
			return;
		insert_at(tree, height + 1, NONE, pivot_size(tree, height, rightmost));
	}
	insert_at(tree, height + 1, page->bound, pivot);

	if (key > page->bound)
		level->page = page->next;
}

/* Insert a tuple in a level, or change its size there. */
static void
insert_at(SstGinEntryTree *tree, int height, uint32 key, int size)
{
	SstGinLevel *level = &tree->levels[height];
	SstGinFillPage *page;
	uint32		item;
	int			old_size;

	if (tree->failed)
		return;

	page = &level->pages[level->page];
	if (key < page->low)
	{
		level->page = 0;
		level->item = NONE;
		page = level->pages;
	}
	while (key > page->bound)
	{
		level->page = page->next;
		level->item = NONE;
		page = &level->pages[level->page];
	}
	if (level->item != NONE && tree->items[level->item].key >= key)
		level->item = NONE;

	item = level->item == NONE ? page->first : tree->items[level->item].next;
	while (item != NONE && tree->items[item].key < key)
	{
		level->item = item;
		item = tree->items[item].next;
	}
	if (item == NONE || tree->items[item].key != key)
	{
		item = new_item(tree, key, item);
		if (item == NONE)
			return;
		if (level->item == NONE)
			page->first = item;
		else
			tree->items[level->item].next = item;
	}

	old_size = tree->items[item].size;
	tree->items[item].size = size;
	page->used += size - old_size;

	/* PageGetFreeSpace() leaves out a line pointer. */
	if (size > old_size &&
		page->used > SST_GIN_PAGE_ROOM - (int) sizeof(ItemIdData) &&
		tree->items[page->first].next != NONE)
		split_page(tree, height, key);
}

/*
 * Insert a key with its tuple, or change the size of that: SST_GIN_ITEM_BYTES().
 * It is fast for keys that come in order.
 */
void
sst_gin_tree_insert(SstGinEntryTree *tree, uint32 key, int size)
{
	insert_at(tree, 0, key, size);
}

/* Pages of all levels */
uint32
sst_gin_tree_pages(const SstGinEntryTree *tree)
{
	uint32		npages = 0;

	for (int i = 0; i < tree->nlevels; i++)
		npages += tree->levels[i].npages;
	return npages;
}

/* Bytes on the leaf page to the right of all others */
uint32
sst_gin_tree_last_bytes(const SstGinEntryTree *tree)
{
	const SstGinFillPage *page = tree->levels[0].pages;

	while (page->next != NONE)
		page = &tree->levels[0].pages[page->next];
	return page->used;
}

void
sst_gin_tree_free(SstGinEntryTree *tree)
{
	for (int i = 0; i < SST_GIN_MAX_LEVELS; i++)
	{
		if (tree->levels[i].pages != NULL)
			pfree(tree->levels[i].pages);
	}
	if (tree->items != NULL)
		pfree(tree->items);
}
