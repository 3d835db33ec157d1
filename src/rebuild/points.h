/*-------------------------------------------------------------------------
 *
 * points.h
 *	  The points in an index, for a model that builds the index from them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/points.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_POINTS_H
#define SST_POINTS_H

#include "storage/itemptr.h"

/* An entry of an index on points */
typedef struct SstPoint
{
	double		xy[2];			/* any bytes of a damaged page */
	union
	{
		uint64		zorder;		/* of a GiST build */
		uint32		next;		/* in a chain of an SP-GiST build, + 1 */
	}			u;
	ItemPointerData tid;
	uint16		size;			/* of the tuple, aligned */
	bool		isnull;
	bool		first;			/* on its page */
} SstPoint;

/*
 * The entries of the pages that were shown, in the order of these.  Where they take
 * more memory than an index build may use, only a part of them is kept.
 */
typedef struct SstPoints
{
	SstPoint   *all;
	uint32		npoints;
	uint32		nallocated;
	uint32		limit;			/* of nallocated */

	/* Which ones are kept: one in so many pages, and of these rows */
	uint32		page_stride;
	uint32		row_stride;
	uint32		npages;			/* shown so far */
	uint64		nrows;			/* on the pages that are kept */
} SstPoints;

extern void sst_points_init(SstPoints *points);
extern void sst_points_free(SstPoints *points);
extern bool sst_points_next_page(SstPoints *points);
extern void sst_points_add(SstPoints *points, const SstPoint *point);
extern void sst_points_thin_pages(SstPoints *points);
extern void sst_points_thin_rows(SstPoints *points, uint32 factor);
extern void sst_points_sort_rows(SstPoint *points, uint32 npoints);

/* Compare the places of two rows. */
static inline int
sst_compare_tids(const ItemPointerData *a, const ItemPointerData *b)
{
	BlockNumber block1 = ItemPointerGetBlockNumberNoCheck(a);
	BlockNumber block2 = ItemPointerGetBlockNumberNoCheck(b);

	if (block1 != block2)
		return block1 < block2 ? -1 : 1;
	return (int) ItemPointerGetOffsetNumberNoCheck(a) -
		(int) ItemPointerGetOffsetNumberNoCheck(b);
}

/* Is there memory for another page? */
static inline bool
sst_points_full(const SstPoints *points)
{
	return points->npoints + BLCKSZ / 16 > points->limit;
}

/* Were all points kept? */
static inline bool
sst_points_complete(const SstPoints *points)
{
	return points->page_stride == 1 && points->row_stride == 1;
}

#endif							/* SST_POINTS_H */
