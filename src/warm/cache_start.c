/*-------------------------------------------------------------------------
 *
 * cache_start.c
 *	  Loading the saved cache when the server starts
 *
 * The cache worker starts a loader for one database after the other, the
 * largest part of the cache first, and monitors it.  A process that is
 * connected to a database prevents dropping, renaming or copying it.  So when
 * another session has locked the database for that, the loader is ended, and
 * started again afterwards.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_start.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_database.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "streamstat.h"
#include "warm/cache_file.h"
#include "warm/cache_loader.h"
#include "warm/cache_start.h"
#include "warm/cache_wait.h"

/* Milliseconds from one look at who waits for the database to the next */
#define WATCH_MS 200

/* Longest time between two attempts to start a loader, in seconds */
#define MAX_DELAY_SECONDS 16

typedef enum LoadOutcome
{
	OUTCOME_LOADED,
	OUTCOME_LEFT_OUT,			/* it was dropped or moved */
	OUTCOME_FAILED,				/* the log says why */
	OUTCOME_NO_WORKER,			/* none can be started */
	OUTCOME_STOPPED				/* the server stops, or the setting is -1 */
} LoadOutcome;

typedef struct CacheLoad
{
	const SstCacheFile *cache;
	dsm_segment *segment;
	SstCacheLoad *shared;
	bool		said_no_worker;
} CacheLoad;

/* Should the load end? */
static bool
is_stopped(void)
{
	return ShutdownRequestPending || sst_cache_save_interval < 0;
}

/*
 * Has somebody locked the database so as to drop, change or copy it?  That conflicts
 * with the lock that a session takes while it connects, which a loader does not hold
 * any more.
 */
static bool
is_wanted(Oid database)
{
	LOCKTAG		tag;
	int			n;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	pfree(GetLockConflicts(&tag, RowExclusiveLock, &n));

	return n > 0;
}

/* Is there a folder of the database, in a tablespace that it had blocks in? */
static bool
has_folder(const SstCacheFile *cache, const SstCachedDatabase *database)
{
	const SstCachedRange *range = cache->ranges;
	Oid			tablespace = InvalidOid;

	for (const SstCachedDatabase *other = cache->databases; other < database; other++)
		range += other->nranges;
	for (uint64 i = 0; i < database->nranges; i++, range++)
	{
		char	   *path;
		struct stat st;
		bool		found;

		if (range->tablespace == tablespace)
			continue;
		tablespace = range->tablespace;
		path = GetDatabasePath(database->database, tablespace);
		found = stat(path, &st) == 0;
		pfree(path);
		if (found)
			return true;
	}

	return false;
}

/* Start a loader, or return NULL if that is not possible for half a minute. */
static BackgroundWorkerHandle *
start_loader(CacheLoad *load)
{
	BackgroundWorker worker = {
		.bgw_name = "streamstat cache loader",
		.bgw_type = "streamstat cache loader",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "streamstat",
		.bgw_function_name = "sst_cache_loader_main",
		.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(load->segment)),
		.bgw_notify_pid = MyProcPid
	};
	BackgroundWorkerHandle *handle;

	load->shared->connected = false;
	for (int delay = 1; !RegisterDynamicBackgroundWorker(&worker, &handle); delay *= 2)
	{
		if (!load->said_no_worker)
			ereport(LOG,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a background worker to load the saved cache"),
					 errhint("Consider increasing the configuration parameter \"max_worker_processes\".")));
		load->said_no_worker = true;
		if (delay > MAX_DELAY_SECONDS)
			return NULL;

		/* The latch may be set for other reasons; then this is just earlier. */
		(void) sst_cache_wait(delay * 1000L);
		if (is_stopped())
			return NULL;
	}

	return handle;
}

/*
 * Wait until the loader has ended.  True if it was ended for another session's
 * command.
 */
static bool
watch_loader(BackgroundWorkerHandle *handle, Oid database)
{
	bool		wanted = false;
	bool		told = false;

	for (;;)
	{
		pid_t		pid;
		BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

		if (status == BGWH_POSTMASTER_DIED)
			proc_exit(1);
		if (status == BGWH_STOPPED)
			return wanted;

		wanted = wanted || is_wanted(database);
		if ((wanted || is_stopped()) && !told)
		{
			TerminateBackgroundWorker(handle);
			told = true;
		}

		/* The server tells the loader to stop as well, and waits for it. */
		if (!sst_cache_wait(WATCH_MS))
			return wanted;
	}
}

static LoadOutcome
load_database(CacheLoad *load, const SstCachedDatabase *database)
{
	SstCacheLoad *shared = load->shared;

	shared->database = database->database;
	shared->ended = false;
	shared->next = 0;
	shared->nrepeated = 0;
	for (;;)
	{
		BackgroundWorkerHandle *handle;
		bool		wanted;

		if (!has_folder(load->cache, database))
		{
			ereport(LOG,
					(errmsg("saved cache of database %u is not loaded: the database was dropped or moved",
							database->database)));
			return OUTCOME_LEFT_OUT;
		}

		handle = start_loader(load);
		if (handle == NULL)
			return is_stopped() ? OUTCOME_STOPPED : OUTCOME_NO_WORKER;
		wanted = watch_loader(handle, database->database);
		pfree(handle);
		if (shared->ended)
			return OUTCOME_LOADED;
		if (is_stopped())
			return OUTCOME_STOPPED;

		/* It gave up, failed or was ended by an administrator. */
		if (!wanted)
			return OUTCOME_FAILED;

		while (is_wanted(database->database))
		{
			(void) sst_cache_wait(WATCH_MS);
			if (is_stopped())
				return OUTCOME_STOPPED;
		}
	}
}

/* The most blocks first */
static int
compare_databases(const void *a, const void *b)
{
	const SstCachedDatabase *left = *(const SstCachedDatabase *const *) a;
	const SstCachedDatabase *right = *(const SstCachedDatabase *const *) b;

	if (left->nblocks != right->nblocks)
		return left->nblocks > right->nblocks ? -1 : 1;
	return (left->database > right->database) - (left->database < right->database);
}

/* Load all databases, and write a line to the log. */
static void
load_databases(CacheLoad *load)
{
	const SstCacheFile *cache = load->cache;
	const SstCachedDatabase **order = palloc(sizeof(SstCachedDatabase *) *
											 Max(cache->ndatabases, 1));
	const char *end = "complete";
	int			n = 0;
	int			nloaded = 0;
	instr_time	start;
	instr_time	elapsed;

	for (uint32 i = 0; i < cache->ndatabases; i++)
		if (OidIsValid(cache->databases[i].database))
			order[n++] = &cache->databases[i];
	qsort(order, n, sizeof(order[0]), compare_databases);

	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < n; i++)
	{
		LoadOutcome outcome = load_database(load, order[i]);

		nloaded += outcome == OUTCOME_LOADED;
		if (outcome == OUTCOME_NO_WORKER)
			end = "no background worker";
		else if (outcome == OUTCOME_STOPPED)
			end = ShutdownRequestPending ? "shutdown" : "cache_save_interval";
		else if (load->shared->full)
			end = "full";
		else
		{
			if (outcome == OUTCOME_FAILED)
				end = "errors";
			continue;
		}
		break;
	}
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);

	ereport(LOG,
			(errmsg("streamstat loaded " INT64_FORMAT " of " UINT64_FORMAT
					" saved blocks of %d of %d databases in %.0f ms, " INT64_FORMAT " already cached; ended by: %s",
					load->shared->nread, cache->nblocks, nloaded, n,
					INSTR_TIME_GET_MILLISEC(elapsed), load->shared->ncached, end)));
	pfree(order);
}

/*
 * Have the saved cache loaded, if there is one.  False if the server stops meanwhile.
 */
bool
sst_cache_load_at_start(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "streamstat cache",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	CacheLoad	load = {.cache = sst_cache_file_read()};

	if (load.cache != NULL)
	{
		load.segment = dsm_create(sizeof(SstCacheLoad), 0);
		load.shared = dsm_segment_address(load.segment);
		memset(load.shared, 0, sizeof(SstCacheLoad));
		load_databases(&load);
		dsm_detach(load.segment);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);

	return !ShutdownRequestPending;
}
