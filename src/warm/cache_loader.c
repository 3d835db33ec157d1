/*-------------------------------------------------------------------------
 *
 * cache_loader.c
 *	  The process that loads the saved cache of one database
 *
 * It lists the database's relations once and finds those that have the saved file
 * numbers: what was dropped, truncated or rewritten since then has none, or other
 * blocks.  Then it loads the saved ranges part by part, the most used blocks first,
 * each part in a transaction of its own.  An error ends a part, not the load.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/cache_loader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "relation/relations.h"
#include "streamstat.h"
#include "warm/cache_file.h"
#include "warm/cache_loader.h"
#include "warm/warm.h"

/* Most blocks that one transaction loads */
#define MAX_PART_BLOCKS 32768

/* Parts that may fail one after the other before the loader gives up */
#define MAX_FAILURES 5

/* Most notes on relations that go to the log */
#define MAX_NOTES 5

typedef struct CacheLoader
{
	SstCacheLoad *shared;
	MemoryContext context;		/* as long as the loader */
	MemoryContext part_context; /* as long as a part */
	SstWarmSet	set;			/* the part */
	SstRelations list;
	const SstRelation **by_files;	/* those with files, by file number */
	int			n;
	int			nfailures;
	int			nnotes;
	SstFreeBuffers free_buffers;
} CacheLoader;

/* Ranges of one database, and the next one to be loaded */
typedef struct SavedSection
{
	const SstCachedRange *ranges;
	uint64		nranges;
	uint64		next;
} SavedSection;

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

static int
compare_files(const SstFiles *left, const SstFiles *right)
{
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return (left->tablespace > right->tablespace) -
		(left->tablespace < right->tablespace);
}

static int
compare_relations(const void *a, const void *b)
{
	return compare_files(&(*(const SstRelation *const *) a)->files,
						 &(*(const SstRelation *const *) b)->files);
}

static void
list_relations(CacheLoader *loader)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(loader->context);
	sst_list_relations(&loader->list);
	loader->by_files = palloc_extended(sizeof(SstRelation *) *
									   Max(loader->list.n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < loader->list.n; i++)
	{
		const SstRelation *relation = &loader->list.relation[i];

		if (relation->bytes >= 0 && relation->persistence != RELPERSISTENCE_TEMP &&
			sst_listed_state(relation) <= SST_TARGET_INVALID)
			loader->by_files[loader->n++] = relation;
	}
	qsort(loader->by_files, loader->n, sizeof(loader->by_files[0]),
		  compare_relations);
	CommitTransactionCommand();
}

/* The relation whose files the range is of, or NULL */
static const SstRelation *
find_relation(const CacheLoader *loader, const SstCachedRange *range)
{
	SstRelation key = {
		.files = {.tablespace = range->tablespace, .number = range->number}
	};
	const SstRelation *pointer = &key;
	const SstRelation **found = bsearch(&pointer, loader->by_files, loader->n,
										sizeof(loader->by_files[0]),
										compare_relations);

	return found ? *found : NULL;
}

/* Blocks of a part: what takes a second if there is a limit on the rate */
static int64
part_blocks(void)
{
	return sst_max_rate == 0 ? MAX_PART_BLOCKS :
		Min(sst_max_rate / (BLCKSZ / 1024) + 1, MAX_PART_BLOCKS);
}

/* Make the set of the next ranges, in the current memory context. */
static void
make_part(CacheLoader *loader, SavedSection *section)
{
	SstWarmSet *set = &loader->set;
	uint64		first = section->next;
	uint64		end = first;
	int64		nblocks = 0;
	int			fork = -1;

	while (end < section->nranges && nblocks < part_blocks())
		nblocks += section->ranges[end++].nblocks;
	section->next = end;

	set->forks = palloc0(sizeof(SstWarmFork) * (end - first));
	set->ranges = palloc(sizeof(SstWarmRange) * (end - first));
	for (uint64 i = first; i < end; i++)
	{
		const SstCachedRange *range = &section->ranges[i];
		const SstCachedRange *before = i > first ? range - 1 : NULL;

		if (before == NULL || before->number != range->number ||
			before->tablespace != range->tablespace ||
			before->forknum != range->forknum)
		{
			const SstRelation *relation = find_relation(loader, range);

			fork = relation == NULL ? -1 : set->nforks++;
			if (relation != NULL)
			{
				set->forks[fork].relation = relation;
				set->forks[fork].forknum = range->forknum;
			}
		}
		if (fork >= 0)
		{
			SstWarmRange *wanted = &set->ranges[set->nranges++];

			wanted->fork = fork;
			wanted->first = range->first;
			wanted->end = range->first + range->nblocks;
		}
	}
}

/* Add up what came of the forks of the part, and log their notes. */
static void
count_part(CacheLoader *loader)
{
	SstCacheLoad *shared = loader->shared;

	for (int i = 0; i < loader->set.nforks; i++)
	{
		const SstWarmFork *fork = &loader->set.forks[i];
		int64		nrepeated = Min(fork->ncached, shared->nrepeated);

		shared->nread += fork->nread;
		shared->ncached += fork->ncached - nrepeated;
		shared->nrepeated -= nrepeated;
		if (fork->note != NULL && loader->nnotes++ < MAX_NOTES)
			ereport(LOG,
					(errmsg("saved cache of relation \"%s.%s\", fork %s, is not loaded completely: %s",
							fork->relation->schema, fork->relation->name,
							forkNames[fork->forknum], fork->note)));
	}
}

/*
 * Add up what was read of the part, if there is one, that is to be repeated and will
 * find it in buffers.
 */
static void
count_repeated_part(CacheLoader *loader)
{
	for (int i = 0; i < loader->set.nforks; i++)
	{
		loader->shared->nread += loader->set.forks[i].nread;
		loader->shared->nrepeated += loader->set.forks[i].nread;
	}
}

/* The loader ends.  Of a part that is not complete, another one reads the rest. */
static void
at_exit(int code, Datum arg)
{
	if (IsTransactionState())
		count_repeated_part((CacheLoader *) DatumGetPointer(arg));
}

/* Load the next part.  False if it failed, with an error in the log. */
static bool
load_part(CacheLoader *loader, SavedSection *section)
{
	uint64		first = section->next;
	volatile bool good = true;
	SstWarmOptions options = {
		.mode = SST_PREWARM_BUFFER,
		.free_buffers = &loader->free_buffers
	};

	PG_TRY();
	{
		SstIoStats	io_stats;
		SstWarmEnd	end;

		SetCurrentStatementStartTimestamp();
		StartTransactionCommand();
		MemoryContextSwitchTo(loader->part_context);
		sst_io_stats_init(&io_stats, SST_IO_PATH_BUFFER);
		make_part(loader, section);
		end = sst_warm(&loader->set, &options, &io_stats);
		CommitTransactionCommand();

		/* Others waited for this transaction: the rest is for the next one. */
		if (end == SST_WARM_BLOCKING)
		{
			section->next = first;
			count_repeated_part(loader);
		}
		else
			count_part(loader);
		if (end == SST_WARM_FULL)
			loader->shared->full = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(loader->context);
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
		count_repeated_part(loader);
		good = false;
	}
	PG_END_TRY();

	MemoryContextSwitchTo(loader->context);
	MemoryContextReset(loader->part_context);
	memset(&loader->set, 0, sizeof(SstWarmSet));

	return good;
}

/*
 * Load a section from the range *next on, and keep the place there.  A part that fails
 * is tried twice.
 */
static void
load_section(CacheLoader *loader, SavedSection *section, uint64 *next)
{
	bool		again = false;

	section->next = Min(*next, section->nranges);
	while (section->next < section->nranges && !loader->shared->full &&
		   loader->nfailures < MAX_FAILURES)
	{
		uint64		first = section->next;

		/* Interrupts wait for load_part(): there, a cancel ends a part only. */
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (load_part(loader, section))
		{
			again = false;
			loader->nfailures = 0;
		}
		else
		{
			again = !again;
			if (again)
				section->next = first;
			loader->nfailures += again;
		}
		if (section->next > first)
			loader->shared->nrepeated = 0;
		*next = section->next;
		pgstat_report_stat(true);
	}
}

/* Find the ranges of a database in the file; none if it has none. */
static SavedSection
find_section(const SstCacheFile *cache, Oid database)
{
	SavedSection section = {.ranges = cache->ranges};

	for (uint32 i = 0; i < cache->ndatabases; i++)
	{
		const SstCachedDatabase *saved = &cache->databases[i];

		section.nranges = saved->nranges;
		if (saved->database == database)
			return section;
		section.ranges += saved->nranges;
	}
	section.nranges = 0;

	return section;
}

void
sst_cache_loader_main(Datum arg)
{
	static CacheLoader loader;	/* for at_exit() */
	dsm_segment *segment;
	SstCacheFile *cache;
	SavedSection section;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();

	/* If there is none, the worker that wanted this has ended. */
	segment = dsm_attach(DatumGetUInt32(arg));
	if (segment == NULL)
		return;
	loader.shared = dsm_segment_address(segment);
	BackgroundWorkerInitializeConnectionByOid(loader.shared->database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	loader.shared->connected = true;
	before_shmem_exit(at_exit, PointerGetDatum(&loader));
	override_settings();
	pgstat_report_activity(STATE_RUNNING, "loading the saved cache");

	loader.context = AllocSetContextCreate(TopMemoryContext, "streamstat cache",
										   ALLOCSET_DEFAULT_SIZES);
	loader.part_context = AllocSetContextCreate(loader.context, "streamstat part",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(loader.context);
	cache = sst_cache_file_read();
	if (cache != NULL)
	{
		list_relations(&loader);
		section = find_section(cache, InvalidOid);
		load_section(&loader, &section, &loader.shared->shared_next);
		section = find_section(cache, MyDatabaseId);
		load_section(&loader, &section, &loader.shared->next);
		loader.shared->ended = loader.nfailures < MAX_FAILURES;
		if (!loader.shared->ended)
			ereport(LOG,
					(errmsg("saved cache of database %u is not loaded completely: too many errors",
							MyDatabaseId)));
	}
	pgstat_report_activity(STATE_IDLE, NULL);
}
