/*-------------------------------------------------------------------------
 *
 * treemap.h
 *	  Boxes with areas proportional to numbers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/treemap.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_TREEMAP_H
#define SST_HTML_TREEMAP_H

typedef struct SstBox
{
	double		left;
	double		top;
	double		width;
	double		height;
} SstBox;

extern void sst_treemap(const double *areas, int n, double width, double height,
						SstBox *boxes);

#endif							/* SST_HTML_TREEMAP_H */
