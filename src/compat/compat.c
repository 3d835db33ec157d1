/*-------------------------------------------------------------------------
 *
 * compat.c
 *	  Wrappers that mean the same on every server
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/compat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/transam.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

#include "compat/compat.h"

#ifdef SST_HAVE_BACKEND_IO_STATS
#include "utils/pgstat_internal.h"
#endif

/* PG_IO_ALIGN_SIZE of 16 and later */
#define IO_ALIGN_SIZE 4096

/*
 * Free bytes of a page in the sense of the server's pgstattuple: the space
 * that a new item could take before 18, all of the hole from 18 on.
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
 * The same of a page of a table: before 18, nothing where no line pointer can be
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

/*
 * The oldest transaction that the commit log has.  XactTruncationLock must be
 * held, and keeps it so.
 */
TransactionId
sst_oldest_clog_xid(void)
{
#if PG_VERSION_NUM >= 170000
	return TransamVariables->oldestClogXid;
#else
	return ShmemVariableCache->oldestClogXid;
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
 * Would the buffer manager take this page image for valid?  It checks the
 * header, and the checksum where the cluster has checksums and their failures
 * are not to be ignored; a page of zeros is valid.  The image must be private
 * memory: its checksum field is written during the check.  Nothing is logged
 * and nothing is counted.
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

/*
 * The shared buffer that the block is in, or InvalidBuffer.  The guess, if it
 * is not InvalidBuffer, is looked at first, which spares the mapping table.
 *
 * The answer may be out of date when it arrives, and the buffer's contents may
 * not be valid (yet): sst_read_recent_buffer() tells.  But InvalidBuffer means
 * that the block was in no buffer at some moment during the call.  Takes and
 * releases a lock on one partition of the buffer mapping table, shared; no
 * pin.  Not for temporary relations.
 */
Buffer
sst_find_buffer(Relation rel, ForkNumber forknum, BlockNumber blkno,
				Buffer guess)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			buf_id;

#if PG_VERSION_NUM >= 160000
	InitBufferTag(&tag, &rel->rd_locator, forknum, blkno);
#else
	INIT_BUFFERTAG(tag, rel->rd_node, forknum, blkno);
#endif

	if (BufferIsValid(guess))
	{
		BufferDesc *desc = GetBufferDescriptor(guess - 1);

#if PG_VERSION_NUM >= 160000
		if (BufferTagsEqual(&desc->tag, &tag))
#else
		if (BUFFERTAGS_EQUAL(desc->tag, tag))
#endif
			return guess;
	}

	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);

	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);

	return buf_id + 1;
}

/*
 * Set the bits, among marks for nblocks blocks from first on, of the blocks that
 * are in shared buffers: by a look at all buffers, without a lock.
 *
 * A block that is in one buffer all the while is found.  One that comes, goes or
 * moves meanwhile may be found or not.
 */
void
sst_mark_buffered(Relation rel, ForkNumber forknum, BlockNumber first,
				  BlockNumber nblocks, uint64 *marks)
{
	BufferTag	wanted;

#if PG_VERSION_NUM >= 160000
	InitBufferTag(&wanted, &rel->rd_locator, forknum, 0);
#else
	INIT_BUFFERTAG(wanted, rel->rd_node, forknum, 0);
#endif

	pg_memory_barrier();
	for (int i = 0; i < NBuffers; i++)
	{
		BufferTag	tag = GetBufferDescriptor(i)->tag;
		BlockNumber n = tag.blockNum - first;

		tag.blockNum = 0;
#if PG_VERSION_NUM >= 160000
		if (n < nblocks && BufferTagsEqual(&tag, &wanted))
#else
		if (n < nblocks && BUFFERTAGS_EQUAL(tag, wanted))
#endif
			marks[n / 64] |= UINT64CONST(1) << (n % 64);
	}
}

/*
 * Positions in the WAL, by which one can see that no page has been changed: if
 * sst_wal_begun() returns what sst_wal_done() has returned before, then every
 * change up to now was made in a buffer that had the page at that time, or
 * was over by then.
 *
 * Usually both are the insert position, which a change moves on after the page
 * has come into its buffer.  Replay moves its position on before that: there
 * the record that is being replayed is begun, and the one before it done.
 */
XLogRecPtr
sst_wal_done(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
}

XLogRecPtr
sst_wal_begun(void)
{
	return RecoveryInProgress() ? GetCurrentReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
}

#if PG_VERSION_NUM >= 190000
/*
 * Take one from a pinned buffer's usage count, if it is above limit, by the
 * kind of atomic update that buf_internals.h provides for while the header is
 * not locked.  Should the header change meanwhile, leave it as it is.
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
 * Pin the buffer if it holds the block.  Counted as a hit, as ReadBuffer()
 * counts it.
 *
 * The usage count stays as it is: a scan must not make all pages of a relation
 * look as if they were in demand.  ReadRecentBuffer() sees to this before 19;
 * there it raises the count, and we take that back, except from 0 to 1, as a
 * pin with a buffer ring has it.
 */
bool
sst_read_recent_buffer(Relation rel, ForkNumber forknum, BlockNumber blkno,
					   Buffer buffer)
{
	bool		found;
#if PG_VERSION_NUM >= 190000
	BufferDesc *desc = BufferIsLocal(buffer) ? NULL :
		GetBufferDescriptor(buffer - 1);
	uint32		usage = desc == NULL ? 0 :
		BUF_STATE_GET_USAGECOUNT(pg_atomic_read_u64(&desc->state));
#endif

#if PG_VERSION_NUM >= 160000
	found = ReadRecentBuffer(rel->rd_locator, forknum, blkno, buffer);
#else
	found = ReadRecentBuffer(rel->rd_node, forknum, blkno, buffer);
#endif
	if (!found)
		return false;

#if PG_VERSION_NUM >= 190000
	if (desc != NULL)
		lower_usage_count(desc, Max(usage, 1));
#endif
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);

	return true;
}

/*
 * Open a segment file of a relation for reading, or return -1.
 *
 * The descriptor is for CloseTransientFile(); the end of the (sub)transaction
 * closes it as well.
 */
static int
open_segment(Relation rel, ForkNumber forknum, uint32 segno)
{
	SMgrRelation smgr = RelationGetSmgr(rel);
	char		path[MAXPGPATH];
#if PG_VERSION_NUM >= 180000
	RelPathStr	base = relpath(smgr->smgr_rlocator, forknum);
	const char *basepath = base.str;
#else
#if PG_VERSION_NUM >= 160000
	char	   *basepath = relpath(smgr->smgr_rlocator, forknum);
#else
	char	   *basepath = relpath(smgr->smgr_rnode, forknum);
#endif
#endif

	if (segno > 0)
		snprintf(path, sizeof(path), "%s.%u", basepath, segno);
	else
		strlcpy(path, basepath, sizeof(path));
#if PG_VERSION_NUM < 180000
	pfree(basepath);
#endif

	return OpenTransientFile(path, O_RDONLY | PG_BINARY);
}

/*
 * Get ready to use a fork's files.  The relation must stay open and locked as
 * long as they are used, so that they remain the relation's.
 */
void
sst_segment_file_init(SstSegmentFile *file, Relation rel, ForkNumber forknum)
{
	file->rel = rel;
	file->forknum = forknum;
	file->fd = -1;
	file->segno = -1;
}

/*
 * The descriptor of the segment that a block is in, or -1 if it cannot be
 * opened.  It stays open until another segment is, or the close.
 */
int
sst_segment_file_open(SstSegmentFile *file, BlockNumber blkno)
{
	int64		segno = blkno / RELSEG_SIZE;

	if (file->segno != segno)
	{
		sst_segment_file_close(file);
		file->fd = open_segment(file->rel, file->forknum, segno);
		file->segno = segno;
	}

	return file->fd;
}

void
sst_segment_file_close(SstSegmentFile *file)
{
	if (file->fd >= 0)
		CloseTransientFile(file->fd);
	file->fd = -1;
	file->segno = -1;
}

/*
 * Tell the kernel that neighbouring blocks of one segment will be read soon:
 * by one call, where smgrprefetch() of servers before 17 needs one for each
 * block.
 *
 * Advice is only advice: false where the file cannot be opened, so that the
 * reads that follow tell why.
 */
bool
sst_advise(SstSegmentFile *file, BlockNumber blkno, BlockNumber nblocks)
{
#ifdef USE_PREFETCH
	int			fd = sst_segment_file_open(file, blkno);

	if (fd < 0)
		return false;

	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_PREFETCH);
	(void) posix_fadvise(fd, (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
						 (off_t) BLCKSZ * nblocks, POSIX_FADV_WILLNEED);
	pgstat_report_wait_end();

	return true;
#else
	return false;
#endif
}

/* Are relation files read past the kernel's page cache? */
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
 * The buffers that one backend may fairly take at a time for this relation:
 * what GetPinLimit() and GetLocalPinLimit() of 18 return.  At least 1.
 */
int
sst_max_pinned_buffers(Relation rel)
{
	if (RelationUsesLocalBuffers(rel))
		return Max(num_temp_buffers / 4, 1);

	return Max(NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS), 1);
}

/*
 * Memory for nblocks blocks, aligned as direct I/O may want it; what palloc()
 * returned is kept in front of it, for sst_pfree_blocks().
 */
void *
sst_palloc_blocks(int nblocks)
{
	char	   *memory = palloc((Size) nblocks * BLCKSZ + IO_ALIGN_SIZE +
								sizeof(void *));
	void	  **blocks = (void **) TYPEALIGN(IO_ALIGN_SIZE,
											 memory + sizeof(void *));

	blocks[-1] = memory;
	return blocks;
}

void
sst_pfree_blocks(void *blocks)
{
	pfree(((void **) blocks)[-1]);
}

/*
 * The status of a backend, by a number from 1 on, or NULL if there is none of that
 * number.  It is from a copy that stays as it is until the transaction ends.
 */
const PgBackendStatus *
sst_backend_status(int index)
{
	LocalPgBackendStatus *local;

	if (index > pgstat_fetch_stat_numbackends())
		return NULL;

#if PG_VERSION_NUM >= 160000
	local = pgstat_get_local_beentry_by_index(index);
#else
	local = pgstat_fetch_stat_local_beentry(index);
#endif

	return local == NULL ? NULL : &local->backendStatus;
}

/*
 * Reads of relation blocks that this backend has started so far under the
 * given strategy, and their bytes.  False where the server does not count
 * them per read.
 */
bool
sst_backend_io_reads(BufferAccessStrategy strategy, bool temp,
					 uint64 *reads, uint64 *bytes)
{
#ifdef SST_HAVE_BACKEND_IO_STATS
	IOObject	object = temp ? IOOBJECT_TEMP_RELATION : IOOBJECT_RELATION;
	IOContext	context = temp ? IOCONTEXT_NORMAL : IOContextForStrategy(strategy);
	PgStat_EntryRef *ref;
	PgStatShared_Backend *shared;

	pgstat_flush_backend(false, PGSTAT_BACKEND_FLUSH_IO);

	ref = pgstat_get_entry_ref(PGSTAT_KIND_BACKEND, InvalidOid, MyProcNumber,
							   false, NULL);
	if (ref == NULL)
		return false;

	shared = (PgStatShared_Backend *) ref->shared_stats;
	(void) pgstat_lock_entry_shared(ref, false);
	*reads = shared->stats.io_stats.counts[object][context][IOOP_READ];
	*bytes = shared->stats.io_stats.bytes[object][context][IOOP_READ];
	pgstat_unlock_entry(ref);

	return true;
#else
	return false;
#endif
}

/* The moment some seconds, at most some years, after the start */
instr_time
sst_time_after(instr_time start, double seconds)
{
	int64		ns = (int64) (seconds * 1e9);

#if PG_VERSION_NUM >= 190000
	INSTR_TIME_ADD_NANOSEC(start, ns);
#elif PG_VERSION_NUM >= 160000
	start.ticks += ns;
#else
	start.tv_sec += ns / 1000000000;
	start.tv_nsec += ns % 1000000000;
	if (start.tv_nsec >= 1000000000)
	{
		start.tv_sec++;
		start.tv_nsec -= 1000000000;
	}
#endif

	return start;
}
