/*-------------------------------------------------------------------------
 *
 * hash.c
 *	  hash_stats and pgstathashindex
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/hash.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "catalog/pg_type.h"

#include "api/one_relation.h"

PG_FUNCTION_INFO_V1(sst_hash_stats);
PG_FUNCTION_INFO_V1(sst_pgstathashindex);

static Datum
free_percent(const SstRelationStats *found, bool *isnull)
{
	return sst_percent(SST_COUNT(found, SST_FREE_BYTES),
					   SST_COUNT(found, SST_USABLE_BYTES), isnull);
}

/* pgstathashindex has 0 where there is no space for tuples. */
static Datum
contrib_free_percent(const SstRelationStats *found, bool *isnull)
{
	Datum		percent = free_percent(found, isnull);

	if (!*isnull)
		return percent;
	*isnull = false;
	return Float8GetDatum(0.0);
}

static Datum
buckets(const SstRelationStats *found, bool *isnull)
{
	*isnull = !found->meta.known;
	return Int64GetDatum((int64) found->meta.max_bucket + 1);
}

static const SstColumn hash_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"buckets", INT8OID, 0, buckets},
	{"bytes", INT8OID, 0, sst_size_column},
	{"pages", INT8OID, 0, sst_blocks_column},
	{"bucket_pages", INT8OID, SST_BUCKET_PAGES},
	{"overflow_pages", INT8OID, SST_OVERFLOW_PAGES},
	{"bitmap_pages", INT8OID, SST_BITMAP_PAGES},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_bytes", INT8OID, SST_FREE_BYTES},
	{"free_percent", FLOAT8OID, 0, free_percent},
	{"new_pages", INT8OID, SST_NEW_PAGES},
	{"corrupt_pages", INT8OID, SST_CORRUPT_PAGES},
	{"first_new_block", INT8OID, 0, sst_first_new_block_column},
	{"first_corrupt_block", INT8OID, 0, sst_first_corrupt_block_column},
};

static const SstColumn pgstathashindex_columns[] = {
	{"version", INT4OID, 0, sst_version_column},
	{"bucket_pages", INT8OID, SST_BUCKET_PAGES},
	{"overflow_pages", INT8OID, SST_OVERFLOW_PAGES},
	{"bitmap_pages", INT8OID, SST_BITMAP_PAGES},
	{"unused_pages", INT8OID, SST_UNUSED_PAGES},
	{"live_items", INT8OID, SST_LIVE_ITEMS},
	{"dead_items", INT8OID, SST_DEAD_ITEMS},
	{"free_percent", FLOAT8OID, 0, contrib_free_percent},
};

Datum
sst_hash_stats(PG_FUNCTION_ARGS)
{
	return sst_index_row(fcinfo, SST_HASH, hash_columns,
						 lengthof(hash_columns));
}

/*
 * ERROR if the page that the scan stopped at is of an unexpected type, in
 * pgstathashindex's words.
 */
static void
report_unexpected_type(const SstTarget *target, const SstRelationStats *found)
{
	BlockNumber blkno = found->counters.first_corrupt;
	Buffer		buf;
	Page		page;

	if (blkno == InvalidBlockNumber)
		return;

	buf = ReadBuffer(target->rel, blkno);
	page = BufferGetPage(buf);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (PageGetSpecialSize(page) == MAXALIGN(sizeof(HashPageOpaqueData)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("unexpected page type 0x%04X in HASH index \"%s\" block %u",
						HashPageGetOpaque(page)->hasho_flag,
						RelationGetRelationName(target->rel), blkno)));
	UnlockReleaseBuffer(buf);
}

Datum
sst_pgstathashindex(PG_FUNCTION_ARGS)
{
	SstTarget	target;
	SstRelationStats found;

	sst_open_argument(fcinfo, &target, SST_HASH, SST_RULES_CONTRIB);

	/* The server has errors of its own for a metapage that is none. */
	_hash_relbuf(target.rel, _hash_getbuf(target.rel, HASH_METAPAGE, HASH_READ,
										  LH_META_PAGE));

	sst_scan_as_contrib(fcinfo, &target, SST_COUNT_ITEMS, &found);
	report_unexpected_type(&target, &found);
	sst_report_corrupt_index(&target, &found);
	sst_target_close(&target);

	return sst_form_row(fcinfo, pgstathashindex_columns,
						lengthof(pgstathashindex_columns), &found);
}
