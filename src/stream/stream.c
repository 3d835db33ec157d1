/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  The choice of an I/O path, and code that the streams share
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "utils/spccache.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/* Reads in flight, unless a setting asks for more */
#define DEFAULT_DEPTH 32

/* PG_IO_ALIGN_SIZE of 16 and later */
#define IO_ALIGN_SIZE 4096

/*
 * Choose the I/O path for a relation.  All blocks go through buffers, regardless of the
 * setting, where files cannot be read directly.  Pages of temporary relations are in local
 * buffers.  Without WAL and checksums, nothing shows that a page was written while it was
 * read.  A storage manager other than md.c may have encrypted the files, or have none.
 * With direct I/O nothing is in the page cache.  And shared buffers must be looked at.
 */
SstIoPath
sst_choose_io_path(Relation rel)
{
	SstFiles	files;

	sst_relation_files(rel, &files);
	if (RelationUsesLocalBuffers(rel) ||
		!(RelationIsPermanent(rel) || DataChecksumsEnabled()) ||
		!sst_files_are_plain(&files) || sst_direct_io() ||
		!sst_server_has(SST_BUFFER_HEADERS))
		return SST_IO_PATH_BUFFER;

	return sst_io_path != SST_IO_PATH_AUTO ? sst_io_path : SST_IO_PATH_FILE;
}

/*
 * The I/O path of a call about many relations, as far as that can be said before: that
 * of pg_class.
 */
SstIoPath
sst_usual_io_path(void)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SstIoPath	path = sst_choose_io_path(catalog);

	table_close(catalog, AccessShareLock);

	return path;
}

/* The number of neighbouring blocks to read together from the page cache */
int
sst_run_blocks(void)
{
	return sst_io_combine_limit > 0 ?
		Min(sst_io_combine_limit, SST_MAX_RUN_BLOCKS) : SST_MAX_RUN_BLOCKS;
}

/* The number of neighbouring blocks to read or to advise together from storage */
int
sst_cold_run_blocks(void)
{
	return sst_io_combine_limit > 0 ?
		Min(sst_io_combine_limit, SST_MAX_COLD_RUN_BLOCKS) : SST_MAX_COLD_RUN_BLOCKS;
}

/*
 * The number of such runs to keep in flight for relations of a tablespace, at least 1;
 * InvalidOid is the database's own.
 *
 * The server's default suits reads of single blocks from a local disk.  More are
 * kept in flight, unless the setting turns asynchronous I/O off.  The limit is
 * the memory they take.
 */
int
sst_io_depth(Oid tablespace)
{
	int			depth = sst_io_concurrency;

	if (depth == 0)
	{
		depth = get_tablespace_maintenance_io_concurrency(tablespace);
		depth = depth == 0 ? 1 : Max(depth, DEFAULT_DEPTH);
	}

	return Min(depth, SST_MAX_BYTES_AHEAD / BLCKSZ / sst_run_blocks());
}

/*
 * Allocate memory for nblocks blocks in the current context, aligned for direct
 * I/O.  The pointer that palloc() returned is stored in front of the blocks, for
 * sst_pfree_blocks().
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

/* ----------
 * Reading one block, without the buffer manager's error for a bad page if so wanted
 * ----------
 */

/* Reads of a bad page before it is reported as such */
#define MAX_TRIES 3

/*
 * Pin the block's buffer if it holds a valid page, else return InvalidBuffer.
 * After a failed read the mapping table has an entry for a buffer that is not
 * valid; sst_read_recent_buffer() checks that.
 */
static Buffer
pin_if_valid(const SstBlockReader *reader, BlockNumber blkno)
{
	Buffer		buf = PrefetchBuffer(reader->rel, reader->forknum,
									 blkno).recent_buffer;

	if (BufferIsValid(buf) &&
		sst_read_recent_buffer(reader->rel, reader->forknum, blkno, buf))
		return buf;

	return InvalidBuffer;
}

/*
 * Would the buffer manager accept the page?  With zero_damaged_pages it accepts
 * any.  Otherwise the block is read into image and checked, and *cached says whether it
 * seems to have been in the page cache.
 */
static bool
would_be_accepted(const SstBlockReader *reader, BlockNumber blkno, char *image,
				  bool *cached)
{
	SstIoStats *io_stats = reader->io_stats;
	instr_time	start;

	if (zero_damaged_pages)
		return true;

	INSTR_TIME_SET_CURRENT(start);
	smgrread(RelationGetSmgr(reader->rel), reader->forknum, blkno, image);
	sst_io_stats_private_read(io_stats, 1, 1);
	*cached = sst_read_was_cached(1, sst_io_stats_waited_privately(io_stats, start));

	return sst_page_verified(image, blkno);
}

/*
 * Read a page through the buffer manager.  One that it refuses is its ERROR by contrib's
 * rules.  Else the page has neither image nor buffer, and is copied to "refused" unless
 * that is NULL.  An I/O error is an ERROR.
 *
 * A page that is in no buffer is first read into private memory and checked, and
 * then read through the buffer manager.  Another backend may write the page
 * during the first read, so that the check fails.  Such a page is then in that
 * backend's buffer, or was, and the next try finds it.
 */
void
sst_read_block(const SstBlockReader *reader, BlockNumber blkno, SstPage *page,
			   char *refused)
{
	PGIOAlignedBlock image;
	bool		cached = false;

	page->blkno = blkno;
	page->buffer = pin_if_valid(reader, blkno);

	if (BufferIsValid(page->buffer))
		reader->io_stats->blocks_hit++;
	else
		reader->io_stats->blocks_read++;

	for (int i = 0; i < MAX_TRIES && !BufferIsValid(page->buffer); i++)
	{
		bool		accepted = would_be_accepted(reader, blkno, image.data,
												 &cached);

		if (i == 0)
			sst_add_count(&reader->io_stats->blocks_page_cache, cached);
		if (accepted || (i == MAX_TRIES - 1 && reader->rules == SST_RULES_CONTRIB))
			page->buffer = ReadBufferExtended(reader->rel, reader->forknum,
											  blkno, RBM_NORMAL,
											  reader->strategy);
		else
			page->buffer = pin_if_valid(reader, blkno);
	}

	page->image = BufferIsValid(page->buffer) ? BufferGetPage(page->buffer) : NULL;
	if (page->image == NULL && refused != NULL)
		memcpy(refused, image.data, BLCKSZ);
}

/*
 * Copy a page from its buffer, or else from its file, which may have an older version of
 * it.  False if neither has one that the buffer manager would accept, or if the file is
 * not one that md.c reads.
 */
bool
sst_copy_block_noerror(Relation rel, BlockNumber blkno, char *image)
{
	SstBlockReader reader = {rel, MAIN_FORKNUM};
	Buffer		buf = pin_if_valid(&reader, blkno);
	SstSegmentFile file;
	bool		good;

	if (BufferIsValid(buf))
	{
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		memcpy(image, BufferGetPage(buf), BLCKSZ);
		UnlockReleaseBuffer(buf);
		return true;
	}

	sst_segment_file_init(&file, rel, MAIN_FORKNUM);
	good = sst_segment_file_read(&file, blkno, 1, image) == 1 &&
		sst_page_verified(image, blkno);
	sst_segment_file_close(&file);
	return good;
}
