/*-------------------------------------------------------------------------
 *
 * cache_wait.h
 *	  How the cache worker waits
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_wait.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CACHE_WAIT_H
#define SST_CACHE_WAIT_H

extern bool sst_cache_wait(long ms);

#endif							/* SST_CACHE_WAIT_H */
