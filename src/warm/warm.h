/*-------------------------------------------------------------------------
 *
 * warm.h
 *	  Reading blocks of relations into memory, and saving which ones are there
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_H
#define SST_WARM_H

#include "lib/stringinfo.h"
#include "port/pg_crc32c.h"

#include "relation/relation.h"
#include "run/limits.h"
#include "stream/buffered.h"
#include "stream/stream.h"

/*
 * Blocks of one relation: prewarm.c
 */

typedef enum SstPrewarmMode
{
	SST_PREWARM_PREFETCH,		/* advise the kernel, wait for nothing */
	SST_PREWARM_READ,			/* read, and keep nothing */
	SST_PREWARM_BUFFER			/* read into buffers */
} SstPrewarmMode;

/* What to prewarm: plain data */
typedef struct SstPrewarmPlan
{
	ForkNumber	forknum;
	SstPrewarmMode mode;
	BlockNumber first;
	BlockNumber end;
	bool		evicts;			/* pages of others, and not its own */
	bool		cached;			/* in the page cache; set here */
} SstPrewarmPlan;

/* Fewer are read from storage as soon by one process, for which the kernel reads ahead (bench/compare cold). */
#define SST_PREWARM_PARALLEL_BLOCKS (192 * 1024 * 1024 / BLCKSZ)

extern bool sst_prewarm_parallel(SstPrewarmPlan *plan, Relation rel,
								 SstIoStats *io_stats);
extern void sst_prewarm(SstPrewarmPlan *plan, Relation rel, SstIoStats *io_stats);

/*
 * Blocks of many relations: queue.c
 */

/* A fork to warm, and what came of it */
typedef struct SstWarmFork
{
	const SstRelation *relation;
	ForkNumber	forknum;

	/*
	 * Why not (all of) it was warmed, or NULL.  A fork that has a note before
	 * is left out.
	 */
	const char *note;
	bool		left_out;		/* no more is read of it */
	bool		entered;		/* the queue has come to it */

	BlockNumber nblocks;		/* that it has; InvalidBlockNumber if not
								 * known */
	int64		nwanted;		/* of these, blocks looked at */
	int64		ncached;		/* of these, found where they were wanted */
	int64		nread;			/* of these, read, or advised */
	int64		ncut;			/* of ranges, blocks that it does not have */
	double		elapsed_ms;
	BlockNumber next_block;		/* first wanted block not looked at, or
								 * InvalidBlockNumber */
} SstWarmFork;

/* Adjacent blocks of a fork */
typedef struct SstWarmRange
{
	int			fork;			/* index into the forks of the set */
	BlockNumber first;
	BlockNumber end;			/* one past the last block; those that the
								 * fork does not have are left out */
} SstWarmRange;

/* What to warm: ranges, in this order */
typedef struct SstWarmSet
{
	int			nforks;
	SstWarmFork *forks;
	int64		nranges;
	SstWarmRange *ranges;
} SstWarmSet;

/* What ended it */
typedef enum SstWarmEnd
{
	SST_WARM_COMPLETE,
	SST_WARM_MAX_BYTES,
	SST_WARM_MAX_TIME,
	SST_WARM_FULL,				/* no free buffers are left */
	SST_WARM_BLOCKING			/* others wait for the end of the transaction */
} SstWarmEnd;

extern SstWarmEnd sst_warm(SstWarmSet *set, SstPrewarmMode mode, SstLimits *limits,
						   SstFreeBuffers *free_buffers, SstIoStats *io_stats);

/*
 * What to warm: set.c
 */

/* What of a table is warmed */
typedef struct SstWarmParts
{
	bool		indexes;
	bool		toast;
	bool		maps;			/* free space maps and visibility maps */
	bool		only_maps;
} SstWarmParts;

/* Making a set, which is zeros at first; its arrays are in the current memory context */
extern int	sst_warm_set_add_fork(SstWarmSet *set, const SstRelation *relation,
								  ForkNumber forknum, int64 bytes, const char *note);
extern void sst_warm_set_add_range(SstWarmSet *set, int fork, BlockNumber first,
								   BlockNumber end);

/* Of tables and indexes */
extern void sst_warm_set(SstWarmSet *set, const Oid *relids, int n, const char *schema,
						 bool by_use, const SstWarmParts *parts);

/* Where a second call continues */
extern char *sst_resume_text(const SstWarmSet *set);
extern void sst_resume(SstWarmSet *set, const char *text);

/* What can be warmed, and by whom */
extern bool sst_may_warm(Oid tableoid);

/*
 * Caches as texts: saved_cache_parse.c, which describes them, and saved_cache.c
 */

#define SST_SAVED_CACHE_NAME "streamstat cache"
#define SST_SAVED_CACHE_VERSION 1

/* Letters for relations, besides those of relkind; TOAST tables go by the name of the table */
#define SST_SAVED_TOAST_INDEX 'x'	/* by the name of the table */
#define SST_SAVED_FILES 'f'		/* by numbers */

/* Forks that are saved: main, fsm, vm */
#define SST_SAVED_FORKS (VISIBILITYMAP_FORKNUM + 1)

typedef struct SstSavedRelation
{
	char		kind;
	const char *schema;			/* NULL if it goes by numbers */
	const char *name;
	Oid			tablespace;		/* see SstFiles */
	Oid			number;
} SstSavedRelation;

typedef struct SstSavedCache
{
	uint64		system;			/* identifier; 0 if relations go by name */
	Oid			database;		/* if they do not; InvalidOid for shared ones */
	int			nrelations;
	SstSavedRelation *relations;
	int64		nranges;
	SstWarmRange *ranges;		/* the hottest first; for their forks, index
								 * of the relation * SST_SAVED_FORKS + number */
	uint64		nblocks;		/* of the text, in all ranges */
} SstSavedCache;

/* Why a text cannot be loaded */
typedef struct SstSavedCacheError
{
	int			code;			/* SQLSTATE */
	int64		line;			/* 0 if it is not about one */
	const char *what;			/* not translated yet */
} SstSavedCacheError;

extern bool sst_check_saved_cache(const char *bytes, Size length,
								  SstSavedCacheError *error);
extern bool sst_parse_saved_cache(const char *bytes, Size length, int min_usage,
								  SstSavedCache *saved,
								  SstSavedCacheError *error);

extern void sst_save_cache(int64 max_bytes, StringInfo out);
extern uint64 sst_save_cached_files(const SstBufferedBlock *first,
									const SstBufferedBlock *end, StringInfo out);
extern void sst_read_saved_cache(const char *text, int length, int min_usage,
								 SstSavedCache *saved);
extern void sst_saved_cache_set(SstSavedCache *saved, SstWarmSet *set);
extern void sst_note_cut_ranges(SstWarmSet *set);

#endif							/* SST_WARM_H */
