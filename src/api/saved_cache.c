/*-------------------------------------------------------------------------
 *
 * saved_cache.c
 *	  cache_save and cache_load: save shared buffers as text, and load them
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

#include "api/arguments.h"
#include "api/warm_rows.h"
#include "compat/compat.h"
#include "run/call.h"
#include "run/progress.h"
#include "warm/saved_cache.h"
#include "warm/set.h"

PG_FUNCTION_INFO_V1(sst_cache_save);
PG_FUNCTION_INFO_V1(sst_cache_load);

Datum
sst_cache_save(PG_FUNCTION_ARGS)
{
	StringInfoData saved;

	sst_save_cache(PG_ARGISNULL(0) ? PG_INT64_MAX :
				   sst_max_bytes_argument(fcinfo, 0), &saved);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(saved.data, saved.len));
}

/*
 * The relations of a set, as the queue counts them: by forks, for a relation has
 * ranges in several places.
 */
static int64
count_relations(const SstWarmSet *set)
{
	int64		result = 0;

	for (int i = 0; i < set->nforks; i++)
		result += set->forks[i].note == NULL &&
			(i == 0 || set->forks[i].relation != set->forks[i - 1].relation);

	return result;
}

Datum
sst_cache_load(PG_FUNCTION_ARGS)
{
	SstFreeBuffers free_buffers = {0};
	SstWarmOptions options;
	SstLimits	limits;
	SstSavedCache saved;
	SstWarmSet	set;
	SstWarmEnd	end;
	SstCall		call;
	int64		nrelations;
	int64		nblocks;
	text	   *value;
	int			min_usage = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("saved cache cannot be null")));
	options.mode = sst_prewarm_mode_argument(fcinfo, 1);
	options.limits = sst_warm_limits_arguments(fcinfo, 3, &limits);
	options.free_buffers = PG_ARGISNULL(6) || PG_GETARG_BOOL(6) ?
		&free_buffers : NULL;

	sst_call_begin(&call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	sst_progress_phase(SST_PHASE_CATALOG);
	value = PG_GETARG_TEXT_PP(0);
	sst_read_saved_cache(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), &saved);
	sst_saved_cache_set(&saved, min_usage, &set);
	sst_warm_set_totals(&set, &nrelations, &nblocks);
	sst_progress_totals(count_relations(&set), nblocks * BLCKSZ);
	sst_progress_phase(SST_PHASE_SCANNING);
	end = sst_warm(&set, &options, &call.io_stats);
	sst_note_cut_ranges(&set);
	sst_call_end(&call);

	sst_put_warm_rows(fcinfo, &set, end, NULL);

	return (Datum) 0;
}
