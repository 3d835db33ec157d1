/*-------------------------------------------------------------------------
 *
 * points.c
 *	  The points in an index, for a model that builds the index from them
 *
 * They are kept in an array, in the current memory context, of at most
 * maintenance_work_mem.  When it is full, a model drops pages or rows,
 * whichever changes its result less.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/points.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "rebuild/points.h"

/* Those of two pages, each at least 16 bytes */
#define INITIAL_POINTS (BLCKSZ / 8)

void
sst_points_init(SstPoints *points)
{
	Size		memory = Min((Size) maintenance_work_mem * 1024, MaxAllocSize);

	memset(points, 0, sizeof(SstPoints));
	points->limit = Max(memory / sizeof(SstPoint), INITIAL_POINTS);
	points->nallocated = INITIAL_POINTS;
	points->all = palloc(points->nallocated * sizeof(SstPoint));
	points->page_stride = 1;
	points->row_stride = 1;
}

void
sst_points_free(SstPoints *points)
{
	if (points->all != NULL)
		pfree(points->all);
	points->all = NULL;
	points->npoints = 0;
}

/* Begin with a page.  False if its points are not to be added. */
bool
sst_points_next_page(SstPoints *points)
{
	return points->npages++ % points->page_stride == 0;
}

/* Add a point of the page, for which the caller has made room. */
void
sst_points_add(SstPoints *points, const SstPoint *point)
{
	if (points->nrows++ % points->row_stride != 0)
		return;

	if (points->npoints == points->nallocated)
	{
		if (points->nallocated == points->limit)
			return;
		points->nallocated = Min(points->nallocated, points->limit / 2) * 2;
		if (points->nallocated > points->limit / 2)
			points->nallocated = points->limit;
		points->all = repalloc(points->all,
							   points->nallocated * sizeof(SstPoint));
	}
	points->all[points->npoints++] = *point;
}

/* Keep every second page of those that are there, and of all to come. */
void
sst_points_thin_pages(SstPoints *points)
{
	uint32		nkept = 0;
	bool		keep = false;

	for (uint32 i = 0; i < points->npoints; i++)
	{
		if (points->all[i].first)
			keep = !keep;
		if (keep)
			points->all[nkept++] = points->all[i];
	}
	points->npoints = nkept;
	points->page_stride *= 2;
}

/* Keep one row of so many, of those that are there and of all to come. */
void
sst_points_thin_rows(SstPoints *points, uint32 factor)
{
	uint32		nkept = 0;

	for (uint32 i = 0; i < points->npoints; i += factor)
		points->all[nkept++] = points->all[i];
	points->npoints = nkept;
	points->row_stride *= factor;
}

static int
compare_rows(const void *a, const void *b)
{
	return sst_compare_tids(&((const SstPoint *) a)->tid,
							&((const SstPoint *) b)->tid);
}

/* Sort points in the order of the table. */
void
sst_points_sort_rows(SstPoint *points, uint32 npoints)
{
	qsort(points, npoints, sizeof(SstPoint), compare_rows);
}
