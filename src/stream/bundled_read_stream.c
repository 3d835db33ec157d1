/*-------------------------------------------------------------------------
 *
 * bundled_read_stream.c
 *	  The bundled read stream, for servers that have none
 *
 * It has the interface of the read stream that PostgreSQL 17 introduced.  A
 * callback names the blocks, in any order, and the stream returns them as pinned
 * buffers in that order, while the I/O for later blocks is in flight.  Servers
 * before 17 have no call that reads several blocks into shared buffers.  So the
 * stream advises the kernel of blocks that are needed soon (posix_fadvise), and
 * reads each block by ReadBufferExtended() when it is due.  It pins only the
 * buffer that it returns.
 *
 * Blocks that the callback has named and the caller has not yet received wait
 * in a queue:
 *
 *		 head                                            tail
 *		 [ 7 ][ 8 ][ 9 ]   [ 20 ]   [ 31 ][ 32 ][ 33 ]
 *		  `-- advised --'  cached    `--- run ------'
 *		  read next                  not advised yet
 *
 * A block that enters the queue is looked up in the buffer mapping table.  If it
 * is not there, it begins a run, or extends the last run if it is its neighbour.
 * A run is advised by one call: when its length reaches the combine limit, when
 * the next missing block is no neighbour or is in another segment file, when there
 * are no more blocks, or when the reader reaches its first block.
 *
 * The length of the queue adapts.  It starts at one block: without look-ahead and
 * look-ups, a cached scan costs as much as a plain loop.  It doubles with every
 * block that was read, and shrinks by one with every block found in a buffer.  Its
 * limits are what maintenance_io_concurrency (or effective_io_concurrency) runs can
 * hold, and the number of buffers that one backend may fairly pin, as for the
 * server's own stream.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/spccache.h"

#include "compat/shared_blocks.h"
#include "stream/io_stats.h"
#include "stream/read_stream.h"
#include "stream/segment_file.h"

#ifndef SST_HAVE_READ_STREAM

typedef struct QueuedBlock
{
	BlockNumber blkno;
	bool		starts_advised; /* first block of an advised run */
	bool		in_run;			/* of a run, advised or to be advised */
} QueuedBlock;

struct SstReadStream
{
	/* What to read, and how: fixed when the stream begins */
	Relation	rel;
	ForkNumber	forknum;
	BufferAccessStrategy strategy;
	SstReadStreamBlockNumberCB callback;
	void	   *callback_private_data;
	int			combine_limit;	/* most blocks in a run */
	int			max_advised;	/* most advised runs not reached yet */
	int			max_distance;	/* the size of the queue, too */

	/* The look-ahead in blocks, and whether the callback has reached its end */
	int			distance;
	bool		exhausted;

	/* The queue, a ring for the longest look-ahead */
	QueuedBlock *queue;
	int			head;
	int			nqueued;

	/* The last run, not advised yet; none if run_length is 0 */
	BlockNumber run_start;
	int			run_length;
	int			run_slot;		/* queue slot of its first block */

	int			nadvised;		/* advised runs that the reader has not
								 * reached */

	SstSegmentFile file;
	SstAdviceStats stats;
};

/*
 * Start a stream of the blocks of one fork that the callback will name.
 *
 * The caller keeps the relation open and locked until the end of the stream.
 * Memory comes from the current context.  One advice covers combine_limit blocks
 * at most.  The I/O concurrency is that of this moment.  No pin is held and no
 * file is open when this returns, and nothing has been read.
 */
SstReadStream *
sst_read_stream_begin(int flags, BufferAccessStrategy strategy,
					  Relation rel, ForkNumber forknum,
					  SstReadStreamBlockNumberCB callback,
					  void *callback_private_data, int combine_limit)
{
	SstReadStream *stream = palloc0(sizeof(SstReadStream));
	Oid			tablespace = rel->rd_rel->reltablespace;
	bool		advise;

	stream->rel = rel;
	stream->forknum = forknum;
	stream->strategy = strategy;
	stream->callback = callback;
	stream->callback_private_data = callback_private_data;
	stream->combine_limit = Max(combine_limit, 1);
	sst_segment_file_init(&stream->file, rel, forknum);

	if (flags & READ_STREAM_MAINTENANCE)
		stream->max_advised = get_tablespace_maintenance_io_concurrency(tablespace);
	else
		stream->max_advised = get_tablespace_io_concurrency(tablespace);

#ifdef SST_HAVE_FADVISE
	advise = stream->max_advised > 0 &&
		(flags & READ_STREAM_SEQUENTIAL) == 0 &&
		!sst_direct_io();
#else
	advise = false;
#endif

	/*
	 * Look-ahead without advice gains nothing.  With advice, the queue has
	 * room for all advised runs and the one that the reader is in, but for no
	 * more than one backend may fairly pin, as GetPinLimit() of 18 says.
	 *
	 * No advice is given of what has no entry in the mapping table of shared
	 * buffers, or is not in plain files.
	 */
	stream->max_distance = 1;
	if (advise && stream->file.plain && !RelationUsesLocalBuffers(rel))
		stream->max_distance = Max(Min((stream->max_advised + 1) * stream->combine_limit,
									   NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS)), 1);

	stream->distance = 1;
	if (flags & READ_STREAM_FULL)
		stream->distance = Min(stream->combine_limit, stream->max_distance);

	stream->queue = palloc(sizeof(QueuedBlock) * stream->max_distance);

	return stream;
}

/* Advise the kernel of the last run. */
static void
advise_run(SstReadStream *stream)
{
	sst_advise_run(&stream->file, stream->run_start, stream->run_length,
				   Max(stream->nadvised, 1), &stream->stats);
	stream->run_length = 0;
}

/* Advise the last run before the reader has reached it. */
static void
advise_run_ahead(SstReadStream *stream)
{
	stream->queue[stream->run_slot].starts_advised = true;
	stream->nadvised++;
	advise_run(stream);
}

/*
 * Prepare the I/O for a block that was just queued.
 */
static void
prepare_block(SstReadStream *stream, int slot)
{
	BlockNumber blkno = stream->queue[slot].blkno;

	if (sst_is_buffered(&stream->file.files, stream->forknum, blkno))
		return;

	if (stream->run_length > 0 &&
		(blkno != stream->run_start + stream->run_length ||
		 blkno % RELSEG_SIZE == 0))
		advise_run_ahead(stream);

	if (stream->run_length == 0)
	{
		stream->run_start = blkno;
		stream->run_slot = slot;
	}
	stream->run_length++;
	stream->queue[slot].in_run = true;

	if (stream->run_length >= stream->combine_limit)
		advise_run_ahead(stream);
}

/*
 * Fill the queue up to the present distance.
 */
static void
look_ahead(SstReadStream *stream)
{
	while (!stream->exhausted &&
		   stream->nqueued < stream->distance &&
		   (stream->nqueued == 0 || stream->nadvised < stream->max_advised))
	{
		int			slot = (stream->head + stream->nqueued) % stream->max_distance;
		BlockNumber blkno = stream->callback(stream, stream->callback_private_data,
											 NULL);

		if (blkno == InvalidBlockNumber)
		{
			stream->exhausted = true;
			break;
		}

		stream->queue[slot].blkno = blkno;
		stream->queue[slot].starts_advised = false;
		stream->queue[slot].in_run = false;
		stream->nqueued++;

		/* A block that is read at once needs no advice. */
		if (stream->distance > 1)
			prepare_block(stream, slot);
	}

	if (stream->exhausted && stream->run_length > 0 &&
		stream->run_slot != stream->head)
		advise_run_ahead(stream);
}

/*
 * Read a block into a buffer.  The look-ahead follows what is found, and the time that
 * a read without advice takes tells where the data was.
 */
static Buffer
read_block(SstReadStream *stream, BlockNumber blkno, bool advised)
{
	bool		temp = RelationUsesLocalBuffers(stream->rel);
	const int64 *nread = temp ? &pgBufferUsage.local_blks_read :
		&pgBufferUsage.shared_blks_read;
	int64		nread_before = *nread;
	instr_time	time_before = *sst_read_time(temp);
	instr_time	waited;
	Buffer		buf;

	buf = ReadBufferExtended(stream->rel, stream->forknum, blkno, RBM_NORMAL,
							 stream->strategy);

	if (*nread == nread_before)
	{
		stream->distance = Max(stream->distance - 1, 1);
		return buf;
	}

	/* A ring takes the same few buffers again. */
	if (!temp && stream->strategy == NULL)
		sst_provide_next_buffers(buf);
	stream->distance = Min(stream->distance * 2, stream->max_distance);
	if (!advised)
	{
		sst_io_stats_in_flight(&stream->stats.seen, stream->nadvised + 1);
		waited = *sst_read_time(temp);
		INSTR_TIME_SUBTRACT(waited, time_before);
		if (!sst_read_was_cached(1, sst_nanoseconds(waited)))
			sst_add_count(&stream->stats.nabsent, 1);
	}

	return buf;
}

/*
 * Return the next block of the stream, in a buffer that is pinned and not locked
 * and that the caller must release; or InvalidBuffer at the end.
 *
 * Once the callback has returned InvalidBlockNumber it is not called again before a
 * reset.  per_buffer_data is that of the server's stream, which nobody uses here: NULL.
 */
Buffer
sst_read_stream_next_buffer(SstReadStream *stream, void **per_buffer_data)
{
	QueuedBlock *block;
	int			slot;

	look_ahead(stream);
	if (stream->nqueued == 0)
		return InvalidBuffer;

	slot = stream->head;
	block = &stream->queue[slot];

	/*
	 * A run that starts here is due.  If this block is all of it, the read
	 * below makes advice useless.
	 */
	if (stream->run_length > 0 && stream->run_slot == slot)
	{
		if (stream->run_length > 1)
			advise_run(stream);
		else
			block->in_run = false;
		stream->run_length = 0;
	}
	if (block->starts_advised)
		stream->nadvised--;

	stream->head = (slot + 1) % stream->max_distance;
	stream->nqueued--;

	return read_block(stream, block->blkno, block->in_run);
}

/*
 * Empty the queue, and allow calls of the callback again.  The look-ahead starts
 * at one block.  Closes the file.
 */
void
sst_read_stream_reset(SstReadStream *stream)
{
	sst_segment_file_close(&stream->file);
	stream->head = 0;
	stream->nqueued = 0;
	stream->run_length = 0;
	stream->nadvised = 0;
	stream->exhausted = false;
	stream->distance = 1;
}

/*
 * Release the file and the memory of the stream.  The caller releases the buffers
 * that it was given.
 */
void
sst_read_stream_end(SstReadStream *stream)
{
	sst_segment_file_close(&stream->file);
	pfree(stream->queue);
	pfree(stream);
}

/* An advised run is in flight until its first block is due, another block while it is read. */
const SstAdviceStats *
sst_read_stream_stats(const SstReadStream *stream)
{
	return &stream->stats;
}

#endif							/* !SST_HAVE_READ_STREAM */
