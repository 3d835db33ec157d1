/*-------------------------------------------------------------------------
 *
 * quadtree_split.c
 *	  How an SP-GiST index of points splits the leaf tuples of a node
 *
 * The centre is the mean of the points, and each quadrant around it becomes a node
 * (spg_quad_picksplit() in access/spgist/spgquadtreeproc.c).  What is in one node
 * stays on one page: doPickSplit() in access/spgist/spgdoinsert.c.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/quadtree_split.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/spgist_private.h"

#include "rebuild/quadtree_split.h"

#define NQUADRANTS	4

/*
 * The node of a point: a quadrant, clockwise from the upper right one.  What is
 * nearly on an axis goes to the first one beside it: getQuadrant()
 */
int
sst_quadrant(const Point *centre, const double *xy)
{
	if (FPlt(xy[0], centre->x))
		return FPgt(xy[1], centre->y) ? 3 : 2;
	return FPlt(xy[1], centre->y) ? 1 : 0;
}

static int
leaf_bytes(const SstPoint *points, const SstQuadSplit *split, int i)
{
	return points[split->points[i]].size + sizeof(ItemIdData);
}

static void
set_centre(const SstPoint *points, SstQuadSplit *split)
{
	split->centre.x = split->centre.y = 0;
	for (int i = 0; i < split->npoints; i++)
	{
		split->centre.x += points[split->points[i]].xy[0];
		split->centre.y += points[split->points[i]].xy[1];
	}
	split->centre.x /= split->npoints;
	split->centre.y /= split->npoints;
}

/*
 * Share out points among the nodes of a new inner tuple.  Where all that were
 * there go to one, give them to eight nodes in turn instead.  Then the new one is
 * left out if it is another and they do not all fit on a page: checkAllTheSame().
 */
void
sst_quad_split(const SstPoint *points, SstQuadSplit *split)
{
	int			last = split->npoints - 1;
	bool		isnull = points[split->points[last]].isnull;
	bool		too_big = split->total > SPGIST_PAGE_CAPACITY;

	set_centre(points, split);
	split->nnodes = NQUADRANTS;
	split->all_same = last > 0;
	split->include_new = true;
	for (int i = 0; i <= last; i++)
	{
		split->nodes[i] = isnull ? 0 :
			sst_quadrant(&split->centre, points[split->points[i]].xy);
		if (split->nodes[i] != split->nodes[0] && !(i == last && too_big))
			split->all_same = false;
	}

	if (split->all_same)
	{
		split->include_new = split->nodes[last] == split->nodes[0];
		split->nnodes = SST_QUAD_MAX_NODES;
		for (int i = 0; i <= last; i++)
			split->nodes[i] = i % SST_QUAD_MAX_NODES;
	}

	memset(split->node_bytes, 0, sizeof(split->node_bytes));
	memset(split->moves, 0, sizeof(split->moves));
	for (int i = 0; i < last || (i == last && split->include_new); i++)
		split->node_bytes[split->nodes[i]] += leaf_bytes(points, split, i);
	if (!split->include_new)
		split->total -= leaf_bytes(points, split, last);
}

/* Choose nodes for another page, in their order.  False if they do not fit. */
static bool
choose_nodes(SstQuadSplit *split, int room, int other_room)
{
	for (int i = 0; i < split->nnodes; i++)
	{
		split->moves[i] = split->node_bytes[i] > room;
		if (split->moves[i])
			other_room -= split->node_bytes[i];
		else
			room -= split->node_bytes[i];
	}
	return other_room >= 0;
}

/*
 * Choose the nodes whose points go to another page, of pages that have so much
 * room; without the new point if they do not fit.  False if that is not enough.
 */
bool
sst_quad_choose_pages(const SstPoint *points, SstQuadSplit *split, int room,
					  int other_room)
{
	int			last = split->npoints - 1;

	if (choose_nodes(split, room, other_room))
		return true;
	if (!split->include_new)
		return false;

	split->include_new = false;
	split->node_bytes[split->nodes[last]] -= leaf_bytes(points, split, last);
	return choose_nodes(split, room, other_room);
}
