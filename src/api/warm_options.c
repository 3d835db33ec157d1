/*-------------------------------------------------------------------------
 *
 * warm_options.c
 *	  Arguments of functions that warm relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/warm_options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "api/arguments.h"
#include "api/warm_options.h"

/* The mode: buffer (also if it is null), read or prefetch */
SstPrewarmMode
sst_mode_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *name;

	if (PG_ARGISNULL(argno))
		return SST_PREWARM_BUFFER;

	name = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	if (strcmp(name, "buffer") == 0)
		return SST_PREWARM_BUFFER;
	if (strcmp(name, "read") == 0)
		return SST_PREWARM_READ;
	if (strcmp(name, "prefetch") == 0)
		return SST_PREWARM_PREFETCH;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%s\"", "mode", name),
			 errhint("Valid values are \"buffer\", \"read\", and \"prefetch\".")));
	return SST_PREWARM_BUFFER;	/* keep compiler quiet */
}

static int64
bytes_argument(FunctionCallInfo fcinfo, int argno)
{
	return DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
											 PG_GETARG_DATUM(argno)));
}

/* A limit of bytes, which is not null */
int64
sst_max_bytes_argument(FunctionCallInfo fcinfo, int argno)
{
	int64		bytes = bytes_argument(fcinfo, argno);

	if (bytes < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_bytes must not be negative")));
	return bytes;
}

/*
 * Set the limits by the arguments from argno on: max_bytes, max_time, max_rate and
 * stop_when_full, which is true if it is null.
 */
void
sst_warm_limits(FunctionCallInfo fcinfo, int argno, SstWarmOptions *options,
				SstLimits *limits)
{
	bool		limited = false;

	memset(limits, 0, sizeof(SstLimits));
	limits->bytes_left = PG_INT64_MAX;
	if (!PG_ARGISNULL(argno))
	{
		limits->bytes_left = sst_max_bytes_argument(fcinfo, argno);
		limited = true;
	}
	if (sst_max_time_argument(fcinfo, argno + 1, limits))
		limited = true;
	if (!PG_ARGISNULL(argno + 2))
	{
		limits->max_rate = bytes_argument(fcinfo, argno + 2);
		if (limits->max_rate <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rate must be greater than zero"),
					 errhint("Give bytes per second, or null for no limit.")));
		limited = true;
	}
	options->limits = limited ? limits : NULL;
	options->stop_when_full = PG_ARGISNULL(argno + 3) || PG_GETARG_BOOL(argno + 3);
}
