/*-------------------------------------------------------------------------
 *
 * call.c
 *	  What functions about one relation have in common
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "utils/lsyscache.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "api/call.h"
#include "run/progress.h"
#include "run/scan.h"

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

/* Has the target, which need not exist, a TOAST table? */
bool
sst_has_toast(const SstTarget *target)
{
	return target->rel != NULL &&
		OidIsValid(target->rel->rd_rel->reltoastrelid);
}

/*
 * Open the relation that argument 0 names by its OID; ERROR, by these rules, if it is
 * of none of the given kinds or cannot be read.
 */
void
sst_open_argument(FunctionCallInfo fcinfo, SstTarget *target, int kinds,
				  SstRules rules)
{
	sst_target_open(target, sst_relation_argument(fcinfo), kinds, rules);
}

/*
 * Open the relation that argument 0 names: by its name if the function takes text,
 * else by its OID.  The argument is not null.
 */
Relation
sst_open_name_or_oid(FunctionCallInfo fcinfo)
{
	Oid		   *argtypes;
	int			nargs;

	(void) get_func_signature(fcinfo->flinfo->fn_oid, &argtypes, &nargs);

	return argtypes[0] == TEXTOID ?
		sst_open_by_name(PG_GETARG_TEXT_PP(0)) :
		relation_open(PG_GETARG_OID(0), AccessShareLock);
}

/*
 * Begin a call about the relation that argument 0 names, and open it; ERROR if it
 * is of none of the given kinds or cannot be read.
 */
void
sst_call_open(SstCall *call, FunctionCallInfo fcinfo, SstTarget *target,
			  int kinds)
{
	sst_call_begin(call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_open_argument(fcinfo, target, kinds, SST_RULES_TOLERANT);
	sst_call_set_relation(call, target->rel);
}

/* Do that; a relation that cannot be read is not opened, and has a note. */
void
sst_call_try_open(SstCall *call, FunctionCallInfo fcinfo, SstTarget *target,
				  int kinds)
{
	Oid			relid = sst_relation_argument(fcinfo);

	sst_call_begin(call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_target_try_open(target, relid, kinds);
	if (target->rel != NULL)
		sst_call_set_relation(call, target->rel);
}

/* End the call, and close its relation if it is open. */
void
sst_call_close(SstCall *call, SstTarget *target)
{
	sst_call_end(call);
	sst_target_close(target);
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

static void
carry_out(FunctionCallInfo fcinfo, const SstTarget *target,
		  const SstScanPlan *plan, SstRelationStats *found)
{
	SstScanResult scanned;
	SstCall		call;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_call_set_relation(&call, target->rel);
	sst_scan_run(plan, target->rel, NULL, &scanned);
	call.io_stats = scanned.io_stats;
	sst_call_end(&call);

	sst_relation_stats_init(found, target);
	found->counters = scanned.counters;
	found->meta = scanned.meta;
}

/*
 * Scan all of a target by our own rules, within a call, and add what was counted
 * and read.
 */
void
sst_add_scan(const SstTarget *target, SstCounters *counters,
			 SstIoStats *io_stats)
{
	SstScanPlan plan;
	SstScanResult result;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	sst_scan_run(&plan, target->rel, NULL, &result);
	sst_counters_merge(counters, &result.counters);
	sst_io_stats_merge(io_stats, &result.io_stats);
}

/* Scan all of a target by our own rules: damage is counted. */
void
sst_scan_target(FunctionCallInfo fcinfo, const SstTarget *target,
				SstRelationStats *found)
{
	SstScanPlan plan;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	carry_out(fcinfo, target, &plan, found);
}

/*
 * Scan a target by the rules of one of contrib's functions.
 *
 * Block 0 is read even of an index that has none, for the error that the
 * buffer manager has for it.
 */
void
sst_scan_as_contrib(FunctionCallInfo fcinfo, const SstTarget *target,
					SstIndexCounts counts, SstRelationStats *found)
{
	SstScanPlan plan;

	sst_plan_scan(&plan, target, SST_RULES_CONTRIB);
	plan.index_counts = counts;
	if (counts == SST_COUNT_ITEMS)
		plan.end = Max(plan.end, 1);
	carry_out(fcinfo, target, &plan, found);
}

/* ERROR if the scan stopped at a page that makes no sense. */
void
sst_report_corrupt_index(const SstTarget *target, const SstRelationStats *found)
{
	if (found->counters.first_corrupt == InvalidBlockNumber)
		return;

	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains corrupted page at block %u",
					RelationGetRelationName(target->rel),
					found->counters.first_corrupt)));
}

/*
 * All of a function that scans the index of a kind that argument 0 names, by
 * our own rules, and returns a row about it.
 */
Datum
sst_index_row(FunctionCallInfo fcinfo, SstTargetKind kind,
			  const SstColumn *columns, int ncolumns)
{
	SstTarget	target;
	SstRelationStats found;

	sst_open_argument(fcinfo, &target, kind, SST_RULES_TOLERANT);
	sst_scan_target(fcinfo, &target, &found);
	sst_target_close(&target);

	return sst_form_row(fcinfo, columns, ncolumns, &found);
}
