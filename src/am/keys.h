/*-------------------------------------------------------------------------
 *
 * keys.h
 *	  Keys of an index by the number of their TIDs
 *
 * When some TIDs are left out, whichever they are, a key with few of them is more likely to
 * vanish than one with many.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/keys.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_KEYS_H
#define SST_KEYS_H

#include <math.h>

#include "port/pg_bitutils.h"

#define SST_KEY_CLASSES 16

/* By powers of two: the keys with so many TIDs, and their TIDs */
typedef struct SstKeys
{
	uint64		nkeys[SST_KEY_CLASSES];
	uint64		ntids[SST_KEY_CLASSES];
} SstKeys;

/* Add so many keys with so many TIDs each. */
static inline void
sst_keys_add(SstKeys *keys, uint32 nkeys, uint32 ntids)
{
	int			i = Min(pg_leftmost_one_pos32(Max(ntids, 1)), SST_KEY_CLASSES - 1);

	keys->nkeys[i] += nkeys;
	keys->ntids[i] += (uint64) nkeys * ntids;
}

/* The part of the keys of which a TID is left if this fraction of the TIDs is */
static inline double
sst_keys_left(const SstKeys *keys, double fraction)
{
	double		sum = 0;
	double		left = 0;

	for (int i = 0; i < SST_KEY_CLASSES; i++)
	{
		if (keys->nkeys[i] == 0)
			continue;
		sum += keys->nkeys[i];
		left += keys->nkeys[i] *
			(1 - pow(1 - fraction, (double) keys->ntids[i] / keys->nkeys[i]));
	}
	return sum > 0 ? left / sum : fraction;
}

#endif							/* SST_KEYS_H */
