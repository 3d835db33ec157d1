/*-------------------------------------------------------------------------
 *
 * sample_stats.c
 *	  Page statistics from a random sample of blocks, with error bars
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/sample_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "api/call.h"
#include "run/progress.h"
#include "run/sampling.h"
#include "stats/sample_statistics.h"

PG_FUNCTION_INFO_V1(sst_sample_stats);

/* Say where the first damaged page is: the rows only count them. */
static void
report_damage(const SstTarget *target, const SstCounters *counters)
{
	const char *relname = RelationGetRelationName(target->rel);

	if (counters->first_corrupt != InvalidBlockNumber)
		ereport(WARNING,
				(errcode(target->kind == SST_HEAP ? ERRCODE_DATA_CORRUPTED :
						 ERRCODE_INDEX_CORRUPTED),
				 errmsg("first corrupt page in sample of relation \"%s\" is block %u",
						relname, counters->first_corrupt)));
	if (counters->first_new != InvalidBlockNumber)
		ereport(NOTICE,
				(errmsg("first new page in sample of relation \"%s\" is block %u",
						relname, counters->first_new)));
}

/* The margin to reach, or infinity if that is not asked for */
static double
margin_argument(FunctionCallInfo fcinfo, int argno)
{
	double		margin;

	if (PG_ARGISNULL(argno))
		return INFINITY;

	margin = PG_GETARG_FLOAT8(argno);
	if (isnan(margin) || margin <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("margin must be greater than zero"),
				 errhint("Give it in percentage points.")));
	return margin;
}

Datum
sst_sample_stats(PG_FUNCTION_ARGS)
{
	static const char *const ends[] = {"margin", "blocks", "all", "max_time"};
	SstRow		row;
	SstTarget	target;
	SstPageSample sample;
	SstScanResult result;
	const SstStatistic *statistics;
	int			nstatistics;
	instr_time	start;
	BlockNumber nblocks;
	double		margin;
	SstLimits	limits = {.bytes_left = PG_INT64_MAX};
	SstLimits  *limited;
	SstSampleEnd end;

	nblocks = sst_sample_size_argument(fcinfo, 1);
	margin = margin_argument(fcinfo, 2);
	limited = sst_max_time_argument(fcinfo, 3, &limits) ? &limits : NULL;

	INSTR_TIME_SET_CURRENT(start);
	sst_progress_begin("sample_stats", 1, SST_PROGRESS_UNKNOWN);
	sst_open_argument(fcinfo, &target, SST_ANY_INDEX | SST_TABLE);

	sst_rows_begin(&row, fcinfo);

	if (!isinf(margin))
		end = sst_sample_to_margin(&target, margin, nblocks,
								   sst_seed_argument(fcinfo, 4), limited,
								   &sample, &result);
	else if (sst_sample_scan(&target, nblocks, sst_seed_argument(fcinfo, 4), NULL,
							 limited, &sample, &result))
		end = sst_sample_is_exact(&sample) ? SST_SAMPLE_ALL : SST_SAMPLE_BLOCKS;
	else
	{
		sample.nsampled = 0;
		end = SST_SAMPLE_LIMITS;
	}
	sst_remember_call("sample_stats", RelationGetRelid(target.rel), start,
					  &result.io_stats);

	statistics = sst_statistics(target.kind, &nstatistics);
	for (int i = 0; i < nstatistics; i++)
	{
		SstEstimate estimate = sst_estimate(&statistics[i], &sample);

		sst_put_text(&row, "statistic", statistics[i].name);
		sst_put_float8(&row, "estimate", estimate.value);
		sst_put_float8(&row, "low", estimate.low);
		sst_put_float8(&row, "high", estimate.high);
		sst_put_int64(&row, "blocks_read", sample.nsampled);
		sst_put_int64(&row, "blocks_total", target.nblocks);
		sst_put_text(&row, "measured", end == SST_SAMPLE_LIMITS &&
					 sample.nsampled == 0 ? "skipped" :
					 sst_sample_is_exact(&sample) ? "exact" : "sampled");
		sst_put_text(&row, "ended_by", ends[end]);
		sst_row_store(&row);
	}

	report_damage(&target, &result.counters);
	sst_target_close(&target);

	return (Datum) 0;
}
