/*-------------------------------------------------------------------------
 *
 * saved_cache.c
 *	  cache_save and cache_load: shared buffers as a text, and back
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/saved_cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "api/warm_options.h"
#include "api/warm_rows.h"
#include "run/call.h"
#include "run/progress.h"
#include "warm/saved_cache_set.h"
#include "warm/saved_cache_text.h"
#include "warm/saved_cache_write.h"

PG_FUNCTION_INFO_V1(sst_cache_save);
PG_FUNCTION_INFO_V1(sst_cache_load);

Datum
sst_cache_save(PG_FUNCTION_ARGS)
{
	int64		max_bytes = PG_ARGISNULL(0) ? PG_INT64_MAX :
		sst_max_bytes_argument(fcinfo, 0);
	StringInfoData saved;

	sst_save_cache(max_bytes, &saved);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(saved.data, saved.len));
}

/* The blocks that a set has in all, in bytes, if each fork has all of them */
static int64
wanted_bytes(const SstWarmSet *set)
{
	int64		nblocks = 0;

	for (int64 i = 0; i < set->nranges; i++)
	{
		if (set->forks[set->ranges[i].fork].note == NULL)
			nblocks += set->ranges[i].end - set->ranges[i].first;
	}

	return nblocks * BLCKSZ;
}

Datum
sst_cache_load(PG_FUNCTION_ARGS)
{
	SstWarmOptions options;
	SstLimits	limits;
	SstSavedCache saved;
	SstWarmSet	set;
	SstWarmEnd	end;
	SstCall		call;
	text	   *value;
	int			min_usage = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("saved cache cannot be null")));
	options.mode = sst_mode_argument(fcinfo, 1);
	sst_warm_limits(fcinfo, 3, &options, &limits);

	sst_call_begin(&call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	sst_progress_phase(SST_PHASE_CATALOG);
	value = PG_GETARG_TEXT_PP(0);
	sst_read_saved_cache(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), &saved);
	sst_saved_cache_set(&saved, min_usage, &set);
	sst_progress_totals(set.nforks, wanted_bytes(&set));
	sst_progress_phase(SST_PHASE_SCANNING);
	end = sst_warm(&set, &options, &call.io_stats);
	sst_note_cut_ranges(&set);
	sst_call_end(&call);

	sst_put_warm_rows(fcinfo, &set, end, NULL);

	return (Datum) 0;
}
