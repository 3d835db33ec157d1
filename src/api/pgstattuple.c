/*-------------------------------------------------------------------------
 *
 * pgstattuple.c
 *	  pgstattuple and pgstattuple_approx, with the errors of contrib's
 *
 * pgstattuple_approx first reads from the maps which blocks are all-visible
 * and how much free space they have.  The scan skips these blocks.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/pgstattuple.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "storage/bufmgr.h"

#include "api/one_relation.h"
#include "relation/refuse.h"
#include "run/call.h"
#include "run/maps.h"
#include "run/progress.h"
#include "run/scan.h"

/* Blocks that are read if nothing is known of the number of tuples */
#define APPROX_SAMPLE_BLOCKS 64

PG_FUNCTION_INFO_V1(sst_pgstattuple);
PG_FUNCTION_INFO_V1(sst_pgstattuplebyid);
PG_FUNCTION_INFO_V1(sst_pgstattuple_approx);

/*
 * pgstattuple
 */

static const SstColumn exact_columns[] = {
	{"table_len", INT8OID, 0, sst_size_column},
	{"tuple_count", INT8OID, SST_TUPLES},
	{"tuple_len", INT8OID, SST_TUPLE_BYTES},
	{"tuple_percent", FLOAT8OID, 0, sst_tuple_percent_column},
	{"dead_tuple_count", INT8OID, SST_DEAD_TUPLES},
	{"dead_tuple_len", INT8OID, SST_DEAD_TUPLE_BYTES},
	{"dead_tuple_percent", FLOAT8OID, 0, sst_dead_tuple_percent_column},
	{"free_space", INT8OID, SST_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, sst_free_percent_column},
};

/* ERROR if the scan stopped at a page that makes no sense. */
static void
report_corrupt_page(const SstTarget *target, const SstRelationStats *found)
{
	if ((target->kind & SST_ANY_INDEX) != 0)
		sst_report_corrupt_index(target, found);
	else if (found->counters.first_corrupt != InvalidBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table \"%s\" contains corrupted page at block %u",
						RelationGetRelationName(target->rel),
						found->counters.first_corrupt)));
}

Datum
sst_pgstattuple(PG_FUNCTION_ARGS)
{
	Relation	rel = sst_open_name_or_oid(fcinfo);
	SstTarget	target;
	SstRelationStats found;

	sst_refuse_for_pgstattuple(rel);
	sst_target_adopt(&target, rel, SST_ANY_INDEX | SST_TABLE,
					 SST_RULES_CONTRIB);
	sst_scan_as_contrib(fcinfo, &target, SST_COUNT_TUPLES, &found);
	report_corrupt_page(&target, &found);
	sst_target_close(&target);

	return sst_form_row(fcinfo, exact_columns, lengthof(exact_columns), &found);
}

Datum
sst_pgstattuplebyid(PG_FUNCTION_ARGS)
{
	return sst_pgstattuple(fcinfo);
}

/*
 * pgstattuple_approx
 *
 * Tuples are what VACUUM takes them for, where a dirty snapshot has another
 * opinion: those being inserted are dead, those being deleted live.  Of the
 * blocks that are skipped, all that is not free is taken for live tuples.
 */

/* Blocks that were read */
static uint64
scanned_blocks(const SstRelationStats *found)
{
	return SST_COUNT(found, SST_PAGE_BYTES) / BLCKSZ;
}

static Datum
approx_percent(uint64 bytes, const SstRelationStats *found)
{
	return Float8GetDatum(found->nblocks == 0 ? 0.0 :
						  100.0 * bytes / (found->nblocks * BLCKSZ));
}

static Datum
scanned_percent(const SstRelationStats *found, bool *isnull)
{
#ifdef SST_APPROX_SCANS_WHOLE_PERCENTS
	return Float8GetDatum(found->nblocks == 0 ? 0 :
						  100 * scanned_blocks(found) / found->nblocks);
#else
	return approx_percent(SST_COUNT(found, SST_PAGE_BYTES), found);
#endif
}

static Datum
approx_tuple_count(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(found->reltuples);
}

static uint64
tuple_len(const SstRelationStats *found)
{
	uint64		skipped = (found->nblocks - scanned_blocks(found)) * BLCKSZ;

	return SST_COUNT(found, SST_TUPLE_BYTES) -
		SST_COUNT(found, SST_INSERTING_BYTES) +
		SST_COUNT(found, SST_OWN_DELETED_BYTES) +
		skipped - SST_COUNT(found, SST_MAP_SKIPPED_FREE_BYTES);
}

static Datum
approx_tuple_len(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(tuple_len(found));
}

static Datum
approx_tuple_percent(const SstRelationStats *found, bool *isnull)
{
	return approx_percent(tuple_len(found), found);
}

static Datum
approx_dead_tuple_count(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(SST_COUNT(found, SST_DEAD_TUPLES) -
						 SST_COUNT(found, SST_OWN_DELETED_TUPLES) +
						 SST_COUNT(found, SST_INSERTING_TUPLES));
}

static uint64
dead_tuple_len(const SstRelationStats *found)
{
	return SST_COUNT(found, SST_DEAD_TUPLE_BYTES) -
		SST_COUNT(found, SST_OWN_DELETED_BYTES) +
		SST_COUNT(found, SST_INSERTING_BYTES);
}

static Datum
approx_dead_tuple_len(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(dead_tuple_len(found));
}

static Datum
approx_dead_tuple_percent(const SstRelationStats *found, bool *isnull)
{
	return approx_percent(dead_tuple_len(found), found);
}

static uint64
free_space(const SstRelationStats *found)
{
	uint64		bytes = SST_COUNT(found, SST_FREE_BYTES) +
		SST_COUNT(found, SST_MAP_SKIPPED_FREE_BYTES);

#ifdef SST_APPROX_HAS_NEW_PAGES_FREE
	/* But for their headers */
	bytes += SST_COUNT(found, SST_NEW_PAGES) *
		(BLCKSZ - SizeOfPageHeaderData);
#endif

	return bytes;
}

static Datum
approx_free_space(const SstRelationStats *found, bool *isnull)
{
	return Int64GetDatum(free_space(found));
}

static Datum
approx_free_percent(const SstRelationStats *found, bool *isnull)
{
	return approx_percent(free_space(found), found);
}

static const SstColumn approx_columns[] = {
	{"table_len", INT8OID, 0, sst_size_column},
	{"scanned_percent", FLOAT8OID, 0, scanned_percent},
	{"approx_tuple_count", INT8OID, 0, approx_tuple_count},
	{"approx_tuple_len", INT8OID, 0, approx_tuple_len},
	{"approx_tuple_percent", FLOAT8OID, 0, approx_tuple_percent},
	{"dead_tuple_count", INT8OID, 0, approx_dead_tuple_count},
	{"dead_tuple_len", INT8OID, 0, approx_dead_tuple_len},
	{"dead_tuple_percent", FLOAT8OID, 0, approx_dead_tuple_percent},
	{"approx_free_space", INT8OID, 0, approx_free_space},
	{"approx_free_percent", FLOAT8OID, 0, approx_free_percent},
};

/* Tuples that are live to VACUUM */
static double
live_tuples(const SstCounters *counters)
{
	return (double) counters->n[SST_TUPLES] -
		counters->n[SST_INSERTING_TUPLES] +
		counters->n[SST_OWN_DELETED_TUPLES];
}

/* The number of tuples in the skipped blocks, from a sample of these */
static double
sample_skipped_tuples(const SstTarget *target, const SstBlockSet *skipped,
					  SstIoStats *io_stats)
{
	SstScanPlan plan;
	SstScanResult result;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	plan.sample_blocks = skipped->nmembers;
	plan.sample_pages = Min(skipped->nmembers, APPROX_SAMPLE_BLOCKS);
	plan.members = true;
	if (plan.sample_pages == 0)
		return 0;
	sst_scan_alone(&plan, target->rel, skipped, NULL, &result);
	sst_io_stats_merge(io_stats, &result.io_stats);

	return live_tuples(&result.counters) * skipped->nmembers /
		plan.sample_pages;
}

/*
 * The number of tuples in all blocks, estimated as VACUUM does it.
 *
 * VACUUM's estimate is -1 where the catalog does not know the number, and hardly a
 * page was read.  contrib's function returns that.  Here some of the skipped blocks
 * are read in addition; they count for nothing else.
 */
static double
estimate_reltuples(const SstTarget *target, const SstBlockSet *skipped,
				   const SstRelationStats *found, SstIoStats *io_stats)
{
	double		live = live_tuples(&found->counters);
	double		estimate = vac_estimate_reltuples(target->rel, found->nblocks,
												  scanned_blocks(found), live);

	return estimate >= 0 ? estimate :
		rint(live + sample_skipped_tuples(target, skipped, io_stats));
}

Datum
sst_pgstattuple_approx(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	SstTarget	target;
	SstBlockSet *visible;
	SstScanPlan plan;
	SstScanResult result;
	SstRelationStats found;
	SstCall		call;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_refuse_for_pgstattuple_approx(rel);
	sst_target_adopt(&target, rel, SST_HEAP, SST_RULES_CONTRIB);
	sst_relation_stats_init(&found, &target);
	sst_call_set_relation(&call, rel);

	visible = sst_block_set_create(target.nblocks);
	sst_scan_visibility_map(&target, visible, NULL, NULL, &found.counters,
							&call.io_stats);
	sst_scan_free_space_map(&target, visible, &found.counters,
							&call.io_stats);

	sst_plan_scan(&plan, &target, SST_RULES_CONTRIB);
	plan.nskipped = visible->nmembers;
	sst_scan_run(&plan, rel, visible, &result);
	sst_counters_merge(&found.counters, &result.counters);
	sst_io_stats_merge(&call.io_stats, &result.io_stats);

	report_corrupt_page(&target, &found);
	found.reltuples = estimate_reltuples(&target, visible, &found,
										 &call.io_stats);
	pfree(visible);
	sst_call_end(&call);
	sst_target_close(&target);

	return sst_form_row(fcinfo, approx_columns, lengthof(approx_columns),
						&found);
}

/* ----------
 * pg_relpages
 * ----------
 */

PG_FUNCTION_INFO_V1(sst_pg_relpages);
PG_FUNCTION_INFO_V1(sst_pg_relpagesbyid);

Datum
sst_pg_relpages(PG_FUNCTION_ARGS)
{
	Relation	rel = sst_open_name_or_oid(fcinfo);
	int64		nblocks;

	sst_refuse_for_pg_relpages(rel);

	/* The file's length is right for other sessions' temporary tables, too. */
	nblocks = RelationGetNumberOfBlocks(rel);
	relation_close(rel, AccessShareLock);

	PG_RETURN_INT64(nblocks);
}

Datum
sst_pg_relpagesbyid(PG_FUNCTION_ARGS)
{
	return sst_pg_relpages(fcinfo);
}
