/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  stat_progress: what other sessions' calls are doing
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat/compat.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_stat_progress);

#define NCOLUMNS 14

/* The server's views hide other roles' commands by the same rule. */
static bool
may_see(Oid owner)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), owner);
}

static Datum
count_or_null(int64 count, bool *isnull)
{
	*isnull = count < 0;
	return Int64GetDatum(count);
}

/* Fill in what only some may see: the columns behind the first two. */
static void
fill_details(const SstProgress *progress, TimestampTz now, Datum *values,
			 bool *nulls)
{
	double		elapsed = (double) (now - progress->started);
	int64		bytes_left = progress->bytes_total - progress->bytes_done;
	bool		has_rate = elapsed > 0 && progress->bytes_done > 0;

	values[0] = CStringGetTextDatum(progress->function);
	values[1] = CStringGetTextDatum(progress->phase);
	nulls[2] = !OidIsValid(progress->relid);
	values[2] = ObjectIdGetDatum(progress->relid);
	nulls[3] = progress->blocks_total < 0;
	values[3] = Int64GetDatum(progress->blocks_done);
	values[4] = count_or_null(progress->blocks_total, &nulls[4]);
	values[5] = Int64GetDatum(progress->relations_done);
	values[6] = count_or_null(progress->relations_total, &nulls[6]);
	values[7] = Int64GetDatum(progress->bytes_done);
	values[8] = count_or_null(progress->bytes_total, &nulls[8]);
	nulls[9] = !has_rate;
	if (has_rate)
		values[9] = Float8GetDatum(progress->bytes_done / (elapsed / USECS_PER_SEC));
	values[10] = TimestampTzGetDatum(progress->started);

	/* A total that is an estimate may turn out too small. */
	nulls[11] = !has_rate || progress->bytes_total < 0 || bytes_left < 0;
	if (!nulls[11])
	{
		double		seconds = elapsed / USECS_PER_SEC *
			bytes_left / progress->bytes_done;

		nulls[11] = seconds > (double) 1000 * DAYS_PER_YEAR * SECS_PER_DAY;
		if (!nulls[11])
			values[11] = TimestampTzGetDatum(now + (int64) (seconds * USECS_PER_SEC));
	}
}

/* A row for each backend that is in a call of ours */
Datum
sst_stat_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz now = GetCurrentTimestamp();
	const PgBackendStatus *status;

	InitMaterializedSRF(fcinfo, 0);

	for (int i = 1; (status = sst_backend_status(i)) != NULL; i++)
	{
		SstProgress progress;
		Datum		values[NCOLUMNS] = {0};
		bool		nulls[NCOLUMNS];

		if (!sst_progress_read(status, &progress))
			continue;

		memset(nulls, true, sizeof(nulls));
		nulls[0] = nulls[1] = false;
		values[0] = Int32GetDatum(status->st_procpid);
		values[1] = ObjectIdGetDatum(status->st_databaseid);
		if (may_see(status->st_userid))
		{
			memset(nulls, false, sizeof(nulls));
			fill_details(&progress, now, values + 2, nulls + 2);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	return (Datum) 0;
}
