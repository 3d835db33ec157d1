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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "am/btree/fill.h"

void
sst_btree_fill_init(SstBtreeFill *fill, bool deduplicate, int target_free)
{
	memset(fill, 0, sizeof(SstBtreeFill));
	fill->deduplicate = deduplicate;
	fill->target_free = target_free;
	fill->free = SST_EMPTY_LEAF_BYTES;
}

/* Equal keys can fill any number of pages; a page of other keys takes microseconds. */
#define PIVOTS_PER_PAUSE 100000
#define PAGES_PER_PAUSE 16

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
	fill->npivots += npages;
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
add_item(SstBtreeFill *fill, int size, int posting)
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
}

/*
 * Add as many of these items, like the last one, as the page has room for, by the conditions
 * of add_item().  Return their number.
 */
static uint64
add_equal_items(SstBtreeFill *fill, int size, int posting, uint64 count)
{
	int			each = size + (int) sizeof(ItemIdData);
	int			least = Max(size + (int) MAXALIGN(sizeof(ItemPointerData)),
							fill->target_free - posting);
	int			spare = fill->free - (int) sizeof(ItemIdData) - least;

	if (count == 0 || fill->nitems <= 1 || spare < 0)
		return 0;
	count = Min(count, spare / each + 1);
	fill->nitems += count;
	fill->free -= count * each;
	return count;
}

/*
 * Add items of the same size, of which so many each have the same key.  If each has
 * its own, or all have one, then from the second page that begins with such an item on, all
 * have as many.
 */
static void
add_items(SstBtreeFill *fill, int size, int posting, uint64 count, uint64 same_key)
{
	bool		are_periodic = same_key == 1 || same_key >= count;
	uint64		last_begin = 0;
	int			nbegun = 0;

	fill->added += count;
	fill->added_bytes += (double) size * count;
	fill->added_squares += (double) size * size * count;

	for (uint64 i = 0; i < count; i++)
	{
		uint64		npages = fill->npages;

		add_item(fill, size, posting);
		if (fill->npages == npages)
			i += add_equal_items(fill, size, posting, count - i - 1);
		fill->last_repeats = fill->next_repeats || (same_key > 1 && i % same_key != 0);
		fill->next_repeats = false;
		if (fill->npages == npages)
			continue;

		if (++nbegun == 3 && are_periodic)
		{
			uint64		per_page = i - last_begin;

			npages = (count - i - 1) / per_page;
			finish_pages(fill, npages);
			i += npages * per_page;
		}
		last_begin = i;
	}
}

/* Add the tuples of a key with so many TIDs. */
void
sst_btree_add_run(SstBtreeFill *fill, int size, uint64 ntids)
{
	int			most = sst_btree_most_tids(fill, size);
	int			rest = ntids % most;
	int			largest = sst_btree_tuple_size(size, most);

	add_items(fill, largest, largest - size, ntids / most, PG_UINT64_MAX);
	if (rest > 0)
	{
		int			last = sst_btree_tuple_size(size, rest);

		add_items(fill, last, last - size, 1, 1);
		fill->last_repeats = ntids > most;
	}
}

/* Add runs that are alike and have different keys. */
void
sst_btree_add_runs(SstBtreeFill *fill, int size, uint64 ntids, uint64 count)
{
	int			most = sst_btree_most_tids(fill, size);

	if (most == 1)
		add_items(fill, size, 0, ntids * count, ntids);
	else if (ntids > 0 && ntids <= most)
	{
		int			each = sst_btree_tuple_size(size, ntids);

		add_items(fill, each, each - size, count, 1);
	}
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

/*
 * Add, to the sums over all pages, so many times those of others, which may be the same.  The
 * items of the last page fill as much as others do on full pages.
 */
void
sst_btree_fill_more(SstBtreeFill *fill, const SstBtreeFill *like, double times)
{
	double		npages = sst_btree_filled_pages(like);
	double		bytes = like->added_bytes + like->added * sizeof(ItemIdData);

	if (like->npages > 0)
		npages = like->npages * bytes / Max(bytes - (SST_EMPTY_LEAF_BYTES - like->free), 1);
	fill->npages += (uint64) rint(times * npages);
	fill->added += times * like->added;
	fill->added_bytes += times * like->added_bytes;
	fill->added_squares += times * like->added_squares;
	fill->npivots += times * like->npivots;
	fill->pivot_bytes += times * like->pivot_bytes;
	fill->pivot_squares += times * like->pivot_squares;
	fill->repeating += times * like->repeating;
	fill->repeating_bytes += times * like->repeating_bytes;
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

/* ----------
 * The items of all leaf pages in the order of their keys
 *
 * The pages of an index are read in block order, not in key order.  For a
 * small index, the sizes of all items are kept until all pages were read.
 * Sibling links then give the order in which a build fills pages, and the
 * number of pages is exact.
 * ----------
 */

/* Limits: with them, the order takes 3 MB, of which it uses what it needs. */
#define MOST_PAGES 65536
#define MOST_RUNS 262144

/* Runs that follow each other on a page and are alike */
typedef struct Runs
{
	uint16		size;			/* of a tuple without a posting list */
	uint16		ntids;			/* of each */
	uint16		count;
} Runs;

typedef struct LeafPage
{
	BlockNumber blkno;
	BlockNumber next;
	uint32		first_runs;		/* number of those before */
	uint32		first_key;		/* hash of the first run's key */
	uint32		last_key;
} LeafPage;

struct SstBtreeOrder
{
	bool		failed;			/* the order will not be known */
	int			leftmost;		/* of pages[], or -1 */
	int			npages;
	uint32		nruns;
	LeafPage	pages[MOST_PAGES + 1];
	Runs		runs[MOST_RUNS];
};

/* NULL if the index is too large. */
SstBtreeOrder *
sst_btree_order_create(BlockNumber nblocks)
{
	SstBtreeOrder *order;

	if (nblocks > MOST_PAGES)
		return NULL;

	order = palloc(sizeof(SstBtreeOrder));
	memset(order, 0, offsetof(SstBtreeOrder, pages));
	order->leftmost = -1;
	return order;
}

/* Begin with a leaf page. */
void
sst_btree_order_page(SstBtreeOrder *order, BlockNumber blkno, BlockNumber prev,
					 BlockNumber next)
{
	LeafPage   *page;

	if (order->npages == MOST_PAGES ||
		(order->npages > 0 && order->pages[order->npages - 1].blkno >= blkno) ||
		(prev == P_NONE && order->leftmost >= 0))
		order->failed = true;
	if (order->failed)
		return;

	if (prev == P_NONE)
		order->leftmost = order->npages;
	page = &order->pages[order->npages++];
	page->blkno = blkno;
	page->next = next;
	page->first_runs = order->nruns;
}

/*
 * Add so many runs of the page that are alike; one, with a hash of its key, if it is the
 * first or the last.
 */
void
sst_btree_order_runs(SstBtreeOrder *order, int size, uint32 ntids, uint32 count,
					 uint32 key)
{
	LeafPage   *page;

	if (order->nruns == MOST_RUNS || ntids > PG_UINT16_MAX)
		order->failed = true;
	if (order->failed)
		return;

	page = &order->pages[order->npages - 1];
	if (page->first_runs == order->nruns)
		page->first_key = key;
	page->last_key = key;

	if (page->first_runs < order->nruns)
	{
		Runs	   *last = &order->runs[order->nruns - 1];

		if (last->size == size && last->ntids == ntids &&
			last->count + count <= PG_UINT16_MAX)
		{
			last->count += count;
			return;
		}
	}
	order->runs[order->nruns++] = (Runs)
	{
		size, ntids, count
	};
}

static int
compare_pages(const void *a, const void *b)
{
	BlockNumber left = ((const LeafPage *) a)->blkno;
	BlockNumber right = ((const LeafPage *) b)->blkno;

	return left < right ? -1 : left > right;
}

/* A run that the next page may go on with */
typedef struct PendingRun
{
	int			size;
	uint64		ntids;
	uint32		key;
} PendingRun;

static void
fill_from_page(const SstBtreeOrder *order, const LeafPage *page,
			   PendingRun *pending, SstBtreeFill *fill)
{
	for (uint32 i = page->first_runs; i < (page + 1)->first_runs; i++)
	{
		const Runs *runs = &order->runs[i];
		int			count = runs->count;

		if (i == page->first_runs && pending->key != 0 &&
			pending->size == runs->size && pending->key == page->first_key)
		{
			pending->ntids += runs->ntids;
			if (--count == 0)
				continue;
		}

		sst_btree_add_runs(fill, pending->size, pending->ntids, 1);
		sst_btree_add_runs(fill, runs->size, runs->ntids, count - 1);
		pending->size = runs->size;
		pending->ntids = runs->ntids;
	}
	if (page->first_runs < (page + 1)->first_runs)
		pending->key = page->last_key;
}

/*
 * Go from leaf to leaf, as sibling links tell.  False if that does not lead to
 * each: then the index was changed in the meantime.
 */
static bool
fill_in_order(SstBtreeOrder *order, SstBtreeFill *fill)
{
	const LeafPage *page = &order->pages[order->leftmost];
	const LeafPage *end = &order->pages[order->npages];
	PendingRun	pending = {0};
	int			npages = 1;

	order->pages[order->npages].first_runs = order->nruns;
	for (;;)
	{
		LeafPage	next = {.blkno = page->next};

		fill_from_page(order, page, &pending, fill);
		if (next.blkno == P_NONE)
			break;
		if (npages % PAGES_PER_PAUSE == 0 && !sst_go_on(fill->pause))
			return false;

		/* A new index has it on the next block. */
		if (++page == end || page->blkno != next.blkno)
			page = bsearch(&next, order->pages, order->npages, sizeof(LeafPage),
						   compare_pages);
		if (page == NULL || ++npages > order->npages)
			return false;
	}
	sst_btree_add_runs(fill, pending.size, pending.ntids, 1);

	return npages == order->npages;
}

/*
 * When all pages of the index have been seen: are their items in a known order?
 * Then fill pages with them, else leave "fill" as it is.
 */
static bool
in_order(const SstBtreeRebuild *state, SstBtreeFill *fill)
{
	SstBtreeOrder *order = state->order;
	SstBtreeFill ordered;

	if (order == NULL || order->failed || order->leftmost < 0)
		return false;

	sst_btree_fill_init(&ordered, state->fill.deduplicate, state->fill.target_free);
	ordered.pause = state->base.pause;
	if (!fill_in_order(order, &ordered))
		return false;
	*fill = ordered;
	return true;
}

/* ----------
 * Runs of equal keys that span several pages
 *
 * A build sees them whole, but the pages of an old index hold pieces of them,
 * in any order.  Pieces that may continue on other pages are kept in a table
 * of a fixed size until all pages were read.  Pieces that must leave the
 * table, and those that a sample does not complete, are spliced: a run that
 * continues takes the next run's end.  This keeps the number of runs and what
 * their TIDs take, on average.
 * ----------
 */

/* With more runs on a page, on average, a run rarely spans several pages. */
#define SHORT_RUNS 8

/* The runs among which a key's is */
static inline SstBtreeRun *
run_set(SstBtreeRebuild *state, uint64 key)
{
	uint64		nsets = SST_BTREE_RUNS / SST_BTREE_SET_RUNS;

	return &state->runs[(key >> 32) % nsets * SST_BTREE_SET_RUNS];
}

static SstBtreeRun *
find_run(SstBtreeRun *set, uint64 key)
{
	for (int i = 0; i < SST_BTREE_SET_RUNS; i++)
	{
		if (set[i].ntids > 0 && set[i].hash == (uint32) key)
			return &set[i];
	}
	return NULL;
}

/* What a TID takes in a long run, with its part of the tuple */
static double
bytes_for_tid(const SstBtreeFill *fill, int size)
{
	int			most = sst_btree_most_tids(fill, size);

	return (double) (sst_btree_tuple_size(size, most) + (int) sizeof(ItemIdData)) /
		most;
}

/*
 * Add a run, or the runs that are spliced with it as soon as one has an end.  Their
 * keys can be shorter or longer than its own.
 */
static void
splice_run(SstBtreeFill *fill, double *spliced_bytes, const SstBtreeRun *run)
{
	double		for_tid = bytes_for_tid(fill, run->size);

	*spliced_bytes += run->ntids * for_tid;
	if (run->ended)
	{
		sst_btree_add_run(fill, run->size, (uint64) rint(*spliced_bytes / for_tid));
		*spliced_bytes = 0;
	}
}

/*
 * Keep a piece of a key's run, with its other pieces.  A sample has few of these if
 * runs are short, and so have pages among those that are left out.  Then pieces are
 * spliced at once, so that items stay in order.
 */
void
sst_btree_park(SstBtreeRebuild *state, uint64 key, const SstBtreeRun *piece)
{
	SstBtreeRun *set = run_set(state, key);
	SstBtreeRun *run = find_run(set, key);

	if (state->into == &state->like ||
		(state->is_sample && state->nruns > (uint64) SHORT_RUNS * state->nseen))
	{
		splice_run(state->into, &state->spliced_bytes, piece);
		return;
	}
	if (run != NULL && run->ntids <= PG_UINT32_MAX - piece->ntids)
	{
		run->ntids += piece->ntids;
		run->began |= piece->began;
		run->ended |= piece->ended;
		return;
	}

	/* The place of the shortest run, or an empty one */
	run = set;
	for (int i = 1; i < SST_BTREE_SET_RUNS; i++)
	{
		if (set[i].ntids < run->ntids)
			run = &set[i];
	}
	if (run->ntids > 0)
		splice_run(&state->fill, &state->spliced_bytes, run);
	*run = *piece;
	run->hash = (uint32) key;
}

/* Return what was kept of a key's run, and forget it. */
SstBtreeRun
sst_btree_take(SstBtreeRebuild *state, uint64 key)
{
	SstBtreeRun *run = find_run(run_set(state, key), key);
	SstBtreeRun result = {0};

	if (run != NULL)
	{
		result = *run;
		run->ntids = 0;
	}
	return result;
}

/*
 * Leaf pages filled with all that was seen.  When that is all pages, each run in
 * the table has all of its pieces, and the order of all items may be known.
 */
SstBtreeFill
sst_btree_fill_all(const SstBtreeRebuild *state, bool *is_in_order)
{
	SstBtreeFill fill = state->fill;
	double		spliced_bytes = state->spliced_bytes;
	bool		complete = state->nseen >= state->nblocks;
	SstBtreeRun last = {.size = MAXALIGN(sizeof(IndexTupleData))};

	*is_in_order = complete && in_order(state, &fill);
	if (*is_in_order)
		return fill;

	for (int i = 0; i < SST_BTREE_RUNS; i++)
	{
		const SstBtreeRun *run = &state->runs[i];

		if (run->ntids == 0)
			continue;
		if (!sst_go_on(fill.pause))
			break;
		if (complete)
			sst_btree_add_run(&fill, run->size, run->ntids);
		else
			splice_run(&fill, &spliced_bytes, run);
		last = *run;
	}
	sst_btree_add_run(&fill, last.size,
					  (uint64) rint(spliced_bytes / bytes_for_tid(&fill, last.size)));

	return fill;
}
