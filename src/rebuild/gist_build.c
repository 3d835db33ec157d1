/*-------------------------------------------------------------------------
 *
 * gist_build.c
 *	  A model of a GiST build for points, without pages
 *
 * The server sorts the points by the Z-order of their coordinates.  On each
 * level of the tree, it takes the items of four pages and lets the operator
 * class split them until each part fits on a page.  A page's bounding box goes
 * to the level above (gist_indexsortbuild() in access/gist/gistbuild.c).  The
 * fillfactor does not matter.
 *
 * This code does the same with the boxes only, so that the number of pages
 * equals the server's.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gist_build.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gist.h"
#include "miscadmin.h"
#include "storage/bufpage.h"

#include "rebuild/gist_build.h"

/* Tuple of an inner page: a box, or null */
#define INNER_TUPLE_BYTES MAXALIGN(sizeof(IndexTupleData) + 4 * sizeof(double))
#define INNER_NULL_BYTES MAXALIGN(sizeof(IndexTupleData) + \
								  sizeof(IndexAttributeBitMapData))

/*
 * The bits of a coordinate as a float, such that they sort as it does, with NaNs
 * last (ieee_float32_to_uint32() in access/gist/gistproc.c)
 */
static uint32
sortable_bits(double coordinate)
{
	float		f = (float) coordinate;
	uint32		bits;

	if (isnan(f))
		return PG_UINT32_MAX;
	memcpy(&bits, &f, sizeof(bits));
	return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

/* Put a zero bit before each bit. */
static uint64
spread_bits(uint32 bits)
{
	uint64		result = 0;

	for (int i = 0; i < 32; i += 8)
	{
		uint64		byte = bits >> i & 0xFF;

		/* Copies of the byte, of which a mask keeps each bit once */
		byte = (byte | byte << 4) & 0x0F0F;
		byte = (byte | byte << 2) & 0x3333;
		byte = (byte | byte << 1) & 0x5555;
		result |= byte << (2 * i);
	}
	return result;
}

static int
compare_points(const void *a, const void *b)
{
	const SstPoint *p = a;
	const SstPoint *q = b;

	/* nulls last, and rows in their order otherwise (tuplesort.c) */
	if (p->isnull != q->isnull)
		return p->isnull ? 1 : -1;
	if (!p->isnull && p->u.zorder != q->u.zorder)
		return p->u.zorder < q->u.zorder ? -1 : 1;
	return sst_compare_tids(&p->tid, &q->tid);
}

/* Sort points as a build does. */
void
sst_gist_sort(SstPoint *points, uint32 npoints)
{
	for (uint32 i = 0; i < npoints; i++)
		points[i].u.zorder = spread_bits(sortable_bits(points[i].xy[0])) |
			spread_bits(sortable_bits(points[i].xy[1])) << 1;

	qsort(points, npoints, sizeof(SstPoint), compare_points);
}

static SstGistLevel *
add_level(const SstGistBuild *build)
{
	SstGistLevel *level = palloc(sizeof(SstGistLevel));

	level->parent = NULL;
	level->page = 0;
	level->free = build->room;
	level->nboxes = 0;
	return level;
}

/* Begin an index whose pages have this much room for line pointers and tuples. */
SstGistBuild *
sst_gist_build_begin(int room)
{
	SstGistBuild *build = palloc(sizeof(SstGistBuild));

	build->room = room;
	build->nleaves = 0;
	build->ninner = 0;
	build->leaf = add_level(build);
	return build;
}

static void add_box(SstGistBuild *build, SstGistLevel *level, const SstBox *box);

/* Count a page that is complete, and add it to the level above. */
static void
complete_page(SstGistBuild *build, SstGistLevel *level, const SstBox *boxes,
			  int nboxes)
{
	SstBox		bounds = boxes[0];

	if (level == build->leaf)
		build->nleaves++;
	else
		build->ninner++;

	for (int i = 1; i < nboxes; i++)
	{
		if (bounds.isnull)
			bounds = boxes[i];
		else if (!boxes[i].isnull)
			sst_box_add(&bounds, &boxes[i]);
	}
	bounds.size = bounds.isnull ? INNER_NULL_BYTES : INNER_TUPLE_BYTES;

	if (level->parent == NULL)
		level->parent = add_level(build);
	add_box(build, level->parent, &bounds);
}

static bool
fits_page(const SstGistBuild *build, const SstBox *boxes, int nboxes)
{
	int			size = 0;

	for (int i = 0; i < nboxes; i++)
		size += boxes[i].size + sizeof(ItemIdData);
	return size <= build->room || nboxes == 1;
}

/* Part boxes, at least two, until each part fits on a page. */
static void
split(SstGistBuild *build, SstGistLevel *level, SstBox *boxes, int nboxes)
{
	int			nleft = sst_box_split(&build->space, boxes, nboxes);

	CHECK_FOR_INTERRUPTS();

	if (fits_page(build, boxes, nleft))
		complete_page(build, level, boxes, nleft);
	else
		split(build, level, boxes, nleft);

	boxes += nleft;
	nboxes -= nleft;
	if (fits_page(build, boxes, nboxes))
		complete_page(build, level, boxes, nboxes);
	else
		split(build, level, boxes, nboxes);
}

/* Make pages of what there is of a level. */
static void
flush_level(SstGistBuild *build, SstGistLevel *level)
{
	if (level->page > 0 && level->nboxes > 1)
		split(build, level, level->boxes, level->nboxes);
	else if (level->nboxes > 0)
		complete_page(build, level, level->boxes, level->nboxes);

	level->page = 0;
	level->free = build->room;
	level->nboxes = 0;
}

static void
add_box(SstGistBuild *build, SstGistLevel *level, const SstBox *box)
{
	int			size = box->size + sizeof(ItemIdData);

	/* PageGetFreeSpace() sets another line pointer aside. */
	if (level->free < size + (int) sizeof(ItemIdData))
	{
		if (level->page == SST_GIST_BUILD_PAGES - 1)
			flush_level(build, level);
		else
			level->page++;
		level->free = build->room;
	}
	if (level->nboxes == SST_MAX_SPLIT_BOXES)
		flush_level(build, level);

	level->boxes[level->nboxes++] = *box;
	level->free -= size;
}

/* Add the next point in the order of a build. */
void
sst_gist_build_add(SstGistBuild *build, const SstPoint *point)
{
	SstBox		box = {
		.low = {point->xy[0], point->xy[1]},
		.high = {point->xy[0], point->xy[1]},
		.size = point->size,
		.isnull = point->isnull
	};

	add_box(build, build->leaf, &box);
}

/* Complete the index.  The last page of the highest level is its root. */
void
sst_gist_build_end(SstGistBuild *build)
{
	SstGistLevel *level = build->leaf;

	while (level->parent != NULL || level->page > 0)
	{
		flush_level(build, level);
		level = level->parent;
	}
}

void
sst_gist_build_free(SstGistBuild *build)
{
	SstGistLevel *level = build->leaf;

	while (level != NULL)
	{
		SstGistLevel *parent = level->parent;

		pfree(level);
		level = parent;
	}
	pfree(build);
}
