/*-------------------------------------------------------------------------
 *
 * spgist.c
 *	  The size of a rebuilt SP-GiST index
 *
 * A build inserts the rows one by one in the order of the table.  How full
 * pages become depends on how the operator class splits the keys.  For a
 * quadtree of points, the points are kept, and quadtree_build.c builds an
 * index from them.  If all pages were read, it has as many pages as the
 * server's.  A sample's pages are pieces of the plane with all of their
 * points, so that they represent the index, unless the points are regular: the
 * regularity is lost between the pieces.
 *
 * There is no prediction for other operator classes, because their code is not
 * run: leaf pages of a k-d tree of points were half full after inserts in
 * order and two thirds full otherwise, those of ranges from 57 to 79 percent,
 * of boxes from 71 to 87, of network addresses from 65 to 86; those of text
 * from 75 to 90, oscillating with the number of keys.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/spgist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/spgist_private.h"

#include "rebuild/point_shape.h"
#include "rebuild/quadtree_build.h"
#include "rebuild/rebuild.h"

#define QUAD_POINT_FAM_OID 4015 /* quad_point_ops in pg_opfamily.dat */

/*
 * A build reads rows in their order on a page.  HOT updates change that order, and the
 * index does not show it: sizes were off by up to 5 percent.  Points that are the same
 * are placed by chance, with a similar effect.
 */
#define UNCERTAINTY 0.05

/*
 * Of a sample, found by experiments with points of 40 kinds; the second one falls
 * with the square root of its pages.  These leave so many pages less full than a
 * whole index does.
 */
#define MODEL_UNCERTAINTY 0.05
#define PAGE_UNCERTAINTY 0.3
#define BORDER_BLOCKS 1.5

/* See shape_uncertainty(); by experiments, with all of it from this fillfactor down */
#define SHAPE_UNCERTAINTY 0.08
#define SHAPE_FILLFACTOR 50

/* That many copies of a point are in other places is not to be seen in a sample. */
#define SAMPLE_RANDOM_UNCERTAINTY 0.08

/* Pages that are less full are so because of few points, which a sample may lack. */
#define LOW_FILL	0.5

/* Points are regular where more of them are so: see SstPointShape */
#define REGULAR		0.5
#define REGULAR_UNCERTAINTY 0.3

/* Rows that go along a line in one direction */
#define RISING		0.95

/* The metapage and two roots */
#define FIXED_BLOCKS (SPGIST_LAST_FIXED_BLKNO + 1)

/*
 * A quarter of the points makes a tree of the same shape, with a level less.  Other
 * parts do not: how full pages are goes up and down while the points become four
 * times as many, by 30 percent if the fillfactor is 50, and by 7 if it is 80.
 */
#define THIN_FACTOR 4
#define SAME_SHAPE 1.05

/* A tree from less than so many old pages has too few pages of its own. */
#define LEAST_PAGES 20

/* Get the point of a leaf tuple.  False if it is too short for that. */
static bool
get_point(const PageData *page, const ItemIdData *item, bool isnull,
		  SstPoint *point)
{
	SpGistLeafTupleData header;
	int			length = ItemIdGetLength(item);
	const char *tuple = page + ItemIdGetOffset(item);
	int			offset;

	memset(point, 0, sizeof(SstPoint));
	memcpy(&header, tuple, sizeof(header));
	point->tid = header.heapPtr;
	point->size = Min(MAXALIGN(length),
					  SPGIST_PAGE_CAPACITY - sizeof(ItemIdData));
	point->isnull = isnull;
	if (isnull)
		return true;

	offset = SGLTHDRSZ(SGLT_GET_HASNULLMASK(&header));
	if (length < offset + sizeof(point->xy))
		return false;
	memcpy(point->xy, tuple + offset, sizeof(point->xy));
	return true;
}

static void
spgist_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
			const SstKeptItems *kept, SstCounters *counters)
{
	const SpGistPageOpaqueData *opaque;
	SstPoints  *points = &rebuild->u.spgist.points;
	int			nitems = sst_page_items(page);
	bool		first = true;

	rebuild->u.spgist.nseen++;
	if (PageIsNew((Page) page) || blkno == SPGIST_METAPAGE_BLKNO)
		return;
	opaque = SpGistPageGetOpaque((Page) page);
	if ((opaque->flags & (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF)) !=
		SPGIST_LEAF)
		return;

	if (sst_points_full(points))
		sst_points_thin_rows(points, THIN_FACTOR);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		SpGistDeadTupleData tuple;
		SstPoint	point;

		if (ItemIdGetLength(item) < SGDTSIZE)
			continue;
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
		if (tuple.tupstate != SPGIST_LIVE ||
			!get_point(page, item, (opaque->flags & SPGIST_NULLS) != 0, &point))
			continue;
		if (sst_rebuild_leaves_out(rebuild, &point.tid))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
			continue;
		}
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_BYTES] += point.size + sizeof(ItemIdData);
		point.first = first;
		sst_points_add(points, &point);
		first = false;
	}
}

/*
 * Keep as many points of a sample as make a tree of the same shape as all points of
 * the index do: see THIN_FACTOR.  They were on so many pages.  Returns of how many
 * pages they now are.
 */
static double
keep_shape(SstSpgistRebuild *spgist, double npages)
{
	SstPoints  *points = &spgist->points;
	double		all = (double) points->nrows * spgist->nblocks / Max(spgist->nseen, 1);
	double		part;
	uint32		nkept = 0;

	while (all > SAME_SHAPE * points->npoints)
		all /= THIN_FACTOR;
	part = all / Max(points->npoints, 1);
	if (part >= 1 || part * npages < LEAST_PAGES)
		return npages;

	for (uint32 i = 0; i < points->npoints; i++)
	{
		if (nkept < (i + 1) * part)
			points->all[nkept++] = points->all[i];
	}
	points->npoints = nkept;
	return part * npages;
}

/*
 * What keep_shape() cannot mend: between the pieces of the plane that a sample has,
 * the numbers of points vary more than in all of it.
 */
static double
shape_uncertainty(int fillfactor)
{
	double		part = (double) (SPGIST_DEFAULT_FILLFACTOR - fillfactor) /
		(SPGIST_DEFAULT_FILLFACTOR - SHAPE_FILLFACTOR);

	return SHAPE_UNCERTAINTY * Max(Min(part, 1), 0);
}

static void
set_regular(SstRebuild *rebuild)
{
	rebuild->uncertainty = REGULAR_UNCERTAINTY;
	rebuild->note = gettext_noop("a sample of points in order or on a grid says little about the size after a rebuild");
}

/* What a sample says depends on how regular the points are. */
static void
judge_sample(SstRebuild *rebuild)
{
	SstPoints  *points = &rebuild->u.spgist.points;
	SstPointShape shape;
	double		npages;

	sst_point_shape(points, &shape);
	npages = keep_shape(&rebuild->u.spgist, shape.npages);
	rebuild->uncertainty = MODEL_UNCERTAINTY +
		PAGE_UNCERTAINTY / sqrt(Max(npages, 1)) +
		shape_uncertainty(rebuild->u.spgist.fillfactor);
	if (shape.together > REGULAR || shape.equal_gaps > REGULAR || shape.line)
	{
		set_regular(rebuild);
		if (shape.rising > RISING)
			sst_points_rank(points);
	}
}

static void
spgist_finish(SstRebuild *rebuild, bool all)
{
	SstSpgistRebuild *spgist = &rebuild->u.spgist;
	SstPoints  *points = &spgist->points;
	bool		at_random;

	all = all && sst_points_complete(points);
	if (!all)
		judge_sample(rebuild);

	for (uint32 i = 0; i < points->npoints; i++)
		spgist->bytes += points->all[i].size + sizeof(ItemIdData);
	spgist->blocks = sst_quadtree_build(points->all, points->npoints,
										spgist->fillfactor, &at_random);
	sst_points_free(points);

	if (spgist->blocks == 0)
	{
		rebuild->unpredictable = true;
		rebuild->note = gettext_noop("size after a rebuild depends on the data and their order");
	}
	else if (all)
		rebuild->uncertainty = UNCERTAINTY;
	else
	{
		if (at_random)
			rebuild->uncertainty += SAMPLE_RANDOM_UNCERTAINTY;
		if (spgist->blocks > FIXED_BLOCKS + 10 * BORDER_BLOCKS)
		{
			spgist->blocks -= BORDER_BLOCKS;
			if (spgist->bytes < LOW_FILL * spgist->blocks * SPGIST_PAGE_CAPACITY)
				set_regular(rebuild);
		}
	}
}

static double
spgist_blocks(const SstRebuild *rebuild, const double *counts,
			  const SstMeta *meta, bool whole)
{
	const SstSpgistRebuild *spgist = &rebuild->u.spgist;
	double		blocks = Max(spgist->blocks - FIXED_BLOCKS, 0);

	if (spgist->bytes > 0)
		blocks *= counts[SST_REBUILT_BYTES] / spgist->bytes;
	return FIXED_BLOCKS + sst_round_up(blocks, whole);
}

static void
spgist_free(SstRebuild *rebuild)
{
	sst_points_free(&rebuild->u.spgist.points);
}

void
sst_rebuild_spgist_init(SstRebuild *rebuild, Relation rel)
{
	sst_rebuild_set_model(rebuild, spgist_page, spgist_blocks, NULL,
						  UNCERTAINTY);

	if (rel->rd_opfamily[0] != QUAD_POINT_FAM_OID)
	{
		rebuild->unpredictable = true;
		rebuild->note = gettext_noop("size after a rebuild depends on the data and their order");
		return;
	}
	rebuild->finish = spgist_finish;
	rebuild->free = spgist_free;
	sst_points_init(&rebuild->u.spgist.points);
	rebuild->u.spgist.nblocks = RelationGetNumberOfBlocks(rel);
	rebuild->u.spgist.fillfactor = SpGistGetFillFactor(rel);
}
