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
 * them are full, and the new ones will be as full as they are on average.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/tree_fill.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/gist_private.h"
#include "access/itup.h"
#include "access/spgist_private.h"

#include "rebuild/rebuild.h"
#include "stats/interval.h"

/* Bytes of a page for line pointers and tuples */
#define GIST_ROOM (BLCKSZ - (int) SizeOfPageHeaderData - \
				   (int) MAXALIGN(sizeof(GISTPageOpaqueData)))

/* How full GiST's inner pages are, of leaf pages, and how many SP-GiST has for each leaf */
#define INNER_FILL 0.75
#define INNER_SHARE 0.03

/* Other fills than these would make no sense. */
#define LEAST_FILL 0.02
#define MOST_FILL 1.06

/* SP-GiST's metapage and two roots */
#define FIXED_BLOCKS (SPGIST_LAST_FIXED_BLKNO + 1)

/* What is known of the present leaf pages */
typedef enum Known
{
	AS_FILLED,					/* fractions are of their fill */
	IN_ORDER,					/* keys rise or fall from row to row */
	NOT_KNOWN
} Known;

/*
 * How full leaf pages will be, of what a build fills before it splits one, with the
 * ends of 95 percent: see bench/fill
 */
static const SstEstimate fills[][NOT_KNOWN + 1] =
{
	/* value, low, high */
	[SST_TREE_SORTED] = {{1.00, 0.92, 1.12}, {0.75, 0.60, 1.06}, {0.75, 0.58, 1.06}},
	[SST_TREE_BUFFERED] = {{1.00, 0.85, 1.16}, {0.52, 0.47, 0.85}, {0.65, 0.46, 0.98}},
	[SST_TREE_INSERTED] = {{1.00, 0.85, 1.16}, {0.52, 0.47, 0.85}, {0.65, 0.46, 0.98}},
	[SST_TREE_SPGIST] = {{1.00, 0.85, 1.28}, {0.57, 0.38, 0.82}, {0.67, 0.37, 0.92}},
};

/* New pages are hardly less full than the present ones, whatever was deleted. */
#define LEAST_OF_PRESENT 0.85

/* Of full pages, one in twenty is so full; where keys are in order, half of that */
#define FULLEST 0.05
#define UNTOUCHED 0.85
#define UNTOUCHED_IN_ORDER 0.47

/* Keys are in order if so many neighbors on a page are of neighboring blocks, of many. */
#define NEAR 0.95
#define MANY_BLOCKS 40

/* ... which is looked for on the first pages, and on one of so many others */
#define ORDER_PAGES 16

/*
 * Get the TID of a tuple.  False for one that only stands in the place of an entry or
 * a downlink that has gone.
 */
static bool
get_tid(const SstRebuild *rebuild, const PageData *page, const ItemIdData *item,
		ItemPointerData *tid)
{
	const char *tuple = page + ItemIdGetOffset(item);
	IndexTupleData entry;
	SpGistLeafTupleData leaf;	/* others have their state in the same place */

	if (ItemIdGetLength(item) < Max(sizeof(entry), sizeof(leaf)))
		return false;
	if (rebuild->kind == SST_GIST)
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
count_entry(SstTreeRebuild *state, BlockNumber blkno, BlockNumber *neighbor)
{
	state->last_block = Max(state->last_block, blkno);
	if (*neighbor != InvalidBlockNumber)
	{
		state->npairs++;
		state->nnear += blkno - *neighbor + 1 <= 2;
	}
	*neighbor = blkno;
}

/*
 * Must the TIDs of a leaf page be read?  The order of keys is known from some pages; dead
 * rows are on any, and SP-GiST's tuples say beside the TID what they are.
 */
static bool
reads_tids(const SstRebuild *rebuild)
{
	uint32		nleaves = rebuild->u.tree.nleaves;

	return rebuild->dead_tids != NULL || rebuild->kind == SST_SPGIST ||
		nleaves < ORDER_PAGES || nleaves % ORDER_PAGES == 0;
}

/*
 * Count the entries of a GiST leaf page by its line pointers alone.  Returns the bytes
 * that they take.
 */
static uint64
count_lengths(const PageData *page, SstCounters *counters)
{
	int			nitems = sst_page_items(page);
	uint64		bytes = 0;
	uint64		dead_bytes = 0;
	int			ndead = 0;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemIdData	item = *PageGetItemId((Page) page, offnum);
		int			size = MAXALIGN(ItemIdGetLength(&item)) + sizeof(ItemIdData);

		bytes += size;
		dead_bytes += ItemIdIsDead(&item) ? size : 0;
		ndead += ItemIdIsDead(&item);
	}
	counters->n[SST_REBUILT_DEAD_ENTRIES] += ndead;
	counters->n[SST_REBUILT_ENTRIES] += nitems - ndead;
	counters->n[SST_REBUILT_BYTES] += bytes - dead_bytes;
	return bytes;
}

/*
 * Count the entries of a leaf page, or the downlinks of an inner one, by their tuples.
 * Returns the bytes that they take.
 */
static uint64
count_tuples(SstRebuild *rebuild, const PageData *page, bool leaf,
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

		if (!get_tid(rebuild, page, item, &tid))
			continue;
		bytes += size;
		if (!leaf)
			n[SST_REBUILT_PIVOTS]++;
		else if (ItemIdIsDead(item) || sst_rebuild_leaves_out(rebuild, &tid))
			n[SST_REBUILT_DEAD_ENTRIES]++;
		else
		{
			n[SST_REBUILT_ENTRIES]++;
			n[SST_REBUILT_BYTES] += size;
			count_entry(&rebuild->u.tree, ItemPointerGetBlockNumberNoCheck(&tid),
						&neighbor);
		}
	}
	return bytes;
}

/* Take a leaf page in.  "built": no page has been split into it since it was built. */
static void
take_leaf(SstRebuild *rebuild, const PageData *page, bool built,
		  SstCounters *counters)
{
	SstTreeRebuild *state = &rebuild->u.tree;
	uint64		bytes = reads_tids(rebuild) ?
		count_tuples(rebuild, page, true, counters) :
		count_lengths(page, counters);
	double		fill = (double) bytes / state->room;

	counters->n[SST_REBUILT_OLD_BYTES] += bytes;
	built = built && fill <= state->full;
	if (built)
		fill /= state->full;
	state->nleaves++;
	state->nbuilt += built;
	state->leaves[Min((int) (fill * SST_TREE_FILLS), SST_TREE_FILLS - 1)]++;
}

static void
take_page(SstRebuild *rebuild, const PageData *page, bool leaf, bool built,
		  SstCounters *counters)
{
	if (leaf)
		take_leaf(rebuild, page, built, counters);
	else
		counters->n[SST_REBUILT_PIVOT_BYTES] +=
			count_tuples(rebuild, page, false, counters);
}

static void
tree_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	uint16		flags;

	if (PageIsNew((Page) page) || sst_page_items(page) == 0)
		return;
	if (rebuild->kind == SST_GIST)
	{
		flags = GistPageGetOpaque((Page) page)->flags;
		if ((flags & F_DELETED) == 0)
			take_page(rebuild, page, (flags & F_LEAF) != 0,
					  GistPageGetNSN((Page) page) <= GistBuildLSN, counters);
	}
	else if (blkno != SPGIST_METAPAGE_BLKNO)
	{
		flags = SpGistPageGetOpaque((Page) page)->flags;
		if ((flags & (SPGIST_META | SPGIST_DELETED)) == 0)
			take_page(rebuild, page, (flags & SPGIST_LEAF) != 0, true, counters);
	}
}

/* How full leaf pages will be, with the ends of 95 percent */
static SstEstimate
expect_fill(const SstRebuild *rebuild, const double *counts)
{
	const SstTreeRebuild *state = &rebuild->u.tree;
	double		built = (double) state->nbuilt / Max(state->nleaves, 1);

	/* SP-GiST has a root for nulls, which is mostly empty. */
	double		nleaves = counts[SST_LEAF_PAGES] - (rebuild->kind == SST_SPGIST);
	double		present = counts[SST_REBUILT_OLD_BYTES] / state->room /
		Max(nleaves, 1) / (built * state->full + 1 - built);
	bool		in_order = state->last_block >= MANY_BLOCKS &&
		state->nnear >= NEAR * state->npairs;
	double		untouched = in_order ? UNTOUCHED_IN_ORDER : UNTOUCHED;
	uint32		nfull = 0;
	SstEstimate fill;

	for (int i = untouched * SST_TREE_FILLS; i < SST_TREE_FILLS; i++)
		nfull += state->leaves[i];

	/* What inserts have filled does not show how full a sort makes pages. */
	if (nfull >= FULLEST * Max(state->nleaves, 1) &&
		(state->way != SST_TREE_SORTED || built > 0.5))
	{
		fill = fills[state->way][AS_FILLED];
		fill.value *= present;
		fill.low *= present;
		fill.high *= present;
	}
	else
	{
		fill = fills[state->way][in_order ? IN_ORDER : NOT_KNOWN];
		fill.value = Max(fill.value, present);
		fill.low = Max(fill.low, present * LEAST_OF_PRESENT);
	}
	return fill;
}

/* Blocks of the index if leaf pages are so full */
static double
blocks_of_fill(const SstRebuild *rebuild, const double *counts, double fill,
			   bool whole)
{
	const SstTreeRebuild *state = &rebuild->u.tree;
	double		room = state->full * state->room;
	double		bytes = counts[SST_REBUILT_BYTES];
	double		downlink = counts[SST_REBUILT_PIVOTS] > 0 ?
		counts[SST_REBUILT_PIVOT_BYTES] / counts[SST_REBUILT_PIVOTS] :
		bytes / Max(counts[SST_REBUILT_ENTRIES], 1);
	double		nleaves = 1;
	double		blocks;

	fill = Max(Min(fill, MOST_FILL), LEAST_FILL);
	if (bytes > room)
		nleaves = Max(sst_round_up(bytes / (fill * room), whole), 2);
	if (rebuild->kind == SST_SPGIST)
		return nleaves == 1 ? FIXED_BLOCKS : FIXED_BLOCKS + nleaves +
			sst_round_up(nleaves * INNER_SHARE, whole);

	blocks = nleaves;
	for (double level = nleaves; level > 1; blocks += level)
	{
		level = level * downlink <= room ? 1 :
			sst_round_up(level * Min(downlink / (INNER_FILL * fill * room), 0.5),
						 whole);
	}
	return blocks;
}

static double
tree_blocks(const SstRebuild *rebuild, const double *counts,
			const SstMeta *meta, bool whole)
{
	return blocks_of_fill(rebuild, counts, expect_fill(rebuild, counts).value, whole);
}

/* How full a few pages are varies more than the mean of many. */
static void
tree_ends(const SstRebuild *rebuild, const double *counts, const SstMeta *meta,
		  double *low, double *high)
{
	SstEstimate fill = expect_fill(rebuild, counts);
	double		few = 1 + fill.value * rebuild->u.tree.room /
		Max(counts[SST_REBUILT_BYTES], 1);

	*low = blocks_of_fill(rebuild, counts, fill.high * few, true);
	*high = blocks_of_fill(rebuild, counts, fill.low / few, true);
}

static void
tree_scale(const SstRebuild *rebuild, double *counts, double fraction)
{
	counts[SST_REBUILT_ENTRIES] *= fraction;
	counts[SST_REBUILT_BYTES] *= fraction;
}

/* In which way does a GiST build fill pages (gistbuild())? */
static SstTreeWay
gist_way(Relation rel, const GiSTOptions *options)
{
	if (options != NULL && options->buffering_mode == GIST_OPTION_BUFFERING_ON)
		return SST_TREE_BUFFERED;

	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		if (!OidIsValid(index_getprocid(rel, i, GIST_SORTSUPPORT_PROC)))
			return SST_TREE_INSERTED;
	}
	return SST_TREE_SORTED;
}

/* Set up for a GiST or SP-GiST index. */
void
sst_rebuild_tree_init(SstRebuild *rebuild, Relation rel)
{
	SstTreeRebuild *state = &rebuild->u.tree;
	const GiSTOptions *options = (const GiSTOptions *) rel->rd_options;

	sst_rebuild_set_model(rebuild, tree_page, tree_blocks, tree_scale, 0);
	rebuild->ends = tree_ends;
	state->full = 1;
	state->room = SPGIST_PAGE_CAPACITY;
	state->way = SST_TREE_SPGIST;
	if (rebuild->kind == SST_GIST)
	{
		state->room = GIST_ROOM;
		state->way = gist_way(rel, options);
		if (state->way != SST_TREE_SORTED)
			state->full = (options != NULL ? options->fillfactor :
						   GIST_DEFAULT_FILLFACTOR) / 100.0;
	}
}
