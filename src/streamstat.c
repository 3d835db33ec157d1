/*-------------------------------------------------------------------------
 *
 * streamstat.c
 *	  Module start and settings
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/streamstat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker_internals.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"

#include "run/progress.h"
#include "streamstat.h"
#include "warm/cache_register.h"

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(
					.name = "streamstat",
					.version = STREAMSTAT_VERSION
);
#else
PG_MODULE_MAGIC;
#endif

static const struct config_enum_entry path_options[] = {
	{"auto", SST_IO_PATH_AUTO, false},
	{"buffer", SST_IO_PATH_BUFFER, false},
	{"file", SST_IO_PATH_FILE, false},
	{NULL, 0, false}
};

static const struct config_enum_entry method_options[] = {
	{"auto", SST_IO_METHOD_AUTO, false},
	{"io_uring", SST_IO_METHOD_IO_URING, false},
	{"sync", SST_IO_METHOD_SYNC, false},
	{NULL, 0, false}
};

int			sst_io_path = SST_IO_PATH_AUTO;
int			sst_io_method = SST_IO_METHOD_AUTO;
bool		sst_map_files = true;
int			sst_max_workers = 2;
int			sst_io_concurrency = 0;
int			sst_io_combine_limit = 0;
int			sst_max_rate = 0;
int			sst_max_blocking_time = 1000;
int			sst_cache_save_interval = -1;

extern PGDLLEXPORT void _PG_init(void);

/* How relations are read */
static void
define_reading(void)
{
	DefineCustomIntVariable("streamstat.io_concurrency",
							"Number of simultaneous requests that streamstat keeps in flight.",
							"Zero means the server's maintenance_io_concurrency; from files, and for pg_prewarm, 32 at least unless that is zero.  "
							"A tablespace that sets maintenance_io_concurrency itself keeps its own.",
							&sst_io_concurrency,
							0,
							0, MAX_IO_CONCURRENCY,
							PGC_USERSET,
							GUC_EXPLAIN,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamstat.io_combine_limit",
							"Limit on the size of streamstat's data reads, or read-ahead advice.",
							"Zero means the server's io_combine_limit, or 128kB on servers that have none; from files 256kB while data is in the page cache, else 512kB, which is also the most there.",
							&sst_io_combine_limit,
							0,
							0, 1024 * 1024 / BLCKSZ,
							PGC_USERSET,
							GUC_UNIT_BLOCKS,
							NULL, NULL, NULL);

	DefineCustomEnumVariable("streamstat.io_path",
							 "Whether streamstat reads blocks that are in no buffer through buffers or from the relation's files.",
							 "\"auto\" chooses what is faster.",
							 &sst_io_path,
							 SST_IO_PATH_AUTO,
							 path_options,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	DefineCustomEnumVariable("streamstat.io_method",
							 "How streamstat reads relation files whose data is not in the page cache.",
							 "\"auto\" and \"io_uring\" fall back to \"sync\" where there is no io_uring.",
							 &sst_io_method,
							 SST_IO_METHOD_AUTO,
							 method_options,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("streamstat.map_files",
							 "Whether streamstat maps relation files whose data is in the page cache.",
							 "Of a mapped page only the part that is needed is copied.",
							 &sst_map_files,
							 true,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);
}

/* What that may take, and when the cache is saved */
static void
define_limits(void)
{
	DefineCustomIntVariable("streamstat.max_workers",
							"Maximum number of parallel workers that one call of streamstat uses.",
							"The server's max_parallel_maintenance_workers bounds it as well.",
							&sst_max_workers,
							2,
							0, MAX_PARALLEL_WORKER_LIMIT,
							PGC_USERSET,
							GUC_EXPLAIN,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamstat.max_rate",
							"Limit on the data that streamstat looks at per second, in buffers or in files.",
							"Zero means no limit.  With a limit there are no parallel workers.",
							&sst_max_rate,
							0,
							0, INT_MAX,
							PGC_USERSET,
							GUC_UNIT_KB,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamstat.max_blocking_time",
							"Time for which a call of streamstat lets another session wait for its lock on a relation, before it ends with an error.",
							"-1 means any time.",
							&sst_max_blocking_time,
							1000,
							-1, INT_MAX,
							PGC_SUSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamstat.cache_save_interval",
							"Time from one save of what shared buffers hold to the next, which is loaded when the server starts.",
							"Zero means to save when the server stops, -1 means not to save and not to load.  It takes \"streamstat\" in shared_preload_libraries.",
							&sst_cache_save_interval,
							-1,
							-1, INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);
}

void
_PG_init(void)
{
	define_reading();
	define_limits();
	MarkGUCPrefixReserved("streamstat");

	sst_progress_init();
	if (process_shared_preload_libraries_in_progress)
		sst_cache_worker_register();
}
