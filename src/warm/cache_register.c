/*-------------------------------------------------------------------------
 *
 * cache_register.c
 *	  Registering the cache worker
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_register.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"

#include "warm/cache_register.h"

/* Seconds after which a worker that failed is started again */
#define RESTART_SECONDS 60

/* Register the worker, while the server loads shared_preload_libraries. */
void
sst_cache_worker_register(void)
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
