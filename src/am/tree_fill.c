/*-------------------------------------------------------------------------
 *
 * tree_fill.c
 *	  The size of a rebuilt GiST or SP-GiST index
 *
 * A build makes the entries that there are, without those of dead rows, and as
 * long as they are.  How full it leaves pages depends on how the operator
 * class splits them, which is code that is not run here, and on the order of
 * rows.  So that is a fraction which bench/fill has measured, with ends that
 * held 95 percent of many kinds of keys, orders and histories.
 *
 * The present pages tell more as long as nothing was deleted: the fullest of
 * them are full, hardly any is nearly empty, and the new ones will be as full as
 * they are on average, with as many inner pages for each leaf page.  And a build ends with
 * records of the log that have many pages each (log_newpage_range()).  A page that has its
 * neighbor's LSN has not been changed since.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/tree_fill.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/gist_private.h"
#include "access/itup.h"
#include "access/spgist_private.h"
#include "access/xlogrecord.h"
#include "utils/lsyscache.h"

#include "am/rebuild.h"

/*
 * Where the present pages do not tell: the fill of GiST's inner pages for that of leaf
 * pages, and the number of SP-GiST's inner pages for each leaf page
 */
#define INNER_FILL 0.75
#define INNER_SHARE 0.03

/* Other fills than these would make no sense. */
#define LEAST_FILL 0.02
#define MOST_FILL 1.06

/* SP-GiST's metapage and two roots */
#define FIXED_BLOCKS (SPGIST_LAST_FIXED_BLKNO + 1)

/* How a build of a GiST or SP-GiST index fills pages: it sorts, or inserts */
typedef enum TreeWay
{
	TREE_SORTED,
	TREE_INSERTED,				/* or buffered */
	TREE_SPGIST
} TreeWay;

/* Classes of leaf pages by how full they are */
#define TREE_FILLS 32

typedef struct TreeRebuild
{
	SstRebuild	base;
	TreeWay		way;
	bool		uneven;			/* see splits_like() */
	bool		network;
	bool		ranges;
	int			room;			/* of a page, bytes */
	double		full;			/* of that, a build fills so much before it
								 * splits a page */

	/* The present leaf pages, and those as full as a build has left them */
	uint32		nleaves;
	uint32		nbuilt;
	uint32		leaves[TREE_FILLS];

	/* The leaf page before, and those that have a neighbor, or its LSN */
	BlockNumber last_leaf;
	XLogRecPtr	last_lsn;
	double		last_fill;
	bool		last_compared;
	bool		last_unchanged;
	uint32		ncompared;
	uint32		nunchanged;
	double		unchanged_fill; /* sum */
	double		kept;			/* fraction of the entries, if it is not known
								 * which */

	double		squares;		/* sum over entries of those of their bytes */

	/* Pairs of neighboring entries, and those whose rows are neighbors, too */
	uint64		npairs;
	uint64		nnear;
	BlockNumber last_block;		/* of the table, with a row */
} TreeRebuild;

static bool
is_spgist(const TreeRebuild *state)
{
	return state->way == TREE_SPGIST;
}

/* What is known of the present leaf pages */
typedef enum Known
{
	UNCHANGED,					/* fractions are of their fill */
	AS_FILLED,					/* these, too */
	WITH_DEAD,					/* and these; unchanged, but many rows are
								 * dead */
	IN_ORDER,					/* keys rise or fall from row to row */
	NOT_KNOWN
} Known;

/*
 * How full leaf pages will be, of what a build fills before it splits one, with the
 * ends of 95 percent: see bench/fill.  Three are farther out, for kinds of keys that sql/bloat_trees
 * has: the least of GiST where keys come in order, by ranges that overlap hundreds of others; and the
 * most of SP-GiST, by addresses at even distances, which fill pages to 70 or to 99 percent; and the
 * most of GiST whose pages tell, by tsvector and contrib's hstore, intarray and ltree, when a few rows
 * were deleted and others inserted since.
 * WITH_DEAD are from 29 kinds of keys on 15, of which two fifths of the rows were deleted:
 * builds filled 0.69 to 1.5 of what they had filled before.
 */
static const SstEstimate fills[][NOT_KNOWN + 1] =
{
	/* value, low, high */
	[TREE_SORTED] = {{1.00, 0.95, 1.07}, {1.00, 0.92, 1.12}, {1.00, 0.65, 1.55}, {0.75, 0.54, 1.06}, {0.72, 0.54, 1.03}},
	[TREE_INSERTED] = {{1.00, 0.90, 1.07}, {1.00, 0.85, 1.55}, {1.00, 0.65, 1.55}, {0.52, 0.20, 0.85}, {0.65, 0.46, 0.98}},
	[TREE_SPGIST] = {{1.00, 0.95, 1.07}, {1.03, 0.90, 1.23}, {1.00, 0.65, 1.55}, {0.57, 0.32, 1.00}, {0.73, 0.46, 1.00}},
};

/* What is expected of the new index */
typedef struct Expected
{
	SstEstimate fill;			/* of leaf pages, with the ends of 95 percent */
	double		inner_share;	/* inner and empty pages for each leaf page;
								 * or NaN, if downlinks must tell */
} Expected;

/* New pages are hardly less full than the present ones, whatever was deleted. */
#define LEAST_OF_PRESENT 0.85

/*
 * ... but where splits are uneven: of these no more is known than what there is.  Those of
 * addresses depend on how dense networks are: most are like others, but where many of the last rows
 * came from one network, new pages were half as full as expected (sql/bloat_trees); GiST's were even
 * half as full as those that inserts had filled.
 */
#define LEAST_OF_UNEVEN 0.5

/*
 * If nothing was deleted, at least this part of the leaf pages is full to UNTOUCHED, or
 * to UNTOUCHED_IN_ORDER where GiST's keys came in order.
 */
#define FULLEST 0.05
#define UNTOUCHED 0.85
#define UNTOUCHED_IN_ORDER 0.47

/*
 * Neighbors of so many leaf pages are compared at least.  If a part of UNCHANGED_ALL of them
 * has not been changed since the index was built, a rebuild changes hardly anything; with
 * UNCHANGED_SOME, they show how full the others were, at least: pages with many entries are changed
 * first.  Both only as long as GiST's fillfactor is what it was: some pages are as full as that, and
 * none are fuller; and few rows are dead: with many, a build of the others differs by WITH_DEAD.
 */
#define COMPARED 8
#define KEPT_ALL 0.95
#define UNCHANGED_ALL 0.9
#define UNCHANGED_SOME 0.25

/*
 * Inserts leave few pages less full than SPARSE, but for ranges that overlap and come in
 * order.  A larger part of the pages than the first limit shows that entries were deleted;
 * one larger than the second, that pages were filled again since.
 */
#define SPARSE 0.35
#define SOME_SPARSE 0.08
#define MANY_SPARSE 0.2
#define MANY_SPARSE_IN_ORDER 0.35

/*
 * Where pages are less full than this part of what is usual, entries can have been deleted from all
 * of them alike, so that none is sparse, and the full ones have come since.
 */
#define LEAST_OF_USUAL 0.9

/* Keys are in order if so many neighbors on a page are of neighboring blocks; of few blocks, that says nothing. */
#define NEAR 0.9
#define MANY_BLOCKS 40

/* SP-GiST's pages have keys of a region, so that rows of this part of the table are near, too. */
#define NEAR_PART 40

/* ... which is looked for on the first pages, and on one of so many others */
#define ORDER_PAGES 16

/*
 * Get the TID of a tuple.  False for one that only stands in the place of an entry or
 * a downlink that has gone.
 */
static bool
get_tid(const TreeRebuild *state, const PageData *page, const ItemIdData *item,
		ItemPointerData *tid)
{
	const char *tuple = page + ItemIdGetOffset(item);
	IndexTupleData entry;
	SpGistLeafTupleData leaf;	/* others have their state in the same place */

	if (ItemIdGetLength(item) < Max(sizeof(entry), sizeof(leaf)))
		return false;
	if (!is_spgist(state))
	{
		memcpy(&entry, tuple, sizeof(entry));
		*tid = entry.t_tid;
		return true;
	}
	memcpy(&leaf, tuple, sizeof(leaf));
	*tid = leaf.heapPtr;
	return leaf.tupstate == SPGIST_LIVE;
}

/* Count an entry that a build makes, which is of this block of the table. */
static void
count_entry(TreeRebuild *state, BlockNumber blkno, BlockNumber *neighbor)
{
	BlockNumber distance = 1;

	state->last_block = Max(state->last_block, blkno);
	if (is_spgist(state))
		distance = Max(distance, state->last_block / NEAR_PART);
	if (*neighbor != InvalidBlockNumber)
	{
		state->npairs++;
		state->nnear += blkno - *neighbor + distance <= 2 * distance;
	}
	*neighbor = blkno;
}

/*
 * Must the TIDs of a leaf page be read?  The order of keys is known from some pages; dead
 * rows are on any, and SP-GiST's tuples say beside the TID what they are.
 */
static bool
reads_tids(const TreeRebuild *state)
{
	return state->base.dead_tids != NULL || is_spgist(state) ||
		state->nleaves < ORDER_PAGES || state->nleaves % ORDER_PAGES == 0;
}

/* One of so many entries tells how much their sizes differ. */
#define SQUARES_OF 8

/*
 * Count the entries of a GiST leaf page without their TIDs.  Returns the bytes that they
 * take: tuples have no gaps between them.  On a damaged page they can overlap.
 */
static uint64
count_lengths(TreeRebuild *state, const PageData *page,
			  SstCounters *counters)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			nitems = sst_page_items(page);
	uint64		bytes = header->pd_special - header->pd_upper +
		nitems * sizeof(ItemIdData);
	uint64		dead_bytes = 0;
	int			ndead = 0;

	for (OffsetNumber offnum = FirstOffsetNumber;
		 GistPageHasGarbage((Page) page) && offnum <= nitems; offnum++)
	{
		ItemIdData	item = *PageGetItemId((Page) page, offnum);

		if (ItemIdIsDead(&item))
		{
			ndead++;
			dead_bytes += MAXALIGN(ItemIdGetLength(&item)) + sizeof(ItemIdData);
		}
	}
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum += SQUARES_OF)
	{
		ItemIdData	item = *PageGetItemId((Page) page, offnum);
		double		size = MAXALIGN(ItemIdGetLength(&item)) + sizeof(ItemIdData);

		state->squares += size * size * Min(SQUARES_OF, nitems - offnum + 1);
	}
	counters->n[SST_REBUILT_DEAD_ENTRIES] += ndead;
	counters->n[SST_REBUILT_ENTRIES] += nitems - ndead;
	counters->n[SST_REBUILT_BYTES] += bytes - Min(dead_bytes, bytes);
	return bytes;
}

/*
 * Count the entries of a leaf page, or the downlinks of an inner one, by their tuples.
 * Returns the bytes that they take.
 */
static uint64
count_tuples(TreeRebuild *state, const PageData *page, bool leaf,
			 SstCounters *counters)
{
	int			nitems = sst_page_items(page);
	uint64	   *n = counters->n;
	uint64		bytes = 0;
	BlockNumber neighbor = InvalidBlockNumber;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		int			size = MAXALIGN(ItemIdGetLength(item)) + sizeof(ItemIdData);
		ItemPointerData tid;

		if (!get_tid(state, page, item, &tid))
			continue;
		bytes += size;
		if (!leaf)
			n[SST_REBUILT_PIVOTS]++;
		else if (ItemIdIsDead(item) || sst_rebuild_leaves_out(&state->base, &tid))
			n[SST_REBUILT_DEAD_ENTRIES]++;
		else
		{
			n[SST_REBUILT_ENTRIES]++;
			n[SST_REBUILT_BYTES] += size;
			state->squares += (double) size * size;
			count_entry(state, ItemPointerGetBlockNumberNoCheck(&tid),
						&neighbor);
		}
	}
	return bytes;
}

/* Compare a leaf page with the one before, if that was logged with it. */
static void
compare_leaf(TreeRebuild *state, BlockNumber blkno, XLogRecPtr lsn, double fill)
{
	bool		compared = state->last_lsn != InvalidXLogRecPtr &&
		blkno / XLR_MAX_BLOCK_ID == state->last_leaf / XLR_MAX_BLOCK_ID;
	bool		unchanged = compared && lsn == state->last_lsn;

	state->ncompared += compared + (compared && !state->last_compared);
	if (unchanged)
	{
		state->nunchanged += 1 + !state->last_unchanged;
		state->unchanged_fill += fill + (state->last_unchanged ? 0 : state->last_fill);
	}
	state->last_leaf = blkno;
	state->last_lsn = lsn;
	state->last_fill = fill;
	state->last_compared = compared;
	state->last_unchanged = unchanged;
}

/* Take a page in.  "built": no leaf page has been split into it since it was built. */
static void
take_page(TreeRebuild *state, const PageData *page, BlockNumber blkno,
		  bool leaf, bool built, SstCounters *counters)
{
	uint64		bytes = leaf && !reads_tids(state) ?
		count_lengths(state, page, counters) :
		count_tuples(state, page, leaf, counters);
	double		fill = (double) bytes / state->room;

	if (!leaf)
	{
		counters->n[SST_REBUILT_PIVOT_BYTES] += bytes;
		return;
	}
	counters->n[SST_REBUILT_OLD_BYTES] += bytes;
	built = built && fill <= state->full;
	if (built)
		fill /= state->full;
	state->nleaves++;
	state->nbuilt += built;
	state->leaves[Min((int) (fill * TREE_FILLS), TREE_FILLS - 1)]++;
	compare_leaf(state, blkno, PageGetLSN((Page) page), fill);
}

static void
gist_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	uint16		flags;

	if (sst_page_items(page) == 0)
		return;
	flags = GistPageGetOpaque((Page) page)->flags;
	if ((flags & F_DELETED) == 0)
		take_page((TreeRebuild *) rebuild, page, blkno, (flags & F_LEAF) != 0,
				  GistPageGetNSN((Page) page) <= GistBuildLSN, counters);
}

static void
spgist_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
			const SstKeptItems *kept, SstCounters *counters)
{
	uint16		flags;

	if (sst_page_items(page) == 0)
		return;
	flags = SpGistPageGetOpaque((Page) page)->flags;
	if ((flags & (SPGIST_META | SPGIST_DELETED)) == 0)
		take_page((TreeRebuild *) rebuild, page, blkno, (flags & SPGIST_LEAF) != 0,
				  true, counters);
}

/* The part of the leaf pages that are filled to at least "least", and below "most" */
static double
part_of_leaves(const TreeRebuild *state, double least, double most)
{
	uint32		n = 0;

	for (int i = least * TREE_FILLS; i < (int) (most * TREE_FILLS); i++)
		n += state->leaves[i];
	return (double) n / Max(state->nleaves, 1);
}

/* How full leaf pages will be, with the ends of 95 percent, and how many inner ones */
static Expected
expect(const TreeRebuild *state, const double *counts)
{
	const SstEstimate *known = fills[state->way];
	double		built = (double) state->nbuilt / Max(state->nleaves, 1);

	/* SP-GiST has a root for nulls, which is mostly empty. */
	int			nroots = is_spgist(state);
	double		nleaves = Max(counts[SST_LEAF_PAGES] - nroots, 1);
	double		present = counts[SST_REBUILT_OLD_BYTES] / state->room /
		nleaves / (built * state->full + 1 - built);
	bool		in_order = state->last_block >= MANY_BLOCKS &&
		state->nnear >= NEAR * state->npairs;
	bool		half_full = in_order && !is_spgist(state);
	double		untouched = half_full ? UNTOUCHED_IN_ORDER : UNTOUCHED;
	double		sparse = part_of_leaves(state, 0, SPARSE);
	Known		otherwise = in_order ? IN_ORDER : NOT_KNOWN;

	/*
	 * A build of SP-GiST leaves pages empty, too: at most as many as inner
	 * pages.
	 */
	double		inner = counts[SST_INTERNAL_PAGES] - nroots;
	double		empty = is_spgist(state) ? Min(counts[SST_DELETED_PAGES], inner) : 0;
	double		live = counts[SST_REBUILT_ENTRIES];
	bool		few_dead = state->kept * live >=
		KEPT_ALL * (live + counts[SST_REBUILT_DEAD_ENTRIES]);
	double		fullest = part_of_leaves(state, untouched, 1);
	double		unchanged = state->ncompared < COMPARED || (fullest == 0 && !is_spgist(state)) ? 0 :
		(double) state->nunchanged / state->ncompared;
	double		mean = state->unchanged_fill / Max(state->nunchanged, 1);
	Expected	result = {.inner_share = inner / nleaves};

	if (unchanged >= (state->uneven ? UNCHANGED_ALL : UNCHANGED_SOME) && few_dead && built >= UNCHANGED_ALL * unchanged)
	{
		const SstEstimate *fill = &known[unchanged >= UNCHANGED_ALL ? UNCHANGED : AS_FILLED];

		result.fill.value = mean;
		result.fill.low = fill->low * Min(mean, present);
		result.fill.high = fill->high * Max(mean, present);
		result.inner_share = (inner + empty) / nleaves;
	}
	else if (unchanged >= UNCHANGED_ALL && built >= UNCHANGED_ALL)
	{
		result.fill = sst_scaled(known[WITH_DEAD], mean);
		if (state->ranges)
			result.fill.high = Max(result.fill.high, known[NOT_KNOWN].high);
		result.fill.high = Min(result.fill.high, 1);
		result.inner_share = (inner + empty) / nleaves;
	}
	/* What inserts have filled does not show how full a sort makes pages. */
	else if (fullest >= FULLEST &&
			 sparse <= (half_full ? MANY_SPARSE_IN_ORDER : MANY_SPARSE) &&
			 (state->way != TREE_SORTED || built > 0.5))
	{
		result.fill = sst_scaled(known[AS_FILLED], present);
		if (sparse > SOME_SPARSE || present < known[otherwise].value * LEAST_OF_USUAL)
			result.fill.high = Max(result.fill.high, known[otherwise].high);
		if (!few_dead)
			result.fill.low = Min(result.fill.low, known[otherwise].low);
	}
	else if (state->uneven)
	{
		result.fill.value = present;
		result.fill.low = LEAST_OF_UNEVEN * present;
		result.fill.high = known[otherwise].high;
	}
	else
	{
		result.fill = known[otherwise];
		result.fill.value = Max(result.fill.value, present);
		if (state->last_block < MANY_BLOCKS || state->ranges)
			result.fill.low = Min(result.fill.low, known[IN_ORDER].low);
		result.fill.low = Max(result.fill.low, present * LEAST_OF_PRESENT);
		result.inner_share = is_spgist(state) ? INNER_SHARE : NAN;
	}
	if (state->network && unchanged < UNCHANGED_ALL)
		result.fill.low = Min(result.fill.low, present *
							  (is_spgist(state) ? LEAST_OF_PRESENT : LEAST_OF_UNEVEN));
	return result;
}

/* Inner pages above so many leaf pages of GiST, by the length of downlinks */
static double
inner_pages(double nleaves, double downlink, double room, double fill, bool whole)
{
	double		result = 0;

	for (double level = nleaves; level > 1; result += level)
	{
		level = level * downlink <= room ? 1 :
			sst_round_up(level * Min(downlink / (INNER_FILL * fill * room), 0.5),
						 whole);
	}
	return result;
}

/* Blocks of the index if leaf pages are so full */
static double
blocks_of_fill(const TreeRebuild *state, const double *counts,
			   const Expected *expected, double fill, bool whole)
{
	double		room = state->full * state->room;
	double		bytes = counts[SST_REBUILT_BYTES];
	double		downlink = counts[SST_REBUILT_PIVOTS] > 0 ?
		counts[SST_REBUILT_PIVOT_BYTES] / counts[SST_REBUILT_PIVOTS] :
		bytes / Max(counts[SST_REBUILT_ENTRIES], 1);
	double		nleaves = 1;
	double		inner;

	fill = Max(Min(fill, MOST_FILL), LEAST_FILL);
	if (bytes > room)
		nleaves = Max(sst_round_up(bytes / (fill * room), whole), 2);

	/* If leaf pages become less full than expected, so do the others. */
	if (nleaves == 1)
		inner = 0;
	else if (isnan(expected->inner_share))
		inner = inner_pages(nleaves, downlink, room, fill, whole);
	else
	{
		inner = nleaves * expected->inner_share * expected->fill.value / fill;
		inner = Max(whole ? rint(inner) : inner, !is_spgist(state));
	}
	if (is_spgist(state))
		return FIXED_BLOCKS + (nleaves > 1 ? nleaves + inner : 0);
	return nleaves + inner;
}

static double
tree_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const TreeRebuild *state = (const TreeRebuild *) rebuild;
	Expected	expected = expect(state, counts);

	return blocks_of_fill(state, counts, &expected, expected.fill.value, whole);
}

/* In which way does a GiST build fill pages (gistbuild() in access/gist/gistbuild.c)? */
static TreeWay
gist_way(Relation rel, const GiSTOptions *options)
{
	if (options != NULL && options->buffering_mode == GIST_OPTION_BUFFERING_ON)
		return TREE_INSERTED;

	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		if (!OidIsValid(index_getprocid(rel, i, GIST_SORTSUPPORT_PROC)))
			return TREE_INSERTED;
	}
	return TREE_SORTED;
}

/* Has the operator class of a column this support function for splits? */
static bool
splits_like(Relation rel, int procnum, const char *name)
{
	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		char	   *split = get_func_name(index_getprocid(rel, i, procnum));

		if (split != NULL && strcmp(split, name) == 0)
			return true;
	}
	return false;
}

static void
tree_predict(SstRebuild *rebuild, const SstPageSample *sample,
			 const SstEstimate *kept, SstPrediction *prediction)
{
	TreeRebuild *state = (TreeRebuild *) rebuild;
	SstEstimate *blocks = &prediction->blocks;
	const uint64 *seen = sample->sums.n;
	Expected	expected;
	const double *counts = sample->totals;
	double		few;
	double		low;
	double		high;

	state->kept = kept->value;
	*blocks = sst_predict_blocks(rebuild, sample);

	/* How full a few pages are varies more than the mean of many. */
	expected = expect(state, counts);
	few = 1 + expected.fill.value * state->room / Max(counts[SST_REBUILT_BYTES], 1);
	low = blocks_of_fill(state, counts, &expected, expected.fill.high * few, true);
	high = blocks_of_fill(state, counts, &expected, expected.fill.low / few, true);

	/*
	 * A sample does not show whether little more than a page's bytes are
	 * that.
	 */
	if (!sst_sample_is_exact(sample) &&
		counts[SST_REBUILT_BYTES] <= 2 * state->full * state->room)
		low = is_spgist(state) ? FIXED_BLOCKS : 1;
	sst_widen(blocks, Max(blocks->value - low, 0), Max(high - blocks->value, 0));
	sst_leave_out(rebuild, sample, kept,
				  sst_most_unlike(kept->value, seen[SST_REBUILT_ENTRIES], seen[SST_REBUILT_BYTES],
								  state->squares), blocks);
}

static SstRebuild *
gist_begin(Relation rel, const SstTableFacts *table)
{
	TreeRebuild *state = palloc0(sizeof(TreeRebuild));
	const GiSTOptions *options = (const GiSTOptions *) rel->rd_options;

	state->room = SST_PAGE_ROOM(sizeof(GISTPageOpaqueData));
	state->way = gist_way(rel, options);

	/*
	 * contrib's cube and intarray split pages so unevenly that other pages
	 * have only an entry or two: of cubes at random, 12 percent of a page was
	 * filled.
	 */
	state->uneven = splits_like(rel, GIST_PICKSPLIT_PROC, "g_cube_picksplit") ||
		splits_like(rel, GIST_PICKSPLIT_PROC, "g_int_picksplit") ||
		splits_like(rel, GIST_PICKSPLIT_PROC, "g_intbig_picksplit");
	state->network = state->way != TREE_SORTED &&
		splits_like(rel, GIST_PICKSPLIT_PROC, "inet_gist_picksplit");

	/*
	 * Ranges that overlap and come nearly in order fill a third of a page by
	 * insertion, and twice as much when a part of them is gone.
	 */
	state->ranges = state->way != TREE_SORTED &&
		splits_like(rel, GIST_PICKSPLIT_PROC, "range_gist_picksplit");
	state->full = state->way == TREE_SORTED ? 1 :
		(options != NULL ? options->fillfactor : GIST_DEFAULT_FILLFACTOR) / 100.0;
	return &state->base;
}

static SstRebuild *
spgist_begin(Relation rel, const SstTableFacts *table)
{
	TreeRebuild *state = palloc0(sizeof(TreeRebuild));

	state->room = SPGIST_PAGE_CAPACITY;
	state->way = TREE_SPGIST;
	state->network = splits_like(rel, SPGIST_PICKSPLIT_PROC, "inet_spg_picksplit");
	state->full = 1;
	return &state->base;
}

const SstModel sst_gist_model = {gist_begin, gist_page, tree_predict, tree_blocks};
const SstModel sst_spgist_model = {spgist_begin, spgist_page, tree_predict, tree_blocks};
