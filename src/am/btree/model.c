/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rebuilt b-tree
 *
 * A page's items are divided into runs of equal keys, which go to the model of
 * a build (fill.c).  A run at the end or the beginning of a page may
 * continue on another page.  The high key shows if it continues to the right.
 *
 * Each page counts bytes by what its runs take on average, wherever their other
 * pieces are.  The bytes that all pages have counted make as many leaf pages as those
 * of the pages seen do, when a build fills pages with them.  The levels above follow
 * from the number of leaf pages and the sizes of their high keys.
 *
 * Of a large index, only some pages with many keys are looked at, unless line pointers tell all.
 * What these come to, the others are taken to come to.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"
#include "access/nbtree.h"

#include "am/btree/fill.h"

#define TID_BYTES ((int) sizeof(ItemPointerData))

/* So many pages are looked at more closely than others, of an index of twice as many half of them. */
#define FIRST_PAGES 128

/*
 * On one of these, and others whose items are looked at, about so many pairs of neighbours tell how
 * large pivots are, and fewer on the rest: to look at all takes most of the time.  bench/bloat
 * shows whether they are enough.
 */
#define PIVOTS_PER_PAGE 8
#define FEW_PIVOTS 2

/* With so many runs for each TID that is one too many, keys are taken to be unique. */
#define MANY_RUNS 100

/* An item of a leaf page, as it is now */
typedef struct LeafItem
{
	const char *tuple;
	const char *tids;
	int			size;			/* without a posting list */
	int			ntids;
	uint16		flags;			/* has nulls, has columns of any length */
} LeafItem;

/* The keys of a page */
typedef enum PageKeys
{
	KEYS_UNKNOWN,
	KEYS_UNIQUE,
	KEYS_EQUAL
} PageKeys;

/* The runs of equal keys on a page */
typedef struct PageRuns
{
	LeafItem	key;			/* of the run that is being read */
	uint32		ntids;			/* of this, left on the page */
	uint64		nruns;
	uint64		all_tids;
	bool		begins;			/* no other page has more of the first run */
	int			pivot;			/* the last that was counted, its size; or 0 */
	int			pivot_step;		/* pairs for each that tells of pivots */
	int			next_pivot;		/* the item that ends the next of these */

	/* What they take where keys are short runs, and where they are long */
	uint64		short_bytes;
	uint64		long_bytes;
	uint64		key_bytes;		/* of these, what is left when a run has one
								 * TID */
	uint64		loose_bytes;	/* what ends of long runs may not take */
	double		tid_squares;	/* sum over TIDs, of their parts of
								 * short_bytes */

	/* Runs that are alike, and neither the page's first nor its last */
	uint32		nalike;
	int			alike_size;		/* of a tuple without a posting list */
	uint32		alike_ntids;	/* of each */
} PageRuns;

/* ----------
 * The pages seen
 * ----------
 */

/*
 * Take an item apart.  Its line pointer is within the page, and all else can be
 * anything.  False if it is too short for a tuple.
 */
static inline bool
read_item(const PageData *page, ItemId item, LeafItem *result)
{
	IndexTupleData header;
	int			length = ItemIdGetLength(item);

	if (length < (int) sizeof(IndexTupleData))
		return false;

	result->tuple = page + ItemIdGetOffset(item);
	memcpy(&header, result->tuple, sizeof(IndexTupleData));
	result->flags = header.t_info & (INDEX_NULL_MASK | INDEX_VAR_MASK);
	result->size = length;
	result->tids = result->tuple + offsetof(IndexTupleData, t_tid);
	result->ntids = 1;

	if (BTreeTupleIsPosting(&header))
	{
		int64		offset = BTreeTupleGetPostingOffset(&header);
		int			ntids = BTreeTupleGetNPosting(&header);

		if (offset >= (int64) sizeof(IndexTupleData) && ntids > 0 &&
			offset + ntids * TID_BYTES <= length)
		{
			result->size = (int) offset;
			result->tids = result->tuple + offset;
			result->ntids = ntids;
		}
	}
	result->size = MAXALIGN(result->size);

	return true;
}

/* How many of these TIDs will a build have? */
static inline int
kept_tids(const SstRebuild *rebuild, const char *tids, int ntids)
{
	int			nkept = 0;

	if (rebuild->dead_tids == NULL)
		return ntids;

	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid;

		memcpy(&tid, tids + i * TID_BYTES, TID_BYTES);
		if (!sst_rebuild_leaves_out(rebuild, &tid))
			nkept++;
	}
	return nkept;
}

static inline bool
is_same_key(const LeafItem *a, const LeafItem *b)
{
	const char *left = a->tuple + sizeof(IndexTupleData);
	const char *right = b->tuple + sizeof(IndexTupleData);
	int			size = a->size - (int) sizeof(IndexTupleData);

	/* Most keys differ in their first bytes. */
	return a->size == b->size && a->flags == b->flags &&
		(size < (int) sizeof(uint64) || memcmp(left, right, sizeof(uint64)) == 0) &&
		(size == (int) sizeof(uint64) || memcmp(left, right, size) == 0);
}

/*
 * Does the page's last run continue on the next page?  Then the high key, which
 * separates the two, has all of the key.  It has a TID as well since version 4.
 */
static bool
goes_on(const PageData *page, const LeafItem *last)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	ItemId		itemid = PageGetItemId((Page) page, P_HIKEY);
	IndexTupleData header;
	LeafItem	high;

	if (P_RIGHTMOST(opaque) || !read_item(page, itemid, &high))
		return false;

	memcpy(&header, high.tuple, sizeof(IndexTupleData));
	if (BTreeTupleIsPivot(&header))
	{
		if ((ItemPointerGetOffsetNumberNoCheck(&header.t_tid) &
			 BT_PIVOT_HEAP_TID_ATTR) == 0)
			return false;
		high.size -= MAXALIGN(TID_BYTES);
	}
	return high.size >= (int) sizeof(IndexTupleData) && is_same_key(&high, last);
}

/* The eight bytes at data */
static inline uint64
word_at(const void *data)
{
	uint64		word;

	memcpy(&word, data, sizeof(word));
	return word;
}

/* A hash of a key, which is not 0; tuples are aligned. */
static uint64
hash_key(const LeafItem *item)
{
	uint64		hash = ((uint64) item->flags << 16) + item->size;

	for (int i = sizeof(IndexTupleData); i < item->size; i += sizeof(uint64))
	{
		hash = (hash ^ word_at(item->tuple + i)) * UINT64CONST(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	return Max(hash, 1);
}

/*
 * Add up what so many pieces of runs take that are alike.  On average, the last tuple of a
 * long run has room for half as many TIDs again.  All other pieces' tuples are full ones.
 */
static inline void
count_pieces(const SstBtreeFill *fill, PageRuns *runs, int size, uint32 ntids,
			 uint32 count, bool began, bool ended)
{
	uint32		most = sst_btree_most_tids(fill, size);
	uint32		full_tuple = sst_btree_tuple_size(size, most) + sizeof(ItemIdData);
	uint32		long_bytes = full_tuple * (2 * ntids + (ended ? most - 1 : 0)) / (2 * most);
	uint64		bytes;
	double		squares;

	if (most == 1)
		bytes = long_bytes;
	else if (!ended)
		bytes = ntids * TID_BYTES;
	else if (ntids <= most)
		bytes = sst_btree_tuple_size(size, ntids) + sizeof(ItemIdData);
	else
		bytes = long_bytes;
	squares = (double) bytes * bytes;
	if (ntids > 1)
		squares /= ntids;

	runs->long_bytes += (uint64) long_bytes * count;
	runs->short_bytes += bytes * count;
	runs->tid_squares += squares * count;
	if (ended)
	{
		uint32		key_bytes = size + sizeof(ItemIdData);

		if (ntids > 2 * most)
			key_bytes = full_tuple * (most - 1) / (2 * most);
		runs->key_bytes += (uint64) key_bytes * count;
		if (!began)
			runs->loose_bytes += full_tuple * (most - 1) / (2 * most) * count;
	}
}

/*
 * Does the page's first run begin there?  In a sample, the preceding page was not read:
 * then the answer is yes if hardly any key has several TIDs.  These items are not kept
 * for later, because they are longer than others and would come in another order.
 */
static bool
first_run_begins(const SstBtreeRebuild *state, const PageRuns *runs)
{
	return runs->begins ||
		((state->is_sample || state->left_out_bytes > 0) &&
		 MANY_RUNS * (state->ntids - state->nruns) < state->nruns);
}

/* Count so many keys that have so many TIDs each, by the pieces of their runs that end. */
static inline void
count_keys(SstBtreeRebuild *state, uint32 ntids, uint32 count, SstCounters *counters)
{
	counters->n[SST_REBUILT_KEYS] += count;
	sst_keys_add(&state->keys, count, ntids);
}

/* Add the runs that are alike and have been counted so far. */
static void
add_alike(SstBtreeRebuild *state, PageRuns *runs, SstCounters *counters)
{
	if (runs->nalike == 0)
		return;
	count_pieces(&state->fill, runs, runs->alike_size, runs->alike_ntids,
				 runs->nalike, true, true);
	count_keys(state, runs->alike_ntids, runs->nalike, counters);
	sst_btree_add_runs(state->into, runs->alike_size, runs->alike_ntids,
					   runs->nalike);
	state->last_key = 0;
	if (state->order != NULL)
		sst_btree_order_runs(state->order, runs->alike_size, runs->alike_ntids,
							 runs->nalike, 0);
	runs->nalike = 0;
}

/* End a run that is neither the page's first nor its last. */
static inline void
end_whole_run(SstBtreeRebuild *state, PageRuns *runs, SstCounters *counters)
{
	if (runs->alike_size != runs->key.size || runs->alike_ntids != runs->ntids)
	{
		add_alike(state, runs, counters);
		runs->alike_size = runs->key.size;
		runs->alike_ntids = runs->ntids;
	}
	runs->nalike++;
}

/* Add the page's part of its first or last run, which other pages may have more of. */
static void
end_piece(SstBtreeRebuild *state, PageRuns *runs, bool ended,
		  SstCounters *counters)
{
	bool		began = runs->nruns > 1 || first_run_begins(state, runs);
	SstBtreeRun piece = {.ntids = runs->ntids, .size = runs->key.size,
	.began = began, .ended = ended};
	uint64		key = began && ended ? 0 : hash_key(&runs->key);

	count_pieces(&state->fill, runs, runs->key.size, runs->ntids, 1, began, ended);
	count_keys(state, runs->ntids, ended, counters);

	/* The last page had the piece before this one. */
	if (!began && state->last_key == key)
	{
		SstBtreeRun before = sst_btree_take(state, key);

		/* more than the number can be make pages of their own */
		if (before.ntids > PG_UINT32_MAX - piece.ntids)
			sst_btree_add_run(state->into, before.size, before.ntids);
		else
			piece.ntids += before.ntids;
		piece.began = before.began;
	}
	/* Items that have a TID each are the same wherever their run ends. */
	if (!state->fill.deduplicate || (piece.began && ended))
	{
		state->into->next_repeats = !piece.began;
		sst_btree_add_run(state->into, piece.size, piece.ntids);
	}
	else
		sst_btree_park(state, key, &piece);
	state->last_key = ended ? 0 : key;

	if (state->order != NULL)
		sst_btree_order_runs(state->order, runs->key.size, runs->ntids, 1,
							 (uint32) key);
}

/*
 * Begin a run, which ends the one before.  When it is the page's first, then the last page may have
 * had a run that was expected to go on here.
 */
static void
begin_run(SstBtreeRebuild *state, PageRuns *runs, const LeafItem *item,
		  SstCounters *counters)
{
	if (runs->nruns > 1)
		end_whole_run(state, runs, counters);
	else if (runs->nruns == 1)
		end_piece(state, runs, true, counters);
	runs->key = *item;
	runs->ntids = 0;
	if (++runs->nruns > 1 || state->last_key == 0 ||
		state->last_key == hash_key(item))
		return;

	runs->begins = true;
	state->last_key = 0;
}

/* The page's bytes: a long run's last tuple is followed by large ones. */
static void
count_runs(SstBtreeRebuild *state, const PageRuns *runs, SstCounters *counters)
{
	bool		are_long = 2 * runs->all_tids >=
		runs->nruns * sst_btree_most_tids(&state->fill, runs->key.size);
	uint64		bytes = are_long ? runs->long_bytes : runs->short_bytes;

	counters->n[SST_REBUILT_BYTES] += bytes;
	counters->n[SST_REBUILT_KEY_BYTES] += runs->key_bytes;
	state->nruns += runs->nruns;
	state->ntids += runs->all_tids;
	state->bytes += bytes;
	state->short_bytes += runs->short_bytes;
	state->tid_squares += runs->tid_squares;
	if (are_long)
		state->loose_bytes += runs->loose_bytes;
}

static void
add_pivot(SstBtreeRebuild *state, int size, uint64 weight, SstCounters *counters)
{
	counters->n[SST_REBUILT_PIVOTS] += weight;
	counters->n[SST_REBUILT_PIVOT_BYTES] += weight * size;
	state->npivots += weight;
	state->pivot_bytes += weight * size;
	state->pivot_squares += (double) weight * size * size;
}

/*
 * Count the pivot that a page would have that ends between two neighbours.  The second
 * would be the item that fills the page up to the fillfactor: the longer it is, the
 * more often.  An item that does not fit above that ends the page as well, and then
 * the one before it moves on.  The pair stands for runs->pivot_step pairs of its page.
 */
static void
count_pivot(SstBtreeRebuild *state, PageRuns *runs, const LeafItem *right,
			SstCounters *counters)
{
	const LeafItem *left = &runs->key;
	int			size = sst_btree_pivot_size(state->tupdesc, state->nkeys,
											left->tuple, left->size,
											right->tuple, right->size);
	int			need = sst_btree_tuple_size(right->size, right->ntids) +
		(int) sizeof(ItemIdData);
	int			fits = Min(need, Max(state->fill.target_free, 1));

	add_pivot(state, size, (uint64) fits * runs->pivot_step, counters);
	if (need > fits && runs->pivot > 0)
		add_pivot(state, runs->pivot, (uint64) (need - fits) * runs->pivot_step,
				  counters);
	runs->pivot = size;
}

/*
 * After the pair that ends with an item, or the page's first item, which is the next pair that
 * tells how large pivots are?  Distances are drawn, so that they have no period, with
 * runs->pivot_step as their mean.  Of an index with one column none is looked at.
 */
static inline int
next_pivot(const SstBtreeRebuild *state, const PageRuns *runs, int offnum)
{
	uint32		drawn = (state->nseen + offnum) * 0x9E3779B1U;

	return state->tupdesc->natts == 1 ? INT_MAX :
		offnum + 1 + (int) ((drawn >> 16) % (2 * runs->pivot_step - 1));
}

/* Find the first item before a stop, from one on, that has TIDs which the build leaves out. */
static int
next_left_out(const SstRebuild *rebuild, const PageData *page, int offnum, int stop)
{
	LeafItem	item;

	while (offnum < stop &&
		   read_item(page, PageGetItemId((Page) page, offnum), &item) &&
		   kept_tids(rebuild, item.tids, item.ntids) == item.ntids)
		offnum++;
	return offnum;
}

/*
 * Find the last of the items behind one, and before the stop, that are like it, which are most
 * items of most indexes: those of the same length, with as many TIDs and another key than the one
 * before.  They begin with the same bytes, but for the TID of those without a posting list.
 * Keys that differ neither in their first nor in their last word are taken for equal.
 *
 * With each item, a part of what is ahead is loaded.  This takes most of the time, and
 * so has in registers what it needs.
 */
static pg_noinline int
last_alike(const PageData *page, const LeafItem *first, int offnum, int stop,
		   const char *ahead, int part)
{
	const ItemIdData *item = PageGetItemId((Page) page, offnum);
	const char *tuple = first->tuple;
	const int	last_word = first->size - (int) sizeof(uint64);
	ItemIdData	pointer = *item;
	IndexTupleData header;
	IndexTupleData same = {.t_info = PG_UINT16_MAX};
	uint64		head;
	uint64		mask;
	uint64		key;

	if (last_word < (int) sizeof(IndexTupleData))
		return offnum;
	pointer.lp_off = 0;
	memcpy(&header, tuple, sizeof(header));
	if ((header.t_info & INDEX_ALT_TID_MASK) != 0)
		memset(&same, 0xFF, sizeof(same));
	head = word_at(&header);
	mask = word_at(&same);
	key = word_at(tuple + sizeof(header));

	for (; offnum + 1 < stop; offnum++)
	{
		ItemIdData	next = *++item;
		const char *next_tuple = page + ItemIdGetOffset(&next);
		uint64		next_key;

		sst_load(ahead + offnum * part);
		next.lp_off = 0;
		if (memcmp(&next, &pointer, sizeof(next)) != 0 ||
			((word_at(next_tuple) ^ head) & mask) != 0)
			break;
		next_key = word_at(next_tuple + sizeof(header));
		if (next_key == key &&
			word_at(next_tuple + last_word) == word_at(tuple + last_word))
			break;
		tuple = next_tuple;
		key = next_key;
	}
	return offnum;
}

/*
 * Find the last of the items behind one, and before the stop, that have its key.  Items are in the
 * order of their keys.
 */
static int
last_equal(const PageData *page, const LeafItem *first, int offnum, int stop)
{
	for (int step = stop - offnum; step > 0; step /= 2)
	{
		LeafItem	item;

		while (offnum + step < stop &&
			   read_item(page, PageGetItemId((Page) page, offnum + step), &item) &&
			   is_same_key(first, &item))
			offnum += step;
	}
	return offnum;
}

/* Do line pointers show that a page's items are of one size, and have one TID each, in a build as well? */
static bool
are_alike(const SstBtreeRebuild *state, const PageData *page, OffsetNumber first)
{
	SstLinePointers items;

	if (state->base.dead_tids != NULL)
		return false;
	sst_read_line_pointers(page, first, &state->lengths, &items);
	return items.alike && items.ndead + items.nlong + items.nunclear == 0;
}

/*
 * Has each of a page's items, which are alike, a key of its own?  A unique index can have the
 * versions of a row, but a build has one of them.  Of a single column, nulls are at one end.
 */
static bool
are_unique(const SstBtreeRebuild *state, const PageData *page, OffsetNumber first,
		   int nitems)
{
	LeafItem	ends[2];

	if (!state->is_unique)
		return false;
	if (state->is_primary)
		return true;
	return state->tupdesc->natts == 1 &&
		read_item(page, PageGetItemId((Page) page, first), &ends[0]) &&
		read_item(page, PageGetItemId((Page) page, nitems), &ends[1]) &&
		((ends[0].flags | ends[1].flags) & INDEX_NULL_MASK) == 0;
}

/* End a run, and others of one item each that are like it, but for the last of them. */
static void
skip_runs(SstBtreeRebuild *state, PageRuns *runs, const PageData *page, ItemId last,
		  int nalike, SstCounters *counters)
{
	end_whole_run(state, runs, counters);
	runs->nalike += nalike - 1;
	runs->nruns += nalike;
	(void) read_item(page, last, &runs->key);
}

/* Fill new leaf pages with the items of a leaf page, of whose keys more can be known if they are alike. */
static void
leaf_page(SstRebuild *rebuild, const PageData *page, OffsetNumber first, int nitems,
		  bool begins, bool alike, PageKeys keys, SstCounters *counters)
{
	SstBtreeRebuild *state = (SstBtreeRebuild *) rebuild;
	const char *ahead = rebuild->ahead != NULL ? rebuild->ahead : page;
	int			part = BLCKSZ / Max(nitems, 1);
	int			stop = 0;
	bool		includes = state->nkeys < state->tupdesc->natts;
	int			npivots = keys != KEYS_UNKNOWN && state->nseen > FIRST_PAGES ?
		FEW_PIVOTS : PIVOTS_PER_PAGE;
	PageRuns	runs = {.begins = begins, .pivot_step = Max(nitems / npivots, 1)};
	uint64		nkept = 0;
	uint64		nread = 0;

	for (int offnum = first; offnum <= nitems; offnum++)
	{
		ItemId		itemid = PageGetItemId((Page) page, offnum);
		LeafItem	item;
		int			ntids;
		int			nalike;
		bool		same_key;
		bool		skips_run;

		sst_load(ahead + (offnum - 1) * part);
		if (!read_item(page, itemid, &item))
			continue;
		ntids = ItemIdIsDead(itemid) ? 0 : kept_tids(rebuild, item.tids, item.ntids);
		nread += item.ntids;
		nkept += ntids;
		if (ntids == 0)
			continue;

		same_key = runs.nruns > 0 && keys != KEYS_UNIQUE &&
			(keys == KEYS_EQUAL || is_same_key(&runs.key, &item));
		if (offnum >= runs.next_pivot)
		{
			if (runs.nruns > 0 && (includes || !same_key))
				count_pivot(state, &runs, &item, counters);
			runs.next_pivot = next_pivot(state, &runs, offnum);
		}
		if (!same_key)
			begin_run(state, &runs, &item, counters);
		runs.ntids += ntids;
		runs.all_tids += ntids;

		/*
		 * More of the run are skipped; or if it is like the last one, more
		 * such runs.
		 */
		skips_run = same_key && alike;
		if (!skips_run && (runs.ntids != item.ntids || runs.alike_ntids != item.ntids))
			continue;
		if (stop <= offnum)
		{
			stop = Min(runs.next_pivot, nitems + 1);
			if (rebuild->dead_tids != NULL)
				stop = next_left_out(rebuild, page, offnum + 1, stop);
		}
		nalike = (keys != KEYS_UNKNOWN ? stop - 1 :
				  skips_run ? last_equal(page, &item, offnum, stop) :
				  last_alike(page, &item, offnum, stop, ahead, part)) - offnum;
		if (nalike == 0)
			continue;
		if (skips_run)
			runs.ntids += nalike;
		else
			skip_runs(state, &runs, page, itemid + nalike, nalike, counters);
		runs.all_tids += nalike * item.ntids;
		nread += nalike * item.ntids;
		nkept += nalike * item.ntids;
		offnum += nalike;
	}
	counters->n[SST_REBUILT_DEAD_ENTRIES] += nread - nkept;
	counters->n[SST_REBUILT_ENTRIES] += nkept;

	if (runs.nruns > 0)
	{
		add_alike(state, &runs, counters);
		end_piece(state, &runs, !goes_on(page, &runs.key), counters);
		count_runs(state, &runs, counters);
	}
}

/* ----------
 * Pages that are left out
 *
 * To look at each item of a page takes most of the time, unless line pointers tell all.  After
 * FIRST_PAGES, one of some pages with many keys is looked at, the more the less sure the size is.  The
 * others take as much, for the bytes that they use, as the last ones did whose items were about as long,
 * and had equal keys or not.  bench/bloat shows whether that is enough.
 * ----------
 */
#define SURE 0.001				/* by which part the size can be off, and ... */
#define SURE_STEP 32			/* ... one of how many pages is looked at
								 * below that */
#define UNSURE 0.01
#define UNSURE_STEP 4			/* above this, and in between: */
#define LOOK_STEP 16
#define MANY_KEYS 50			/* a page with fewer is looked at, of a small
								 * index ... */
#define SMALL_INDEX 512			/* ... with up to so many blocks; of others,
								 * one with fewer than: */
#define FEW_KEYS 8
#define MOST_DEAD 0.01			/* part of the entries that are of dead rows */
#define KEPT_WEIGHT 0.5			/* of pages that were looked at before another */

static const SstCount item_counts[SST_BTREE_COUNTS] = {
	[SST_LEAF_BYTES] = SST_REBUILT_BYTES,
	[SST_LEAF_KEY_BYTES] = SST_REBUILT_KEY_BYTES,
	[SST_LEAF_KEYS] = SST_REBUILT_KEYS,
	[SST_LEAF_ENTRIES] = SST_REBUILT_ENTRIES,
	[SST_LEAF_DEAD_ENTRIES] = SST_REBUILT_DEAD_ENTRIES,
	[SST_LEAF_PIVOTS] = SST_REBUILT_PIVOTS,
	[SST_LEAF_PIVOT_BYTES] = SST_REBUILT_PIVOT_BYTES
};

/* Have the items been looked at of enough pages?  Of a sample's, all are. */
static inline bool
knows_enough(const SstBtreeRebuild *state)
{
	return !state->is_sample && state->nlooked >=
		(state->nblocks > 2 * FIRST_PAGES ? FIRST_PAGES / 2 : FIRST_PAGES);
}

/* Do the two items in the middle of a page have the same key? */
static bool
middle_is_equal(const PageData *page, OffsetNumber first, int nitems)
{
	int			middle = (first + nitems) / 2;
	LeafItem	items[2];

	return middle < nitems &&
		read_item(page, PageGetItemId((Page) page, middle), &items[0]) &&
		read_item(page, PageGetItemId((Page) page, middle + 1), &items[1]) &&
		is_same_key(&items[0], &items[1]);
}

/*
 * What is known of the keys of a page whose items are alike.  Where a build does not deduplicate,
 * they tell of pivots only, so that a guess is enough on most pages.
 */
static PageKeys
keys_of(const SstBtreeRebuild *state, const PageData *page, OffsetNumber first, int nitems)
{
	if (are_unique(state, page, first, nitems))
		return KEYS_UNIQUE;
	if (!knows_enough(state))
		return KEYS_UNKNOWN;
	return middle_is_equal(page, first, nitems) ? KEYS_EQUAL : KEYS_UNIQUE;
}

/* The kind of a page that uses so many bytes, by its items on average and the two in the middle */
static SstBtreeKind *
kind_of(SstBtreeRebuild *state, const PageData *page, OffsetNumber first, int nitems,
		uint32 used)
{
	uint32		size = Max(used / Max(nitems, 1), 4);
	int			power = pg_leftmost_one_pos32(size);
	int			number = power * 4 + ((size >> (power - 2)) & 3);

	number %= SST_BTREE_SIZES;
	if (middle_is_equal(page, first, nitems))
		number += SST_BTREE_SIZES;
	return &state->kinds[number];
}

/* Keys on a page of this kind, or items if a build does not deduplicate */
static inline double
keys_per_page(const SstBtreeRebuild *state, const SstBtreeKind *kind)
{
	return kind->counts[state->fill.deduplicate ? SST_LEAF_KEYS : SST_LEAF_ENTRIES] /
		Max(kind->npages, 1);
}

/*
 * May pages of this kind be left out?  Those that are looked at then tell of them, but not how
 * many of their rows are dead: few must be.  In a sample, no page is left out.
 */
static inline bool
may_leave_out(const SstBtreeRebuild *state, const SstBtreeKind *kind)
{
	const SstDeadTids *dead = state->base.dead_tids;
	bool		is_small = state->nblocks <= SMALL_INDEX;

	return knows_enough(state) &&
		(dead == NULL || (!is_small && dead->ntids <= MOST_DEAD * state->nblocks *
						  kind->counts[SST_LEAF_ENTRIES] / Max(kind->npages, 1))) &&
		keys_per_page(state, kind) > (is_small ? MANY_KEYS : FEW_KEYS);
}

/* Count what a page that is left out has, by the bytes that it uses. */
static void
leave_out(SstBtreeRebuild *state, SstBtreeKind *kind, uint32 used, SstCounters *counters)
{
	double		part = used / kind->used;
	uint64		bytes = (uint64) rint(part * kind->counts[SST_LEAF_BYTES]);

	for (int i = 0; i < lengthof(item_counts); i++)
		counters->n[item_counts[i]] += (uint64) rint(part * kind->counts[i]);
	state->bytes += bytes;
	state->left_out_bytes += bytes;
	state->last_leaf = InvalidBlockNumber;
	kind->nleft_out++;
	if (state->order != NULL)
		pfree(state->order);
	state->order = NULL;
}

/* Keep what a page that was looked at came to, for others of its kind; "before" was counted before. */
static void
keep_counts(SstBtreeRebuild *state, SstBtreeKind *kind, uint32 used,
			const uint64 *before, const SstCounters *counters)
{
	double		expected = kind->counts[SST_LEAF_BYTES] * used / Max(kind->used, 1);
	double		bytes = counters->n[SST_REBUILT_BYTES] - before[SST_LEAF_BYTES];

	for (int i = 0; i < lengthof(item_counts); i++)
		kind->counts[i] = KEPT_WEIGHT * kind->counts[i] + counters->n[item_counts[i]] - before[i];
	kind->used = KEPT_WEIGHT * kind->used + Max(used, MANY_KEYS * sizeof(ItemIdData));
	kind->npages = KEPT_WEIGHT * kind->npages + 1;
	sst_add_doubt(&state->doubt, bytes - expected, kind->nleft_out);
	kind->nleft_out = 0;
	state->nlooked++;
	if (state->into == &state->like)
		state->like_bytes += (uint64) bytes;
}

/* Take a leaf page in, and what it says of other pages. */
static void
take_leaf(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	SstBtreeRebuild *state = (SstBtreeRebuild *) rebuild;
	const PageHeaderData *header = (const PageHeaderData *) page;
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	int			nitems = sst_page_items(page);
	uint32		used = header->pd_special - header->pd_upper + nitems * sizeof(ItemIdData);
	uint32		high_key = 0;
	SstBtreeKind *kind = NULL;
	bool		alike;
	PageKeys	keys = KEYS_UNKNOWN;
	bool		follows;
	uint64		before[SST_BTREE_COUNTS];

	if (P_IGNORE(opaque))
	{
		if (state->order != NULL)
			sst_btree_order_page(state->order, blkno, opaque->btpo_prev,
								 opaque->btpo_next);
		return;
	}
	if (first > P_HIKEY && first <= nitems)
		high_key = MAXALIGN(ItemIdGetLength(PageGetItemId((Page) page, P_HIKEY))) +
			sizeof(ItemIdData);
	used -= Min(high_key, used);
	alike = !state->fill.deduplicate && are_alike(state, page, first);
	if (alike)
		keys = keys_of(state, page, first, nitems);
	if (keys == KEYS_UNKNOWN && nitems > FEW_KEYS)
		kind = kind_of(state, page, first, nitems, used);
	if (kind != NULL && may_leave_out(state, kind))
	{
		double		doubt = sst_doubt_part(state->doubt, state->bytes);
		bool		sure = doubt <= SURE && keys_per_page(state, kind) > MANY_KEYS;
		uint32		step = doubt > UNSURE ? UNSURE_STEP : sure ? SURE_STEP : LOOK_STEP;

		if (state->nseen * 0x9E3779B1U > PG_UINT32_MAX / step)
		{
			leave_out(state, kind, used, counters);
			return;
		}
		state->into = &state->like;
	}
	if (state->order != NULL)
		sst_btree_order_page(state->order, blkno, opaque->btpo_prev, opaque->btpo_next);

	/* Between the page seen last and this one there can be others. */
	follows = P_LEFTMOST(opaque) || opaque->btpo_prev == state->last_leaf;
	if (!follows || P_LEFTMOST(opaque))
		state->last_key = 0;
	for (int i = 0; i < lengthof(item_counts); i++)
		before[i] = counters->n[item_counts[i]];
	leaf_page(rebuild, page, first, nitems, follows && state->last_key == 0, alike, keys,
			  counters);
	if (kind != NULL)
		keep_counts(state, kind, used, before, counters);
	state->into = &state->fill;
	state->last_leaf = blkno;
}

static void
btree_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		   const SstItemList *kept, SstCounters *counters)
{
	SstBtreeRebuild *state = (SstBtreeRebuild *) rebuild;

	state->is_sample |= state->nseen++ < blkno;
	if (blkno != BTREE_METAPAGE && !PageIsNew((Page) page))
	{
		const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);

		if (P_ISLEAF(opaque) && !P_ISDELETED(opaque))
			take_leaf(rebuild, page, blkno, counters);
	}
}

/* ----------
 * The prediction
 * ----------
 */

/*
 * By which fraction the prediction can be off, at least: when the items were seen
 * in the order of their keys, in the order of the index's blocks, and in a sample
 */
#define UNCERTAINTY 0.001
#define UNCERTAINTY_OF_ORDER 0.003
#define UNCERTAINTY_OF_SAMPLE 0.005
#define MOST_UNCERTAINTY 0.25

/* ... and that of the levels above the leaves */
#define UNCERTAINTY_OF_PIVOTS 0.1

/* The first TID of a posting list, and what is lost by its alignment, on average */
#define FIRST_OF_LIST (sizeof(ItemPointerData) + MAXIMUM_ALIGNOF / 2.0 - 1)

/*
 * How full pages are depends on how posting lists fill them.  If TIDs are left out, the
 * fill of a page differs by about half of a list, as experiments have shown: completely
 * so from this fraction of dead entries on.
 */
#define UNCERTAINTY_OF_LISTS 0.6
#define MANY_DEAD 0.03

/* The sizes of an internal level's items */
typedef struct Pivots
{
	double		size;			/* of one, on average */
	double		spread;			/* variance in squares of the size */
} Pivots;

/*
 * What full leaf pages leave for the level above.  Where a pivot has no columns
 * but those that it needs, neighbours on the old pages tell which these are, unless
 * their keys are equal: then it has all of them and a TID.  Of an index with INCLUDE
 * columns, the neighbours tell that as well.
 */
static Pivots
leaf_pivots(const SstBtreeRebuild *state, const SstBtreeFill *fill,
			const double *counts)
{
	double		npivots = fill->npivots;
	bool		truncates = state->tupdesc->natts > 1;
	bool		includes = state->nkeys < state->tupdesc->natts;
	Pivots		result = {MAXALIGN(sizeof(IndexTupleData) + 1)};

	if (npivots == 0)
		return result;
	if (truncates && counts[SST_REBUILT_PIVOTS] > 0)
	{
		double		part = includes ? 0 : fill->repeating / npivots;
		double		repeating = part > 0 ? fill->repeating_bytes / fill->repeating : 0;
		double		squares = state->pivot_squares / Max(state->npivots, 1);

		result.size = part * repeating + (1 - part) *
			counts[SST_REBUILT_PIVOT_BYTES] / counts[SST_REBUILT_PIVOTS];
		squares = part * repeating * repeating + (1 - part) * squares;
		result.spread = squares / (result.size * result.size) - 1;
	}
	else
	{
		result.size = fill->pivot_bytes / npivots;
		result.spread = fill->pivot_squares / npivots /
			(result.size * result.size) - 1;
	}
	result.spread = Max(result.spread, 0);

	return result;
}

/* The mean of floor(x), if x has a normal distribution with this mean and deviation */
static double
expected_floor(double x, double deviation)
{
	double		below = floor(x);
	double		result = below;

	/* The probabilities that it is some more, and some less */
	for (int i = 0; i < 3; i++)
		result += (erfc((below + 1 + i - x) / Max(deviation, 1e-9) * M_SQRT1_2) -
				   erfc((x - below + i) / Max(deviation, 1e-9) * M_SQRT1_2)) / 2;
	return result;
}

/*
 * Pages of an internal level with so many children.  Its pages are filled to the
 * fixed fillfactor; the first item of each has no key, and the last moves on to
 * the next page, as on the leaf level.  This tends to be a large one.
 */
static double
internal_pages(double nchildren, Pivots *pivots, bool whole)
{
	double		target_free = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	double		room = SST_EMPTY_LEAF_BYTES - target_free -
		(double) (sizeof(IndexTupleData) + 2 * sizeof(ItemIdData));
	double		per_page = room / (pivots->size + sizeof(ItemIdData));

	if (whole)
		per_page = expected_floor(per_page, sqrt(per_page * pivots->spread)) + 0.5;
	per_page += (1 + pivots->spread) / 2;

	pivots->size *= 1 + pivots->spread;
	pivots->spread *= 0.4;
	return Max(sst_round_up((nchildren - 1) / Max(per_page, 2), whole), 1);
}

static double
btree_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const SstBtreeRebuild *state = (const SstBtreeRebuild *) rebuild;
	const SstBtreeFill *fill = &state->all;
	Pivots		pivots = leaf_pivots(state, fill, counts);
	double		npages = 0;
	double		result = 1;		/* the metapage */

	if (state->bytes > 0)
		npages = counts[SST_REBUILT_BYTES] *
			(sst_btree_filled_pages(fill) / state->bytes);

	/* The bytes of all pages seen make a whole number, but for rounding. */
	npages = sst_round_up(npages * (1 - 1e-9), whole);
	result += npages;
	if (whole && state->tupdesc->natts == 1 && state->left_out_bytes == 0 &&
		npages == ceil(sst_btree_filled_pages(fill)))
		return result + sst_btree_internal_pages(fill);
	while (npages > 1)
	{
		npages = internal_pages(npages, &pivots, whole);
		result += npages;
	}

	return result;
}

/*
 * Where keys are deduplicated, the TIDs of a key can be versions of one row, of
 * which one is left: of rows that were updated, no key is assumed to vanish as long as
 * as many TIDs are left as there are keys.  Deleted ones are as likely to have one key as
 * another.
 */
static void
scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	const SstBtreeRebuild *state = (const SstBtreeRebuild *) rebuild;
	double		entries = counts[SST_REBUILT_ENTRIES];
	double		keys = counts[SST_REBUILT_KEYS];
	double		kept_keys = Min(keys, entries * fraction);

	kept_keys += rebuild->deleted_part *
		(Min(keys * sst_keys_left(&state->keys, fraction), kept_keys) - kept_keys);
	if (state->fill.deduplicate && keys > 0 && entries > keys)
	{
		double		key_bytes = Min(counts[SST_REBUILT_KEY_BYTES],
									counts[SST_REBUILT_BYTES]);
		double		posting_bytes = counts[SST_REBUILT_BYTES] - key_bytes;
		double		lists = FIRST_OF_LIST * Min(keys, entries - keys);
		double		others = entries * fraction - kept_keys;

		lists = Min(lists, posting_bytes);
		counts[SST_REBUILT_BYTES] = key_bytes * kept_keys / keys +
			lists * Min(kept_keys, others) / Min(keys, entries - keys) +
			(posting_bytes - lists) * others / (entries - keys);
	}
	else
		counts[SST_REBUILT_BYTES] *= fraction;
	counts[SST_REBUILT_ENTRIES] *= fraction;
}

/*
 * By which part of the size posting lists may fill pages otherwise when only this fraction
 * of entries is left
 */
static double
list_uncertainty(const SstBtreeRebuild *state, const SstPageSample *sample,
				 double kept)
{
	const double *counts = sample->totals;
	double		ntids = counts[SST_REBUILT_ENTRIES] / Max(counts[SST_REBUILT_KEYS], 1);

	if (ntids < 2 || !state->fill.deduplicate)
		return 0;
	return UNCERTAINTY_OF_LISTS * kept * Min((1 - kept) / MANY_DEAD, 1) *
		Min(ntids * sizeof(ItemPointerData), SST_MAX_POSTING_TUPLE) / BLCKSZ;
}

/*
 * By which fraction the levels above the leaves can make the prediction wrong, where
 * pivots are chosen among neighbours and differ in size
 */
static double
pivot_uncertainty(const SstBtreeRebuild *state)
{
	double		size;
	double		spread;

	if (state->npivots == 0)
		return 0;

	size = (double) state->pivot_bytes / state->npivots;
	spread = state->pivot_squares / state->npivots / (size * size) - 1;

	return UNCERTAINTY_OF_PIVOTS * Max(Min(spread, 1), 0) * size / BLCKSZ;
}

/*
 * The prediction's uncertainty.  What remains on full pages depends on the order
 * of the items, the more the larger these are and the more their sizes differ.
 * How long a run is whose beginning was not seen is not known, and so is what its
 * last tuple takes.
 */
static double
btree_uncertainty(const SstBtreeRebuild *state, bool in_order)
{
	const SstBtreeFill *fill = &state->fill;
	bool		complete = state->nseen >= state->nblocks;
	double		result = complete ? UNCERTAINTY_OF_ORDER : UNCERTAINTY_OF_SAMPLE;

	if (in_order)
		return UNCERTAINTY + pivot_uncertainty(state);

	if (fill->added > 0)
		result += Max(fill->added_squares / fill->added_bytes -
					  fill->added_bytes / fill->added, 0) / (4 * BLCKSZ);
	if (!complete)
		result += (double) state->loose_bytes / Max(state->bytes, 1);

	/*
	 * A full page lacks anything up to an item's size, and those that were
	 * looked at are some.
	 */
	if (state->like.added_bytes > 0)
		result += SST_Z * state->like.added_squares / state->like.added_bytes / BLCKSZ /
			sqrt(12 * sst_btree_filled_pages(&state->like));
	result += pivot_uncertainty(state);

	return Min(result, MOST_UNCERTAINTY);
}

static void
btree_predict(SstRebuild *rebuild, const SstPageSample *sample,
			  const SstEstimate *kept, SstEstimate *blocks)
{
	SstBtreeRebuild *state = (SstBtreeRebuild *) rebuild;
	double		unlike = sst_most_unlike(kept->value, state->ntids, state->short_bytes,
										 state->tid_squares);
	double		uncertainty;
	SstEstimate all;
	bool		in_order;

	state->fill.pause = rebuild->pause;
	state->all = sst_btree_fill_all(state, &in_order);
	if (state->like_bytes > 0)
		sst_btree_fill_more(&state->all, &state->like,
							1 + (double) state->left_out_bytes / state->like_bytes);
	else
		sst_btree_fill_more(&state->all, &state->all, (double) state->left_out_bytes /
							Max(state->bytes - state->left_out_bytes, 1));
	*blocks = sst_predict_blocks(rebuild, sample);
	uncertainty = btree_uncertainty(state, in_order) +
		sst_doubt_part(state->doubt, state->bytes);

	/* All entries of dead rows may be on pages that were left out, or none. */
	if (rebuild->dead_tids != NULL && state->left_out_bytes > 0)
		uncertainty += rebuild->dead_tids->ntids / Max(sample->totals[SST_REBUILT_ENTRIES], 1);
	uncertainty *= blocks->value;
	sst_widen(blocks, uncertainty, uncertainty);
	all = *blocks;
	sst_leave_out(rebuild, sample, kept,
				  list_uncertainty(state, sample, kept->value) + unlike, blocks);

	/*
	 * The keys that are assumed to stay may be those that vanish; none is
	 * added.
	 */
	blocks->low = Min(blocks->low, all.value * Max(kept->low - unlike, 0));
	blocks->high = Min(blocks->high, all.high);
}

static SstRebuild *
btree_begin(Relation rel)
{
	SstBtreeRebuild *state = palloc0(sizeof(SstBtreeRebuild));

	state->nblocks = RelationGetNumberOfBlocks(rel);
	state->last_leaf = InvalidBlockNumber;
	state->order = sst_btree_order_create(state->nblocks);
	state->tupdesc = RelationGetDescr(rel);
	state->nkeys = IndexRelationGetNumberOfKeyAttributes(rel);
	state->is_unique = rel->rd_index->indisunique;
	state->is_primary = rel->rd_index->indisprimary;
	sst_btree_tuple_lengths(&state->lengths, rel);

	/* The conditions of _bt_load() */
	sst_btree_fill_init(&state->fill, !rel->rd_index->indisunique &&
						BTGetDeduplicateItems(rel) &&
						_bt_allequalimage(rel, false),
						BTGetTargetPageFreeSpace(rel));
	state->like = state->fill;
	state->into = &state->fill;
	return &state->base;
}

const SstModel sst_btree_model = {btree_begin, btree_page, btree_predict, btree_blocks,
scale_entries};
