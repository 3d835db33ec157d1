/*-------------------------------------------------------------------------
 *
 * saved_cache_write.h
 *	  Write the cached blocks of the current database as text
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_write.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAVED_CACHE_WRITE_H
#define SST_SAVED_CACHE_WRITE_H

#include "lib/stringinfo.h"

extern void sst_save_cache(int64 max_bytes, StringInfo out);

#endif							/* SST_SAVED_CACHE_WRITE_H */
