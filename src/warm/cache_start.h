/*-------------------------------------------------------------------------
 *
 * cache_start.h
 *	  Loading the saved cache when the server starts
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_start.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CACHE_START_H
#define SST_CACHE_START_H

extern bool sst_cache_load_at_start(void);

#endif							/* SST_CACHE_START_H */
