/*-------------------------------------------------------------------------
 *
 * gist.c
 *	  What the items of a GiST index take in a new one
 *
 * Where the operator class can sort, a build takes the items in order, four full
 * pages at a time, and has picksplit part them until each part fits on a page
 * (gist_indexsortbuild_levelstate_flush() in access/gist/gistbuild.c); the
 * fillfactor does not matter.  How full that leaves the pages is up to picksplit:
 * of points, two thirds, unless they lie on a grid or on few lines, when it can
 * be anything up to full pages; of ranges, anything between half and all.
 *
 * All other builds insert the items one by one.  Then pages are from a third to
 * three quarters full, by the data and their order.  Nothing is predicted of
 * these.
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

#include "rebuild/rebuild.h"

/* A page has this many bytes for line pointers and tuples. */
#define PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData - \
				   (int) MAXALIGN(sizeof(GISTPageOpaqueData)))

#define POINT_GIST_FAM_OID 1029 /* point_ops in pg_opfamily.dat */

/*
 * How full points leave the pages: found by experiments with 20,000 to 2 million
 * points, evenly spread and clustered; and the middle of what was found of points
 * on grids and lines
 */
#define LEAF_FILL	0.667
#define LEAF_FILL_OF_LINES 0.8
#define INNER_FILL	0.65
#define UNCERTAINTY 0.05
#define UNCERTAINTY_OF_LINES 0.25

/* Points have a coordinate in common with the one before them, this often. */
#define FRACTION_OF_LINES 0.2

/* On a page, a point is a box with both corners the same. */
#define POINT_TUPLE_BYTES (sizeof(IndexTupleData) + 4 * sizeof(double))

static void
gist_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	const GISTPageOpaqueData *opaque;
	SstGistRebuild *gist = &rebuild->u.gist;
	int			nitems = sst_page_items(page);
	double		last[2] = {0, 0};

	if (PageIsNew((Page) page))
		return;
	opaque = GistPageGetOpaque((Page) page);
	if ((opaque->flags & (F_LEAF | F_DELETED)) != F_LEAF)
		return;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);

		if (ItemIdIsDead(item))
		{
			counters->n[SST_REBUILT_DEAD_ENTRIES]++;
			continue;
		}
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_BYTES] += MAXALIGN(ItemIdGetLength(item)) +
			sizeof(ItemIdData);

		if (ItemIdGetLength(item) >= POINT_TUPLE_BYTES)
		{
			double		point[2];

			memcpy(point, page + ItemIdGetOffset(item) +
				   sizeof(IndexTupleData), sizeof(point));
			gist->npoints++;
			gist->naligned += point[0] == last[0] || point[1] == last[1];
			memcpy(last, point, sizeof(last));
		}
	}

	gist->lines = gist->naligned > FRACTION_OF_LINES * gist->npoints;
	rebuild->uncertainty = gist->lines ? UNCERTAINTY_OF_LINES : UNCERTAINTY;
}

static double
gist_blocks(const SstRebuild *rebuild, const double *counts,
			const SstMeta *meta, bool whole)
{
	double		bytes = counts[SST_REBUILT_BYTES];
	double		fill = rebuild->u.gist.lines ? LEAF_FILL_OF_LINES : LEAF_FILL;
	double		level = 1;
	double		blocks;
	double		item = bytes / Max(counts[SST_REBUILT_ENTRIES], 1);

	/* A point is short; what is on a damaged page can be as long as a page. */
	item = Min(item, PAGE_ROOM / 3);

	if (bytes > PAGE_ROOM)
		level = Max(2, sst_round_up(bytes / (fill * PAGE_ROOM), whole));

	/* What is above a leaf is as large as what is on it: a box. */
	for (blocks = level; level > 1; blocks += level)
	{
		bytes = level * item;
		level = bytes <= PAGE_ROOM ? 1 :
			Max(2, sst_round_up(bytes / (INNER_FILL * PAGE_ROOM), whole));
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

void
sst_rebuild_gist_init(SstRebuild *rebuild, Relation rel)
{
	sst_rebuild_set_model(rebuild, gist_page, gist_blocks, NULL, UNCERTAINTY);

	if (!is_sorted(rel))
		rebuild->note = gettext_noop("size after a rebuild depends on the data and their order");
	else if (RelationGetNumberOfAttributes(rel) > 1 ||
			 rel->rd_opfamily[0] != POINT_GIST_FAM_OID)
		rebuild->note = gettext_noop("size after a rebuild depends on the data and how the operator class splits pages");
	rebuild->unpredictable = rebuild->note != NULL;
}
