/*-------------------------------------------------------------------------
 *
 * quadtree_build.c
 *	  A model of an SP-GiST build for points, without pages
 *
 * The server inserts the rows one by one.  An inner tuple has a centre, and a
 * node for each quadrant around it, which leads to another inner tuple or to a
 * chain of leaf tuples.  A chain is on one page, and a page has many.  If
 * there is no room for a leaf tuple, its chain moves to another page or is
 * split by an inner tuple, which leaves placeholders
 * (access/spgist/spgdoinsert.c).
 *
 * This code does the same with lists of points.  So the number of pages equals
 * the server's, except for points that no centre can separate: both assign
 * these to nodes at random.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/quadtree_build.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "rebuild/quadtree_build.h"
#include "rebuild/quadtree_pages.h"
#include "rebuild/quadtree_split.h"

/* No row should need so many steps; a damaged one may. */
#define MAX_STEPS	10000

/* Where a node leads to: 0, the number of a chain, or of an inner tuple, negated */
typedef int32 QuadLink;

typedef struct QuadChain
{
	BlockNumber blkno;
	uint32		first;			/* point, + 1 */
	int			npoints;
	int			bytes;			/* with line pointers */
} QuadChain;

typedef struct QuadInner
{
	Point		centre;
	BlockNumber blkno;
	bool		all_same;
	QuadLink	nodes[SST_QUAD_MAX_NODES];
} QuadInner;

typedef struct QuadBuild
{
	SstPoint   *points;
	uint64		random;
	bool		at_random;		/* it was used */
	bool		failed;

	SstQuadPages pages;
	SstQuadArray chains;		/* 1 and up */
	SstQuadArray inners;		/* 1 and up */
	QuadLink	roots[2];		/* of points, and of nulls */
} QuadBuild;

/* A row on its way down */
typedef struct QuadRow
{
	uint32		point;
	int			size;
	bool		isnull;

	/* The node it comes from, and the page of that; 0 if it is at the root */
	int32		inner;
	int			node;
	BlockNumber parent;
} QuadRow;

static QuadChain *
chain_at(const QuadBuild *build, int32 chain)
{
	return (QuadChain *) build->chains.all + chain;
}

static QuadInner *
inner_at(const QuadBuild *build, int32 inner)
{
	return (QuadInner *) build->inners.all + inner;
}

static QuadLink *
link_of(QuadBuild *build, const QuadRow *row)
{
	return row->inner == 0 ? &build->roots[row->isnull] :
		&inner_at(build, row->inner)->nodes[row->node];
}

/* Flags of SpGistGetBuffer() for GBUF_LEAF or a parity */
static int
page_flags(const QuadRow *row, int kind)
{
	return kind | (row->isnull ? GBUF_NULLS : 0);
}

static void
remember_leaf(QuadBuild *build, const QuadRow *row, BlockNumber blkno)
{
	sst_quad_remember(&build->pages, page_flags(row, GBUF_LEAF), blkno);
}

static void
remember_inner(QuadBuild *build, const QuadRow *row, BlockNumber blkno)
{
	if (blkno != 0)
		sst_quad_remember(&build->pages,
						  page_flags(row, GBUF_INNER_PARITY(blkno)), blkno);
}

static void
add_to_chain(QuadBuild *build, QuadChain *chain, uint32 point)
{
	SstPoint   *new = &build->points[point];

	new->u.next = chain->first;
	chain->first = point + 1;
	chain->npoints++;
	chain->bytes += new->size + SST_LINE_POINTER;
}

/* Put the row into a chain of its own. */
static void
begin_chain(QuadBuild *build, const QuadRow *row)
{
	BlockNumber blkno = sst_quad_get_page(&build->pages,
										  page_flags(row, GBUF_LEAF),
										  row->size + SST_LINE_POINTER);
	uint32		chain = sst_quad_append(&build->chains, sizeof(QuadChain));

	chain_at(build, chain)->blkno = blkno;
	*link_of(build, row) = chain;
	add_to_chain(build, chain_at(build, chain), row->point);
	sst_quad_add_leaf(sst_quad_page(&build->pages, blkno), row->size);
	remember_leaf(build, row, blkno);
}

/* Move a chain to another page, and put the row into it. */
static void
move_chain(QuadBuild *build, const QuadRow *row, QuadChain *chain)
{
	BlockNumber blkno = sst_quad_get_page(&build->pages,
										  page_flags(row, GBUF_LEAF),
										  chain->bytes + row->size +
										  SST_LINE_POINTER);
	SstQuadPage *page = sst_quad_page(&build->pages, blkno);
	BlockNumber old = chain->blkno;

	for (uint32 i = chain->first; i != 0; i = build->points[i - 1].u.next)
		sst_quad_add_leaf(page, build->points[i - 1].size);
	sst_quad_add_leaf(page, row->size);
	sst_quad_remove_leaves(sst_quad_page(&build->pages, old), chain->npoints,
						   chain->bytes);
	chain->blkno = blkno;
	add_to_chain(build, chain, row->point);
	remember_leaf(build, row, blkno);
	remember_leaf(build, row, old);
}

/* Choose how to part a chain and a new row, which is the last of the points. */
static void
begin_split(const QuadBuild *build, const QuadRow *row, const QuadChain *chain,
			SstQuadSplit *split)
{
	int			n = 0;

	for (uint32 i = chain->first; i != 0; i = build->points[i - 1].u.next)
		split->points[n++] = i - 1;
	split->points[n++] = row->point;
	split->npoints = n;
	split->total = chain->bytes + row->size + SST_LINE_POINTER;
	sst_quad_split(build->points, split);
}

/* Put a new inner tuple on its parent's page or another.  Returns its number. */
static uint32
add_inner(QuadBuild *build, const QuadRow *row, const SstQuadSplit *split)
{
	int			size = SGITHDRSZ + split->nnodes * SGNTHDRSZ +
		(row->isnull ? 0 : MAXALIGN(sizeof(Point)));
	BlockNumber blkno = row->parent;
	uint32		number = sst_quad_append(&build->inners, sizeof(QuadInner));
	QuadInner  *inner = inner_at(build, number);

	size += SST_LINE_POINTER;
	if (row->parent == 0)
		blkno = row->isnull ? SPGIST_NULL_BLKNO : SPGIST_ROOT_BLKNO;
	else if (SpGistBlockIsFixed(row->parent) ||
			 sst_quad_page(&build->pages, row->parent)->free < size)
		blkno = sst_quad_get_page(&build->pages,
								  page_flags(row, GBUF_INNER_PARITY(row->parent + 1)),
								  size);

	if (row->parent != 0)
		sst_quad_page(&build->pages, blkno)->free -= size;
	inner->blkno = blkno;
	inner->centre = split->centre;
	inner->all_same = split->all_same;
	return number;
}

/* Put the points of a split into new chains; the old one's number is used again. */
static void
fill_chains(QuadBuild *build, int32 number, const SstQuadSplit *split, int npoints,
			BlockNumber blkno, BlockNumber other, QuadLink *nodes)
{
	for (int i = 0; i < npoints; i++)
	{
		int			node = split->nodes[i];
		QuadChain  *chain;

		if (nodes[node] == 0)
		{
			nodes[node] = number != 0 ? number :
				sst_quad_append(&build->chains, sizeof(QuadChain));
			number = 0;
			chain = chain_at(build, nodes[node]);
			memset(chain, 0, sizeof(QuadChain));
			chain->blkno = split->moves[node] ? other : blkno;
		}
		chain = chain_at(build, nodes[node]);
		sst_quad_add_leaf(sst_quad_page(&build->pages, chain->blkno),
						  build->points[split->points[i]].size);
		add_to_chain(build, chain, split->points[i]);
	}
}

/*
 * Part a chain by a new inner tuple.  True if that has taken the row as well:
 * doPickSplit()
 */
static bool
split_chain(QuadBuild *build, const QuadRow *row, int32 number)
{
	QuadChain	old = *chain_at(build, number);
	bool		root = SpGistBlockIsFixed(old.blkno);
	BlockNumber other = 0;
	int			room = 0;
	uint32		inner;
	SstQuadSplit split;
	SstQuadPage *page;

	begin_split(build, row, &old, &split);
	inner = add_inner(build, row, &split);

	if (!root)
		room = sst_quad_page(&build->pages, old.blkno)->free + old.bytes -
			old.npoints * (SST_PLACEHOLDER + SST_LINE_POINTER);
	if (split.total > room)
	{
		other = sst_quad_get_page(&build->pages, page_flags(row, GBUF_LEAF),
								  Min(split.total, (int) SPGIST_PAGE_CAPACITY));
		if (!sst_quad_choose_pages(build->points, &split, room,
								   sst_quad_page(&build->pages, other)->free))
			build->failed = true;
	}

	page = sst_quad_page(&build->pages, old.blkno);
	if (root || page->nlive == old.npoints)
		sst_quad_clear(page);
	else
		sst_quad_remove_leaves(page, old.npoints, old.bytes);

	fill_chains(build, number, &split,
				split.include_new ? split.npoints : split.npoints - 1,
				old.blkno, other, inner_at(build, inner)->nodes);
	*link_of(build, row) = -(QuadLink) inner;

	if (other != 0)
		remember_leaf(build, row, other);
	if (!root)
		remember_leaf(build, row, old.blkno);
	return split.include_new;
}

/* Go down from an inner tuple. */
static void
descend(QuadBuild *build, QuadRow *row, int32 number)
{
	const QuadInner *inner = inner_at(build, number);

	if (row->parent != inner->blkno)
		remember_inner(build, row, row->parent);
	row->parent = inner->blkno;
	row->inner = number;
	if (inner->all_same)
	{
		/* Knuth's linear congruential generator for 64 bits (MMIX) */
		build->random = build->random * UINT64CONST(6364136223846793005) +
			UINT64CONST(1442695040888963407);
		row->node = build->random >> 61;
		build->at_random = true;
	}
	else
		row->node = sst_quadrant(&inner->centre, build->points[row->point].xy);
}

/* Add a row to the leaf tuples it belongs to.  False if that is not possible yet. */
static bool
add_row(QuadBuild *build, const QuadRow *row, int32 number)
{
	QuadChain  *chain = chain_at(build, number);
	SstQuadPage *page = sst_quad_page(&build->pages, chain->blkno);
	int			needed = row->size + SST_LINE_POINTER;

	if (needed <= page->free +
		(page->nplaceholders > 0 ? SST_PLACEHOLDER + SST_LINE_POINTER : 0))
	{
		sst_quad_add_leaf(page, row->size);
		add_to_chain(build, chain, row->point);
		remember_leaf(build, row, chain->blkno);
	}
	else if (!SpGistBlockIsFixed(chain->blkno) &&
			 chain->bytes < SPGIST_PAGE_CAPACITY / 2 && chain->npoints < 64 &&
			 chain->bytes + needed <= SPGIST_PAGE_CAPACITY)
		move_chain(build, row, chain);
	else
	{
		if (!split_chain(build, row, number))
			return false;
		remember_inner(build, row,
					   inner_at(build, -*link_of(build, row))->blkno);
	}
	return true;
}

static void
insert_row(QuadBuild *build, uint32 point)
{
	QuadRow		row = {
		.point = point,
		.size = build->points[point].size,
		.isnull = build->points[point].isnull
	};

	for (int i = 0; i < MAX_STEPS && !build->failed; i++)
	{
		QuadLink	link = *link_of(build, &row);

		if (link < 0)
			descend(build, &row, -link);
		else if (link == 0 || add_row(build, &row, link))
		{
			if (link == 0)
				begin_chain(build, &row);
			remember_inner(build, &row, row.parent);
			return;
		}
	}
	build->failed = true;
}

/*
 * Build an index from points, in the order of their rows.  Changes the order of
 * the points.  Returns its blocks, or 0 for points that no index can have, and in
 * *at_random whether they depend on chance.
 */
BlockNumber
sst_quadtree_build(SstPoint *points, uint32 npoints, int fillfactor,
				   bool *at_random)
{
	QuadBuild	build = {.points = points};
	BlockNumber nblocks;

	sst_points_sort_rows(points, npoints);

	/* Roots are leaf pages with one chain at first. */
	sst_quad_pages_init(&build.pages, fillfactor);
	(void) sst_quad_append(&build.chains, sizeof(QuadChain));
	(void) sst_quad_append(&build.inners, sizeof(QuadInner));
	for (int i = 0; i < lengthof(build.roots); i++)
	{
		build.roots[i] = sst_quad_append(&build.chains, sizeof(QuadChain));
		chain_at(&build, build.roots[i])->blkno = SPGIST_ROOT_BLKNO + i;
	}

	for (uint32 i = 0; i < npoints && !build.failed; i++)
	{
		CHECK_FOR_INTERRUPTS();
		insert_row(&build, i);
	}

	nblocks = build.failed ? 0 : build.pages.pages.n;
	*at_random = build.at_random;
	pfree(build.pages.pages.all);
	pfree(build.chains.all);
	pfree(build.inners.all);
	return nblocks;
}
