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

#include "access/htup_details.h"
#include "access/itup.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "api/result.h"
#include "run/scan.h"

PG_FUNCTION_INFO_V1(sst_sample);

static const SstStatistic btree_statistics[] = {
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"internal_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"empty_pages", SST_PAGES, SST_EMPTY_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES},
	{"leaf_fragmentation", SST_SHARE, SST_BACKWARD_LEAVES, SST_LEAF_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"posting_percent", SST_RATIO, SST_POSTING_TUPLES, SST_ITEMS_TOLD_APART},
};

static const SstStatistic hash_statistics[] = {
	{"bucket_pages", SST_PAGES, SST_BUCKET_PAGES},
	{"overflow_pages", SST_PAGES, SST_OVERFLOW_PAGES},
	{"bitmap_pages", SST_PAGES, SST_BITMAP_PAGES},
	{"unused_pages", SST_PAGES, SST_UNUSED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_USABLE_BYTES},
};

static const SstStatistic heap_statistics[] = {
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"all_visible_pages", SST_PAGES, SST_ALL_VISIBLE_PAGES},
	{"tuples", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxHeapTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxHeapTuplesPerPage},
	{"redirect_items", SST_TOTAL, SST_REDIRECT_ITEMS, 0, MaxHeapTuplesPerPage},
	{"unused_items", SST_TOTAL, SST_UNUSED_ITEMS, 0, MaxHeapTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_USABLE_BYTES},
};

/* Set up what there is to say about a relation of the target's kind. */
static void
choose_statistics(SstScan *scan, SstVisitor *visitor, const SstTarget *target)
{
	switch (target->kind)
	{
		case SST_BTREE:
			sst_btree_visitor_init(visitor, target->rel, 0);
			scan->statistics = btree_statistics;
			scan->nstatistics = lengthof(btree_statistics);
			break;
		case SST_HASH:
			sst_hash_visitor_init(visitor);
			scan->statistics = hash_statistics;
			scan->nstatistics = lengthof(hash_statistics);
			break;
		case SST_HEAP:
			sst_heap_visitor_init(visitor);
			scan->statistics = heap_statistics;
			scan->nstatistics = lengthof(heap_statistics);
			break;
		default:
			elog(ERROR, "unexpected kind of relation: %d", target->kind);
	}

	scan->visitor = visitor;
	scan->moments = palloc0(sizeof(SstMoments) * scan->nstatistics);
}

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
	SstVisitor	visitor;
	SstCounters counters;
	SstSampleSource sample;
	SstScan		scan = {0};
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
	sst_target_open(&target, PG_GETARG_OID(0), SST_BTREE | SST_HASH | SST_HEAP);

	InitMaterializedSRF(fcinfo, 0);

	sst_counters_init(&counters);
	choose_statistics(&scan, &visitor, &target);
	scan.rel = target.rel;
	scan.counters = &counters;
	scan.source = sst_sample_source_init(&sample, target.nblocks,
										 Min((BlockNumber) nblocks, target.nblocks),
										 sampler_seed(fcinfo, 2));
	sst_scan_run(&scan);
	sst_remember_call("sample", RelationGetRelid(target.rel), start,
					  &scan.report);

	for (int i = 0; i < scan.nstatistics; i++)
	{
		SstEstimate estimate = sst_estimate(&scan.statistics[i],
											&scan.moments[i],
											scan.nvisited, target.nblocks);
		Datum		values[7];
		bool		nulls[7] = {0};

		values[0] = CStringGetTextDatum(scan.statistics[i].name);
		values[1] = float8_or_null(estimate.value, &nulls[1]);
		values[2] = float8_or_null(estimate.low, &nulls[2]);
		values[3] = float8_or_null(estimate.high, &nulls[3]);
		values[4] = Int64GetDatum(scan.nvisited);
		values[5] = Int64GetDatum((int64) target.nblocks);
		values[6] = BoolGetDatum(scan.nvisited >= target.nblocks);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	report_damage(&target, &counters);
	sst_target_close(&target);

	return (Datum) 0;
}
