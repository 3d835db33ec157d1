/*-------------------------------------------------------------------------
 *
 * cache_worker.h
 *	  The background worker that keeps the cache over a restart
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_worker.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CACHE_WORKER_H
#define SST_CACHE_WORKER_H

extern PGDLLEXPORT void sst_cache_worker_main(Datum arg);

#endif							/* SST_CACHE_WORKER_H */
