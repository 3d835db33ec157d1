/*-------------------------------------------------------------------------
 *
 * treemap.c
 *	  Boxes with areas proportional to numbers
 *
 * The rectangle is filled strip by strip along its shorter side
 * (Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000): a strip takes one box
 * more as long as its narrowest box gets closer to a square by that.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/treemap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "html/treemap.h"

/*
 * How narrow is the narrowest box of a strip along a side, whose boxes have areas from
 * smallest to largest and this sum?  1 for a square.
 */
static double
narrowest(double largest, double smallest, double sum, double side)
{
	double		thickness = sum / side;

	/*
	 * A box has the strip's thickness one way, and area / thickness the other
	 * way.
	 */
	return Max(thickness * thickness / smallest,
			   largest / (thickness * thickness));
}

/*
 * How many boxes does the next strip take?  Areas are in descending order, and scale
 * makes them areas of the rectangle whose shorter side is given.  Sets their sum.
 */
static int
choose_strip(const double *areas, int n, double scale, double side, double *sum)
{
	double		shape = narrowest(areas[0] * scale, areas[0] * scale,
								  areas[0] * scale, side);
	int			taken = 1;

	*sum = areas[0];
	while (taken < n)
	{
		double		next = narrowest(areas[0] * scale, areas[taken] * scale,
									 (*sum + areas[taken]) * scale, side);

		if (next > shape)
			break;
		shape = next;
		*sum += areas[taken++];
	}

	return taken;
}

/* Place the boxes of a strip in their part of the rectangle, side by side. */
static void
place_strip(const double *areas, int n, double sum, bool down, SstBox strip,
			SstBox *boxes)
{
	double		before = 0;

	for (int i = 0; i < n; i++)
	{
		boxes[i] = strip;
		if (down)
		{
			boxes[i].top += strip.height * before / sum;
			boxes[i].height = strip.height * areas[i] / sum;
		}
		else
		{
			boxes[i].left += strip.width * before / sum;
			boxes[i].width = strip.width * areas[i] / sum;
		}
		before += areas[i];
	}
}

/*
 * Fill a rectangle with n boxes.  Areas are positive, in descending order and in any
 * unit; boxes are in that of width and height.
 */
void
sst_treemap(const double *areas, int n, double width, double height,
			SstBox *boxes)
{
	SstBox		rest = {0, 0, width, height};
	double		left = 0;

	for (int i = 0; i < n; i++)
		left += areas[i];

	while (n > 0)
	{
		bool		down = rest.width >= rest.height;
		double		scale = rest.width * rest.height / left;
		SstBox		strip = rest;
		double		sum;
		int			taken = choose_strip(areas, n, scale,
										 Min(rest.width, rest.height), &sum);
		double		share = taken == n ? 1 : sum / left;

		if (down)
		{
			strip.width *= share;
			rest.left += strip.width;
			rest.width -= strip.width;
		}
		else
		{
			strip.height *= share;
			rest.top += strip.height;
			rest.height -= strip.height;
		}
		place_strip(areas, taken, sum, down, strip, boxes);

		areas += taken;
		boxes += taken;
		n -= taken;
		left -= sum;
	}
}
