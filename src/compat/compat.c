/*-------------------------------------------------------------------------
 *
 * compat.c
 *	  Wrappers that behave alike on every server
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_tablespace.h"
#include "commands/vacuum.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/autovacuum.h"
#if PG_VERSION_NUM >= 170000
#include "storage/procnumber.h"
#else
#include "storage/backendid.h"
#endif
#include "storage/buf_internals.h"
#include "storage/fd.h"
#include "utils/builtins.h"
#include "utils/relmapper.h"
#include "utils/syscache.h"

#include "compat/compat.h"

#if PG_VERSION_NUM >= 180000
#include "storage/aio.h"
#include "storage/aio_internal.h"
#endif

/*
 * Return the free bytes of a page as pgstattuple of that server does: before 18 the
 * space for a new item, from 18 on all of the space.
 */
Size
sst_page_free_space(const PageData *page)
{
#if PG_VERSION_NUM >= 180000
	return PageGetExactFreeSpace(page);
#else
	return PageGetFreeSpace((Page) page);
#endif
}

/*
 * The same for a page of a table: before 18 it is 0 if no line pointer can be
 * added.
 */
Size
sst_page_heap_free_space(const PageData *page)
{
#if PG_VERSION_NUM >= 180000
	return PageGetExactFreeSpace(page);
#else
	return PageGetHeapFreeSpace((Page) page);
#endif
}

/* Does our transaction hold a lock of that mode or a stronger one? */
bool
sst_lock_held(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, true);
#else
	for (; mode <= MaxLockMode; mode++)
		if (LockHeldByMe(tag, mode))
			return true;
	return false;
#endif
}

/*
 * Would the buffer manager accept this page image?  It checks the header, and the
 * checksum if the cluster has checksums and ignore_checksum_failure is off.  A page
 * of zeros is valid.  The image must be in private memory: its checksum field is
 * overwritten during the check and restored.  Nothing is logged or counted.
 */
bool
sst_page_verified(const PageData *page, BlockNumber blkno)
{
#if PG_VERSION_NUM >= 180000
	bool		checksum_failure;

	return PageIsVerified((Page) page, blkno, ignore_checksum_failure ?
						  PIV_IGNORE_CHECKSUM_FAILURE : 0, &checksum_failure);
#else
	return PageIsVerifiedExtended((Page) page, blkno, 0);
#endif
}

#if PG_VERSION_NUM >= 190000
/*
 * Decrement a pinned buffer's usage count if it is above limit, by one atomic
 * compare-and-exchange.  If the header is locked or changes meanwhile, do nothing.
 */
static void
lower_usage_count(BufferDesc *desc, uint32 limit)
{
	uint64		state = pg_atomic_read_u64(&desc->state);

	if ((state & BM_LOCKED) == 0 && BUF_STATE_GET_USAGECOUNT(state) > limit)
		(void) pg_atomic_compare_exchange_u64(&desc->state, &state,
											  state - BUF_USAGECOUNT_ONE);
}
#endif

/*
 * Pin the buffer if it holds the block, which counts as a hit, as in ReadBuffer().
 * False if it does not.
 *
 * The usage count does not change, so that a scan does not make all pages of a
 * relation look used.  ReadRecentBuffer() raises it from 19 on, and that is undone
 * here, except from 0 to 1, as for a pin with a buffer ring.
 */
bool
sst_read_recent_buffer(Relation rel, ForkNumber forknum, BlockNumber blkno,
					   Buffer buffer)
{
#if PG_VERSION_NUM >= 190000
	BufferDesc *desc = BufferIsLocal(buffer) ? NULL :
		GetBufferDescriptor(buffer - 1);
	uint32		usage = desc == NULL ? 0 :
		BUF_STATE_GET_USAGECOUNT(pg_atomic_read_u64(&desc->state));
#endif

	if (!ReadRecentBuffer(rel->rd_locator, forknum, blkno, buffer))
		return false;

#if PG_VERSION_NUM >= 190000
	if (desc != NULL)
		lower_usage_count(desc, Max(usage, 1));
#endif
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);

	return true;
}

/* Are relation files read without the kernel's page cache? */
bool
sst_direct_io(void)
{
#if PG_VERSION_NUM >= 160000
	return (io_direct_flags & IO_DIRECT_DATA) != 0;
#else
	return false;
#endif
}

/*
 * May VACUUM give back empty pages at the end of the table, by its option and, from 18 on, by
 * the setting that holds without one?
 */
bool
sst_vacuum_truncates(Relation rel)
{
	const StdRdOptions *options = (const StdRdOptions *) rel->rd_options;

#if PG_VERSION_NUM >= 190000
	return options != NULL && options->vacuum_truncate != PG_TERNARY_UNSET ?
		options->vacuum_truncate == PG_TERNARY_TRUE : vacuum_truncate;
#elif PG_VERSION_NUM >= 180000
	return options != NULL && options->vacuum_truncate_set ?
		options->vacuum_truncate : vacuum_truncate;
#else
	return options == NULL || options->vacuum_truncate;
#endif
}

/* ----------
 * Paths of relation files, collations, and features of commands
 * ----------
 */

#if PG_VERSION_NUM < 170000
#define INVALID_PROC_NUMBER InvalidBackendId
#define ProcNumberForTempRelations BackendIdForTempRelations
#define GetTempNamespaceProcNumber GetTempNamespaceBackendId
#endif

/* The number that file names of a temporary relation have for its session */
static int
file_owner(const FormData_pg_class *relation)
{
	if (relation->relpersistence != RELPERSISTENCE_TEMP)
		return INVALID_PROC_NUMBER;
	if (isTempOrTempToastNamespace(relation->relnamespace))
		return ProcNumberForTempRelations();
	return GetTempNamespaceProcNumber(relation->relnamespace);
}

/*
 * Find where a relation's files are, from its row in pg_class.  The relation is
 * neither opened nor locked.  False if it has no file.
 */
bool
sst_catalog_files(const FormData_pg_class *relation, SstFiles *files)
{
	Oid			filenode = relation->relfilenode;

	if (!OidIsValid(filenode))
		filenode = RelationMapOidToFilenumber(relation->oid, relation->relisshared);
	files->tablespace = OidIsValid(relation->reltablespace) ?
		relation->reltablespace : MyDatabaseTableSpace;
	files->database = files->tablespace == GLOBALTABLESPACE_OID ?
		InvalidOid : MyDatabaseId;
	files->number = filenode;
	files->owner = file_owner(relation);

	return OidIsValid(filenode);
}

/* The path of the first segment file of a fork */
void
sst_files_path(const SstFiles *files, ForkNumber forknum, char *path,
			   size_t size)
{
#if PG_VERSION_NUM >= 180000
	RelPathStr	first = GetRelationPath(files->database, files->tablespace,
										files->number, files->owner, forknum);

	strlcpy(path, first.str, size);
#else
	char	   *first = GetRelationPath(files->database, files->tablespace,
										files->number, files->owner, forknum);

	strlcpy(path, first, size);
	pfree(first);
#endif
}

/* Does the database's collation compare strings by their bytes? */
static bool
database_collates_bytes(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	char		provider;
	bool		isnull;			/* it never is */
	char	   *locale;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
	provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
	locale = TextDatumGetCString(SysCacheGetAttr(DATABASEOID, tuple,
												 Anum_pg_database_datcollate, &isnull));
	ReleaseSysCache(tuple);

	/* "b" is the provider that is built in (17 and later). */
	return provider == 'b' ||
		(provider == COLLPROVIDER_LIBC &&
		 (strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0));
}

/*
 * Does a collation compare strings by their bytes?  Only what is known without loading it
 * counts: that may warn of its version.
 */
bool
sst_collates_bytes(Oid collation)
{
	return collation == DEFAULT_COLLATION_OID ? database_collates_bytes() :
		collation == C_COLLATION_OID;
}

/* The dead rows for which autovacuum waits, of which a setting limits the number (18) */
double
sst_limited_vacuum_threshold(const StdRdOptions *options, double threshold)
{
#if PG_VERSION_NUM >= 180000
	int			limit = options != NULL && options->autovacuum.vacuum_max_threshold >= -1 ?
		options->autovacuum.vacuum_max_threshold : autovacuum_vac_max_thresh;

	if (limit >= 0 && threshold > limit)
		return limit;
#endif
	return threshold;
}

/* ----------
 * The server's I/O counters, and what streamstat adds to them
 * ----------
 */

/*
 * Where this process sums up the time it waits for reads into shared buffers, or
 * into local ones, while track_io_timing is on
 */
instr_time *
sst_read_time(bool temp)
{
#if PG_VERSION_NUM >= 170000
	return temp ? &pgBufferUsage.local_blk_read_time :
		&pgBufferUsage.shared_blk_read_time;
#else
	return &pgBufferUsage.blk_read_time;
#endif
}

int64
sst_nanoseconds(instr_time duration)
{
#if PG_VERSION_NUM >= 160000
	return INSTR_TIME_GET_NANOSEC(duration);
#else
	return duration.tv_sec * INT64CONST(1000000000) + duration.tv_nsec;
#endif
}

/* Does the server wait for each of its reads as soon as it is started? */
bool
sst_server_waits_for_each_read(void)
{
#if PG_VERSION_NUM >= 180000
	return io_method == IOMETHOD_SYNC;
#else
	return true;
#endif
}

/* Do other processes of the server read blocks for this one? */
bool
sst_server_has_io_workers(void)
{
#if PG_VERSION_NUM >= 180000
	return io_method == IOMETHOD_WORKER;
#else
	return false;
#endif
}

/*
 * Reads that the server has started for this process, and that it has not taken note of
 * as done; -1 where it does not tell
 */
int
sst_server_reads_in_flight(void)
{
#if PG_VERSION_NUM >= 180000
	return pgaio_my_backend == NULL ? -1 :
		(int) dclist_count(&pgaio_my_backend->in_flight_ios);
#else
	return -1;
#endif
}

#if PG_VERSION_NUM >= 160000
/* Has this process a place in pg_stat_io for what it reads past the buffers? */
static bool
has_place(void)
{
	return pgstat_tracks_io_op(MyBackendType, IOOBJECT_RELATION,
							   IOCONTEXT_BULKREAD, IOOP_READ);
}
#endif

/*
 * Count a read of a relation's file into private memory in pg_stat_io, if the server
 * has that: as a bulk read.  Before 18 the view counts blocks.
 */
void
sst_count_private_read(int nblocks)
{
#if PG_VERSION_NUM >= 180000
	if (has_place())
		pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ, 1,
						   (uint64) nblocks * BLCKSZ);
#elif PG_VERSION_NUM >= 160000
	if (has_place())
		pgstat_count_io_op_n(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ, nblocks);
#endif
}

/*
 * Count the time since start as spent on such reads, where track_io_timing wants that:
 * in pgBufferUsage, pg_stat_database and pg_stat_io.
 */
void
sst_count_private_wait(instr_time start)
{
	if (!track_io_timing)
		return;

#if PG_VERSION_NUM >= 180000
	if (has_place())
		pgstat_count_io_op_time(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ,
								start, 0, 0);
#elif PG_VERSION_NUM >= 160000
	if (has_place())
		pgstat_count_io_op_time(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ,
								start, 0);
#else
	{
		instr_time	elapsed;

		INSTR_TIME_SET_CURRENT(elapsed);
		INSTR_TIME_SUBTRACT(elapsed, start);
		INSTR_TIME_ADD(pgBufferUsage.blk_read_time, elapsed);
		pgstat_count_buffer_read_time(INSTR_TIME_GET_MICROSEC(elapsed));
	}
#endif
}

/* ----------
 * WAL positions that tell whether pages have been changed
 *
 * If sst_wal_begun() returns what sst_wal_done() returned before, then every
 * change up to now was made in a buffer that already had the page at the first
 * call, or it was complete by then.
 *
 * Usually both are the insert position, which a change advances after its page
 * was read into a buffer.  Replay advances its position before it reads the
 * page.  There the record being replayed has begun, and the one before it is
 * done.
 * ----------
 */

/* The end of the WAL whose changes are complete */
XLogRecPtr
sst_wal_done(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
}

/* The end of the WAL whose changes have begun */
XLogRecPtr
sst_wal_begun(void)
{
	return RecoveryInProgress() ? GetCurrentReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
}
