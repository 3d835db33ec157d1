/*-------------------------------------------------------------------------
 *
 * cache_file.h
 *	  The cache worker's file
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

#include "stream/buffer_pool.h"
#include "warm/saved_cache.h"

extern bool sst_cache_file_write(const SstBufferedBlocks *blocks);
extern bool sst_cache_file_index(SstCacheIndex *index);
extern bool sst_cache_file_read(Oid database, SstSavedCache *saved);

#endif							/* SST_CACHE_FILE_H */
