/*-------------------------------------------------------------------------
 *
 * streamstat.c
 *	  Module start and settings
 *
 * Copyright (c) 2026, streamstat contributors
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

#include "compat/compat.h"
#include "streamstat.h"

/* Seconds after which a cache worker that failed is started again */
#define RESTART_SECONDS 60

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

static const struct config_enum_entry map_options[] = {
	{"auto", SST_MAP_FILES_AUTO, false},
	{"on", SST_MAP_FILES_ON, false},
	{"off", SST_MAP_FILES_OFF, false},
	{NULL, 0, false}
};

int			sst_io_path = SST_IO_PATH_AUTO;
int			sst_io_method = SST_IO_METHOD_AUTO;
int			sst_map_files = SST_MAP_FILES_AUTO;
int			sst_max_workers = 2;
int			sst_io_concurrency = 0;
int			sst_io_combine_limit = 0;
int			sst_max_rate = 0;
int			sst_max_blocking_time = 1000;
int			sst_cache_save_interval = -1;

extern PGDLLEXPORT void _PG_init(void);

/* A setting that is a number.  Its variable has the default value. */
typedef struct NumberSetting
{
	const char *name;
	int		   *variable;
	int			min;
	int			max;
	GucContext	context;
	int			flags;
	const char *description;
	const char *details;
} NumberSetting;

static const NumberSetting numbers[] = {
	{"streamstat.io_concurrency", &sst_io_concurrency, 0, MAX_IO_CONCURRENCY, PGC_USERSET, GUC_EXPLAIN,
		"Sets the number of I/O requests that streamstat keeps in flight.",
		"Zero means maintenance_io_concurrency; reads from files and pg_prewarm then use at least 32, unless that is zero.  "
		"For reads through buffers, a value of maintenance_io_concurrency that is set on the tablespace takes precedence."
	},
	{"streamstat.io_combine_limit", &sst_io_combine_limit, 0, 1024 * 1024 / BLCKSZ, PGC_USERSET, GUC_UNIT_BLOCKS,
		"Sets the maximum size of one read, or of one read-ahead request, of streamstat.",
		"Zero means io_combine_limit, or 128kB on servers without it.  Reads from files have at most 256kB while data is in the page cache, else 512kB; zero means this maximum there."
	},
	{"streamstat.max_workers", &sst_max_workers, 0, MAX_PARALLEL_WORKER_LIMIT, PGC_USERSET, GUC_EXPLAIN,
		"Sets the maximum number of parallel workers of one function call.",
		"max_parallel_maintenance_workers also limits this number."
	},
	{"streamstat.max_rate", &sst_max_rate, 0, INT_MAX, PGC_USERSET, GUC_UNIT_KB,
		"Sets the maximum amount of data that streamstat reads per second, from buffers or files.",
		"Zero means no limit.  With a limit, no parallel workers are used."
	},
	{"streamstat.max_blocking_time", &sst_max_blocking_time, -1, INT_MAX, PGC_SUSET, GUC_UNIT_MS,
		"Sets the maximum time for which a function call may block another session before the call fails.",
		"-1 means no limit."
	},
	{"streamstat.cache_save_interval", &sst_cache_save_interval, -1, INT_MAX, PGC_SIGHUP, GUC_UNIT_S,
		"Sets the interval between saves of which blocks are in shared buffers, to be loaded at the next server start.",
		"Zero means to save at shutdown only; -1 disables saving and loading.  Requires \"streamstat\" in shared_preload_libraries."
	}
};

static void
define_settings(void)
{
	for (int i = 0; i < lengthof(numbers); i++)
		DefineCustomIntVariable(numbers[i].name, numbers[i].description, numbers[i].details,
								numbers[i].variable, *numbers[i].variable,
								numbers[i].min, numbers[i].max,
								numbers[i].context, numbers[i].flags, NULL, NULL, NULL);

	DefineCustomEnumVariable("streamstat.io_path",
							 "Selects whether blocks that are not in shared buffers are read through buffers or from the relation's files.",
							 "\"auto\" selects the faster way.",
							 &sst_io_path, SST_IO_PATH_AUTO, path_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomEnumVariable("streamstat.io_method",
							 "Selects the method for reading relation files whose data is not in the page cache.",
							 "\"auto\" and \"io_uring\" fall back to \"sync\" where io_uring is not available.",
							 &sst_io_method, SST_IO_METHOD_AUTO, method_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomEnumVariable("streamstat.map_files",
							 "Selects whether relation files whose data is in the page cache are mapped into memory.",
							 "Only the part of a mapped page that is needed is copied.  \"auto\" selects the faster way.",
							 &sst_map_files, SST_MAP_FILES_AUTO, map_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

/* Register warm/cache_worker.c, while the server loads shared_preload_libraries. */
static void
register_cache_worker(void)
{
	BackgroundWorker worker = {
		.bgw_name = "streamstat cache worker",
		.bgw_type = "streamstat cache worker",
		.bgw_flags = BGWORKER_SHMEM_ACCESS,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = RESTART_SECONDS,
		.bgw_library_name = "streamstat",
		.bgw_function_name = "sst_cache_worker_main"
	};

	/* pg_upgrade wants the databases for itself. */
	if (!IsBinaryUpgrade)
		RegisterBackgroundWorker(&worker);
}

void
_PG_init(void)
{
	sst_check_block_sizes();
	define_settings();
	MarkGUCPrefixReserved("streamstat");
	if (process_shared_preload_libraries_in_progress)
		register_cache_worker();
}
