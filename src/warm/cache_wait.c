/*-------------------------------------------------------------------------
 *
 * cache_wait.c
 *	  How the cache worker waits
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_wait.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"

#include "warm/cache_wait.h"

/*
 * Wait until something happens, or for so many milliseconds; -1 for any time.  A
 * changed configuration is read.  False if the server wants the process to end.
 */
bool
sst_cache_wait(long ms)
{
	if (!ShutdownRequestPending)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
						 (ms >= 0 ? WL_TIMEOUT : 0), ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}

	return !ShutdownRequestPending;
}
