/*-------------------------------------------------------------------------
 *
 * sample_stats.c
 *	  Page statistics from a random sample of blocks, with confidence intervals
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "api/api.h"

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
}

/* The margin to reach, or infinity if none is requested */
static double
margin_argument(FunctionCallInfo fcinfo, int argno)
{
	if (PG_ARGISNULL(argno))
		return INFINITY;

	sst_check_positive(PG_GETARG_FLOAT8(argno), "margin",
					   gettext_noop("Specify the margin in percentage points."));
	return PG_GETARG_FLOAT8(argno);
}

/*
 * Put a row for a statistic of a target that was sampled; or one with the target's
 * note, if it cannot be read: statistic and sample are NULL then.
 */
static void
put_row(SstRow *row, const SstTarget *target, const SstStatistic *statistic,
		const SstPageSample *sample, SstSampleEnd end)
{
	static const char *const ends[] = {"margin", "blocks", "all", "max_time"};
	SstEstimate estimate = {NAN, NAN, NAN};
	const char *measured = "skipped";

	if (statistic != NULL)
	{
		estimate = sst_estimate(statistic, sample);
		if (end != SST_SAMPLE_LIMITS || sample->nsampled > 0)
			measured = sst_sample_is_exact(sample) ? "exact" : "sampled";
	}

	sst_put_text(row, "statistic", statistic ? statistic->name : NULL);
	sst_put_float8(row, "estimate", estimate.value);
	sst_put_float8(row, "low", estimate.low);
	sst_put_float8(row, "high", estimate.high);
	sst_put_count(row, "blocks_read", statistic ? (int64) sample->nsampled : -1);
	sst_put_count(row, "blocks_total", statistic ? (int64) target->nblocks : -1);
	sst_put_text(row, "measured", measured);
	sst_put_text(row, "ended_by", statistic ? ends[end] : NULL);
	sst_put_text(row, "note", target->note);
	sst_row_store(row);
}

Datum
sst_sample_stats(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstTarget	target;
	SstPageSample sample;
	SstScanResult result;
	SstCall		call;
	BlockNumber nblocks;
	double		margin;
	SstLimits	limits = {.bytes_left = PG_INT64_MAX};
	SstLimits  *limited;
	SstSampleEnd end;

	nblocks = sst_sample_size_argument(fcinfo, 1);
	margin = margin_argument(fcinfo, 2);
	limited = sst_max_time_argument(fcinfo, 3, &limits);

	sst_call_try_open(&call, fcinfo, &target, SST_INDEX | SST_TABLE);
	sst_rows_begin(&row, fcinfo);

	if (!sst_target_is_readable(&target))
	{
		put_row(&row, &target, NULL, NULL, SST_SAMPLE_ALL);
		sst_call_close(&call, &target);
		return (Datum) 0;
	}

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
	call.io_stats = result.io_stats;
	sst_call_end(&call);

	for (int i = 0; i < target.am->columns.n; i++)
	{
		SstStatistic statistic;

		if (sst_column_statistic(&target.am->columns.column[i], &statistic))
			put_row(&row, &target, &statistic, &sample, end);
	}

	report_damage(&target, &result.counters);
	sst_target_close(&target);

	return (Datum) 0;
}
