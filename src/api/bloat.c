/*-------------------------------------------------------------------------
 *
 * bloat.c
 *	  bloat and bloat_tree: the space that rebuilds would reclaim
 *
 * A relation that cannot be read has a row with a note, so that a query over
 * pg_class does not fail.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "utils/memutils.h"

#include "api/api.h"
#include "report/bloat_estimate.h"

PG_FUNCTION_INFO_V1(sst_bloat);
PG_FUNCTION_INFO_V1(sst_bloat_tree);

static const SstEstimate unknown = {NAN, NAN, NAN};

/* The relations of a tree together */
typedef struct TreeSum
{
	SstBloatEstimate estimate;
	SstEstimate reclaimable;	/* bytes */
} TreeSum;

/* Add an estimate to another one.  The sum is not known if one of them is not. */
static void
add_estimate(SstBloatEstimate *to, const SstBloatEstimate *other)
{
	to->nblocks += other->nblocks;
	to->nread += other->nread;
	to->exact &= other->exact;
	sst_add_estimate(&to->rebuilt_blocks, other->rebuilt_blocks);
}

/* Put a row about a relation, or about a sum; the estimate is NULL if nothing was read. */
static void
put_row(SstRow *row, Oid relid, bool is_sum, const SstBloatEstimate *estimate,
		SstEstimate reclaimable, const char *note)
{
	double		bytes = estimate == NULL ? 0 : (double) estimate->nblocks * BLCKSZ;

	sst_put_regclass(row, "relation", relid);
	sst_put_bool(row, "is_sum", is_sum);
	sst_put_count(row, "bytes", estimate == NULL ? -1 : (int64) bytes);
	sst_put_estimate(row, "predicted_bytes", estimate == NULL ? unknown :
					 sst_scaled(estimate->rebuilt_blocks, BLCKSZ), sst_put_bytes);
	sst_put_estimate(row, "reclaimable_bytes", reclaimable, sst_put_bytes);
	sst_put_float8(row, "reclaimable_percent",
				   bytes == 0 ? NAN : 100 * reclaimable.value / bytes);
	sst_put_count(row, "blocks_read", estimate == NULL ? -1 : (int64) estimate->nread);
	sst_put_count(row, "blocks_total", estimate == NULL ? -1 : (int64) estimate->nblocks);
	sst_put_text(row, "measured", estimate == NULL ? "skipped" :
				 estimate->exact ? "exact" : "sampled");
	sst_put_text(row, "note", note);
	sst_row_store(row);
}

/* Put the row of an estimate, and add it to the sum. */
static void
put_estimate(SstRow *row, Oid relid, SstBloatEstimate *estimate, const char *note,
			 TreeSum *sum)
{
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	SstEstimate reclaimable = sst_reclaimable_bytes(estimate);

	if (!isnan(rebuilt->value))
		rebuilt->high = Min(rebuilt->high, MaxBlockNumber * 2.0);
	put_row(row, relid, false, estimate, reclaimable, note);

	add_estimate(&sum->estimate, estimate);
	sst_add_estimate(&sum->reclaimable, reclaimable);
	if (isnan(rebuilt->value))
		sum->estimate.note = gettext_noop("a relation in the sum has no prediction");
}

/* Put the row of a relation that is not read. */
static void
put_note(SstRow *row, const SstTarget *target)
{
	put_row(row, target->relid, false, NULL, unknown,
			target->state == SST_TARGET_PARTITIONED ?
			sst_partitioned_note("bloat_tree") : target->note);
}

/*
 * Put a relation's row, and that of its TOAST table as asked; add them to the sum.
 * The table of an index is locked.
 *
 * An index that is not valid can lack entries, so that it does not tell the size
 * of a rebuilt one.
 */
static void
put_relation(SstRow *row, SstTarget *target, SstWithToast with_toast,
			 SstSampling *sampling, TreeSum *sum)
{
	SstBloatEstimate estimate;
	const char *note;

	if (target->state != SST_TARGET_READABLE)
	{
		put_note(row, target);
		return;
	}

	sst_estimate_bloat(target, NULL, sampling, &estimate);
	note = target->distributed && estimate.ncorrupt == 0 ? target->note :
		sst_bloat_note(&estimate);
	if (with_toast != SST_TOAST_SUMMED)
		put_estimate(row, target->relid, &estimate, note, sum);

	if (with_toast != SST_TOAST_LEFT_OUT && sst_has_toast(target))
	{
		SstTarget	toast;
		SstBloatEstimate of_toast;
		bool		readable;
		const char *toast_note;

		sst_target_try_open(&toast, target->rel->rd_rel->reltoastrelid, InvalidOid,
							SST_HEAP, true);
		readable = toast.state == SST_TARGET_READABLE;
		if (readable)
			sst_estimate_bloat(&toast, &estimate, sampling, &of_toast);
		toast_note = readable ? sst_bloat_note(&of_toast) : toast.note;
		if (with_toast == SST_TOAST_ROW && readable)
			put_estimate(row, toast.relid, &of_toast, toast_note, sum);
		else if (with_toast == SST_TOAST_ROW)
			put_note(row, &toast);
		else if (readable)
			add_estimate(&estimate, &of_toast);
		if (note == NULL)
			note = toast_note;
		sst_target_close(&toast);
	}
	if (with_toast == SST_TOAST_SUMMED)
		put_estimate(row, target->relid, &estimate, note, sum);
}

/*
 * Rows for each relation of a partition or inheritance tree, and one for their
 * sum; of one that is alone, or without others below it, its rows only.
 */
static Datum
estimate_tree(FunctionCallInfo fcinfo, bool alone)
{
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 3);
	SstSampling sampling = {
		.nblocks = sst_sample_size_argument(fcinfo, 1),
		.seed = sst_seed_argument(fcinfo, 2),
		.toast = with_toast != SST_TOAST_LEFT_OUT
	};
	TreeSum		sum = {.estimate.exact = true};
	SstRow		row;
	SstTree		tree;
	SstTarget	target;
	MemoryContext context;
	MemoryContext oldcontext;

	sst_tree_begin(&tree, fcinfo, SST_INDEX | SST_TABLE, alone);
	sst_rows_begin(&row, fcinfo);
	sampling.io_stats = &tree.call.io_stats;

	/* Samples are large, and there can be thousands of partitions. */
	context = AllocSetContextCreate(CurrentMemoryContext,
									"streamstat partition",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	while (sst_tree_next(&tree, &target))
	{
		put_relation(&row, &target, with_toast, &sampling, &sum);
		sst_target_close(&target);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);

	if (tree.has_sum)
		put_row(&row, tree.root.relid, true, &sum.estimate, sum.reclaimable,
				sst_bloat_note(&sum.estimate));
	sst_tree_end(&tree);

	return (Datum) 0;
}

Datum
sst_bloat(PG_FUNCTION_ARGS)
{
	return estimate_tree(fcinfo, true);
}

Datum
sst_bloat_tree(PG_FUNCTION_ARGS)
{
	return estimate_tree(fcinfo, false);
}
