/*-------------------------------------------------------------------------
 *
 * saved_cache_text.h
 *	  The text of a saved cache in the server's encoding, and its errors
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_text.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAVED_CACHE_TEXT_H
#define SST_SAVED_CACHE_TEXT_H

#include "warm/saved_cache.h"

extern pg_crc32c sst_saved_cache_crc(const char *text, int length);
extern void sst_read_saved_cache(const char *text, int length,
								 SstSavedCache *saved);

#endif							/* SST_SAVED_CACHE_TEXT_H */
