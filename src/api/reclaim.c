/*-------------------------------------------------------------------------
 *
 * reclaim.c
 *	  Bloat of a relation: what a rebuild would give back
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/reclaim.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "api/call.h"
#include "report/bloat_estimate.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_reclaim);

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

static Datum
whole_bytes(double nblocks)
{
	return Int64GetDatum((int64) Min(nblocks, MaxBlockNumber * 2.0) * BLCKSZ);
}

/* Add a row to the result; the note can be NULL. */
static void
put_row(FunctionCallInfo fcinfo, Oid relid, const SstBloatEstimate *estimate,
		const char *note)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	double		bytes = (double) estimate->nblocks * BLCKSZ;
	Datum		values[13];
	bool		nulls[13] = {0};

	values[0] = ObjectIdGetDatum(relid);
	values[1] = Int64GetDatum((int64) bytes);
	if (isnan(rebuilt->value))
	{
		for (int i = 2; i <= 8; i++)
			nulls[i] = true;
	}
	else
	{
		SstEstimate reclaimable = sst_reclaimable_bytes(estimate);

		values[2] = whole_bytes(rebuilt->value);
		values[3] = whole_bytes(rebuilt->low);
		values[4] = whole_bytes(rebuilt->high);
		values[5] = Int64GetDatum((int64) reclaimable.value);
		values[6] = Int64GetDatum((int64) reclaimable.low);
		values[7] = Int64GetDatum((int64) reclaimable.high);
		values[8] = Float8GetDatum(bytes == 0 ? 0.0 :
								   100 * reclaimable.value / bytes);
	}
	values[9] = Int64GetDatum((int64) estimate->nread);
	values[10] = Int64GetDatum((int64) estimate->nblocks);
	values[11] = BoolGetDatum(estimate->exact);
	nulls[12] = note == NULL;
	if (!nulls[12])
		values[12] = CStringGetTextDatum(note);

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
sst_reclaim(PG_FUNCTION_ARGS)
{
	Oid			relid = sst_relation_argument(fcinfo);
	SstWithToast with_toast = sst_with_toast_argument(fcinfo, 2);
	SstSampling sampling = {0};
	SstIndexTable table = {0};
	Oid			toastid;
	SstTarget	target;
	SstBloatEstimate estimate;
	const char *note;
	instr_time	start;

	sampling.nblocks = sst_sample_size_argument(fcinfo, 1);
	sampling.seed = sst_seed_argument(fcinfo, 3);

	INSTR_TIME_SET_CURRENT(start);
	sst_progress_begin("reclaim", 1, SST_PROGRESS_UNKNOWN);
	sst_target_adopt(&target, sst_open_with_table(relid, &table.relid),
					 SST_ANY_INDEX | SST_TABLE);
	InitMaterializedSRF(fcinfo, 0);
	sst_io_stats_init(&sampling.io_stats, sst_choose_io_path(target.rel));

	sst_estimate_bloat(&target, OidIsValid(table.relid) ? &table : NULL,
					   &sampling, &estimate);
	note = sst_bloat_note(&estimate);
	if (with_toast != SST_TOAST_SUMMED)
		put_row(fcinfo, relid, &estimate, note);

	toastid = target.rel->rd_rel->reltoastrelid;
	if (OidIsValid(toastid) && with_toast != SST_TOAST_LEFT_OUT)
	{
		SstTarget	toast;
		SstBloatEstimate of_toast;

		sst_target_open(&toast, toastid, SST_HEAP);
		sst_estimate_bloat(&toast, NULL, &sampling, &of_toast);
		sst_target_close(&toast);

		if (with_toast == SST_TOAST_ROW)
			put_row(fcinfo, toastid, &of_toast, sst_bloat_note(&of_toast));
		else
		{
			add_estimate(&estimate, &of_toast);
			if (note == NULL)
				note = sst_bloat_note(&of_toast);
		}
	}
	if (with_toast == SST_TOAST_SUMMED)
		put_row(fcinfo, relid, &estimate, note);

	sst_remember_call("reclaim", relid, start, &sampling.io_stats);
	sst_target_close(&target);
	if (OidIsValid(table.relid))
		UnlockRelationOid(table.relid, AccessShareLock);

	return (Datum) 0;
}
