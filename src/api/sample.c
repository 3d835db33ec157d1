/*-------------------------------------------------------------------------
 *
 * sample.c
 *	  Page statistics from a random sample of blocks, with error bars
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "api/result.h"
#include "run/scan.h"

PG_FUNCTION_INFO_V1(sst_sample);

/* The sampler takes 32 bits of seed; a null one is drawn. */
static uint32
sampler_seed(FunctionCallInfo fcinfo, int argno)
{
	int64		seed;

	if (PG_ARGISNULL(argno))
		return pg_prng_uint32(&pg_global_prng_state);

	seed = PG_GETARG_INT64(argno);
	return hash_bytes((const unsigned char *) &seed, sizeof(seed));
}

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

static Datum
float8_or_null(double value, bool *isnull)
{
	*isnull = isnan(value);
	return Float8GetDatum(value);
}

Datum
sst_sample(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	SstTarget	target;
	SstScanPlan plan;
	SstScanResult result;
	const SstStatistic *statistics;
	int			nstatistics;
	instr_time	start;
	int32		nblocks;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("relation cannot be null")));
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample size cannot be null")));
	nblocks = PG_GETARG_INT32(1);
	if (nblocks <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample size must be greater than zero"),
				 errhint("Give the number of blocks to read.")));

	INSTR_TIME_SET_CURRENT(start);
	sst_target_open(&target, PG_GETARG_OID(0), SST_ANY_INDEX | SST_TABLE);

	InitMaterializedSRF(fcinfo, 0);

	statistics = sst_statistics(target.kind, &nstatistics);
	sst_plan_sample(&plan, &target, nblocks, sampler_seed(fcinfo, 2));
	sst_scan_run(&plan, target.rel, NULL, &result);
	sst_remember_call("sample", RelationGetRelid(target.rel), start,
					  &result.report);

	for (int i = 0; i < nstatistics; i++)
	{
		SstEstimate estimate = sst_estimate(&statistics[i], &result.moments[i],
											result.nvisited, target.nblocks);
		Datum		values[7];
		bool		nulls[7] = {0};

		values[0] = CStringGetTextDatum(statistics[i].name);
		values[1] = float8_or_null(estimate.value, &nulls[1]);
		values[2] = float8_or_null(estimate.low, &nulls[2]);
		values[3] = float8_or_null(estimate.high, &nulls[3]);
		values[4] = Int64GetDatum(result.nvisited);
		values[5] = Int64GetDatum((int64) target.nblocks);
		values[6] = BoolGetDatum(result.nvisited >= target.nblocks);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	report_damage(&target, &result.counters);
	sst_target_close(&target);

	return (Datum) 0;
}
