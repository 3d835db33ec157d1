/*-------------------------------------------------------------------------
 *
 * box_split.c
 *	  How a GiST index of points splits a page
 *
 * The server projects the boxes to each axis, and considers each split of
 * their intervals that leaves at least three tenths on the smaller side.  It
 * takes the one with the least overlap, and of those without overlap the one
 * along the longer axis; on one axis the one with the largest gap, and of
 * equal gaps the one nearest to the middle (gist_box_picksplit() in
 * access/gist/gistproc.c).  So points on a line with equal gaps are split in
 * halves, and others are not.
 *
 * The result must equal the server's, so the arithmetic does, with its
 * rounding to float.  Unlike the server, this code raises no error, whatever
 * the numbers are.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/box_split.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"

#include "rebuild/box_split.h"

/* What the smaller side must have more of: LIMIT_RATIO in gistproc.c */
#define MIN_RATIO 0.3

/* A way to part boxes */
typedef struct BoxCut
{
	bool		found;
	int			axis;
	double		left_upper;		/* where the left side ends */
	double		right_lower;	/* where the right side begins */
	float		ratio;
	float		overlap;		/* in proportion to the range; or a gap */
	double		range;			/* of all boxes on the axis */
} BoxCut;

/* Extend a box so that it includes another one. */
void
sst_box_add(SstBox *to, const SstBox *box)
{
	for (int axis = 0; axis < 2; axis++)
	{
		if (float8_lt(to->high[axis], box->high[axis]))
			to->high[axis] = box->high[axis];
		if (float8_gt(to->low[axis], box->low[axis]))
			to->low[axis] = box->low[axis];
	}
}

static int
compare_doubles(double a, double b)
{
	return float8_gt(a, b) ? 1 : float8_lt(a, b) ? -1 : 0;
}

static int
compare_lower(const void *a, const void *b)
{
	return compare_doubles(((const SstBoxInterval *) a)->lower,
						   ((const SstBoxInterval *) b)->lower);
}

static int
compare_upper(const void *a, const void *b)
{
	return compare_doubles(((const SstBoxInterval *) a)->upper,
						   ((const SstBoxInterval *) b)->upper);
}

static int
compare_delta(const void *a, const void *b)
{
	return compare_doubles(((const SstCommonBox *) a)->delta,
						   ((const SstCommonBox *) b)->delta);
}

static inline float
non_negative(float x)
{
	return x >= 0 ? x : 0;
}

/* Is a cut better than the best so far? */
static bool
is_better(const BoxCut *cut, const BoxCut *best)
{
	if (!best->found)
		return true;
	if (cut->axis == best->axis)
		return cut->overlap < best->overlap ||
			(cut->overlap == best->overlap && cut->ratio > best->ratio);
	return non_negative(cut->overlap) < non_negative(best->overlap) ||
		(cut->range > best->range &&
		 non_negative(cut->overlap) <= non_negative(best->overlap));
}

/*
 * Consider a cut, of which the left side gets at least and at most so many of the
 * boxes: those in between are shared out evenly.
 */
static void
consider_cut(BoxCut *best, BoxCut *cut, int nboxes, int min_left, int max_left)
{
	int			nleft = nboxes / 2;

	if (min_left >= (nboxes + 1) / 2)
		nleft = min_left;
	else if (max_left <= nboxes / 2)
		nleft = max_left;

	cut->ratio = (float) Min(nleft, nboxes - nleft) / (float) nboxes;
	if (!(cut->ratio > MIN_RATIO))
		return;

	cut->overlap = (cut->left_upper - cut->right_lower) / cut->range;
	if (is_better(cut, best))
	{
		*best = *cut;
		best->found = true;
	}
}

/* Consider the cuts where a box begins on the right side, from left to right. */
static void
consider_lower_bounds(const SstBoxSplitSpace *space, int nboxes, BoxCut *cut,
					  BoxCut *best)
{
	const SstBoxInterval *lower = space->by_lower;
	const SstBoxInterval *upper = space->by_upper;
	int			i = 0;
	int			k = 0;

	cut->right_lower = lower[0].lower;
	cut->left_upper = upper[0].lower;
	for (;;)
	{
		while (i < nboxes && float8_eq(cut->right_lower, lower[i].lower))
		{
			if (float8_lt(cut->left_upper, lower[i].upper))
				cut->left_upper = lower[i].upper;
			i++;
		}
		if (i >= nboxes)
			break;
		cut->right_lower = lower[i].lower;

		while (k < nboxes && float8_le(upper[k].upper, cut->left_upper))
			k++;
		consider_cut(best, cut, nboxes, i, k);
	}
}

/* Consider the cuts where a box ends on the left side, from right to left. */
static void
consider_upper_bounds(const SstBoxSplitSpace *space, int nboxes, BoxCut *cut,
					  BoxCut *best)
{
	const SstBoxInterval *lower = space->by_lower;
	const SstBoxInterval *upper = space->by_upper;
	int			i = nboxes - 1;
	int			k = nboxes - 1;

	cut->right_lower = lower[i].upper;
	cut->left_upper = upper[k].upper;
	for (;;)
	{
		while (k >= 0 && float8_eq(cut->left_upper, upper[k].upper))
		{
			if (float8_gt(cut->right_lower, upper[k].lower))
				cut->right_lower = upper[k].lower;
			k--;
		}
		if (k < 0)
			break;
		cut->left_upper = upper[k].upper;

		while (i >= 0 && float8_ge(lower[i].lower, cut->right_lower))
			i--;
		consider_cut(best, cut, nboxes, i + 1, k + 1);
	}
}

/* Find the best cut; none if all of them leave too little on one side. */
static BoxCut
best_cut(SstBoxSplitSpace *space, const SstBox *boxes, int nboxes)
{
	BoxCut		best = {.found = false};
	SstBox		all = boxes[0];
	bool		points = true;

	for (int i = 0; i < nboxes; i++)
	{
		sst_box_add(&all, &boxes[i]);
		points &= memcmp(boxes[i].low, boxes[i].high, sizeof(boxes[i].low)) == 0;
	}

	for (int axis = 0; axis < 2; axis++)
	{
		BoxCut		cut = {
			.axis = axis,
			.range = all.high[axis] - all.low[axis]
		};

		for (int i = 0; i < nboxes; i++)
		{
			space->by_lower[i].lower = boxes[i].low[axis];
			space->by_lower[i].upper = boxes[i].high[axis];
		}
		qsort(space->by_lower, nboxes, sizeof(SstBoxInterval), compare_lower);
		memcpy(space->by_upper, space->by_lower,
			   nboxes * sizeof(SstBoxInterval));
		if (!points)
			qsort(space->by_upper, nboxes, sizeof(SstBoxInterval),
				  compare_upper);

		consider_lower_bounds(space, nboxes, &cut, &best);
		consider_upper_bounds(space, nboxes, &cut, &best);
	}
	return best;
}

static double
area(const SstBox *box)
{
	if (float8_le(box->high[0], box->low[0]) ||
		float8_le(box->high[1], box->low[1]))
		return 0;
	if (isnan(box->high[0]) || isnan(box->high[1]))
		return INFINITY;
	return (box->high[0] - box->low[0]) * (box->high[1] - box->low[1]);
}

/* By how much would a box's area grow? */
static double
growth(const SstBox *to, const SstBox *box)
{
	SstBox		both = *to;

	sst_box_add(&both, box);
	return area(&both) - area(to);
}

static void
place(int *side, int *nside, SstBox *bounds, const SstBox *boxes, int i)
{
	if (*nside == 0)
		*bounds = boxes[i];
	else
		sst_box_add(bounds, &boxes[i]);
	side[(*nside)++] = i;
}

/*
 * Share out the boxes by a cut, into the space's left and right.  Those that can
 * go to either side come last, each to the side that grows less.
 */
static int
place_all(SstBoxSplitSpace *space, const SstBox *boxes, int nboxes,
		  const BoxCut *cut)
{
	SstCommonBox *common = space->common;
	SstBox		left = boxes[0];
	SstBox		right = boxes[0];
	int			min_side = ceil(MIN_RATIO * nboxes);
	int			nleft = 0;
	int			nright = 0;
	int			ncommon = 0;

	for (int i = 0; i < nboxes; i++)
	{
		if (!float8_le(boxes[i].high[cut->axis], cut->left_upper))
			place(space->right, &nright, &right, boxes, i);
		else if (float8_ge(boxes[i].low[cut->axis], cut->right_lower))
			common[ncommon++].i = i;
		else
			place(space->left, &nleft, &left, boxes, i);
	}

	for (int k = 0; k < ncommon; k++)
		common[k].delta = fabs(growth(&left, &boxes[common[k].i]) -
							   growth(&right, &boxes[common[k].i]));
	qsort(common, ncommon, sizeof(SstCommonBox), compare_delta);

	for (int k = 0; k < ncommon; k++)
	{
		int			i = common[k].i;
		bool		to_left;

		if (nleft + (ncommon - k) <= min_side)
			to_left = true;
		else if (nright + (ncommon - k) <= min_side)
			to_left = false;
		else
			to_left = growth(&left, &boxes[i]) < growth(&right, &boxes[i]);

		if (to_left)
			place(space->left, &nleft, &left, boxes, i);
		else
			place(space->right, &nright, &right, boxes, i);
	}
	return nleft;
}

/*
 * Part nulls from others, which the server does not mix, and halves if all are
 * null (gistSplitByKey() and gistSplitHalf() in access/gist/gistsplit.c).
 */
static int
place_nulls(SstBoxSplitSpace *space, const SstBox *boxes, int nboxes, int nnulls)
{
	int			nleft = 0;
	int			nright = 0;

	for (int i = 0; i < nboxes; i++)
	{
		if (nnulls == nboxes ? i + 1 < nboxes / 2 : boxes[i].isnull)
			space->right[nright++] = i;
		else
			space->left[nleft++] = i;
	}
	return nleft;
}

/*
 * Part boxes, at least two and at most SST_MAX_SPLIT_BOXES.  Changes their order:
 * those of the left side come first, whose number is the result.  Each side has
 * some.
 */
int
sst_box_split(SstBoxSplitSpace *space, SstBox *boxes, int nboxes)
{
	int			nnulls = 0;
	int			nleft = 0;

	for (int i = 0; i < nboxes; i++)
		nnulls += boxes[i].isnull;

	if (nnulls > 0)
		nleft = place_nulls(space, boxes, nboxes, nnulls);
	else
	{
		BoxCut		cut = best_cut(space, boxes, nboxes);

		if (cut.found)
			nleft = place_all(space, boxes, nboxes, &cut);
	}

	/* Without a cut, the first half goes left: fallbackSplit(). */
	if (nleft == 0 || nleft == nboxes)
		return nboxes / 2;

	memcpy(space->boxes, boxes, nboxes * sizeof(SstBox));
	for (int i = 0; i < nboxes; i++)
		boxes[i] = space->boxes[i < nleft ? space->left[i] : space->right[i - nleft]];
	return nleft;
}
