/*-------------------------------------------------------------------------
 *
 * bloat.c
 *	  What a relation would give back if it were built anew
 *
 * An index cannot say which of its entries are for rows that are dead and have not
 * been vacuumed: so its table is looked at, too.  Of the line pointers that
 * index entries point to, some lead to no row that an index build would find;
 * entries are taken to be lost in the same proportion.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/bloat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_index.h"
#include "storage/lmgr.h"

#include "api/advice.h"
#include "api/call.h"
#include "report/bloat_estimate.h"
#include "run/progress.h"
#include "run/sampling.h"

PG_FUNCTION_INFO_V1(sst_bloat);

/* Indexes with an entry for each row, whose size follows from these */
#define SIZED_BY_ENTRIES (SST_BTREE | SST_HASH | SST_GIN | SST_GIST | \
						  SST_SPGIST)

/* Of those, the ones that have one entry for each row, nulls as well */
#define ONE_ENTRY_A_ROW (SST_BTREE | SST_GIST | SST_SPGIST)

/* Of the rows that index entries point to, those that an index build finds */
static const SstStatistic kept_share =
{"kept", SST_RATIO, SST_KEPT_CHAINS, SST_INDEXED_ITEMS};
static const SstStatistic kept_chains =
{"kept", SST_TOTAL, SST_KEPT_CHAINS, 0, MaxHeapTuplesPerPage};

/* How to look at a relation and at what belongs to it */
typedef struct Look
{
	BlockNumber nsample;
	uint32		seed;
	SstIoStats io_stats;
} Look;

/* A row to be */
typedef struct Prediction
{
	Oid			relid;
	uint64		nblocks;
	uint64		nread;
	bool		exact;
	SstEstimate rebuilt;		/* blocks; NaN where not known */
	const char *reason;
} Prediction;

/*
 * Has the index a predicate?  RelationGetIndexPredicate() would evaluate what in it
 * is constant, which can be functions of the index's owner.
 */
static bool
is_partial(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* Which share of an index's entries, those marked dead apart, would be built? */
static double
share_of_entries_kept(const SstTarget *index, const SstBloatEstimate *measured,
					  Oid tableoid, Look *look)
{
	SstTarget	table;
	SstPageSample sample;
	SstScanResult result;
	double		kept;
	double		entries = measured->counters.n[SST_REBUILT_ENTRIES];
	double		dead_entries = measured->counters.n[SST_REBUILT_DEAD_ENTRIES];
	double		share = 1;

	sst_target_examine(&table, relation_open(tableoid, NoLock));
	if (table.kind == SST_HEAP && sst_target_is_readable(&table))
	{
		sst_sample_scan(&table, look->nsample, look->seed, NULL, NULL, &sample,
						&result);
		sst_io_stats_merge(&look->io_stats, &result.io_stats);

		kept = sst_estimate(&kept_share, &sample).value / 100;
		if (!isnan(kept) && entries > 0)
		{
			share = kept * (entries + dead_entries) / entries;

			/* Entries of dead rows may have been deleted before the rows. */
			if ((index->kind & ONE_ENTRY_A_ROW) != 0 &&
				!is_partial(index->rel))
			{
				entries *= (double) measured->nblocks / Max(measured->nread, 1);
				share = Max(share, sst_estimate(&kept_chains, &sample).value /
							entries);
			}
		}
		sst_page_sample_free(&sample);
	}
	relation_close(table.rel, NoLock);

	return Min(share, 1);
}

/* What of the new index's size is left, if only that share of its entries is? */
static double
size_kept(const SstTarget *index, const SstBloatEstimate *measured, double share)
{
	SstRebuild	rebuild;
	double		counts[SST_NCOUNTS];
	double		size;

	sst_rebuild_init(&rebuild, index);
	if (rebuild.obstacle != NULL || rebuild.scale_entries == NULL)
		return share;

	for (int i = 0; i < SST_NCOUNTS; i++)
		counts[i] = (double) measured->counters.n[i] * measured->nblocks /
			Max(measured->nread, 1);
	size = rebuild.blocks(&rebuild, counts, &measured->meta);
	rebuild.scale_entries(&rebuild, counts, share);

	return rebuild.blocks(&rebuild, counts, &measured->meta) / size;
}

/* What that says is less sure the more entries go. */
#define UNCERTAINTY_OF_SHARE 0.2

/* Take the entries of dead rows out of a prediction. */
static void
leave_out_dead_rows(Prediction *prediction, const SstTarget *index,
					const SstBloatEstimate *measured, double share)
{
	SstEstimate *rebuilt = &prediction->rebuilt;
	double		kept = size_kept(index, measured, share);
	double		least = Min(kept, share) * (1 - UNCERTAINTY_OF_SHARE * (1 - share));
	double		most = kept * (1 + UNCERTAINTY_OF_SHARE * (1 - share));

	if (!is_partial(index->rel))
	{
		rebuilt->value *= kept;
		rebuilt->low *= least;

		/*
		 * A row has any number of entries in a GIN index.  So those of dead
		 * rows may be gone already, and nothing tells.
		 */
		if (index->kind != SST_GIN)
			rebuilt->high *= Min(most, 1);
		else if (share < 0.99 && prediction->reason == NULL)
			prediction->reason = gettext_noop("dead rows of the table that are not vacuumed may or may not have entries in the index");
	}
	else if (share < 0.99)
	{
		rebuilt->low *= least;
		if (prediction->reason == NULL)
			prediction->reason = gettext_noop("dead rows of the table that are not vacuumed may or may not be in the partial index");
	}
}

/* Predict for a target; tableoid is an index's table, which is locked. */
static void
predict(const SstTarget *target, Oid tableoid, Look *look,
		Prediction *prediction)
{
	SstBloatEstimate measured;
	SstEstimate *rebuilt = &prediction->rebuilt;

	memset(prediction, 0, sizeof(Prediction));
	sst_estimate_bloat(target, look->nsample, look->seed, NULL, &measured);
	sst_io_stats_merge(&look->io_stats, &measured.io_stats);

	prediction->relid = RelationGetRelid(target->rel);
	prediction->nblocks = measured.nblocks;
	prediction->nread = measured.nread;
	prediction->exact = measured.exact;
	prediction->rebuilt = measured.rebuilt_blocks;
	prediction->reason = measured.obstacle ? measured.obstacle : measured.note;

	if (isnan(rebuilt->value))
	{
		if (prediction->reason == NULL)
			prediction->reason = gettext_noop("nothing seen that would be built anew");
		return;
	}

	if (isnan(rebuilt->low))
		rebuilt->low = 0;
	if (isnan(rebuilt->high))
		rebuilt->high = INFINITY;

	if (measured.counters.n[SST_CORRUPT_PAGES] > 0)
		prediction->reason = gettext_noop("corrupt pages are left out");

	if (OidIsValid(tableoid) && (target->kind & SIZED_BY_ENTRIES) != 0)
	{
		double		share = share_of_entries_kept(target, &measured, tableoid,
												  look);

		if (share < 1)
			leave_out_dead_rows(prediction, target, &measured, share);
	}

	/* The last page of a level or two may be there or not. */
	rebuilt->low = Max(Min(rebuilt->low, rebuilt->value - 1), 0);
	rebuilt->high = Max(rebuilt->high, rebuilt->value + 1);
}

/* Add the prediction of another relation to one. */
static void
add_prediction(Prediction *to, const Prediction *other)
{
	to->nblocks += other->nblocks;
	to->nread += other->nread;
	to->exact &= other->exact;
	to->rebuilt.value += other->rebuilt.value;
	to->rebuilt.low += other->rebuilt.low;
	to->rebuilt.high += other->rebuilt.high;
	if (to->reason == NULL)
		to->reason = other->reason;
}

/* Blocks in bytes, of a size that a relation can have */
static double
whole_bytes(double nblocks)
{
	return Min(rint(nblocks), MaxBlockNumber * 2.0) * BLCKSZ;
}

static void
put_row(SstRow *row, const Prediction *prediction)
{
	double		bytes = (double) prediction->nblocks * BLCKSZ;
	SstEstimate predicted = {NAN, NAN, NAN};
	SstEstimate back = {NAN, NAN, NAN};

	if (!isnan(prediction->rebuilt.value))
	{
		SstEstimate blocks = {
			rint(prediction->rebuilt.value), rint(prediction->rebuilt.low),
			rint(prediction->rebuilt.high)
		};

		back = sst_bytes_back(prediction->nblocks, blocks);
		predicted.value = whole_bytes(blocks.value);
		predicted.low = whole_bytes(blocks.low);
		predicted.high = whole_bytes(blocks.high);
	}

	sst_put_regclass(row, "relation", prediction->relid);
	sst_put_int64(row, "bytes", (int64) bytes);
	sst_put_bytes_estimate(row, "predicted_bytes", predicted);
	sst_put_bytes_estimate(row, "reclaimable_bytes", back);
	sst_put_float8(row, "reclaimable_percent",
				   bytes == 0 ? NAN : 100 * back.value / bytes);
	sst_put_int64(row, "blocks_read", prediction->nread);
	sst_put_int64(row, "blocks_total", prediction->nblocks);
	sst_put_text(row, "measured", prediction->exact ? "exact" : "sampled");
	sst_put_text(row, "note",
				 prediction->reason ? _(prediction->reason) : NULL);
	sst_row_store(row);
}

Datum
sst_bloat(PG_FUNCTION_ARGS)
{
	Oid			relid = sst_relation_argument(fcinfo);
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 3);
	Look		look;
	Oid			tableoid;
	Oid			toastid;
	SstTarget	target;
	SstRow		row;
	Prediction	prediction;
	instr_time	start;

	look.nsample = sst_sample_size_argument(fcinfo, 1);
	look.seed = sst_seed_argument(fcinfo, 2);

	INSTR_TIME_SET_CURRENT(start);
	sst_progress_begin("bloat", 1, SST_PROGRESS_UNKNOWN);
	sst_target_adopt(&target, sst_open_with_table(relid, &tableoid),
					 SST_ANY_INDEX | SST_TABLE);
	sst_rows_begin(&row, fcinfo);
	sst_io_stats_init(&look.io_stats, sst_choose_io_path(target.rel));

	predict(&target, tableoid, &look, &prediction);
	if (with_toast != SST_TOAST_SUMMED)
		put_row(&row, &prediction);

	toastid = target.rel->rd_rel->reltoastrelid;
	if (OidIsValid(toastid) && with_toast != SST_TOAST_LEFT_OUT)
	{
		SstTarget	toast;
		Prediction	of_toast;

		sst_target_open(&toast, toastid, SST_HEAP);
		predict(&toast, InvalidOid, &look, &of_toast);
		sst_target_close(&toast);

		if (with_toast == SST_TOAST_ROW)
			put_row(&row, &of_toast);
		else
			add_prediction(&prediction, &of_toast);
	}
	if (with_toast == SST_TOAST_SUMMED)
		put_row(&row, &prediction);

	sst_remember_call("bloat", relid, start, &look.io_stats);
	sst_target_close(&target);
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);

	return (Datum) 0;
}
