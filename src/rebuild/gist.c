/*-------------------------------------------------------------------------
 *
 * gist.c
 *	  The size of a rebuilt GiST index
 *
 * If the operator class supports sorting, a build takes the items in order,
 * four full pages at a time, and picksplit divides them until each part fits
 * on a page.  How full the pages become depends on the gaps between the items:
 * points on a line fill their pages, random points fill two thirds, and for
 * points on a grid it depends on the numbers of columns and rows on a page.
 *
 * So the points are kept, and gist_build.c builds an index from them.  If all
 * pages were read, it has as many pages as the server's.  From a sample of
 * pages, it shows how full they are, unless points are on a line with equal
 * gaps, which a sample cannot distinguish from its own gaps.
 *
 * All other builds insert the items one by one.  Then pages are from a third
 * to three quarters full, depending on the data and their order.  There is no
 * prediction for these, nor for other operator classes, because their code is
 * not run.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gist_private.h"
#include "access/itup.h"
#include "catalog/index.h"

#include "rebuild/gist_build.h"
#include "rebuild/point_shape.h"
#include "rebuild/rebuild.h"

#define POINT_GIST_FAM_OID 1029 /* point_ops in pg_opfamily.dat */

/* Where a sample says nothing: as full as points at random leave the pages */
#define LEAF_FILL	0.667
#define INNER_FILL	0.65

/* Points that have the same place as floats come in the order of rows. */
#define UNCERTAINTY 0.005

/*
 * Of a sample, found by experiments with points of 40 kinds; the second one falls
 * with the square root of its pages.
 */
#define MODEL_UNCERTAINTY 0.05
#define PAGE_UNCERTAINTY 0.3

/* Points on a line with equal gaps make pages full, others do not. */
#define LINE_FILL	0.8
#define LINE_UNCERTAINTY 0.25
#define FULL		0.95

/*
 * Get the point of a tuple, which has it as a box with both corners the same.
 * False if it is too short for that.
 */
static bool
get_point(const PageData *page, const ItemIdData *item, SstPoint *point)
{
	IndexTupleData header;
	int			length = ItemIdGetLength(item);
	const char *tuple = page + ItemIdGetOffset(item);
	int			offset = sizeof(IndexTupleData);

	if (length < sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData))
		return false;
	memcpy(&header, tuple, sizeof(header));

	memset(point, 0, sizeof(SstPoint));
	point->tid = header.t_tid;
	point->size = Min(MAXALIGN(length), SST_GIST_PAGE_ROOM);
	if ((header.t_info & INDEX_NULL_MASK) != 0)
	{
		/* The bit of the first column is set if it is not null. */
		point->isnull = (tuple[sizeof(IndexTupleData)] & 1) == 0;
		offset = MAXALIGN(sizeof(IndexTupleData) +
						  sizeof(IndexAttributeBitMapData));
	}
	if (point->isnull)
		return true;

	if (length < offset + 4 * sizeof(double))
		return false;
	memcpy(point->xy, tuple + offset + 2 * sizeof(double), sizeof(point->xy));
	return true;
}

static void
gist_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	const GISTPageOpaqueData *opaque;
	SstPoints  *points = &rebuild->u.gist.points;
	int			nitems = sst_page_items(page);
	bool		keep;
	bool		first = true;

	if (PageIsNew((Page) page))
		return;
	opaque = GistPageGetOpaque((Page) page);
	if ((opaque->flags & (F_LEAF | F_DELETED)) != F_LEAF)
		return;

	if (sst_points_full(points))
		sst_points_thin_pages(points);
	keep = sst_points_next_page(points);

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		SstPoint	point;

		if (!get_point(page, item, &point))
			continue;
		if (ItemIdIsDead(item) || sst_rebuild_leaves_out(rebuild, &point.tid))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
			continue;
		}
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_BYTES] += point.size + sizeof(ItemIdData);
		if (keep)
		{
			point.first = first;
			sst_points_add(points, &point);
			first = false;
		}
	}
}

/* Build an index from the points. */
static void
build(SstGistRebuild *gist)
{
	SstPoints  *points = &gist->points;
	SstGistBuild *build = sst_gist_build_begin(SST_GIST_PAGE_ROOM);

	sst_gist_sort(points->all, points->npoints);
	for (uint32 i = 0; i < points->npoints; i++)
	{
		gist->bytes += points->all[i].size + sizeof(ItemIdData);
		sst_gist_build_add(build, &points->all[i]);
	}
	sst_gist_build_end(build);

	/* and the root */
	gist->blocks = build->nleaves + build->ninner + 1;
	if (build->nleaves > 0)
		gist->leaf_fill = gist->bytes / build->nleaves / SST_GIST_PAGE_ROOM;
	sst_gist_build_free(build);
}

static void
gist_finish(SstRebuild *rebuild, bool all)
{
	SstGistRebuild *gist = &rebuild->u.gist;
	SstPointShape shape;

	gist->all = all && sst_points_complete(&gist->points);
	if (!gist->all)
		sst_point_shape(&gist->points, &shape);
	build(gist);

	if (gist->all)
		rebuild->uncertainty = UNCERTAINTY;
	else if (shape.line && gist->leaf_fill < FULL)
	{
		gist->leaf_fill = LINE_FILL;
		rebuild->uncertainty = LINE_UNCERTAINTY;
		rebuild->note = gettext_noop("a sample of points on a line says little about the size after a rebuild");
	}
	else
		rebuild->uncertainty = MODEL_UNCERTAINTY +
			PAGE_UNCERTAINTY / sqrt(Max(shape.npages, 1));
	sst_points_free(&gist->points);
}

static double
gist_blocks(const SstRebuild *rebuild, const double *counts,
			const SstMeta *meta, bool whole)
{
	const SstGistRebuild *gist = &rebuild->u.gist;
	double		bytes = counts[SST_REBUILT_BYTES];
	double		level = 1;
	double		blocks;
	double		item = bytes / Max(counts[SST_REBUILT_ENTRIES], 1);

	if (gist->all && gist->bytes > 0)
		return Max(1, sst_round_up(gist->blocks * (bytes / gist->bytes), whole));

	/* A point is short; what is on a damaged page can be as long as a page. */
	item = Min(item, SST_GIST_PAGE_ROOM / 3);

	if (bytes > SST_GIST_PAGE_ROOM)
		level = Max(2, sst_round_up(bytes / (gist->leaf_fill * SST_GIST_PAGE_ROOM),
									whole));

	/* What is above a leaf is as large as what is on it: a box. */
	for (blocks = level; level > 1; blocks += level)
	{
		bytes = level * item;
		level = bytes <= SST_GIST_PAGE_ROOM ? 1 :
			Max(2, sst_round_up(bytes / (INNER_FILL * SST_GIST_PAGE_ROOM), whole));
	}

	return blocks;
}

/* Does a build sort the items (gistbuild())? */
static bool
is_sorted(Relation rel)
{
	GiSTOptions *options = (GiSTOptions *) rel->rd_options;

	if (options != NULL &&
		options->buffering_mode == GIST_OPTION_BUFFERING_ON)
		return false;

	for (int i = 1; i <= IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		if (!OidIsValid(index_getprocid(rel, i, GIST_SORTSUPPORT_PROC)))
			return false;
	}
	return true;
}

static void
gist_free(SstRebuild *rebuild)
{
	sst_points_free(&rebuild->u.gist.points);
}

void
sst_rebuild_gist_init(SstRebuild *rebuild, Relation rel)
{
	sst_rebuild_set_model(rebuild, gist_page, gist_blocks, NULL,
						  UNCERTAINTY);

	if (!is_sorted(rel))
		rebuild->note = gettext_noop("size after a rebuild depends on the data and their order");
	else if (IndexRelationGetNumberOfKeyAttributes(rel) > 1 ||
			 rel->rd_opfamily[0] != POINT_GIST_FAM_OID)
		rebuild->note = gettext_noop("size after a rebuild depends on the data and how the operator class splits pages");
	rebuild->unpredictable = rebuild->note != NULL;

	if (!rebuild->unpredictable)
	{
		rebuild->finish = gist_finish;
		rebuild->free = gist_free;
		sst_points_init(&rebuild->u.gist.points);
		rebuild->u.gist.leaf_fill = LEAF_FILL;
	}
}
