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
#include <unistd.h>

#include "catalog/pg_type.h"
#include "commands/tablespace.h"
#include "utils/builtins.h"

#include "api/api.h"
#include "compat/compat.h"
#include "probe/figures.h"

PG_FUNCTION_INFO_V1(sst_io_probe);
PG_FUNCTION_INFO_V1(sst_io_advice);

/* Limits of a call that gives none */
#define DEFAULT_SECONDS 60.0
#define DEFAULT_BYTES (INT64CONST(100) * 1024 * 1024)

/* The most workers that a server can have (MAX_IO_WORKERS in storage/proc.h) */
#define MAX_WORKERS 32

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
	sst_put_estimate(row, "reads_per_second", rate, sst_put_float8);
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
	const SstProbe *probe;
	ListCell   *lc;

	(void) sst_limits_arguments(fcinfo, 1, &limits);
	if (PG_ARGISNULL(1))
		limits.bytes_left = DEFAULT_BYTES;
	if (PG_ARGISNULL(2))
		limits.deadline = sst_now() + DEFAULT_SECONDS;
	sst_rows_begin(&row, fcinfo);
	sst_call_begin(&call, fcinfo, PG_ARGISNULL(0) ? SST_PROGRESS_UNKNOWN : 1,
				   limits.bytes_left);
	call.relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	call.io_stats.stream = SST_STREAM_READS;
	probe = sst_probe_run(&limits, &call.io_stats, call.relid);
	sst_call_end(&call);

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

/* What a setting is about */
static const char *
purpose(const SstProbeResult *result, const SstProbeSetting *setting)
{
	if (setting->is_workers)
		return _("each worker does one read at a time");
	if (strcmp(setting->name, "effective_io_concurrency") == 0)
		return result->has_io_method ?
			_("reads in flight in bitmap heap scans and all other scans") :
			_("blocks that a bitmap heap scan prefetches");
	return setting->pattern == SST_PROBE_SEQUENTIAL ?
		_("reads in flight in ANALYZE, and in VACUUM as far as its buffers allow") :
		_("blocks that ANALYZE prefetches; VACUUM does not prefetch, and recovery goes by the setting of the server");
}

/* A row about a setting, with the command that gives it the advised value, if there is any */
static void
put_advice(SstRow *row, const SstProbeResult *result, const SstProbeSetting *setting,
		   const char *tablespace)
{
	SstProbeVerdict verdict = sst_probe_judge(result, setting);
	int			ncpus = (int) Max(sysconf(_SC_NPROCESSORS_ONLN), 1);
	int			value = setting->is_workers ?
		Min(verdict.depth, Min(ncpus, MAX_WORKERS)) : verdict.depth;
	const char *advised = NULL;
	const char *command = NULL;
	const char *reason;

	if (!verdict.enough_rounds)
		reason = _("not known: too few rounds; raise max_bytes or max_time");
	else if (verdict.depth == 0 && !verdict.clear && result->limited)
		reason = _("not clear within the limits of the probe; raise max_bytes or max_time");
	else if (isnan(verdict.loss_percent))
		reason = _("no difference seen");
	else if (verdict.depth == 0)
		reason = _("slower than others, but no difference seen that tells which one is enough");
	else if (setting->is_workers && value <= setting->present)
		reason = psprintf(_("more would read faster, but no more than there are CPUs (%d) are advised"),
						  ncpus);
	else
	{
		reason = purpose(result, setting);
		advised = psprintf("%d", value);
		command = setting->is_workers ?
			psprintf("ALTER SYSTEM SET %s = %d", setting->name, value) :
			psprintf("ALTER TABLESPACE %s SET (%s = %d)", quote_identifier(tablespace),
					 setting->name, value);
	}

	sst_put_text(row, "tablespace_name", tablespace);
	sst_put_text(row, "pattern", pattern_names[setting->pattern]);
	sst_put_text(row, "setting", setting->name);
	sst_put_text(row, "present_value", psprintf("%d", setting->present));
	sst_put_text(row, "advised_value", advised);
	sst_put_float8(row, "loss_percent", verdict.loss_percent);
	sst_put_text(row, "takes_effect", setting->is_workers ? _("after a reload") :
				 _("immediately, in new scans"));
	sst_put_text(row, "command", command);
	sst_put_text(row, "reason", reason);
	sst_row_store(row);
}

/* Tablespaces that are gone have no advice. */
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
	foreach(lc, probe->results)
	{
		const SstProbeResult *result = lfirst(lc);
		const char *tablespace = get_tablespace_name(result->tablespace);

		for (int i = 0; i < result->nsettings && tablespace != NULL; i++)
			put_advice(&row, result, &result->settings[i], tablespace);
	}

	return (Datum) 0;
}
