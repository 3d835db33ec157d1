/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Arguments of SQL functions, checked
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/arguments.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "api/arguments.h"
#include "compat/compat.h"

/* The OID that argument 0 is; ERROR if it is null. */
Oid
sst_relation_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("relation cannot be null")));

	return PG_GETARG_OID(0);
}

/* The blocks that a sample is to have; ERROR if there are none. */
BlockNumber
sst_sample_size_argument(FunctionCallInfo fcinfo, int argno)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample size cannot be null")));
	if (PG_GETARG_INT32(argno) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample size must be greater than zero"),
				 errhint("Give the number of blocks to read.")));

	return (BlockNumber) PG_GETARG_INT32(argno);
}

/* The sampler takes 32 bits of seed; a null one is drawn. */
uint32
sst_seed_argument(FunctionCallInfo fcinfo, int argno)
{
	int64		seed;

	if (PG_ARGISNULL(argno))
		return pg_prng_uint32(&pg_global_prng_state);

	seed = PG_GETARG_INT64(argno);
	return hash_bytes((const unsigned char *) &seed, sizeof(seed));
}

/* What is to be done with a TOAST table; null is "no". */
SstWithToast
sst_with_toast_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *value;

	if (PG_ARGISNULL(argno))
		return SST_TOAST_LEFT_OUT;

	value = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	if (strcmp(value, "no") == 0)
		return SST_TOAST_LEFT_OUT;
	if (strcmp(value, "row") == 0)
		return SST_TOAST_ROW;
	if (strcmp(value, "sum") == 0)
		return SST_TOAST_SUMMED;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%s\"",
					"with_toast", value),
			 errhint("Valid values are \"no\", \"row\", and \"sum\".")));
	return SST_TOAST_LEFT_OUT;	/* keep compiler quiet */
}

/* A time limit beyond this is none: some thirty years */
#define MAX_SECONDS 1e9

/* The seconds of a time limit, which is not null; ERROR if it is negative */
double
sst_seconds_argument(FunctionCallInfo fcinfo, int argno)
{
	Interval   *interval = PG_GETARG_INTERVAL_P(argno);
	double		seconds = interval->time / (double) USECS_PER_SEC +
		((double) interval->month * DAYS_PER_MONTH + interval->day) * SECS_PER_DAY;

	if (seconds < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time limit must not be negative")));

	return Min(seconds, MAX_SECONDS);
}

/*
 * Set the deadline of limits by an interval from now; false if the argument is
 * null, for no limit.
 */
bool
sst_max_time_argument(FunctionCallInfo fcinfo, int argno, SstLimits *limits)
{
	if (PG_ARGISNULL(argno))
		return false;

	INSTR_TIME_SET_CURRENT(limits->deadline);
	limits->deadline = sst_time_after(limits->deadline,
									  sst_seconds_argument(fcinfo, argno));
	return true;
}
