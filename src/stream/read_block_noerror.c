/*-------------------------------------------------------------------------
 *
 * read_block_noerror.c
 *	  Read one block without the buffer manager's error for a bad page
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/read_block_noerror.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stream/stream.h"

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
 * any.  Otherwise the block is read into private memory and checked, and *cached says
 * whether it seems to have been in the page cache.
 */
static bool
would_be_accepted(SstBlockReader *reader, BlockNumber blkno, bool *cached)
{
	SstIoStats *io_stats = reader->io_stats;
	instr_time	start;

	if (zero_damaged_pages)
		return true;

	if (reader->image == NULL)
		reader->image = sst_palloc_blocks(1);
	INSTR_TIME_SET_CURRENT(start);
	smgrread(RelationGetSmgr(reader->rel), reader->forknum, blkno,
			 reader->image);
	sst_io_stats_private_read(io_stats, 1, 1);
	*cached = sst_read_was_cached(1, sst_io_stats_waited_privately(io_stats, start));

	return sst_page_verified(reader->image, blkno);
}

/*
 * Read a page through the buffer manager.  If that would refuse the page, it has
 * neither image nor buffer.  An I/O error is an ERROR.
 *
 * A page that is in no buffer is first read into private memory and checked, and
 * then read through the buffer manager.  Another backend may write the page
 * during the first read, so that the check fails.  Such a page is then in that
 * backend's buffer, or was, and the next try finds it.
 */
void
sst_read_block_noerror(SstBlockReader *reader, BlockNumber blkno, SstPage *page)
{
	bool		cached = false;

	page->blkno = blkno;
	page->buffer = pin_if_valid(reader, blkno);

	if (BufferIsValid(page->buffer))
		reader->io_stats->blocks_hit++;
	else
		reader->io_stats->blocks_read++;

	for (int i = 0; i < MAX_TRIES && !BufferIsValid(page->buffer); i++)
	{
		bool		accepted = would_be_accepted(reader, blkno, &cached);

		if (i == 0)
			sst_io_stats_page_cache(reader->io_stats, cached);
		if (accepted)
			page->buffer = ReadBufferExtended(reader->rel, reader->forknum,
											  blkno, RBM_NORMAL,
											  reader->strategy);
		else
			page->buffer = pin_if_valid(reader, blkno);
	}

	page->image = BufferIsValid(page->buffer) ? BufferGetPage(page->buffer) : NULL;
}

/* Free the memory of the reader, which can be used again. */
void
sst_block_reader_end(SstBlockReader *reader)
{
	if (reader->image != NULL)
		sst_pfree_blocks(reader->image);
	reader->image = NULL;
}
