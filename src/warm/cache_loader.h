/*-------------------------------------------------------------------------
 *
 * cache_loader.h
 *	  The process that loads the saved cache of one database
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_loader.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CACHE_LOADER_H
#define SST_CACHE_LOADER_H

/*
 * A load, in shared memory.  The loaders of one database after the other write it,
 * and the cache worker reads it when they have ended, which it learns under a lock: no
 * field needs an atomic access.
 */
typedef struct SstCacheLoad
{
	Oid			database;		/* to load now */

	/* Of this database */
	bool		connected;
	bool		ended;			/* all that could be loaded is; false after
								 * too many errors */
	uint64		next;			/* the range to go on with */
	int64		nrepeated;		/* blocks read of the part that begins there */

	/* Of all */
	uint64		shared_next;	/* the same, of the shared relations */
	bool		full;			/* no free buffers are left */
	int64		ncached;		/* blocks found in buffers, not counting those
								 * that the load has read before */
	int64		nread;
} SstCacheLoad;

extern PGDLLEXPORT void sst_cache_loader_main(Datum arg);

#endif							/* SST_CACHE_LOADER_H */
