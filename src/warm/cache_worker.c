/*-------------------------------------------------------------------------
 *
 * cache_worker.c
 *	  The background worker that keeps the cache over a restart
 *
 * When the server starts, the worker has the saved cache loaded.  Then it
 * saves the list of cached blocks at intervals, and when the server stops.  It
 * is not connected to a database, so that it can save at shutdown, blocks no
 * command on a database and needs no extension: it identifies blocks by file
 * numbers.
 *
 * Nothing is saved before the load has ended.  Otherwise a server that stops
 * soon after its start would replace a good file by one of an empty cache.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_worker.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/procsignal.h"
#include "utils/memutils.h"

#include "stream/buffer_pool.h"
#include "streamstat.h"
#include "warm/cache_file.h"
#include "warm/cache_start.h"
#include "warm/cache_wait.h"
#include "warm/cache_worker.h"

/* Longest time to wait at once, in milliseconds */
#define MAX_WAIT_MS (60 * 60 * 1000)

/* Save the cache.  What goes wrong is a line in the log. */
static void
save_cache(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "streamstat cache",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);

	PG_TRY();
	{
		SstBufferedBlocks blocks;

		sst_list_all_buffered_blocks(&blocks);
		if (sst_cache_file_write(&blocks))
			elog(DEBUG1, "streamstat saved " UINT64_FORMAT " cached blocks", blocks.n);
	}
	PG_CATCH();
	{
		EmitErrorReport();
		FlushErrorState();
	}
	PG_END_TRY();

	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* Milliseconds until the next save, or -1 if there is none */
static double
ms_to_next_save(instr_time last_save)
{
	instr_time	elapsed;

	if (sst_cache_save_interval <= 0)
		return -1;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, last_save);

	return Max(sst_cache_save_interval * 1000.0 -
			   INSTR_TIME_GET_MILLISEC(elapsed), 0);
}

void
sst_cache_worker_main(Datum arg)
{
	instr_time	last_save;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGUSR1, procsignal_sigusr1_handler);
	BackgroundWorkerUnblockSignals();

	if (sst_cache_save_interval >= 0 && !sst_cache_load_at_start())
		return;

	INSTR_TIME_SET_CURRENT(last_save);
	for (;;)
	{
		double		ms = ms_to_next_save(last_save);

		if (ms == 0)
		{
			save_cache();
			INSTR_TIME_SET_CURRENT(last_save);
		}
		else if (!sst_cache_wait(ms < 0 ? -1 : (long) Min(ceil(ms), MAX_WAIT_MS)))
			break;
	}

	if (sst_cache_save_interval >= 0)
		save_cache();
}
