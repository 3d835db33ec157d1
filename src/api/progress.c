/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  stat_get_progress: progress of the calls of all sessions
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "api/row.h"
#include "compat/compat.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_stat_get_progress);

/* The server's views hide other roles' commands by the same rule. */
static bool
may_see(Oid owner)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), owner);
}

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
		.blocks_done = -1, .blocks_total = -1, .relations_done = -1,
		.relations_total = -1, .bytes_done = -1, .bytes_total = -1
	};
	int64		elapsed;
	int64		left;

	if (progress == NULL)
		progress = &hidden;
	elapsed = progress->started == 0 ? 0 : now - progress->started;
	left = time_left(progress, elapsed);

	sst_put_oid(row, "relid", progress->relid);
	sst_put_text(row, "function", progress->function[0] != '\0' ?
				 progress->function : NULL);
	sst_put_text(row, "phase", progress->phase);
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
	const PgBackendStatus *status;

	sst_rows_begin(&row, fcinfo);

	for (int i = 1; (status = sst_backend_status(i)) != NULL; i++)
	{
		SstProgress progress;

		if (!sst_progress_read(status, &progress))
			continue;

		sst_put_int32(&row, "pid", status->st_procpid);
		sst_put_oid(&row, "datid", status->st_databaseid);
		put_details(&row, may_see(status->st_userid) ? &progress : NULL, now);
		sst_row_store(&row);
	}

	return (Datum) 0;
}
