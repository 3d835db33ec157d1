/*-------------------------------------------------------------------------
 *
 * point_shape.h
 *	  How regular the points of an index are
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/point_shape.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_POINT_SHAPE_H
#define SST_POINT_SHAPE_H

#include "rebuild/points.h"

typedef struct SstPointShape
{
	uint32		npages;			/* with points */
	bool		line;			/* perhaps on a line: with equal gaps of which
								 * each page lacks some, or parallel to an
								 * axis */

	/* Fractions from 0 to 1 */
	double		equal_gaps;		/* gaps of coordinates as large as the next
								 * one */
	double		together;		/* rows on the same page as the next row */
	double		rising;			/* steps from row to row in the main
								 * direction, on the axis where that is less */
} SstPointShape;

extern void sst_point_shape(const SstPoints *points, SstPointShape *shape);
extern void sst_points_rank(SstPoints *points);

#endif							/* SST_POINT_SHAPE_H */
