/*-------------------------------------------------------------------------
 *
 * cache_worker.c
 *	  The processes that keep the cache over a restart
 *
 * When the server starts, the worker has the saved cache loaded: it starts a loader
 * for one database after the other, the largest part of the cache first, and monitors
 * it.  A process that is connected to a database prevents dropping, renaming or
 * copying it.  So when another session has locked the database for that, the loader is
 * ended, and started again afterwards.
 *
 * A loader finds the relations of its database that have the saved file numbers: what was
 * dropped, truncated or rewritten since then has none, or other blocks.  Then it loads the
 * saved ranges part by part, the most used blocks first, each part in a transaction of its
 * own, which is tried again after an error.
 *
 * Then the worker saves the list of cached blocks at intervals, and when the server
 * stops, which waits for that only for a while.  It is not connected to a database itself, so that it can save at shutdown,
 * blocks no command on a database and needs no extension: it identifies blocks by file
 * numbers.  Nothing is saved before the load has ended.  Otherwise a server that stops
 * soon after its start would replace a good file by one of an empty cache.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timeout.h"

#include "compat/compat.h"
#include "streamstat.h"
#include "warm/warm.h"

/* ----------
 * The file
 *
 * saved_cache_parse.c describes it.  It goes by file numbers, which hold in this cluster and
 * on its physical standbys.  A new file is renamed only when it is complete and on
 * disk, so that either the old one or the new one exists at any time.
 *
 * Nothing here raises an error, but for want of memory; failures are logged.
 * ----------
 */

/* From the data directory */
#define CACHE_FILE "streamstat.cache"
#define NEW_FILE CACHE_FILE ".tmp"

/*
 * Write the texts of all databases to the new file, from sorted blocks.  False if that
 * fails, with errno set.
 */
static bool
write_new_file(const SstBufferedBlocks *blocks)
{
	const SstBufferedBlock *end = blocks->blocks + blocks->n;
	const SstBufferedBlock *block = blocks->blocks;
	FILE	   *file = AllocateFile(NEW_FILE, PG_BINARY_W);
	bool		good = true;
	int			failure = 0;

	if (file == NULL)
		return false;
	errno = 0;
	while (block < end && good)
	{
		const SstBufferedBlock *first = block;
		StringInfoData text;

		for (; block < end && block->database == first->database; block++)
			CHECK_FOR_INTERRUPTS();
		if (sst_save_cached_files(first, block, &text) > 0)
			good = fwrite(text.data, text.len, 1, file) == 1;
		pfree(text.data);
	}
	if (!good || fflush(file) != 0 || pg_fsync(fileno(file)) != 0)
		failure = errno != 0 ? errno : ENOSPC;
	if (FreeFile(file) != 0 && failure == 0)
		failure = errno;
	errno = failure;

	return failure == 0;
}

/* Say why the file, or a part of it, is of no use. */
static void
refuse(bool part, const char *reason)
{
	ereport(LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 part ? errmsg("ignoring a part of file \"%s\"", CACHE_FILE) :
			 errmsg("ignoring file \"%s\"", CACHE_FILE),
			 errdetail_internal("%s", _(reason))));
}

/* Open the file.  NULL if there is none or, with a line in the log, if that fails. */
static FILE *
open_file(void)
{
	FILE	   *file = AllocateFile(CACHE_FILE, PG_BINARY_R);

	if (file == NULL && errno != ENOENT)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", CACHE_FILE)));
	return file;
}

/*
 * Read the next text of the open file, into the current memory context.  False if it is
 * not as this cluster has written it: then *error says why.
 */
static bool
read_text(FILE *file, SstSavedCache *saved, SstSavedCacheError *error)
{
	StringInfoData text;
	char		line[128];
	bool		good;

	initStringInfo(&text);
	while (text.len < MaxAllocSize - sizeof(line) &&
		   fgets(line, sizeof(line), file) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		appendStringInfoString(&text, line);
		if (strncmp(line, "crc ", 4) == 0)
			break;
	}
	good = sst_check_saved_cache(text.data, text.len, error) &&
		sst_parse_saved_cache(text.data, text.len, 0, saved, error);
	pfree(text.data);
	if (!good || saved->system == GetSystemIdentifier())
		return good;

	error->code = ERRCODE_FEATURE_NOT_SUPPORTED;
	error->what = gettext_noop("The file belongs to another database system.");
	return false;
}

static bool
at_end(FILE *file)
{
	return ungetc(getc(file), file) == EOF;
}

/* A text of the file */
typedef struct SavedText
{
	Oid			database;		/* InvalidOid for shared relations */
	Oid			tablespace;		/* of the first relation */
	uint64		nblocks;
	off_t		start;			/* in the file */
} SavedText;

/*
 * List the texts of the file, in the current memory context.  A damaged one is left out,
 * and all are if they are of no use here, with a line in the log.
 */
static SavedText *
list_texts(int *n)
{
	FILE	   *file = open_file();
	SavedText  *texts = NULL;

	*n = 0;
	if (file == NULL)
		return NULL;
	do
	{
		off_t		start = ftello(file);
		SstSavedCache saved;
		SstSavedCacheError error;

		if (!read_text(file, &saved, &error))
		{
			bool		all = (error.code == ERRCODE_FEATURE_NOT_SUPPORTED);

			refuse(!all && (start > 0 || !at_end(file)), error.what);
			if (all)
				break;			/* the others are of the same kind */
		}
		else if (saved.nranges > 0)
		{
			SavedText  *added = sst_append(texts, *n);

			added->database = saved.database;
			added->tablespace = saved.relations[0].tablespace;
			added->nblocks = saved.nblocks;
			added->start = start;
			pfree(saved.relations);
			pfree(saved.ranges);
		}
	} while (!at_end(file));
	FreeFile(file);

	return texts;
}

/*
 * Read the text that starts there, into the current memory context.  False if it is
 * refused, with a line in the log.
 */
static bool
cache_file_read(off_t start, SstSavedCache *saved)
{
	FILE	   *file = open_file();
	SstSavedCacheError error = {.what = gettext_noop("The text is empty.")};
	bool		good;

	if (file == NULL)
		return false;
	good = fseeko(file, start, SEEK_SET) == 0 && read_text(file, saved, &error);
	FreeFile(file);
	if (!good)
		refuse(true, error.what);

	return good;
}

/* ----------
 * The processes
 * ----------
 */

/* The library names them when it registers the processes. */
extern PGDLLEXPORT void sst_cache_worker_main(Datum arg);
extern PGDLLEXPORT void sst_cache_loader_main(Datum arg);

/* Longest time to wait at once, in milliseconds */
#define MAX_WAIT_MS (60 * 60 * 1000)

/* Milliseconds between two checks for sessions that wait for the database */
#define WATCH_MS 200

/* Milliseconds that the stop of a server waits for the last save at most */
#define LAST_SAVE_MS 10000

/* Longest time between two attempts to start a loader, in seconds */
#define MAX_DELAY_SECONDS 16

/* Most blocks that one transaction loads */
#define MAX_PART_BLOCKS 32768

/* Times that a part may fail before the loader gives up */
#define MAX_FAILURES 5

/* Most notes on relations that go to the log */
#define MAX_NOTES 5

/* A text of the file, and what of it is loaded */
typedef struct LoadPlace
{
	off_t		start;			/* in the file, or -1 if there is none */
	int64		range;			/* where to go on */
	BlockNumber done;			/* blocks of this range that are loaded */
} LoadPlace;

/*
 * A load, in shared memory.  The loaders of one database after the other write it,
 * and the worker reads it when they have ended, which it learns under a lock: no field
 * needs an atomic access.
 */
typedef struct SharedLoad
{
	Oid			database;		/* to load now */
	LoadPlace	place;			/* of its text */
	LoadPlace	shared_place;	/* of the text of shared relations */
	bool		ended;			/* all that could be loaded of it is; false
								 * after too many errors */
	bool		full;			/* no free buffers are left */
	int64		nblocks;		/* of all that are in buffers now */
} SharedLoad;

/* The worker's side of a load */
typedef struct CacheLoad
{
	dsm_segment *segment;
	SharedLoad *shared;
	int			nloaded;		/* databases */
	const char *end;			/* what ended it */
} CacheLoad;

/* A loader */
typedef struct CacheLoader
{
	SharedLoad *shared;
	MemoryContext part_context; /* as long as a part */
	int			nnotes;
	SstFreeBuffers free_buffers;
} CacheLoader;

/* ----------
 * Loaders
 * ----------
 */

/*
 * Settings of the server, the database or the role that could end the load, or let it
 * bring in pages that the server would refuse.
 */
static void
override_settings(void)
{
	static const char *const settings[][2] = {
		{"default_transaction_isolation", "read committed"},
		{"ignore_checksum_failure", "off"},
		{"lock_timeout", "0"},
		{"statement_timeout", "0"},
		{"transaction_timeout", "0"},
		{"zero_damaged_pages", "off"}
	};

	for (int i = 0; i < lengthof(settings); i++)
		if (GetConfigOption(settings[i][0], true, false) != NULL)
			SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET,
							PGC_S_OVERRIDE);
	SetConfigOption("application_name", "streamstat", PGC_SUSET, PGC_S_OVERRIDE);
}

/* Blocks of a part: what takes a second if there is a limit on the rate, or a slice */
static int64
part_blocks(void)
{
	return sst_max_rate == 0 ? MAX_PART_BLOCKS :
		Min(Max(sst_max_rate / (BLCKSZ / 1024), (int64) sst_rate_blocks(0)),
			MAX_PART_BLOCKS);
}

/*
 * Make the set of the blocks of all from *place on, in the current memory context, and move
 * *place behind them.
 */
static void
make_part(const SstWarmSet *all, LoadPlace *place, SstWarmSet *part)
{
	int64		left = part_blocks();

	*part = (SstWarmSet)
	{
		.nforks = all->nforks, .forks = all->forks
	};
	while (place->range < all->nranges && left > 0)
	{
		const SstWarmRange *range = &all->ranges[place->range];
		BlockNumber first = range->first + place->done;
		BlockNumber nblocks = Min(range->end - first, left);

		sst_warm_set_add_range(part, range->fork, first, first + nblocks);
		left -= nblocks;
		place->done += nblocks;
		if (first + nblocks == range->end)
		{
			place->range++;
			place->done = 0;
		}
	}
}

/*
 * After a part: log the new notes on forks, which are as before then.  Returns how many
 * of its blocks are in buffers.
 */
static int64
end_part(CacheLoader *loader, SstWarmSet *set)
{
	int64		nblocks = 0;

	for (int i = 0; i < set->nforks; i++)
	{
		SstWarmFork *fork = &set->forks[i];
		const SstRelation *relation = fork->relation;

		nblocks += fork->nread + fork->ncached;
		fork->nread = fork->ncached = 0;
		if (fork->note == NULL || !OidIsValid(relation->relid) ||
			sst_warm_refusal(relation) != NULL)
			continue;
		if (loader->nnotes++ < MAX_NOTES)
			ereport(LOG,
					(errmsg("saved cache of relation \"%s.%s\", fork %s, is not loaded completely: %s",
							relation->schema, relation->name, forkNames[fork->forknum],
							fork->note)));
		fork->note = NULL;
	}

	return nblocks;
}

/*
 * Load the part that begins at *place, and move that behind it, unless others wait for
 * the rest of it.  False if it failed, with an error in the log.
 */
static bool
load_part(CacheLoader *loader, SstWarmSet *all, LoadPlace *place)
{
	SharedLoad *shared = loader->shared;
	LoadPlace	next = *place;
	volatile bool good = false;
	volatile SstWarmEnd end = SST_WARM_BLOCKING;
	int64		nblocks;

	PG_TRY();
	{
		SstIoStats	io_stats;
		SstWarmSet	part;

		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		MemoryContextSwitchTo(loader->part_context);
		sst_io_stats_init(&io_stats, SST_IO_PATH_BUFFER);
		make_part(all, &next, &part);
		end = sst_warm(&part, SST_PREWARM_BUFFER, NULL, &loader->free_buffers,
					   &io_stats);
		CommitTransactionCommand();
		good = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(loader->part_context);
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();

	/* If others waited for this transaction, the rest is for the next one. */
	nblocks = end_part(loader, all);
	if (end != SST_WARM_BLOCKING)
	{
		*place = next;
		shared->nblocks += nblocks;
		shared->full = (end == SST_WARM_FULL);
	}
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextReset(loader->part_context);

	return good;
}

/*
 * Load what a text has from its place on, and keep the place.  False if that is not all:
 * then the log says why.
 */
static bool
load_text(CacheLoader *loader, LoadPlace *place)
{
	int			nfailures = 0;	/* of the part at hand */
	SstSavedCache saved;
	SstWarmSet	set;

	if (place->start < 0)
		return true;
	if (!cache_file_read(place->start, &saved))
		return false;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(TopMemoryContext);
	sst_saved_cache_set(&saved, &set);
	CommitTransactionCommand();
	MemoryContextSwitchTo(TopMemoryContext);

	while (place->range < set.nranges && !loader->shared->full)
	{
		/* Interrupts wait for load_part(): there, a cancel ends a part only. */
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		nfailures = load_part(loader, &set, place) ? 0 : nfailures + 1;
		pgstat_report_stat(true);
		if (nfailures == MAX_FAILURES)
		{
			ereport(LOG,
					(errmsg("saved cache of database %u is not loaded completely: too many errors",
							MyDatabaseId)));
			return false;
		}
	}

	place->start = -1;			/* no other loader has to read it */
	return true;
}

void
sst_cache_loader_main(Datum arg)
{
	CacheLoader loader = {0};
	SharedLoad *shared;
	dsm_segment *segment;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	ConfigReloadPending = true; /* a signal until here would be lost */

	/* If there is none, the worker that wanted this has ended. */
	segment = dsm_attach(DatumGetUInt32(arg));
	if (segment == NULL)
		return;
	loader.shared = shared = dsm_segment_address(segment);
	BackgroundWorkerInitializeConnectionByOid(shared->database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	override_settings();
	pgstat_report_activity(STATE_RUNNING, "loading the saved cache");

	loader.part_context = AllocSetContextCreate(TopMemoryContext, "streamstat part",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(TopMemoryContext);
	shared->ended = load_text(&loader, &shared->shared_place) &&
		load_text(&loader, &shared->place);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* ----------
 * The worker
 * ----------
 */

/*
 * Wait until something happens, or for so many milliseconds; -1 for any time.  A
 * changed configuration is read.  False if the server wants the process to end.
 */
static bool
wait_for_event(long ms)
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

/* ----------
 * The load at the start
 * ----------
 */

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

/* Is there a folder of the database, where its first saved relation was? */
static bool
has_folder(const SavedText *saved)
{
	char	   *path = GetDatabasePath(saved->database, saved->tablespace);
	struct stat st;
	bool		found = stat(path, &st) == 0;

	pfree(path);
	return found;
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

	for (int delay = 1; !RegisterDynamicBackgroundWorker(&worker, &handle); delay *= 2)
	{
		if (delay == 1)
			ereport(LOG,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start a background worker to load the saved cache"),
					 errhint("Consider increasing the configuration parameter \"max_worker_processes\".")));
		if (delay > MAX_DELAY_SECONDS)
			return NULL;

		/* The latch may be set for other reasons; then this is just earlier. */
		(void) wait_for_event(delay * 1000L);
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

	for (;;)
	{
		pid_t		pid;
		BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

		if (status == BGWH_POSTMASTER_DIED)
			proc_exit(1);
		if (status == BGWH_STOPPED)
			return wanted;

		wanted = wanted || is_wanted(database);
		if (wanted || is_stopped())
			TerminateBackgroundWorker(handle);

		/* The server tells the loader to stop as well, and waits for it. */
		if (!wait_for_event(WATCH_MS))
			return wanted;
	}
}

/* Load a database.  False if that ends the load, which says why. */
static bool
load_database(CacheLoad *load, const SavedText *saved)
{
	SharedLoad *shared = load->shared;

	shared->database = saved->database;
	shared->place = (LoadPlace)
	{
		.start = saved->start
	};
	shared->ended = false;
	for (;;)
	{
		BackgroundWorkerHandle *handle;
		bool		wanted = false;

		if (!has_folder(saved))
		{
			ereport(LOG,
					(errmsg("saved cache of database %u is not loaded: the database was dropped or moved",
							saved->database)));
			return true;
		}

		handle = start_loader(load);
		if (handle != NULL)
		{
			wanted = watch_loader(handle, saved->database);
			pfree(handle);
			if (shared->ended)
			{
				load->nloaded++;
				return true;
			}
		}
		while (wanted && !is_stopped() && is_wanted(saved->database))
			(void) wait_for_event(WATCH_MS);

		if (is_stopped())
		{
			load->end = ShutdownRequestPending ? "shutdown" : "cache_save_interval";
			return false;
		}
		if (handle == NULL)
		{
			load->end = "no background worker";
			return false;
		}

		/* It gave up, failed or was ended by an administrator. */
		if (!wanted)
		{
			load->end = "errors";
			return true;
		}
	}
}

/* The most blocks first */
static int
compare_texts(const void *a, const void *b)
{
	const SavedText *left = a;
	const SavedText *right = b;

	if (left->nblocks != right->nblocks)
		return left->nblocks > right->nblocks ? -1 : 1;
	return (left->database > right->database) - (left->database < right->database);
}

/* Have the saved cache loaded, if there is one, and write a line to the log. */
static void
load_cache(void)
{
	CacheLoad	load = {.end = "complete"};
	int			ntexts;
	SavedText  *texts = list_texts(&ntexts);
	uint64		nblocks = 0;
	int			ndatabases = 0;
	instr_time	start;

	if (ntexts == 0)
		return;
	load.segment = dsm_create(sizeof(SharedLoad), 0);
	load.shared = dsm_segment_address(load.segment);
	memset(load.shared, 0, sizeof(SharedLoad));
	load.shared->shared_place.start = -1;
	for (int i = 0; i < ntexts; i++)
	{
		nblocks += texts[i].nblocks;
		if (OidIsValid(texts[i].database))
			ndatabases++;
		else
			load.shared->shared_place.start = texts[i].start;
	}
	qsort(texts, ntexts, sizeof(SavedText), compare_texts);

	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < ntexts; i++)
	{
		if (!OidIsValid(texts[i].database))
			continue;			/* each loader has the shared relations, too */
		if (!load_database(&load, &texts[i]))
			break;
		if (load.shared->full)
		{
			load.end = "full";
			break;
		}
	}

	ereport(LOG,
			(errmsg("streamstat loaded " INT64_FORMAT " of " UINT64_FORMAT
					" saved blocks of %d of %d databases in %.0f ms; ended by: %s",
					load.shared->nblocks, nblocks, load.nloaded, ndatabases,
					sst_seconds_since(start) * 1000, load.end)));
	dsm_detach(load.segment);
}

/* ----------
 * Saving
 * ----------
 */

/* Is a save under way that the stop of the server ends? */
static volatile sig_atomic_t is_interval_save = false;

/* Have the save that is under way end with an error. */
static void
cancel_save(void)
{
	InterruptPending = true;
	QueryCancelPending = true;
}

/* For SIGTERM */
static void
handle_stop(SIGNAL_ARGS)
{
	int			save_errno = errno;

	ShutdownRequestPending = true;
	if (is_interval_save)
		cancel_save();
	SetLatch(MyLatch);
	errno = save_errno;
}

/*
 * Save the cache.  What goes wrong is a line in the log; then the old file is what it was.
 * When the server stops, a save that is under way ends, and the last one has not all the
 * time: to sort what is in buffers can take long.
 */
static void
save_cache(bool is_last)
{
	static TimeoutId timeout = MAX_TIMEOUTS;
	MemoryContext context = CurrentMemoryContext;

	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, cancel_save);

	is_interval_save = !is_last;
	if (is_last)
		enable_timeout_after(timeout, LAST_SAVE_MS);
	else if (ShutdownRequestPending)
		cancel_save();			/* the stop came just before */

	PG_TRY();
	{
		SstBufferedBlocks blocks;

		sst_list_buffered_blocks(&blocks, true);
		if (!write_new_file(&blocks))
			ereport(LOG,
					(errcode_for_file_access(),
					 errmsg("could not write file \"%s\": %m", NEW_FILE)));
		else if (durable_rename(NEW_FILE, CACHE_FILE, LOG) == 0)
			elog(DEBUG1, "streamstat saved " UINT64_FORMAT " cached blocks", blocks.n);
	}
	PG_CATCH();
	{
		bool		is_ended = geterrcode() == ERRCODE_QUERY_CANCELED;

		MemoryContextSwitchTo(context);
		if (!is_ended)
			EmitErrorReport();
		else if (is_last)
			ereport(LOG,
					(errmsg("streamstat has not saved the cache: a stop of the server waits no longer than %d s for that",
							LAST_SAVE_MS / 1000)));
		FlushErrorState();
		AtEOXact_Files(false);	/* there is no transaction to end */
	}
	PG_END_TRY();

	unlink(NEW_FILE);			/* it is still there after a failure */
	is_interval_save = false;
	disable_timeout(timeout, false);
	QueryCancelPending = false;
	MemoryContextReset(context);
}

void
sst_cache_worker_main(Datum arg)
{
	instr_time	last_save;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, handle_stop);
	pqsignal(SIGUSR1, procsignal_sigusr1_handler);
	BackgroundWorkerUnblockSignals();

	/* It is empty but while the worker loads or saves. */
	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext, "streamstat cache",
												ALLOCSET_DEFAULT_SIZES));
	if (sst_cache_save_interval >= 0)
		load_cache();
	MemoryContextReset(CurrentMemoryContext);
	if (ShutdownRequestPending)
		return;

	INSTR_TIME_SET_CURRENT(last_save);
	while (!ShutdownRequestPending)
	{
		double		seconds = sst_cache_save_interval - sst_seconds_since(last_save);

		if (sst_cache_save_interval <= 0)
			(void) wait_for_event(-1);
		else if (seconds > 0)
			(void) wait_for_event((long) ceil(Min(seconds * 1000, MAX_WAIT_MS)));
		else
		{
			save_cache(false);
			INSTR_TIME_SET_CURRENT(last_save);
		}
	}

	if (sst_cache_save_interval >= 0)
		save_cache(true);
}
