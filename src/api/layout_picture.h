/*-------------------------------------------------------------------------
 *
 * layout_picture.h
 *	  A relation's file as text: a line for contents, one for caches
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/layout_picture.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LAYOUT_PICTURE_H
#define SST_LAYOUT_PICTURE_H

#include "run/layout.h"

#define SST_LEGEND_LINES 5

extern void sst_draw_contents(const SstLayoutBucket *buckets, int n, char *line);
extern bool sst_draw_caches(const SstLayoutBucket *buckets, int n, char *line);
extern const char *sst_layout_legend(int i, const SstLayout *layout,
									 BlockNumber nblocks);

#endif							/* SST_LAYOUT_PICTURE_H */
