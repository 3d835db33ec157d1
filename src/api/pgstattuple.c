/*-------------------------------------------------------------------------
 *
 * pgstattuple.c
 *	  The functions of contrib's pgstattuple, with its errors
 *
 * pgstattuple_approx first reads from the maps which blocks are all-visible
 * and how much free space they have.  The scan skips these blocks.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/hash.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "storage/bufmgr.h"

#include "api/api.h"

/* Blocks that are read if nothing is known of the number of tuples */
#define APPROX_SAMPLE_BLOCKS 64

PG_FUNCTION_INFO_V1(sst_pgstattuple);
PG_FUNCTION_INFO_V1(sst_pgstattuple_approx);
PG_FUNCTION_INFO_V1(sst_pgstatindex);
PG_FUNCTION_INFO_V1(sst_pgstathashindex);
PG_FUNCTION_INFO_V1(sst_pgstatginindex);
PG_FUNCTION_INFO_V1(sst_pg_relpages);

/*
 * pgstattuple
 */

/* Bytes in percent of the table's; 0 of an empty one */
static double
percent_of(uint64 bytes, const SstRelationStats *found)
{
	return found->nblocks == 0 ? 0 : 100.0 * bytes / (found->nblocks * BLCKSZ);
}

static Datum
tuple_percent(const SstRelationStats *found, bool *isnull)
{
	return sst_two_decimals(percent_of(SST_COUNT(found, SST_TUPLE_BYTES), found));
}

static Datum
dead_tuple_percent(const SstRelationStats *found, bool *isnull)
{
	return sst_two_decimals(percent_of(SST_COUNT(found, SST_DEAD_TUPLE_BYTES), found));
}

static Datum
free_percent(const SstRelationStats *found, bool *isnull)
{
	return sst_two_decimals(percent_of(SST_COUNT(found, SST_FREE_BYTES), found));
}

static const SstColumn exact_columns[] = {
	{"table_len", INT8OID, 0, sst_size_column},
	{"tuple_count", INT8OID, SST_TUPLES},
	{"tuple_len", INT8OID, SST_TUPLE_BYTES},
	{"tuple_percent", FLOAT8OID, 0, tuple_percent},
	{"dead_tuple_count", INT8OID, SST_DEAD_TUPLES},
	{"dead_tuple_len", INT8OID, SST_DEAD_TUPLE_BYTES},
	{"dead_tuple_percent", FLOAT8OID, 0, dead_tuple_percent},
	{"free_space", INT8OID, SST_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, free_percent},
};

/* ERROR if the scan stopped at a page that makes no sense. */
static void
report_corrupt_page(const SstTarget *target, const SstRelationStats *found)
{
	bool		is_index = (target->kind & SST_INDEX) != 0;
	const char *name = RelationGetRelationName(target->rel);
	BlockNumber blkno = found->counters.first_corrupt;

	if (blkno != InvalidBlockNumber)
		ereport(ERROR,
				(errcode(is_index ? ERRCODE_INDEX_CORRUPTED : ERRCODE_DATA_CORRUPTED),
				 is_index ?
				 errmsg("index \"%s\" contains corrupted page at block %u", name, blkno) :
				 errmsg("table \"%s\" contains corrupted page at block %u", name, blkno)));
}

/*
 * ERROR if that page of a hash index is of an unexpected type, in pgstathashindex's words.
 */
static void
report_unexpected_type(Relation rel, BlockNumber blkno)
{
	Buffer		buf = ReadBuffer(rel, blkno);
	Page		page = BufferGetPage(buf);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (PageGetSpecialSize(page) == MAXALIGN(sizeof(HashPageOpaqueData)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("unexpected page type 0x%04X in HASH index \"%s\" block %u",
						HashPageGetOpaque(page)->hasho_flag,
						RelationGetRelationName(rel), blkno)));
	UnlockReleaseBuffer(buf);
}

/*
 * Scan the target, close it, and return its row.  Block 0 is read even of an index that has
 * none, for the error that the buffer manager has for it.
 */
static Datum
contrib_row(FunctionCallInfo fcinfo, SstTarget *target, SstIndexCounts counts,
			const SstColumns *columns)
{
	SstScanPlan plan;
	SstScanResult result;
	SstRelationStats found;
	SstCall		call;

	sst_plan_scan(&plan, target, SST_RULES_CONTRIB);
	plan.index_counts = counts;
	if (counts == SST_COUNT_ITEMS)
		plan.end = Max(plan.end, 1);

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_call_set_relation(&call, target->rel);
	sst_scan_run(&plan, target->rel, NULL, &result);
	call.io_stats = result.io_stats;
	sst_call_end(&call);

	sst_relation_stats_init(&found, target);
	found.counters = result.counters;
	found.meta = result.meta;
	if (counts == SST_COUNT_ITEMS && target->am == &sst_hash_am &&
		found.counters.first_corrupt != InvalidBlockNumber)
		report_unexpected_type(target->rel, found.counters.first_corrupt);
	report_corrupt_page(target, &found);
	sst_target_close(target);

	return sst_form_row(fcinfo, columns, &found);
}

Datum
sst_pgstattuple(PG_FUNCTION_ARGS)
{
	Relation	rel = sst_open_name_or_oid(fcinfo);
	SstTarget	target;

	sst_refuse_for_pgstattuple(rel);
	sst_target_adopt(&target, rel, SST_INDEX | SST_TABLE, SST_RULES_CONTRIB);
	return contrib_row(fcinfo, &target, SST_COUNT_TUPLES, SST_COLUMNS(exact_columns));
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

/* Turn what the scan and the maps have counted into what the columns show. */
static void
count_as_vacuum(SstRelationStats *found)
{
	uint64	   *n = found->counters.n;

	n[SST_TUPLE_BYTES] += n[SST_OWN_DELETED_BYTES] - n[SST_INSERTING_BYTES] +
		(found->nblocks - scanned_blocks(found)) * BLCKSZ -
		n[SST_MAP_SKIPPED_FREE_BYTES];
	n[SST_DEAD_TUPLES] += n[SST_INSERTING_TUPLES] - n[SST_OWN_DELETED_TUPLES];
	n[SST_DEAD_TUPLE_BYTES] += n[SST_INSERTING_BYTES] - n[SST_OWN_DELETED_BYTES];
	n[SST_FREE_BYTES] += n[SST_MAP_SKIPPED_FREE_BYTES];
#ifdef SST_APPROX_HAS_NEW_PAGES_FREE
	/* But for their headers */
	n[SST_FREE_BYTES] += n[SST_NEW_PAGES] * (BLCKSZ - SizeOfPageHeaderData);
#endif
}

static double
scanned_percent(const SstRelationStats *found)
{
	double		percent = percent_of(SST_COUNT(found, SST_PAGE_BYTES), found);

#ifdef SST_APPROX_SCANS_WHOLE_PERCENTS
	percent = found->nblocks == 0 ? 0 : 100 * scanned_blocks(found) / found->nblocks;
#endif
	return percent;
}

static Datum
approx_row(FunctionCallInfo fcinfo, const SstRelationStats *found, double reltuples)
{
	const uint64 *n = found->counters.n;
	SstRow		row;

	sst_row_init(&row, fcinfo);
	sst_put_int64(&row, "table_len", found->nblocks * BLCKSZ);
	sst_put_float8(&row, "scanned_percent", scanned_percent(found));
	sst_put_int64(&row, "approx_tuple_count", reltuples);
	sst_put_int64(&row, "approx_tuple_len", n[SST_TUPLE_BYTES]);
	sst_put_float8(&row, "approx_tuple_percent", percent_of(n[SST_TUPLE_BYTES], found));
	sst_put_int64(&row, "dead_tuple_count", n[SST_DEAD_TUPLES]);
	sst_put_int64(&row, "dead_tuple_len", n[SST_DEAD_TUPLE_BYTES]);
	sst_put_float8(&row, "dead_tuple_percent", percent_of(n[SST_DEAD_TUPLE_BYTES], found));
	sst_put_int64(&row, "approx_free_space", n[SST_FREE_BYTES]);
	sst_put_float8(&row, "approx_free_percent", percent_of(n[SST_FREE_BYTES], found));

	return sst_row_datum(&row);
}

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
	double		reltuples;
	SstCall		call;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_refuse_for_pgstattuple_approx(rel);
	sst_target_adopt(&target, rel, SST_HEAP, SST_RULES_CONTRIB);
	sst_relation_stats_init(&found, &target);
	sst_call_set_relation(&call, rel);

	visible = sst_block_set_create(target.nblocks);
	sst_scan_map(&target, VISIBILITYMAP_FORKNUM, visible, NULL, NULL, &found.counters,
				 &call.io_stats);
	sst_scan_map(&target, FSM_FORKNUM, visible, NULL, NULL, &found.counters,
				 &call.io_stats);

	sst_plan_scan(&plan, &target, SST_RULES_CONTRIB);
	plan.nskipped = visible->nmembers;
	sst_scan_run(&plan, rel, visible, &result);
	sst_counters_merge(&found.counters, &result.counters);
	sst_io_stats_merge(&call.io_stats, &result.io_stats);

	report_corrupt_page(&target, &found);
	reltuples = estimate_reltuples(&target, visible, &found, &call.io_stats);
	count_as_vacuum(&found);
	pfree(visible);
	sst_call_end(&call);
	sst_target_close(&target);

	return approx_row(fcinfo, &found, reltuples);
}

/* ----------
 * pgstatindex, pgstathashindex and pgstatginindex
 * ----------
 */

Datum
sst_pgstatindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;

	sst_target_adopt_index(&target, sst_open_name_or_oid(fcinfo), &sst_btree_am,
						   SST_RULES_CONTRIB);
	return contrib_row(fcinfo, &target, SST_COUNT_ITEMS, &sst_btree_am.contrib_columns);
}

Datum
sst_pgstathashindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;

	sst_target_adopt_index(&target, sst_open_name_or_oid(fcinfo), &sst_hash_am,
						   SST_RULES_CONTRIB);

	/* The server has errors of its own for a metapage that is none. */
	_hash_relbuf(target.rel, _hash_getbuf(target.rel, HASH_METAPAGE, HASH_READ,
										  LH_META_PAGE));
	return contrib_row(fcinfo, &target, SST_COUNT_ITEMS, &sst_hash_am.contrib_columns);
}

Datum
sst_pgstatginindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;

	sst_target_adopt_index(&target, sst_open_name_or_oid(fcinfo), &sst_gin_am,
						   SST_RULES_CONTRIB);
	target.nblocks = Min(target.nblocks, 1);
	return contrib_row(fcinfo, &target, SST_COUNT_ITEMS, &sst_gin_am.contrib_columns);
}

/* ----------
 * pg_relpages
 * ----------
 */

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
