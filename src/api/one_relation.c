/*-------------------------------------------------------------------------
 *
 * one_relation.c
 *	  Calls about one relation: opening it, and scanning all of it
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/one_relation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "api/arguments.h"
#include "api/one_relation.h"
#include "run/progress.h"
#include "run/scan.h"

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
