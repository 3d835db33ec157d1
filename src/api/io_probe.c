/*-------------------------------------------------------------------------
 *
 * io_probe.c
 *	  io_probe and io_advice: I/O settings for the storage at hand
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "commands/tablespace.h"

#include "api/api.h"
#include "compat/compat.h"
#include "probe/figures.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_io_probe);
PG_FUNCTION_INFO_V1(sst_io_advice);

/* Limits of a call that gives none */
#define DEFAULT_SECONDS 60.0
#define DEFAULT_BYTES (INT64CONST(100) * 1024 * 1024)

static const char *const pattern_names[] = {
	[SST_PROBE_RANDOM] = "random",
	[SST_PROBE_SEQUENTIAL] = "sequential"
};

/* A row about one of the cells, or with a note about the others */
static void
put_row(SstRow *row, const SstProbeResult *result, int number, const char *note)
{
	static const SstProbeCell nothing = {.depth = -1, .reads = -1, .nblocks = -1};
	const SstProbeCell *cell = note == NULL ? &result->cells[number] : &nothing;
	int64		request_bytes = (int64) cell->nblocks * BLCKSZ;
	SstEstimate rate = sst_probe_rate(cell);
	SstEstimate gain = {NAN, NAN, NAN};

	if (note == NULL && number + 1 < result->ncells && cell[1].pattern == cell->pattern)
		gain = sst_probe_gain(&cell[1], cell);
	sst_put_text(row, "tablespace_name", get_tablespace_name(result->tablespace));
	sst_put_regclass(row, "relation", result->relid);
	sst_put_text(row, "pattern", note == NULL ? pattern_names[cell->pattern] : NULL);
	sst_put_text(row, "io_method", note != NULL ? NULL : result->direct ? "io_uring" : "advice");
	sst_put_count(row, "depth", cell->depth);
	sst_put_count(row, "request_bytes", request_bytes);
	sst_put_datum(row, "is_direct", BOOLOID, BoolGetDatum(result->direct), note != NULL);
	sst_put_count(row, "reads", cell->reads);
	sst_put_count(row, "bytes_read", note == NULL ? cell->reads * request_bytes : -1);
	sst_put_float8(row, "elapsed_ms", note == NULL ? cell->elapsed_ms : NAN);
	sst_put_estimate(row, "reads_per_second", rate);
	sst_put_float8(row, "bytes_per_second", rate.value * request_bytes);
	sst_put_float8(row, "latency_ms", sst_probe_latency(cell, 50));
	sst_put_float8(row, "latency_ms_p99", sst_probe_latency(cell, 99));
	sst_put_datum(row, "deeper_pays", BOOLOID, BoolGetDatum(gain.low >= SST_PROBE_MARGIN),
				  !(gain.low >= SST_PROBE_MARGIN || gain.high < SST_PROBE_MARGIN));
	sst_put_text(row, "note", note);
	sst_row_store(row);
}

Datum
sst_io_probe(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstCall		call;
	SstLimits	limits;
	SstProbe   *probe;
	ListCell   *lc;

	(void) sst_limits_arguments(fcinfo, 1, &limits);
	if (PG_ARGISNULL(1))
		limits.bytes_left = DEFAULT_BYTES;
	if (PG_ARGISNULL(2))
	{
		INSTR_TIME_SET_CURRENT(limits.deadline);
		limits.deadline = sst_time_after(limits.deadline, DEFAULT_SECONDS);
	}
	sst_rows_begin(&row, fcinfo);
	sst_call_begin(&call, fcinfo, PG_ARGISNULL(0) ? SST_PROGRESS_UNKNOWN : 1,
				   limits.bytes_left);
	call.relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	call.io_stats.stream = SST_STREAM_READS;
	probe = sst_create_probe(&call.io_stats);
	probe->limits = limits;
	sst_probe_run(probe, call.relid);
	sst_call_end(&call);
	probe->io_stats = NULL;

	foreach(lc, probe->results)
	{
		const SstProbeResult *result = lfirst(lc);

		for (int i = 0; i < result->ncells; i++)
		{
			if (result->cells[i].reads > 0)
				put_row(&row, result, i, NULL);
		}
		if (result->note != NULL)
			put_row(&row, result, 0, result->note);
	}

	return (Datum) 0;
}

Datum
sst_io_advice(PG_FUNCTION_ARGS)
{
	const SstProbe *probe = sst_last_probe();
	SstRow		row;
	ListCell   *lc;

	if (probe == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("io_probe has not been called in this session"),
				 errhint("Call io_probe() first.")));

	sst_rows_begin(&row, fcinfo);
	foreach(lc, sst_advise(probe))
	{
		const SstIoAdvice *advice = lfirst(lc);

		sst_put_text(&row, "tablespace_name", get_tablespace_name(advice->tablespace));
		sst_put_text(&row, "pattern", pattern_names[advice->pattern]);
		sst_put_text(&row, "setting", advice->setting);
		sst_put_text(&row, "present_value", advice->present);
		sst_put_text(&row, "advised_value", advice->advised);
		sst_put_float8(&row, "loss_percent", advice->loss_percent);
		sst_put_text(&row, "takes_effect", advice->takes_effect);
		sst_put_text(&row, "command", advice->command);
		sst_put_text(&row, "reason", advice->reason);
		sst_row_store(&row);
	}

	return (Datum) 0;
}
