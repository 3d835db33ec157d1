/*-------------------------------------------------------------------------
 *
 * cache_file.h
 *	  The file with the list of cached blocks, for the next start
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_file.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CACHE_FILE_H
#define SST_CACHE_FILE_H

#include "storage/block.h"

#include "stream/buffer_pool.h"

/* From the data directory */
#define SST_CACHE_FILE "streamstat.cache"

/* Adjacent blocks of a fork, with one usage count; as in the file */
typedef struct SstCachedRange
{
	Oid			tablespace;		/* see SstFiles */
	Oid			number;
	BlockNumber first;
	uint32		nblocks;
	uint8		forknum;
	uint8		usage;
	uint8		unused[2];
} SstCachedRange;

/* The ranges of a database, the most used ones first; as in the file */
typedef struct SstCachedDatabase
{
	Oid			database;		/* InvalidOid for shared relations */
	uint32		unused;
	uint64		nblocks;
	uint64		nranges;
} SstCachedDatabase;

typedef struct SstCacheFile
{
	uint32		ndatabases;
	const SstCachedDatabase *databases; /* by OID */
	const SstCachedRange *ranges;	/* of one database after the other */
	uint64		nblocks;
} SstCacheFile;

extern bool sst_cache_file_write(SstBufferedBlocks *blocks);
extern SstCacheFile *sst_cache_file_read(void);

#endif							/* SST_CACHE_FILE_H */
