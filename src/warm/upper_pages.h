/*-------------------------------------------------------------------------
 *
 * upper_pages.h
 *	  The inner pages of b-trees, found without reading leaves
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/upper_pages.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_UPPER_PAGES_H
#define SST_UPPER_PAGES_H

#include "warm/warm.h"

extern void sst_add_upper_pages(SstWarmSet *set, const SstWarmOptions *options,
								SstIoStats *io_stats);

#endif							/* SST_UPPER_PAGES_H */
