/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The present I/O settings of the server
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/settings.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"
#include "utils/spccache.h"

#include "probe/settings.h"

/* An integer setting in its own unit; -1 if the server does not have it */
static int
int_setting(const char *name)
{
	const char *value = GetConfigOption(name, true, false);

	return value == NULL ? -1 : atoi(value);
}

/* Get the settings for relations on a tablespace, as this session has them. */
void
sst_get_probe_settings(SstProbeSettings *settings, Oid tablespace)
{
	const char *method = GetConfigOption("io_method", true, false);

	memset(settings, 0, sizeof(SstProbeSettings));
	settings->effective_io_concurrency = get_tablespace_io_concurrency(tablespace);
	settings->maintenance_io_concurrency =
		get_tablespace_maintenance_io_concurrency(tablespace);
	settings->io_combine_limit = int_setting("io_combine_limit");
	settings->io_max_combine_limit = int_setting("io_max_combine_limit");
	if (settings->io_max_combine_limit > 0)
		settings->io_combine_limit = Min(settings->io_combine_limit,
										 settings->io_max_combine_limit);

	/* From 19 on, the server starts as many as are needed. */
	settings->io_workers_name = "io_workers";
	settings->io_workers = int_setting("io_workers");
	if (settings->io_workers < 0)
	{
		settings->io_workers_name = "io_max_workers";
		settings->io_workers = int_setting("io_max_workers");
	}
	strlcpy(settings->io_method, method == NULL ? "" : method,
			sizeof(settings->io_method));
}
