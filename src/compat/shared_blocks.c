/*-------------------------------------------------------------------------
 *
 * shared_blocks.c
 *	  Blocks of relation files, and shared buffers for them, by file number
 *
 * A relation is identified by its files, so that it needs no entry in the
 * relation cache.  The caller holds a lock that keeps the files from being
 * replaced or truncated.  Not for temporary relations.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "compat/shared_blocks.h"

/* What the server knows of the files; nothing is opened yet. */
static SMgrRelation
open_files(const SstFiles *files)
{
	return smgropen(sst_file_locator(files), files->owner);
}

/* Where an open relation's files are */
void
sst_relation_files(Relation rel, SstFiles *files)
{
	sst_locator_files(rel->rd_locator, files);
	files->owner = rel->rd_backend;
}

/*
 * Are the relation's blocks in its files, as they are in buffers?  So md.c keeps them.
 * Another storage manager, which forks of the server have, may encrypt them or have
 * them elsewhere.  False where that cannot be known.
 *
 * SMgrRelationData says which storage manager has the relation; 0 is md.c.  Forks that
 * let one register others have that, too (Percona's before the chain, open_pg_tde's),
 * but for Percona's with a chain of storage managers.
 *
 * The files need not exist, and no lock is needed.  An entry of the server's for the
 * relation stays until the transaction ends.
 */
bool
sst_files_are_plain(const SstFiles *files)
{
#ifndef MAX_SMGR_CHAIN
	return open_files(files)->smgr_which == 0;
#else
	return false;
#endif
}

/*
 * Ask the storage manager how many blocks a fork has; InvalidBlockNumber if there is
 * no such fork.  What is opened for that is closed again.
 */
BlockNumber
sst_stored_blocks(const SstFiles *files, ForkNumber forknum)
{
	SMgrRelation smgr = open_files(files);
	BlockNumber nblocks = InvalidBlockNumber;

	if (smgrexists(smgr, forknum))
		nblocks = smgrnblocks(smgr, forknum);
	sst_files_close(files);

	return nblocks;
}

/*
 * Have the storage manager read a block into private memory, aligned for direct I/O.
 * The page is not checked.  A block that cannot be read is an error.
 */
void
sst_read_stored_block(const SstFiles *files, ForkNumber forknum,
					  BlockNumber blkno, char *memory)
{
	smgrread(open_files(files), forknum, blkno, memory);
}

/* Close what the server has opened of the files. */
void
sst_files_close(const SstFiles *files)
{
#if PG_VERSION_NUM >= 170000
	smgrrelease(open_files(files));
#else
	smgrclose(open_files(files));
#endif
}

/*
 * Does a shared buffer hold the block, or is it being read into one?  A read that failed
 * leaves a buffer for which neither is so.  The answer may be out of date when the caller gets it.
 * Takes and releases a share lock on one partition of the mapping table.
 */
bool
sst_is_buffered(const SstFiles *files, ForkNumber forknum, BlockNumber blkno)
{
	BufferTag	tag = sst_files_tag(files, forknum, blkno);
	Buffer		buf = sst_look_up_buffer(&tag);

	return BufferIsValid(buf) && (sst_read_buffer_state(GetBufferDescriptor(buf - 1)) &
								  (BM_VALID | BM_IO_IN_PROGRESS)) != 0;
}

#if PG_VERSION_NUM >= 170000
/*
 * Begin to read up to *nblocks adjacent blocks into shared buffers, which are pinned
 * then.  Sets *nblocks to how many they are.  Buffers beyond those may be pinned
 * already; they are for the call about the next blocks.  True if one must wait.
 */
static bool
start_read(ReadBuffersOperation *operation, const SstFiles *files,
		   char persistence, ForkNumber forknum, BlockNumber first,
		   Buffer *buffers, int *nblocks)
{
	memset(operation, 0, sizeof(ReadBuffersOperation));
	operation->smgr = open_files(files);
#if PG_VERSION_NUM >= 180000
	operation->persistence = persistence;
#else
	operation->smgr_persistence = persistence;
#endif
	operation->forknum = forknum;

	return StartReadBuffers(operation, buffers, first, nblocks, 0);
}

/*
 * Read adjacent blocks, of which a limited number is pinned at a time.  All reads are
 * started before one is waited for, so that the server's I/O workers share them.
 * Returns how many blocks were read.
 */
static int
read_some_blocks(const SstFiles *files, char persistence, ForkNumber forknum,
				 BlockNumber first, int nblocks)
{
	ReadBuffersOperation operations[SST_MAX_READ_BLOCKS];
	Buffer		buffers[SST_MAX_READ_BLOCKS] = {InvalidBuffer};
	uint32		most = Min(nblocks, SST_MAX_READ_BLOCKS);
	int			noperations = 0;
	int			npinned = 0;

	LimitAdditionalPins(&most);
	while (npinned < (int) most)
	{
		int			n = Min((int) most - npinned, io_combine_limit);

		noperations += start_read(&operations[noperations], files, persistence,
								  forknum, first + npinned, &buffers[npinned], &n);
		npinned += n;
	}
	for (int i = 0; i < noperations; i++)
		WaitReadBuffers(&operations[i]);
	for (int i = 0; i < npinned; i++)
		ReleaseBuffer(buffers[i]);

	return npinned;
}
#endif

#ifndef SST_HAVE_READ_STREAM

/* Buffers whose memory is provided together: 256 kB at most that nobody may come to use */
#define BUFFERS_TOGETHER 32

/*
 * A block was read into this buffer.  Have the kernel provide memory for the next buffers if they
 * have none yet, and these seem to be next: those before were taken one after the other, as free
 * buffers are after a start of the server.  Their memory would else come page by page, which
 * takes three times as long as to copy blocks to it.
 */
void
sst_provide_next_buffers(Buffer buffer)
{
#ifdef SST_HAVE_MADV_POPULATE
	static Buffer last = InvalidBuffer;
	static int	nneighbours = 0;
	uintptr_t	page_size;
	uintptr_t	start;
	uintptr_t	end;
	unsigned char resident;

	nneighbours = buffer == last + 1 ? nneighbours + 1 : 0;
	last = buffer;
	if (nneighbours == 0 || nneighbours % BUFFERS_TOGETHER != 0)
		return;

	page_size = sysconf(_SC_PAGESIZE);
	start = TYPEALIGN(page_size, (uintptr_t) BufferGetBlock(buffer) + BLCKSZ);
	end = (uintptr_t) BufferGetBlock(Min(buffer + BUFFERS_TOGETHER, NBuffers)) + BLCKSZ;
	if (start < end && mincore((void *) start, page_size, &resident) == 0 &&
		(resident & 1) == 0)
		(void) madvise((void *) start, end - start, MADV_POPULATE_WRITE);
#endif
}
#endif

/*
 * Read adjacent blocks into shared buffers.  One that is there already counts as
 * used.  Nothing is pinned afterwards.  A block that cannot be read, or whose page
 * the buffer manager refuses, is an error; what is pinned then belongs to the
 * (sub)transaction.
 */
void
sst_read_into_buffers(const SstFiles *files, char persistence,
					  ForkNumber forknum, BlockNumber first, int nblocks)
{
	while (nblocks > 0)
	{
#if PG_VERSION_NUM >= 170000
		int			n = read_some_blocks(files, persistence, forknum, first, nblocks);
#else
		int			n = 1;
		Buffer		buffer = ReadBufferWithoutRelcache(sst_file_locator(files), forknum, first,
													   RBM_NORMAL, NULL,
													   persistence == RELPERSISTENCE_PERMANENT);

		ReleaseBuffer(buffer);
		sst_provide_next_buffers(buffer);
#endif
		first += n;
		nblocks -= n;
	}
}

/*
 * Give the buffer of a block, if it has one, the highest usage count, so that the server
 * evicts others first.  Each pin adds one to it.  Nothing is pinned afterwards.
 */
void
sst_use_often(const SstFiles *files, char persistence, ForkNumber forknum,
			  BlockNumber blkno)
{
	int64		nhits = pgBufferUsage.shared_blks_hit;

	for (int i = 0; i < BM_MAX_USAGE_COUNT && sst_is_buffered(files, forknum, blkno); i++)
		sst_read_into_buffers(files, persistence, forknum, blkno, 1);
	pgBufferUsage.shared_blks_hit = nhits;
}

/* Has the server a list of free buffers, and nothing in it? */
bool
sst_free_list_is_empty(void)
{
#if PG_VERSION_NUM >= 190000
	return false;
#else
	return !have_free_buffer();
#endif
}
