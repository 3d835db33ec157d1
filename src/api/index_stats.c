/*-------------------------------------------------------------------------
 *
 * index_stats.c
 *	  btree_stats, hash_stats, and pgstattuple's functions on indexes
 *
 * Ours and pgstattuple's share a table of columns for each access method:
 * ours adds columns behind those that both have.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/index_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/hash.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"

#include "api/result.h"
#include "run/scan.h"

PG_FUNCTION_INFO_V1(sst_btree_stats);
PG_FUNCTION_INFO_V1(sst_hash_stats);
PG_FUNCTION_INFO_V1(sst_pgstatindex);
PG_FUNCTION_INFO_V1(sst_pgstatindexbyid);
PG_FUNCTION_INFO_V1(sst_pgstathashindex);
PG_FUNCTION_INFO_V1(sst_pgstatginindex);
PG_FUNCTION_INFO_V1(sst_pg_relpages);
PG_FUNCTION_INFO_V1(sst_pg_relpagesbyid);

#define COUNT_OF(r, c) ((r)->counters.n[c])

/*
 * Columns of more than one function
 */

static Datum
version(const SstIndexResult *result, bool *isnull)
{
	*isnull = !result->meta.known;
	return Int32GetDatum(result->meta.version);
}

static Datum
index_size(const SstIndexResult *result, bool *isnull)
{
	return Int64GetDatum((int64) result->nblocks * BLCKSZ);
}

static Datum
block_or_null(BlockNumber blkno, bool *isnull)
{
	*isnull = blkno == InvalidBlockNumber;
	return Int64GetDatum((int64) blkno);
}

static Datum
first_new_block(const SstIndexResult *result, bool *isnull)
{
	return block_or_null(result->counters.first_new, isnull);
}

static Datum
first_corrupt_block(const SstIndexResult *result, bool *isnull)
{
	return block_or_null(result->counters.first_corrupt, isnull);
}

/*
 * b-tree
 */

/* pgstatindex gives percentages in two decimals. */
static Datum
two_decimals(double percent)
{
	char		str[32];

	snprintf(str, sizeof(str), "%.2f", percent);
	return DirectFunctionCall1(float8in, CStringGetDatum(str));
}

static Datum
tree_level(const SstIndexResult *result, bool *isnull)
{
	*isnull = !result->meta.known;
	return Int32GetDatum(result->meta.tree_level);
}

static Datum
root_block_no(const SstIndexResult *result, bool *isnull)
{
	*isnull = !result->meta.known;
	return Int64GetDatum((int64) result->meta.root);
}

static Datum
avg_leaf_density(const SstIndexResult *result, bool *isnull)
{
	if (COUNT_OF(result, SST_USABLE_BYTES) == 0)
		return Float8GetDatum(NAN);

	return two_decimals(100.0 - (double) COUNT_OF(result, SST_FREE_BYTES) /
						(double) COUNT_OF(result, SST_USABLE_BYTES) * 100.0);
}

static Datum
leaf_fragmentation(const SstIndexResult *result, bool *isnull)
{
	if (COUNT_OF(result, SST_LEAF_PAGES) == 0)
		return Float8GetDatum(NAN);

	return two_decimals((double) COUNT_OF(result, SST_BACKWARD_LEAVES) /
						(double) COUNT_OF(result, SST_LEAF_PAGES) * 100.0);
}

static Datum
allequalimage(const SstIndexResult *result, bool *isnull)
{
	*isnull = !result->meta.known;
	return BoolGetDatum(result->meta.allequalimage);
}

static Datum
posting_percent(const SstIndexResult *result, bool *isnull)
{
	uint64		nitems = COUNT_OF(result, SST_ITEMS_TOLD_APART);

	*isnull = nitems == 0;
	if (*isnull)
		return (Datum) 0;

	return Float8GetDatum(100.0 * COUNT_OF(result, SST_POSTING_TUPLES) / nitems);
}

static const SstColumn btree_columns[] = {
	{"version", INT4OID, 0, version},
	{"tree_level", INT4OID, 0, tree_level},
	{"index_size", INT8OID, 0, index_size},
	{"root_block_no", INT8OID, 0, root_block_no},
	{"internal_pages", INT8OID, SST_INTERNAL_PAGES},
	{"leaf_pages", INT8OID, SST_LEAF_PAGES},
	{"empty_pages", INT8OID, SST_EMPTY_PAGES},
	{"deleted_pages", INT8OID, SST_DELETED_PAGES},
	{"avg_leaf_density", FLOAT8OID, 0, avg_leaf_density},
	{"leaf_fragmentation", FLOAT8OID, 0, leaf_fragmentation},
#define PGSTATINDEX_COLUMNS 10
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, first_new_block},
	{"first_corrupt_block", INT8OID, 0, first_corrupt_block},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"allequalimage", BOOLOID, 0, allequalimage},
	{"posting_percent", FLOAT8OID, 0, posting_percent},
};

/*
 * hash
 */

static Datum
free_percent(const SstIndexResult *result, bool *isnull)
{
	uint64		usable = COUNT_OF(result, SST_USABLE_BYTES);

	if (usable == 0)
		return Float8GetDatum(0.0);

	return Float8GetDatum(100.0 * COUNT_OF(result, SST_FREE_BYTES) / usable);
}

static Datum
buckets(const SstIndexResult *result, bool *isnull)
{
	*isnull = !result->meta.known;
	return Int64GetDatum((int64) result->meta.max_bucket + 1);
}

static const SstColumn hash_columns[] = {
	{"version", INT4OID, 0, version},
	{"bucket_pages", INT8OID, SST_BUCKET_PAGES},
	{"overflow_pages", INT8OID, SST_OVERFLOW_PAGES},
	{"bitmap_pages", INT8OID, SST_BITMAP_PAGES},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_percent", FLOAT8OID, 0, free_percent},
#define PGSTATHASHINDEX_COLUMNS 8
	{"index_size", INT8OID, 0, index_size},
	{"buckets", INT8OID, 0, buckets},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, first_new_block},
	{"first_corrupt_block", INT8OID, 0, first_corrupt_block},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
};

/*
 * GIN
 */

static Datum
pending_pages(const SstIndexResult *result, bool *isnull)
{
	return UInt32GetDatum(result->meta.pending_pages);
}

static Datum
pending_tuples(const SstIndexResult *result, bool *isnull)
{
	return Int64GetDatum(result->meta.pending_tuples);
}

static const SstColumn gin_columns[] = {
	{"version", INT4OID, 0, version},
	{"pending_pages", INT4OID, 0, pending_pages},
	{"pending_tuples", INT8OID, 0, pending_tuples},
};

/*
 * Scan blocks 0 to end - 1 of an index.
 *
 * A strict scan reads block 0 even if the index has none, for the
 * error that the buffer manager has for it.
 */
static void
scan_index(const SstTarget *target, BlockNumber end, bool strict,
		   SstIndexResult *result, const char *function)
{
	SstScanPlan plan;
	SstScanResult scanned;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);

	sst_plan_scan(&plan, target, strict ? Max(end, 1) : end, strict);
	sst_scan_run(&plan, target->rel, &scanned);

	result->counters = scanned.counters;
	result->meta = scanned.meta;
	result->nblocks = target->nblocks;

	sst_remember_call(function, plan.relid, start, &scanned.report);
}

/* Open the index that argument 0 names by its OID. */
static void
open_index_argument(FunctionCallInfo fcinfo, SstTarget *target, int kind)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("relation cannot be null")));

	sst_target_open(target, PG_GETARG_OID(0), kind);
}

Datum
sst_btree_stats(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstIndexResult result;

	open_index_argument(fcinfo, &target, SST_BTREE);
	scan_index(&target, target.nblocks, false, &result, "btree_stats");
	sst_target_close(&target);

	return sst_form_row(fcinfo, btree_columns, lengthof(btree_columns), &result);
}

Datum
sst_hash_stats(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstIndexResult result;

	open_index_argument(fcinfo, &target, SST_HASH);
	scan_index(&target, target.nblocks, false, &result, "hash_stats");
	sst_target_close(&target);

	return sst_form_row(fcinfo, hash_columns, lengthof(hash_columns), &result);
}

/*
 * ERROR for the first page that a strict visitor took for corrupt, in
 * pgstathashindex's words.
 */
static void
report_corrupt_page(const SstTarget *target, const SstIndexResult *result)
{
	BlockNumber blkno = result->counters.first_corrupt;

	if (blkno == InvalidBlockNumber)
		return;

	if (target->kind == SST_HASH)
	{
		Buffer		buf = ReadBuffer(target->rel, blkno);
		Page		page = BufferGetPage(buf);

		LockBuffer(buf, BUFFER_LOCK_SHARE);
		if (PageGetSpecialSize(page) == MAXALIGN(sizeof(HashPageOpaqueData)))
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("unexpected page type 0x%04X in HASH index \"%s\" block %u",
							HashPageGetOpaque(page)->hasho_flag,
							RelationGetRelationName(target->rel), blkno)));
	}

	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains corrupted page at block %u",
					RelationGetRelationName(target->rel), blkno)));
}

static Datum
pgstatindex_internal(FunctionCallInfo fcinfo, Relation rel)
{
	SstTarget	target;
	SstIndexResult result;

	sst_target_adopt(&target, rel, SST_BTREE);
	scan_index(&target, target.nblocks, true, &result, "pgstatindex");
	report_corrupt_page(&target, &result);
	sst_target_close(&target);

	return sst_form_row(fcinfo, btree_columns, PGSTATINDEX_COLUMNS, &result);
}

Datum
sst_pgstatindex(PG_FUNCTION_ARGS)
{
	return pgstatindex_internal(fcinfo, sst_open_by_name(PG_GETARG_TEXT_PP(0)));
}

Datum
sst_pgstatindexbyid(PG_FUNCTION_ARGS)
{
	return pgstatindex_internal(fcinfo,
								relation_open(PG_GETARG_OID(0), AccessShareLock));
}

Datum
sst_pgstathashindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstIndexResult result;

	open_index_argument(fcinfo, &target, SST_HASH);

	/* The server has errors of its own for a metapage that is none. */
	_hash_relbuf(target.rel, _hash_getbuf(target.rel, HASH_METAPAGE, HASH_READ,
										  LH_META_PAGE));

	scan_index(&target, target.nblocks, true, &result, "pgstathashindex");
	report_corrupt_page(&target, &result);
	sst_target_close(&target);

	return sst_form_row(fcinfo, hash_columns, PGSTATHASHINDEX_COLUMNS, &result);
}

Datum
sst_pgstatginindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstIndexResult result;

	open_index_argument(fcinfo, &target, SST_GIN);
	scan_index(&target, 1, true, &result, "pgstatginindex");
	sst_target_close(&target);

	return sst_form_row(fcinfo, gin_columns, lengthof(gin_columns), &result);
}

static int64
pg_relpages_internal(Relation rel)
{
	int64		nblocks;

	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot get page count of relation \"%s\"",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));

	/* The file's length is right for other sessions' temporary tables, too. */
	nblocks = RelationGetNumberOfBlocks(rel);
	relation_close(rel, AccessShareLock);

	return nblocks;
}

Datum
sst_pg_relpages(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(pg_relpages_internal(sst_open_by_name(PG_GETARG_TEXT_PP(0))));
}

Datum
sst_pg_relpagesbyid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(pg_relpages_internal(relation_open(PG_GETARG_OID(0),
													   AccessShareLock)));
}
