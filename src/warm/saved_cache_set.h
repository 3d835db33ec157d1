/*-------------------------------------------------------------------------
 *
 * saved_cache_set.h
 *	  The part of a saved cache that can be loaded here
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_set.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SAVED_CACHE_SET_H
#define SST_SAVED_CACHE_SET_H

#include "warm/saved_cache.h"
#include "warm/warm.h"

extern void sst_saved_cache_set(const SstSavedCache *saved, int min_usage,
								SstWarmSet *set);
extern void sst_note_cut_ranges(SstWarmSet *set);

#endif							/* SST_SAVED_CACHE_SET_H */
