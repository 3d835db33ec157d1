/*-------------------------------------------------------------------------
 *
 * quadtree_split.h
 *	  How an SP-GiST index of points splits the leaf tuples of a node
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/quadtree_split.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_QUADTREE_SPLIT_H
#define SST_QUADTREE_SPLIT_H

#include "utils/geo_decls.h"

#include "rebuild/points.h"

#define SST_QUAD_MAX_NODES 8	/* of points that are all the same */

/* Leaf tuples of a page, each at least 16 bytes and a line pointer, and a new one */
#define SST_QUAD_MAX_POINTS (BLCKSZ / 20 + 1)

typedef struct SstQuadSplit
{
	/* Set by the caller: numbers of points, of which the last one is new */
	int			npoints;
	uint32		points[SST_QUAD_MAX_POINTS];
	int			total;			/* bytes of leaf tuples with line pointers */

	Point		centre;
	int			nnodes;
	bool		all_same;
	bool		include_new;	/* else it is yet to be inserted */
	uint8		nodes[SST_QUAD_MAX_POINTS];
	int			node_bytes[SST_QUAD_MAX_NODES];
	bool		moves[SST_QUAD_MAX_NODES];	/* to another page */
} SstQuadSplit;

extern int	sst_quadrant(const Point *centre, const double *xy);
extern void sst_quad_split(const SstPoint *points, SstQuadSplit *split);
extern bool sst_quad_choose_pages(const SstPoint *points, SstQuadSplit *split,
								  int room, int other_room);

#endif							/* SST_QUADTREE_SPLIT_H */
