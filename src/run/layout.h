/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  The layout of a relation's file, and what of it is cached
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/layout.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LAYOUT_H
#define SST_LAYOUT_H

#include "run/scan.h"

/* A part of the file */
typedef struct SstLayoutBucket
{
	BlockNumber first;
	BlockNumber end;			/* one past the last block */
	uint64		corrupt_pages;

	/* Of the pages that were read; NaN if none was */
	double		free_percent;
	double		dead_percent;

	/* Of all blocks; NaN if not known, or not for the caller to know */
	double		buffered_percent;
	double		page_cache_percent;
} SstLayoutBucket;

typedef struct SstLayout
{
	int			nbuckets;
	SstLayoutBucket *buckets;
} SstLayout;

/* The most buckets that there may be */
#define SST_MAX_BUCKETS 10000

extern bool sst_may_see_caches(void);
extern void sst_read_layout(const SstTarget *target, int nbuckets,
							BlockNumber most, SstIoStats *io_stats,
							SstLayout *layout);

#endif							/* SST_LAYOUT_H */
