/*-------------------------------------------------------------------------
 *
 * quadtree_build.h
 *	  A model of an SP-GiST build for points, without pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/quadtree_build.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_QUADTREE_BUILD_H
#define SST_QUADTREE_BUILD_H

#include "storage/block.h"

#include "rebuild/points.h"

extern BlockNumber sst_quadtree_build(SstPoint *points, uint32 npoints,
									  int fillfactor,
									  bool *at_random);

#endif							/* SST_QUADTREE_BUILD_H */
