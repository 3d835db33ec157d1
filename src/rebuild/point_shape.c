/*-------------------------------------------------------------------------
 *
 * point_shape.c
 *	  How regular the points of an index are
 *
 * A sample of pages shows pieces of the plane with gaps between them.  It
 * predicts a build correctly for random points, but not for regular ones: on a
 * grid or a line each gap matters, and rows in order always go to the page
 * that was split last.  So this code measures how regular they are.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/point_shape.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"

#include "rebuild/point_shape.h"

/* Gaps that are equal, or multiples of another, differ by no more in proportion. */
#define EQUAL_GAPS 1e-3
#define MULTIPLE_GAPS 1e-2
#define MAX_MULTIPLE 20

/* Points of a line have so many of such gaps, and share few coordinates. */
#define LINE_GAPS	0.9
#define LINE_REPEATED 0.6

/* A coordinate of a point, or a row on a page */
typedef struct ShapeItem
{
	double		value;
	uint32		i;				/* number of the point or page */
	const SstPoint *point;
} ShapeItem;

static int
compare_values(const void *a, const void *b)
{
	double		x = ((const ShapeItem *) a)->value;
	double		y = ((const ShapeItem *) b)->value;

	return float8_gt(x, y) ? 1 : float8_lt(x, y) ? -1 : 0;
}

static int
compare_rows(const void *a, const void *b)
{
	return sst_compare_tids(&((const ShapeItem *) a)->point->tid,
							&((const ShapeItem *) b)->point->tid);
}

/* Counts over pages */
typedef struct ShapeSums
{
	uint64		ngaps;
	uint64		nequal;
	uint64		nmultiple;
	uint64		nvalues;
	uint64		nrepeated;
} ShapeSums;

/* Look at the gaps of a page's coordinates on one axis.  Destroys the items. */
static void
add_gaps(ShapeItem *items, uint32 nitems, ShapeSums *sums)
{
	double		smallest = INFINITY;
	double		last = NAN;
	uint32		ngaps = 0;

	qsort(items, nitems, sizeof(ShapeItem), compare_values);
	for (uint32 i = 0; i < nitems; i++)
	{
		double		gap = items[i].value - last;

		last = items[i].value;
		if (i == 0)
			continue;
		if (gap > 0)
		{
			smallest = Min(smallest, gap);
			items[ngaps++].value = gap;
		}
		else
			sums->nrepeated++;
	}

	for (uint32 i = 0; i < ngaps; i++)
	{
		double		gap = items[i].value;
		double		times = gap / smallest;

		sums->nmultiple += times <= MAX_MULTIPLE &&
			fabs(times - rint(times)) <= MULTIPLE_GAPS;
		if (i > 0)
			sums->nequal += fabs(gap - items[i - 1].value) <= EQUAL_GAPS * gap;
	}
	sums->nvalues += nitems;
	sums->ngaps += ngaps;
}

/* Look at each page by itself. */
static void
shape_of_pages(const SstPoints *points, ShapeItem *items, SstPointShape *shape)
{
	ShapeSums	sums = {0};

	for (uint32 begin = 0, end; begin < points->npoints; begin = end)
	{
		shape->npages++;
		for (int axis = 0; axis < 2; axis++)
		{
			uint32		nitems = 0;

			for (end = begin; end < points->npoints; end++)
			{
				const SstPoint *point = &points->all[end];

				if (point->first && end > begin)
					break;
				if (!point->isnull)
					items[nitems++].value = point->xy[axis];
			}
			add_gaps(items, nitems, &sums);
		}
	}
	shape->equal_gaps = (double) sums.nequal / Max(sums.ngaps, 1);
	shape->line = sums.nmultiple > LINE_GAPS * sums.ngaps &&
		sums.nrepeated < LINE_REPEATED * sums.nvalues;
}

/* Look at the rows in their order. */
static void
shape_of_rows(const SstPoints *points, ShapeItem *items, SstPointShape *shape)
{
	uint32		nrows = 0;
	uint32		page = 0;
	uint64		ntogether = 0;

	for (uint32 i = 0; i < points->npoints; i++)
	{
		page += points->all[i].first;
		if (points->all[i].isnull)
			continue;
		items[nrows].point = &points->all[i];
		items[nrows++].i = page;
	}
	qsort(items, nrows, sizeof(ShapeItem), compare_rows);

	shape->rising = 1;
	for (int axis = 0; axis < 2; axis++)
	{
		uint64		nup = 0;
		uint64		ndown = 0;

		for (uint32 i = 1; i < nrows; i++)
		{
			nup += items[i].point->xy[axis] > items[i - 1].point->xy[axis];
			ndown += items[i].point->xy[axis] < items[i - 1].point->xy[axis];
		}
		if (nup + ndown > 0)
			shape->rising = Min(shape->rising,
								(double) Max(nup, ndown) / (nup + ndown));
	}

	for (uint32 i = 1; i < nrows; i++)
		ntogether += items[i].i == items[i - 1].i;
	shape->together = (double) ntogether / Max(nrows, 1);
}

/* Do all points have one of their coordinates in common? */
static bool
is_parallel_to_axis(const SstPoints *points)
{
	const SstPoint *first = NULL;
	bool		differ[2] = {false, false};

	for (uint32 i = 0; i < points->npoints; i++)
	{
		const SstPoint *point = &points->all[i];

		if (point->isnull)
			continue;
		if (first == NULL)
			first = point;
		for (int axis = 0; axis < 2; axis++)
			differ[axis] |= !float8_eq(point->xy[axis], first->xy[axis]);
	}

	return first != NULL && !(differ[0] && differ[1]);
}

/* Find out how regular points are. */
void
sst_point_shape(const SstPoints *points, SstPointShape *shape)
{
	ShapeItem  *items = palloc((points->npoints + 1) * sizeof(ShapeItem));

	memset(shape, 0, sizeof(SstPointShape));
	shape_of_pages(points, items, shape);
	shape_of_rows(points, items, shape);
	shape->line |= is_parallel_to_axis(points);
	pfree(items);
}

/*
 * Put each coordinate's place in the order of all in its place.  That closes the
 * gaps between the pages of a sample, along a line.
 */
void
sst_points_rank(SstPoints *points)
{
	ShapeItem  *items = palloc((points->npoints + 1) * sizeof(ShapeItem));

	for (int axis = 0; axis < 2; axis++)
	{
		uint32		rank = 0;

		for (uint32 i = 0; i < points->npoints; i++)
		{
			items[i].value = points->all[i].xy[axis];
			items[i].i = i;
		}
		qsort(items, points->npoints, sizeof(ShapeItem), compare_values);
		for (uint32 i = 0; i < points->npoints; i++)
		{
			rank += i > 0 && compare_values(&items[i], &items[i - 1]) != 0;
			points->all[items[i].i].xy[axis] = rank;
		}
	}
	pfree(items);
}
