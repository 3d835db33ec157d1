/*-------------------------------------------------------------------------
 *
 * cache_register.h
 *	  Registering the cache worker
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_register.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CACHE_REGISTER_H
#define SST_CACHE_REGISTER_H

extern void sst_cache_worker_register(void);

#endif							/* SST_CACHE_REGISTER_H */
