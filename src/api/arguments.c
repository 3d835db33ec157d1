/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Arguments of SQL functions, checked; and their schema
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "parser/parse_func.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "api/api.h"
#include "compat/compat.h"

/* ERROR if an argument is null; what names it. */
void
sst_require_argument(FunctionCallInfo fcinfo, int argno, const char *what)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot be null", what)));
}

/* ERROR if what is asked for is less than 0; what names it. */
void
sst_check_not_negative(double value, const char *what)
{
	if (value < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", what)));
}

/* ERROR if an argument is not greater than zero; what names it, and the hint may be NULL. */
void
sst_check_positive(double value, const char *what, const char *hint)
{
	if (!(value > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be greater than zero", what),
				 hint != NULL ? errhint("%s", _(hint)) : 0));
}

/* ERROR if a number is out of a range; what names it. */
void
sst_check_range(int64 value, int64 low, int64 high, const char *what)
{
	if (value < low || value > high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between %lld and %lld", what,
						(long long) low, (long long) high)));
}

/* The OID that argument 0 is; ERROR if it is null. */
Oid
sst_relation_argument(FunctionCallInfo fcinfo)
{
	sst_require_argument(fcinfo, 0, "relation");
	return PG_GETARG_OID(0);
}

/* A boolean argument; null, and a script without it, mean the default. */
bool
sst_bool_argument(FunctionCallInfo fcinfo, int argno, bool defaultval)
{
	return PG_NARGS() <= argno || PG_ARGISNULL(argno) ? defaultval : PG_GETARG_BOOL(argno);
}

/* The OIDs of an array argument; ERROR if it is null, or one of them; what names it then. */
const Oid  *
sst_oids_argument(FunctionCallInfo fcinfo, int argno, const char *what, int *n)
{
	ArrayType  *array;

	sst_require_argument(fcinfo, argno, what);
	array = PG_GETARG_ARRAYTYPE_P(argno);
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot contain null", what)));

	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (const Oid *) ARR_DATA_PTR(array);
}

/* The number of blocks of a sample; ERROR if it is null or not positive. */
BlockNumber
sst_sample_size_argument(FunctionCallInfo fcinfo, int argno)
{
	sst_require_argument(fcinfo, argno, "sample size");
	sst_check_positive(PG_GETARG_INT32(argno), "sample size",
					   gettext_noop("Specify the number of blocks to read."));
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

/* The seconds of an interval, which is not null; ERROR if it is negative.  what names it then. */
double
sst_seconds_argument(FunctionCallInfo fcinfo, int argno, const char *what)
{
	Interval   *interval = PG_GETARG_INTERVAL_P(argno);
	double		seconds = interval->time / (double) USECS_PER_SEC +
		((double) interval->month * DAYS_PER_MONTH + interval->day) * SECS_PER_DAY;

	sst_check_not_negative(seconds, what);
	return Min(seconds, MAX_SECONDS);
}

/*
 * Set the deadline of limits by an interval from now, and return them; NULL if the
 * argument is null, for no limit.
 */
SstLimits *
sst_max_time_argument(FunctionCallInfo fcinfo, int argno, SstLimits *limits)
{
	if (PG_ARGISNULL(argno))
		return NULL;

	limits->deadline = sst_now() + sst_seconds_argument(fcinfo, argno, "time limit");
	return limits;
}

/* A number of bytes that is not null, as pg_size_bytes() takes it */
int64
sst_bytes_argument(FunctionCallInfo fcinfo, int argno)
{
	return DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
											 PG_GETARG_DATUM(argno)));
}

/* Bytes per second; 0 for null, which is streamstat.max_rate.  ERROR if there are none. */
int64
sst_max_rate_argument(FunctionCallInfo fcinfo, int argno)
{
	int64		max_rate;

	if (PG_ARGISNULL(argno))
		return 0;

	max_rate = sst_bytes_argument(fcinfo, argno);
	sst_check_positive(max_rate, "rate",
					   gettext_noop("Specify bytes per second, or null for the value of \"streamstat.max_rate\"."));
	return max_rate;
}

/* A text argument that must not be null; what names it in the error. */
char *
sst_text_argument(FunctionCallInfo fcinfo, int argno, const char *what)
{
	sst_require_argument(fcinfo, argno, what);
	return text_to_cstring(PG_GETARG_TEXT_PP(argno));
}

/* A limit of bytes, which is not null */
int64
sst_max_bytes_argument(FunctionCallInfo fcinfo, int argno)
{
	int64		bytes = sst_bytes_argument(fcinfo, argno);

	sst_check_positive(bytes, "max_bytes",
					   gettext_noop("Specify a number of bytes, or null for no limit."));
	return bytes;
}

/*
 * Set the limits of a call: max_bytes, max_time and max_rate, which are
 * arguments argno to argno + 2.  Returns the limits, or NULL if all three are null.
 */
SstLimits *
sst_limits_arguments(FunctionCallInfo fcinfo, int argno, SstLimits *limits)
{
	memset(limits, 0, sizeof(SstLimits));
	limits->bytes_left = PG_INT64_MAX;
	if (!PG_ARGISNULL(argno))
		limits->bytes_left = sst_max_bytes_argument(fcinfo, argno);
	(void) sst_max_time_argument(fcinfo, argno + 1, limits);
	limits->max_rate = sst_max_rate_argument(fcinfo, argno + 2);

	return PG_ARGISNULL(argno) && PG_ARGISNULL(argno + 1) &&
		PG_ARGISNULL(argno + 2) ? NULL : limits;
}

/* The schema of the function that is called; ERROR if another session has dropped it */
char *
sst_called_schema(FunctionCallInfo fcinfo)
{
	Oid			funcid = fcinfo->flinfo->fn_oid;
	char	   *schema = get_namespace_name(get_func_namespace(funcid));

	if (schema == NULL)
		elog(ERROR, "cache lookup failed for function %u", funcid);
	return schema;
}

/* Another function in that schema; ERROR if there is none with these arguments */
Oid
sst_beside_called(FunctionCallInfo fcinfo, char *name, int nargs, const Oid *argtypes)
{
	return LookupFuncName(list_make2(makeString(sst_called_schema(fcinfo)), makeString(name)),
						  nargs, argtypes, false);
}
