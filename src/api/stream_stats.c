/*-------------------------------------------------------------------------
 *
 * stream_stats.c
 *	  I/O statistics of the session's last call, and progress of the calls of all
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "api/api.h"
#include "compat/compat.h"

PG_FUNCTION_INFO_V1(sst_stream_stats);
PG_FUNCTION_INFO_V1(sst_stream_stats_workers);
PG_FUNCTION_INFO_V1(sst_stat_get_progress);

static const char *const stream_names[] = {
	[SST_STREAM_SERVER] = "read stream of the server",
	[SST_STREAM_BUNDLED] = "bundled read stream",
	[SST_STREAM_FILE] = "file stream",
	[SST_STREAM_ADVICE] = "none (advice)",
	[SST_STREAM_READS] = "none (direct reads)"
};

static const char *const method_names[] = {
	[SST_IO_METHOD_IO_URING] = "io_uring",
	[SST_IO_METHOD_SYNC] = "sync"
};

/* NaN if there is nothing to divide by, or if that is not known */
static double
average(int64 sum, int64 count)
{
	return count <= 0 ? NAN : (double) sum / count;
}

/* A histogram of reads by their size; null if it is not known */
static void
put_sizes(SstRow *row, const char *column, const int64 *counts)
{
	Datum		elements[SST_READ_SIZES];

	for (int i = 0; i < SST_READ_SIZES; i++)
		elements[i] = Int64GetDatum(counts[i]);
	sst_put_datum(row, column, INT8ARRAYOID,
				  PointerGetDatum(construct_array(elements, SST_READ_SIZES, INT8OID,
												  sizeof(int64), FLOAT8PASSBYVAL,
												  TYPALIGN_DOUBLE)),
				  counts[0] < 0);
}

/* The columns of a process, and of all together.  What is not known is null. */
static void
put_io(SstRow *row, const SstIoStats *io_stats)
{
	bool		knows_cache = io_stats->blocks_page_cache >= 0;
	bool		knows_in_flight = io_stats->in_flight_sum >= 0;

	sst_put_int64(row, "blocks_requested", io_stats->blocks_requested);
	sst_put_int64(row, "blocks_hit", io_stats->blocks_hit);
	sst_put_int64(row, "blocks_missed", io_stats->blocks_read);
	sst_put_int64(row, "blocks_private", io_stats->blocks_private);
	sst_put_int64(row, "blocks_mapped", io_stats->blocks_mapped);
	sst_put_count(row, "reads", io_stats->reads);
	sst_put_float8(row, "avg_read_bytes",
				   average(io_stats->read_bytes, io_stats->reads));
	sst_put_count(row, "advice_calls", io_stats->advice_calls);
	sst_put_float8(row, "avg_advice_bytes",
				   average(io_stats->advice_blocks * BLCKSZ,
						   io_stats->advice_calls));
	sst_put_int64(row, "look_ahead_max", io_stats->look_ahead_max);

	sst_put_count(row, "blocks_page_cache", io_stats->blocks_page_cache);
	sst_put_count(row, "blocks_disk", knows_cache ?
				  io_stats->blocks_read - io_stats->blocks_page_cache : -1);
	sst_put_count(row, "read_waits", io_stats->waits);
	sst_put_float8(row, "read_wait_ms", io_stats->wait_ns < 0 ? NAN :
				   io_stats->wait_ns / 1e6);
	sst_put_float8(row, "reads_in_flight_avg", knows_in_flight ?
				   average(io_stats->in_flight_sum, io_stats->in_flight_count) : NAN);
	sst_put_count(row, "reads_in_flight_max", knows_in_flight ?
				  io_stats->in_flight_max : -1);
	sst_put_float8(row, "look_ahead_avg", io_stats->look_ahead_sum < 0 ? NAN :
				   average(io_stats->look_ahead_sum, io_stats->look_ahead_count));
	put_sizes(row, "reads_by_size", io_stats->reads_by_size);
	put_sizes(row, "blocks_by_size", io_stats->blocks_by_size);
}

Datum
sst_stream_stats(PG_FUNCTION_ARGS)
{
	const SstCall *call = sst_last_call();
	const SstIoStats *io_stats;
	SstRow		row;

	if (call == NULL)
		PG_RETURN_NULL();
	io_stats = &call->io_stats;

	sst_row_init(&row, fcinfo);
	sst_put_text(&row, "function", call->function);
	sst_put_regclass(&row, "relation", call->relid);
	sst_put_text(&row, "stream", stream_names[io_stats->stream]);
	sst_put_text(&row, "io_method", io_stats->reader == SST_IO_METHOD_AUTO ?
				 NULL : method_names[io_stats->reader]);
	sst_put_int32(&row, "workers", sst_last_call_processes() - 1);
	put_io(&row, io_stats);
	sst_put_float8(&row, "elapsed_ms", call->elapsed_ms);
	sst_put_float8(&row, "bytes_per_second", call->elapsed_ms <= 0 ? NAN :
				   io_stats->blocks_requested * (double) BLCKSZ /
				   (call->elapsed_ms / 1000.0));

	return sst_row_datum(&row);
}

/* A row for each process of the last call; none before the first call */
Datum
sst_stream_stats_workers(PG_FUNCTION_ARGS)
{
	int			nprocesses = sst_last_call() == NULL ? 0 : sst_last_call_processes();
	SstRow		row;

	sst_rows_begin(&row, fcinfo);
	for (int i = 0; i < nprocesses; i++)
	{
		sst_put_int32(&row, "worker", i);
		put_io(&row, sst_last_call_process(i));
		sst_row_store(&row);
	}

	return (Datum) 0;
}

/* ----------
 * Progress of the calls of all sessions
 * ----------
 */

static const char *const phase_names[] = {
	[SST_PHASE_SCANNING] = "scanning",
	[SST_PHASE_CATALOG] = "catalog",
	[SST_PHASE_FIRST_SAMPLES] = "first samples",
	[SST_PHASE_MEASURING] = "measuring",
	[SST_PHASE_FINISHING] = "finishing",
	[SST_PHASE_PROBING] = "probing"
};

/* Microseconds that are left, from what the call took so far; -1 if not known */
static int64
time_left(const SstProgress *progress, int64 elapsed)
{
	int64		bytes_left = progress->bytes_total - progress->bytes_done;
	double		time;

	/* A total that is an estimate may turn out too small. */
	if (elapsed <= 0 || progress->bytes_done <= 0 ||
		progress->bytes_total < 0 || bytes_left < 0)
		return -1;

	time = (double) elapsed * bytes_left / progress->bytes_done;
	if (time > (double) 1000 * DAYS_PER_YEAR * SECS_PER_DAY * USECS_PER_SEC)
		return -1;
	return (int64) time;
}

/* Put what only some may see; nulls if progress is NULL. */
static void
put_details(SstRow *row, const SstProgress *progress, TimestampTz now)
{
	static const SstProgress hidden = {
		.phase = -1, .blocks_done = -1, .blocks_total = -1, .relations_done = -1,
		.relations_total = -1, .bytes_done = -1, .bytes_total = -1
	};
	int64		elapsed;
	int64		left;

	if (progress == NULL)
		progress = &hidden;
	elapsed = progress->started == 0 ? 0 : now - progress->started;
	left = time_left(progress, elapsed);

	sst_put_oid(row, "relid", (Oid) progress->relid);
	sst_put_text(row, "function", progress->function[0] != '\0' ?
				 pnstrdup(progress->function, SST_PROGRESS_NAME_SIZE) : NULL);
	/* The backend may have another version of this library. */
	sst_put_text(row, "phase", progress->phase < 0 ? NULL :
				 progress->phase >= (int) lengthof(phase_names) ? "?" :
				 phase_names[progress->phase]);
	sst_put_count(row, "blocks_done", progress->blocks_total < 0 ? -1 :
				  progress->blocks_done);
	sst_put_count(row, "blocks_total", progress->blocks_total);
	sst_put_count(row, "relations_done", progress->relations_done);
	sst_put_count(row, "relations_total", progress->relations_total);
	sst_put_count(row, "bytes_done", progress->bytes_done);
	sst_put_count(row, "bytes_total", progress->bytes_total);
	sst_put_float8(row, "bytes_per_second",
				   elapsed <= 0 || progress->bytes_done <= 0 ? NAN :
				   progress->bytes_done / ((double) elapsed / USECS_PER_SEC));
	sst_put_timestamptz(row, "started", progress->started);
	sst_put_timestamptz(row, "expected_end", left < 0 ? 0 : now + left);
}

/* A row for each backend that is in a call of ours */
Datum
sst_stat_get_progress(PG_FUNCTION_ARGS)
{
	SstRow		row;
	TimestampTz now = GetCurrentTimestamp();
	bool		sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	const LocalPgBackendStatus *local;

	sst_rows_begin(&row, fcinfo);

	for (int i = 1; (local = pgstat_get_local_beentry_by_index(i)) != NULL; i++)
	{
		const PgBackendStatus *status = &local->backendStatus;
		SstProgress progress;

		if (!sst_progress_read(status, &progress))
			continue;

		sst_put_int32(&row, "pid", status->st_procpid);
		sst_put_oid(&row, "datid", status->st_databaseid);
		/* The server's views hide other roles' commands by the same rule. */
		put_details(&row, sees_all || has_privs_of_role(GetUserId(), status->st_userid) ?
					&progress : NULL, now);
		sst_row_store(&row);
	}

	return (Datum) 0;
}
