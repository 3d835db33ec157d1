/*-------------------------------------------------------------------------
 *
 * bloat.c
 *	  Bloat of a relation: what a rebuild would give back
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

#include "storage/lmgr.h"

#include "api/call.h"
#include "report/bloat.h"
#include "run/call.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_bloat);

/* Add the estimate for a TOAST table to that for its table. */
static void
add_estimate(SstBloatEstimate *to, const SstBloatEstimate *other)
{
	to->nblocks += other->nblocks;
	to->nread += other->nread;
	to->exact &= other->exact;
	to->rebuilt_blocks.value += other->rebuilt_blocks.value;
	to->rebuilt_blocks.low += other->rebuilt_blocks.low;
	to->rebuilt_blocks.high += other->rebuilt_blocks.high;
}

/* Blocks in bytes, of a size that a relation can have; NaN for NaN */
static double
whole_bytes(double nblocks)
{
	return nblocks > MaxBlockNumber * 2.0 ? MaxBlockNumber * 2.0 * BLCKSZ :
		nblocks * BLCKSZ;
}

/* Add a row to the result; the note can be NULL. */
static void
put_row(SstRow *row, Oid relid, const SstBloatEstimate *estimate,
		const char *note)
{
	const SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	SstEstimate reclaimable = sst_reclaimable_bytes(estimate);
	SstEstimate predicted = {whole_bytes(rebuilt->value),
	whole_bytes(rebuilt->low), whole_bytes(rebuilt->high)};
	double		bytes = (double) estimate->nblocks * BLCKSZ;

	sst_put_regclass(row, "relation", relid);
	sst_put_int64(row, "bytes", (int64) bytes);
	sst_put_bytes_estimate(row, "predicted_bytes", predicted);
	sst_put_bytes_estimate(row, "reclaimable_bytes", reclaimable);
	sst_put_float8(row, "reclaimable_percent",
				   bytes == 0 ? NAN : 100 * reclaimable.value / bytes);
	sst_put_int64(row, "blocks_read", estimate->nread);
	sst_put_int64(row, "blocks_total", estimate->nblocks);
	sst_put_text(row, "measured", estimate->exact ? "exact" : "sampled");
	sst_put_text(row, "note", note);
	sst_row_store(row);
}

Datum
sst_bloat(PG_FUNCTION_ARGS)
{
	Oid			relid = sst_relation_argument(fcinfo);
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 3);
	SstSampling sampling = {0};
	SstIndexTable table = {0};
	Oid			toastid;
	SstTarget	target;
	SstRow		row;
	SstBloatEstimate estimate;
	const char *note;
	SstCall		call;

	sampling.nblocks = sst_sample_size_argument(fcinfo, 1);
	sampling.seed = sst_seed_argument(fcinfo, 2);

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_target_adopt(&target, sst_open_with_table(relid, &table.relid),
					 SST_ANY_INDEX | SST_TABLE);
	sst_rows_begin(&row, fcinfo);
	sst_call_set_relation(&call, target.rel);
	sampling.io_stats = &call.io_stats;

	sst_estimate_bloat(&target, OidIsValid(table.relid) ? &table : NULL,
					   &sampling, &estimate);
	note = sst_bloat_note(&estimate);
	if (with_toast != SST_TOAST_SUMMED)
		put_row(&row, relid, &estimate, note);

	toastid = target.rel->rd_rel->reltoastrelid;
	if (OidIsValid(toastid) && with_toast != SST_TOAST_LEFT_OUT)
	{
		SstTarget	toast;
		SstBloatEstimate of_toast;

		sst_target_open(&toast, toastid, SST_HEAP);
		sst_estimate_bloat(&toast, NULL, &sampling, &of_toast);
		sst_target_close(&toast);

		if (with_toast == SST_TOAST_ROW)
			put_row(&row, toastid, &of_toast, sst_bloat_note(&of_toast));
		else
		{
			add_estimate(&estimate, &of_toast);
			if (note == NULL)
				note = sst_bloat_note(&of_toast);
		}
	}
	if (with_toast == SST_TOAST_SUMMED)
		put_row(&row, relid, &estimate, note);

	sst_call_end(&call);
	sst_target_close(&target);
	if (OidIsValid(table.relid))
		UnlockRelationOid(table.relid, AccessShareLock);

	return (Datum) 0;
}
