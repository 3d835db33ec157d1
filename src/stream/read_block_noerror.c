/*-------------------------------------------------------------------------
 *
 * read_block_noerror.c
 *	  One block at a time, without the buffer manager's error for a bad page
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

/* Reads of a page that is bad, until it is believed */
#define MAX_TRIES 3

/*
 * Pin the block's buffer if the block is in one and valid, else return
 * InvalidBuffer.  After a failed read the mapping table has an entry for a
 * buffer that is not valid: the buffer's header is asked as well.
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
 * Would the buffer manager take the block?  With zero_damaged_pages it takes
 * anything.  Otherwise the block is read into private memory.
 */
static bool
would_be_taken(SstBlockReader *reader, BlockNumber blkno)
{
	if (zero_damaged_pages)
		return true;

	if (reader->image == NULL)
		reader->image = sst_palloc_blocks(1);
	smgrread(RelationGetSmgr(reader->rel), reader->forknum, blkno,
			 reader->image);
	if (reader->io_stats->reads >= 0)
	{
		reader->io_stats->reads++;
		reader->io_stats->read_bytes += BLCKSZ;
	}

	return sst_page_verified(reader->image, blkno);
}

/*
 * Get one page through the buffer manager, or find that it would be refused:
 * then the page has neither image nor buffer.  An I/O error is an ERROR here
 * as well.
 *
 * A page that is not in a buffer is first read into private memory, and passed
 * on through the buffer manager if it is valid.  A page that is read past the
 * buffer manager may be caught while another backend writes it.  Then that
 * backend has it in a buffer, where we look once more, or has had it there,
 * and the next read finds it whole.
 */
void
sst_read_block_noerror(SstBlockReader *reader, BlockNumber blkno, SstPage *page)
{
	page->blkno = blkno;
	page->buffer = pin_if_valid(reader, blkno);

	if (BufferIsValid(page->buffer))
		reader->io_stats->blocks_hit++;
	else
		reader->io_stats->blocks_read++;

	for (int i = 0; i < MAX_TRIES && !BufferIsValid(page->buffer); i++)
	{
		if (would_be_taken(reader, blkno))
			page->buffer = ReadBufferExtended(reader->rel, reader->forknum,
											  blkno, RBM_NORMAL,
											  reader->strategy);
		else
			page->buffer = pin_if_valid(reader, blkno);
	}

	page->image = BufferIsValid(page->buffer) ? BufferGetPage(page->buffer) : NULL;
}

/* Free what the reader has; it can be used again. */
void
sst_block_reader_end(SstBlockReader *reader)
{
	if (reader->image != NULL)
		sst_pfree_blocks(reader->image);
	reader->image = NULL;
}
