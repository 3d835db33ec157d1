/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  Starting and merging counters
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/counters.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stats/counters.h"

void
sst_counters_init(SstCounters *counters)
{
	memset(counters, 0, sizeof(SstCounters));
	counters->first_new = InvalidBlockNumber;
	counters->first_corrupt = InvalidBlockNumber;
}

void
sst_counters_merge(SstCounters *into, const SstCounters *from)
{
	for (int i = 0; i < SST_NCOUNTS; i++)
		into->n[i] += from->n[i];

	/* InvalidBlockNumber is above every block number. */
	into->first_new = Min(into->first_new, from->first_new);
	into->first_corrupt = Min(into->first_corrupt, from->first_corrupt);

	into->kept_end = Max(into->kept_end, from->kept_end);
	into->largest_free = Max(into->largest_free, from->largest_free);
	into->map_largest_free = Max(into->map_largest_free,
								 from->map_largest_free);
}
