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
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "api/api.h"
#include "report/bloat_estimate.h"

PG_FUNCTION_INFO_V1(sst_bloat);
PG_FUNCTION_INFO_V1(sst_bloat_tree);

/* What a row says of a relation, or of several */
typedef struct Bloat
{
	Oid			relid;
	bool		is_sum;
	uint64		nblocks;
	uint64		nread;
	bool		exact;
	SstEstimate predicted;		/* bytes; NaN where not known */
	SstEstimate reclaimable;
	const char *note;			/* translated, or NULL */
} Bloat;

/* Blocks in bytes, of a size that a relation can have; NaN for NaN */
static double
whole_bytes(double nblocks)
{
	return nblocks > MaxBlockNumber * 2.0 ? MaxBlockNumber * 2.0 * BLCKSZ :
		nblocks * BLCKSZ;
}

/* Add the estimate for a TOAST table to that for its table. */
static void
add_estimate(SstBloatEstimate *to, const SstBloatEstimate *other)
{
	to->nblocks += other->nblocks;
	to->nread += other->nread;
	to->exact &= other->exact;
	sst_add_estimate(&to->rebuilt_blocks, other->rebuilt_blocks);
}

/* Add a relation to a sum, which is not known if one is not. */
static void
add_to_sum(Bloat *sum, const Bloat *bloat)
{
	sum->nblocks += bloat->nblocks;
	sum->nread += bloat->nread;
	sum->exact &= bloat->exact;
	sst_add_estimate(&sum->predicted, bloat->predicted);
	sst_add_estimate(&sum->reclaimable, bloat->reclaimable);
	if (isnan(bloat->predicted.value))
		sum->note = _("a relation in the sum has no prediction");
}

static void
put_row(SstRow *row, const Bloat *bloat, bool skipped)
{
	double		bytes = (double) bloat->nblocks * BLCKSZ;

	sst_put_regclass(row, "relation", bloat->relid);
	sst_put_bool(row, "is_sum", bloat->is_sum);
	sst_put_count(row, "bytes", skipped ? -1 : (int64) bytes);
	sst_put_bytes_estimate(row, "predicted_bytes", bloat->predicted);
	sst_put_bytes_estimate(row, "reclaimable_bytes", bloat->reclaimable);
	sst_put_float8(row, "reclaimable_percent",
				   bytes == 0 ? NAN : 100 * bloat->reclaimable.value / bytes);
	sst_put_count(row, "blocks_read", skipped ? -1 : (int64) bloat->nread);
	sst_put_count(row, "blocks_total", skipped ? -1 : (int64) bloat->nblocks);
	sst_put_text(row, "measured", skipped ? "skipped" :
				 bloat->exact ? "exact" : "sampled");
	sst_put_text(row, "note", bloat->note);
	sst_row_store(row);
}

/* Put the row of an estimate, and add it to the sum. */
static void
put_estimate(SstRow *row, Oid relid, const SstBloatEstimate *estimate,
			 const char *note, Bloat *sum)
{
	const SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	Bloat		bloat = {
		.relid = relid,
		.nblocks = estimate->nblocks,
		.nread = estimate->nread,
		.exact = estimate->exact,
		.predicted = {NAN, NAN, NAN},
		.reclaimable = sst_reclaimable_bytes(estimate),
		.note = note
	};

	if (!isnan(rebuilt->value))
	{
		bloat.predicted.value = whole_bytes(rebuilt->value);
		bloat.predicted.low = whole_bytes(rebuilt->low);
		bloat.predicted.high = whole_bytes(rebuilt->high);
	}

	put_row(row, &bloat, false);
	add_to_sum(sum, &bloat);
}

/* Put the row of a relation that is not read. */
static void
put_note(SstRow *row, const SstTarget *target)
{
	Bloat		unknown = {
		.relid = target->relid,
		.predicted = {NAN, NAN, NAN},
		.reclaimable = {NAN, NAN, NAN},
		.note = target->state == SST_TARGET_PARTITIONED ?
		sst_partitioned_note("bloat_tree") : target->note
	};

	put_row(row, &unknown, true);
}

/*
 * Estimate the bloat of a relation.  The table of an index is locked.
 *
 * That of a TOAST table has to be locked before it, which is too late here.  So the
 * lock is not waited for.
 */
static void
estimate_relation(SstTarget *target, SstSampling *sampling,
				  SstBloatEstimate *estimate)
{
	SstIndexTable table = {.relid = target->tableoid};

	if (target->rel->rd_rel->relkind == RELKIND_TOASTVALUE)
	{
		table.relid = sst_toast_owner(target->relid);
		if (OidIsValid(table.relid) &&
			!ConditionalLockRelationOid(table.relid, AccessShareLock))
			table.relid = InvalidOid;
		target->tableoid = table.relid;
	}
	sst_estimate_bloat(target, &table, sampling, estimate);
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
			 SstSampling *sampling, Bloat *sum)
{
	SstBloatEstimate estimate;
	const char *note;

	if (target->state != SST_TARGET_READABLE)
	{
		put_note(row, target);
		return;
	}

	estimate_relation(target, sampling, &estimate);
	note = target->distributed && estimate.ncorrupt == 0 ? target->note :
		sst_bloat_note(&estimate);
	if (with_toast != SST_TOAST_SUMMED)
		put_estimate(row, target->relid, &estimate, note, sum);

	if (with_toast != SST_TOAST_LEFT_OUT && sst_has_toast(target))
	{
		SstIndexTable table = {target->relid, &estimate};
		SstTarget	toast;
		SstBloatEstimate of_toast;
		bool		readable;
		const char *toast_note;

		sst_target_try_open(&toast, target->rel->rd_rel->reltoastrelid,
							SST_HEAP);
		readable = toast.state == SST_TARGET_READABLE;
		if (readable)
			sst_estimate_bloat(&toast, &table, sampling, &of_toast);
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

/* The sample that the arguments ask for */
static SstSampling
sampling_arguments(FunctionCallInfo fcinfo)
{
	SstSampling sampling = {0};

	sampling.nblocks = sst_sample_size_argument(fcinfo, 1);
	sampling.seed = sst_seed_argument(fcinfo, 2);

	return sampling;
}

/*
 * Rows for each relation of a partition or inheritance tree, and one for their
 * sum; of one that is alone, or without others below it, its rows only.
 */
static Datum
estimate_tree(FunctionCallInfo fcinfo, bool alone)
{
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 3);
	SstSampling sampling = sampling_arguments(fcinfo);
	Bloat		sum = {.is_sum = true, .exact = true};
	SstRow		row;
	SstTree		tree;
	SstTarget	target;
	MemoryContext context;
	MemoryContext oldcontext;

	sst_tree_begin(&tree, fcinfo, SST_INDEX | SST_TABLE, alone);
	sst_rows_begin(&row, fcinfo);
	sampling.io_stats = &tree.call.io_stats;
	sum.relid = tree.root.relid;

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
		put_row(&row, &sum, false);
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
