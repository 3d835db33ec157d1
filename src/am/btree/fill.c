/*-------------------------------------------------------------------------
 *
 * fill.c
 *	  How a b-tree's build fills its leaf pages
 *
 * A leaf page is filled until the fillfactor's free space is touched.  Its last
 * item then moves to the next page and leaves a high key behind.  In an index that
 * deduplicates, equal keys are first put into posting list tuples of a bounded
 * size (access/nbtree/nbtsort.c).
 *
 * Nine of the largest of these fill a page by the default fillfactor, and a
 * smaller one between them mostly takes the place of one.  So the number of tuples
 * has to be right, not only their bytes.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/btree/fill.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/btree/fill.h"

void
sst_btree_fill_init(SstBtreeFill *fill, bool deduplicate, int target_free)
{
	memset(fill, 0, sizeof(SstBtreeFill));
	fill->deduplicate = deduplicate;
	fill->target_free = target_free;
	fill->free = SST_EMPTY_LEAF_BYTES;
}

/* Equal keys can fill any number of pages. */
#define PIVOTS_PER_PAUSE 100000

/* Of the free space, an internal page keeps so much (BTREE_NONLEAF_FILLFACTOR). */
#define INTERNAL_TARGET_FREE \
	(BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100)

/*
 * Add the pivot of a page to the level above, for the page that follows it.  The
 * first item of an internal page has no key, and the first of a level is there
 * from the start.
 */
static void
add_pivot(SstBtreeFill *fill, int size)
{
	for (int i = 0; i < SST_BTREE_LEVELS; i++)
	{
		SstBtreeLevel *level = &fill->levels[i];
		int			first = sizeof(IndexTupleData) + sizeof(ItemIdData);
		int			last_size = level->last_size;
		int			space;
		bool		full;

		if (level->nitems == 0)
		{
			level->nitems = 1;
			level->free = SST_EMPTY_LEAF_BYTES - first;
		}
		space = Max(level->free - (int) sizeof(ItemIdData), 0);
		full = level->nitems > 1 &&
			(space < size || space < INTERNAL_TARGET_FREE);
		if (full)
		{
			level->npages++;
			level->nitems = 1;
			level->free = SST_EMPTY_LEAF_BYTES - first;
		}
		level->nitems++;
		level->free -= size + (int) sizeof(ItemIdData);
		level->last_size = size;
		if (!full)
			return;

		/* The page's last item has moved to the next one. */
		size = last_size;
	}
}

/* Add up full pages, whose last items are alike. */
static void
finish_pages(SstBtreeFill *fill, uint64 npages)
{
	int			size = fill->last_size - fill->last_posting;

	/* Between equal keys, a TID tells (_bt_truncate()). */
	if (fill->last_repeats)
	{
		size += MAXALIGN(sizeof(ItemPointerData));
		fill->repeating += npages;
		fill->repeating_bytes += (double) size * npages;
	}
	fill->npages += npages;
	fill->pivot_bytes += (double) size * npages;
	fill->pivot_squares += (double) size * size * npages;
	for (uint64 i = 1; i <= npages; i++)
	{
		add_pivot(fill, size);
		if (i % PIVOTS_PER_PAUSE == 0 && !sst_go_on(fill->pause))
			break;
	}
}

/* Add an item to the leaf page, or to a new one behind it (_bt_buildadd()). */
static inline void
add_item(SstBtreeFill *fill, int size, int posting, bool repeats)
{
	/* PageGetFreeSpace() leaves out the next line pointer. */
	int			space = fill->free - (int) sizeof(ItemIdData);

	if (fill->nitems > 1 &&
		(space < size + (int) MAXALIGN(sizeof(ItemPointerData)) ||
		 Max(space, 0) + fill->last_posting < fill->target_free))
	{
		finish_pages(fill, 1);
		fill->nitems = 1;
		fill->free = SST_EMPTY_LEAF_BYTES - fill->last_size -
			(int) sizeof(ItemIdData);
	}
	fill->nitems++;
	fill->free -= size + (int) sizeof(ItemIdData);
	fill->last_size = size;
	fill->last_posting = posting;
	fill->last_repeats = repeats;
}

/*
 * Add as many of these items, like the last one, as the page has room for, by the conditions
 * of add_item().  Return their number.
 */
static uint64
add_equal_items(SstBtreeFill *fill, int size, int posting, uint64 count,
				bool same_key)
{
	int			each = size + (int) sizeof(ItemIdData);
	int			least = Max(size + (int) MAXALIGN(sizeof(ItemPointerData)),
							fill->target_free - posting);
	int			spare = fill->free - (int) sizeof(ItemIdData) - least;

	if (fill->nitems <= 1 || spare < 0 || count == 0)
		return 0;
	count = Min(count, spare / each + 1);
	fill->nitems += count;
	fill->free -= count * each;
	fill->last_repeats = same_key;
	return count;
}

/*
 * Add items of the same size, which have the same key or different ones.  From
 * the second page that begins with such an item on, all have as many.
 */
void
sst_btree_add_items(SstBtreeFill *fill, int size, int posting, uint64 count,
					bool same_key)
{
	uint64		left_before = 0;
	int			nbegun = 0;
	bool		repeats = false;

	fill->added += count;
	fill->added_bytes += (double) size * count;
	fill->added_squares += (double) size * size * count;

	while (count > 0)
	{
		uint64		npages = fill->npages;

		add_item(fill, size, posting, repeats);
		repeats = same_key;
		count--;
		if (fill->npages == npages)
		{
			count -= add_equal_items(fill, size, posting, count, same_key);
			continue;
		}

		if (++nbegun == 3)
		{
			uint64		per_page = left_before - count;

			finish_pages(fill, count / per_page);
			count %= per_page;
		}
		left_before = count;
	}
}

/* Add the tuples of a key with so many TIDs. */
void
sst_btree_add_run(SstBtreeFill *fill, int size, uint64 ntids)
{
	int			most = sst_btree_most_tids(fill, size);
	int			rest = ntids % most;
	int			largest = sst_btree_tuple_size(size, most);

	sst_btree_add_items(fill, largest, largest - size, ntids / most, true);
	if (rest > 0)
	{
		int			last = sst_btree_tuple_size(size, rest);

		sst_btree_add_items(fill, last, last - size, 1, false);
		fill->last_repeats = ntids > most;
	}
}

/* Add runs that are alike and have different keys. */
void
sst_btree_add_runs(SstBtreeFill *fill, int size, uint64 ntids, uint64 count)
{
	if (ntids == 1)
		sst_btree_add_items(fill, size, 0, count, false);
	else
	{
		for (uint64 i = 0; i < count; i++)
			sst_btree_add_run(fill, size, ntids);
	}
}

/*
 * Pages that are filled.  The last one counts by how near it is to being full by
 * the fillfactor.
 */
double
sst_btree_filled_pages(const SstBtreeFill *fill)
{
	int			full = Max(SST_EMPTY_LEAF_BYTES - fill->target_free, 1);
	int			used = SST_EMPTY_LEAF_BYTES - fill->free;

	return fill->npages + Min((double) used / full, 1);
}

/* Internal pages above the leaf pages */
double
sst_btree_internal_pages(const SstBtreeFill *fill)
{
	double		result = 0;

	for (int i = 0; i < SST_BTREE_LEVELS && fill->levels[i].nitems > 0; i++)
		result += fill->levels[i].npages + 1;

	return result;
}
