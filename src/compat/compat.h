/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Differences between server versions, as features and wrappers
 *
 * Only this directory tests the server's version.  Other code tests a feature
 * (SST_HAVE_...) or calls a wrapper, which behaves alike on every server.
 *
 * Names of external symbols start with sst_.  On version 15, modules are built
 * without -fvisibility=hidden and loaded RTLD_GLOBAL, so that two modules that
 * define the same name would share the first definition.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_COMPAT_H
#define SST_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "streamstat requires PostgreSQL 15 or later"
#endif

#include "access/xlogdefs.h"
#include "catalog/pg_class.h"
#include "common/relpath.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lock.h"
#include "storage/smgr.h"
#include "utils/backend_status.h"
#include "utils/rel.h"

/* What was part of postgres.h has a header of its own (16). */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "compat/platform.h"

/* The server has read streams, and a setting io_combine_limit for them (17). */
#if PG_VERSION_NUM >= 170000
#define SST_HAVE_IO_COMBINE_LIMIT 1
#endif

/* The server's read stream is used, not the bundled one. */
#if defined(SST_HAVE_IO_COMBINE_LIMIT) && !defined(SST_BUNDLED_READ_STREAM)
#define SST_HAVE_READ_STREAM 1
#endif

/* GIN indexes are built by parallel workers (18). */
#if PG_VERSION_NUM >= 180000
#define SST_HAVE_PARALLEL_GIN_BUILD 1
#endif

/*
 * A rewrite copies a tuple as it is, if it has all columns and no value of a dropped
 * one; before 19 it forms each tuple again.
 */
#if PG_VERSION_NUM >= 190000
#define SST_REWRITE_COPIES_TUPLES 1
#else
#define SST_REWRITE_COPIES_TUPLES 0
#endif

/* contrib's pg_prewarm first checks that the relation has storage (17). */
#if PG_VERSION_NUM >= 170000
#define SST_PREWARM_CHECKS_STORAGE 1
#endif

/* pgstattuple_approx truncates scanned_percent to an integer (15). */
#if PG_VERSION_NUM < 160000
#define SST_APPROX_SCANS_WHOLE_PERCENTS 1
#endif

/* pgstattuple_approx counts new pages as free space (before 18). */
#if PG_VERSION_NUM < 180000
#define SST_APPROX_HAS_NEW_PAGES_FREE 1
#endif

/* The server has REPACK (19). */
#if PG_VERSION_NUM >= 190000
#define SST_HAVE_REPACK 1
#endif

/* Bulk inserts extend a table by ever more blocks at a time (16). */
#if PG_VERSION_NUM >= 160000
#define SST_HAVE_BULK_EXTENSION 1
#endif

/* What the allocator has in front of a piece of memory (utils/mmgr/aset.c) */
#if PG_VERSION_NUM >= 160000
#define SST_CHUNK_HEADER_BYTES 8
#else
#define SST_CHUNK_HEADER_BYTES 16
#endif

/* The newest server's PageData is char before 18. */
#if PG_VERSION_NUM < 180000
typedef char PageData;
#endif

/* Names of the newest server, for what older ones call otherwise (before 17, 16) */
#if PG_VERSION_NUM < 170000
#define TransamVariables ShmemVariableCache
#endif
#if PG_VERSION_NUM < 160000
#define PGIOAlignedBlock PGAlignedBlock
#define RelFileLocator RelFileNode
#define rd_locator rd_node
#define RelationMapOidToFilenumber RelationMapOidToFilenode
#define pgstat_get_local_beentry_by_index pgstat_fetch_stat_local_beentry
#endif

/* Where the files of a relation are; as numbers, whatever the server calls them */
typedef struct SstFiles
{
	Oid			tablespace;
	Oid			database;		/* InvalidOid for a shared relation */
	Oid			number;
	int			owner;			/* of a temporary relation, its session */
} SstFiles;

/* Internals of the server that streamstat reads in shared memory */
typedef enum SstInternals
{
	SST_BUFFER_HEADERS,			/* tags and states of shared buffers */
	SST_PROCESSES,				/* who waits for which lock */
	SST_TRANSACTIONS,			/* the oldest one in the commit log */
	SST_NINTERNALS
} SstInternals;

extern void sst_check_block_sizes(void);
extern bool sst_server_has(SstInternals internals);
extern void sst_require_internals(SstInternals internals);

extern bool sst_lock_held(const LOCKTAG *tag, LOCKMODE mode);
extern Size sst_page_free_space(const PageData *page);
extern Size sst_page_heap_free_space(const PageData *page);
extern bool sst_page_verified(const PageData *page, BlockNumber blkno);
extern bool sst_read_recent_buffer(Relation rel, ForkNumber forknum,
								   BlockNumber blkno, Buffer buffer);
extern bool sst_direct_io(void);

/* The time in seconds, for differences of two in this process */
static inline double
sst_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* Seconds from then to now */
static inline double
sst_seconds_since(instr_time start)
{
	return sst_now() - INSTR_TIME_GET_DOUBLE(start);
}

extern bool sst_vacuum_truncates(Relation rel);

extern bool sst_catalog_files(const FormData_pg_class *relation,
							  SstFiles *files);
extern void sst_files_path(const SstFiles *files, ForkNumber forknum,
						   char *path, size_t size);
extern bool sst_collates_bytes(Oid collation);
extern double sst_limited_vacuum_threshold(const StdRdOptions *options, double threshold);

/* The server's I/O counters, and what streamstat adds to them */
extern instr_time *sst_read_time(bool temp);
extern int64 sst_nanoseconds(instr_time duration);
extern bool sst_server_waits_for_each_read(void);
extern bool sst_server_has_io_workers(void);
extern int	sst_server_reads_in_flight(void);
extern void sst_count_private_read(int nblocks);
extern void sst_count_private_wait(instr_time start);

extern XLogRecPtr sst_wal_done(void);
extern XLogRecPtr sst_wal_begun(void);

#endif							/* SST_COMPAT_H */
