/*-------------------------------------------------------------------------
 *
 * stream_buffer.c
 *	  Pages through the buffer manager, by a read stream
 *
 * The read stream is the server's, or the bundled one.  This file connects it to a
 * source of block numbers, applies our settings while it starts, and counts what
 * it does.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/stream_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "utils/guc.h"

#include "compat/shared_blocks.h"
#include "stream/buffered.h"
#include "stream/looked_up.h"
#include "stream/read_stream.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/*
 * Successive blocks found in buffers before blocks are looked up here, and the
 * look-ahead that may be given up for that
 */
#define MIN_HITS 32
#define MAX_LOOK_AHEAD 32

/* Neighbouring blocks that are advised by one call */
typedef struct AdvisedRun
{
	BlockNumber next;			/* first one not passed on yet */
	BlockNumber end;
} AdvisedRun;

typedef struct SstBufferStream
{
	SstStream	base;
	ReadStream *read_stream;

	/*
	 * Of a temporary relation, the next page is pinned ahead, so that the CPU
	 * can load it: nobody else waits for pins on local buffers.
	 */
	bool		temp;
	bool		begun;
	bool		more;			/* there is a next page */
	SstPage		next;

	/* Blocks requested and returned; the difference is the look-ahead */
	int64		nrequested;
	int64		nreturned;
	int64		look_ahead_max;
	BlockNumber last_requested;

	/* Blocks that are looked up here; see pin_looked_up() */
	bool		may_look_up;
	bool		looking_up;
	bool		draining;		/* request nothing, until the read stream is
								 * empty */
	bool		exhausted;		/* the source has no more */
	int			nhits;			/* successive blocks found in buffers */
	SstLookedUp ahead;

	/*
	 * A ring of runs that were advised further ahead than the read stream
	 * looks, or NULL
	 */
	AdvisedRun *advised;
	int			current_run;
	int			nadvised;
	int			max_advised;
	SstSegmentFile advice_file;
	int64		nadvice_calls;
	int64		nadvice_blocks;

	/* Counters of the server, at the begin of the stream */
	const int64 *hit_counter;
	const int64 *read_counter;
	int64		hit_before;
	int64		read_before;
	bool		io_stats;
	uint64		io_reads_before;
	uint64		io_bytes_before;

	/* Calls that read, and read_counter after the last call */
	int64		nreads;
	int64		read_last;
} SstBufferStream;

/*
 * Take neighbouring blocks from the source, and advise the kernel of them if
 * they seem not to be in buffers.  False at the end of the source.
 */
static bool
advise_run(SstBufferStream *stream, AdvisedRun *run)
{
	SstSource  *source = stream->base.source;
	BlockNumber blkno = sst_source_next(source);

	if (blkno == InvalidBlockNumber)
		return false;

	run->next = blkno;
	run->end = blkno + 1;
	while ((blkno = sst_source_next(source)) != InvalidBlockNumber)
	{
		if (blkno != run->end || run->end - run->next >= sst_cold_run_blocks() ||
			blkno % RELSEG_SIZE == 0)
		{
			sst_source_put_back(source, blkno);
			break;
		}
		run->end++;
	}

	if (!BufferIsValid(sst_find_buffer(stream->base.rel, stream->base.forknum,
									   run->end - 1, InvalidBuffer)) &&
		sst_segment_file_advise(&stream->advice_file, run->next, run->end - run->next))
	{
		stream->nadvice_calls++;
		stream->nadvice_blocks += run->end - run->next;
	}

	return true;
}

/* Return the next block of the advised runs. */
static BlockNumber
take_advised_block(SstBufferStream *stream)
{
	AdvisedRun *run = &stream->advised[stream->current_run];

	if (stream->nadvised > 0 && run->next == run->end)
	{
		stream->current_run = (stream->current_run + 1) % stream->max_advised;
		stream->nadvised--;
		run = &stream->advised[stream->current_run];
	}

	while (stream->nadvised < stream->max_advised &&
		   advise_run(stream, &stream->advised[(stream->current_run + stream->nadvised) %
											   stream->max_advised]))
		stream->nadvised++;

	return stream->nadvised == 0 ? InvalidBlockNumber : run->next++;
}

static inline BlockNumber
take_block(SstBufferStream *stream)
{
	BlockNumber blkno = stream->advised ? take_advised_block(stream) :
		sst_looked_up_take(&stream->ahead);

	stream->exhausted = (blkno == InvalidBlockNumber);

	return blkno;
}

static BlockNumber
next_block(ReadStream *read_stream, void *callback_private_data,
		   void *per_buffer_data)
{
	SstBufferStream *stream = callback_private_data;
	BlockNumber blkno;

	if (stream->draining)
		return InvalidBlockNumber;

	blkno = take_block(stream);
	if (blkno != InvalidBlockNumber)
	{
		stream->nrequested++;
		stream->look_ahead_max = Max(stream->look_ahead_max,
									 stream->nrequested - stream->nreturned);
		stream->last_requested = blkno;
	}

	return blkno;
}

static void
set_for_stream(const char *name, int value)
{
	char		str[12];

	snprintf(str, sizeof(str), "%d", value);
	(void) set_config_option(name, str, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Replace the server's settings by ours until the GUC nest level ends.  A stream
 * reads them only when it begins.
 */
static void
apply_settings(void)
{
	if (sst_io_concurrency > 0)
	{
		/* For catalogs the server uses effective_io_concurrency. */
		set_for_stream("maintenance_io_concurrency", sst_io_concurrency);
		set_for_stream("effective_io_concurrency", sst_io_concurrency);
	}

#ifdef SST_HAVE_IO_COMBINE_LIMIT
	if (sst_io_combine_limit > 0)
		set_for_stream("io_combine_limit",
					   Min(sst_io_combine_limit, MAX_IO_COMBINE_LIMIT));
#endif
}

static bool buffer_stream_next(SstStream *base, SstPage *page);
static const char *buffer_stream_peek(const SstStream *base);
static void buffer_stream_end(SstStream *base);

/*
 * Begin to read the source's blocks of a fork.
 *
 * With read_ahead, the kernel is advised further ahead than the read stream looks.
 * That pays if storage is slow and all blocks have to go through buffers: the
 * server's own advice, if any, comes too late to keep many reads in flight, and its
 * I/O workers are few.
 *
 * The relation must stay open and locked until the end.  What the stream did is
 * added to io_stats when it ends.  Memory is taken from the current context.
 */
SstStream *
sst_buffer_stream_begin(Relation rel, ForkNumber forknum, SstSource *source,
						BufferAccessStrategy strategy, bool read_ahead,
						SstIoStats *io_stats)
{
	SstBufferStream *stream = palloc0(sizeof(SstBufferStream));
	int			flags = READ_STREAM_MAINTENANCE | READ_STREAM_FULL |
		READ_STREAM_USE_BATCHING;
	int			nestlevel = NewGUCNestLevel();

	stream->base.next = buffer_stream_next;
	stream->base.peek = buffer_stream_peek;
	stream->base.end = buffer_stream_end;
	sst_stream_init(&stream->base, rel, forknum, source, strategy, io_stats);
	stream->temp = RelationUsesLocalBuffers(rel);

	/*
	 * A pin by a look-up does not raise the usage count.  That suits a scan
	 * with a buffer ring; without one, reading a page must count as use.
	 */
	stream->may_look_up = strategy != NULL && !stream->temp;
	sst_looked_up_init(&stream->ahead, rel, forknum, source);
	stream->last_requested = InvalidBlockNumber;

	/* Read-ahead fills the page cache, which direct I/O does not use. */
	stream->max_advised = sst_io_depth(rel->rd_rel->reltablespace);
	if (read_ahead && stream->max_advised > 1 && !stream->temp &&
		!sst_direct_io() && sst_relation_is_plain(rel))
	{
		/* What is looked up comes from the source, past the advised runs. */
		Assert(!stream->may_look_up);

		stream->advised = palloc(sizeof(AdvisedRun) * stream->max_advised);
		sst_segment_file_init(&stream->advice_file, rel, forknum);
		flags |= READ_STREAM_SEQUENTIAL;	/* gives no advice of its own */
	}

	apply_settings();

	/*
	 * Batch mode is safe because next_block() does not wait for our I/O and
	 * sources take no lock.
	 */
	stream->read_stream = sst_read_stream_begin(flags, strategy, rel, forknum,
												next_block, stream, 0,
												sst_io_combine_limit > 0 ?
												sst_io_combine_limit :
												SST_DEFAULT_IO_COMBINE_LIMIT);
	AtEOXact_GUC(true, nestlevel);

	if (stream->temp)
	{
		stream->hit_counter = &pgBufferUsage.local_blks_hit;
		stream->read_counter = &pgBufferUsage.local_blks_read;
	}
	else
	{
		stream->hit_counter = &pgBufferUsage.shared_blks_hit;
		stream->read_counter = &pgBufferUsage.shared_blks_read;
	}
	stream->hit_before = *stream->hit_counter;
	stream->read_before = stream->read_last = *stream->read_counter;
#ifdef SST_HAVE_READ_STREAM
	stream->io_stats = sst_backend_io_reads(strategy, stream->temp,
											&stream->io_reads_before,
											&stream->io_bytes_before);
#endif

	return &stream->base;
}

/*
 * Note whether a block was found in a buffer.  After enough of these, when the read
 * stream has stopped looking far ahead, drain it, to look up blocks here.
 */
static inline void
watch_hits(SstBufferStream *stream)
{
	if (*stream->read_counter != stream->read_last)
	{
		stream->nreads++;
		stream->read_last = *stream->read_counter;
		stream->nhits = 0;
	}
	else if (++stream->nhits >= MIN_HITS && stream->may_look_up &&
			 stream->nrequested - stream->nreturned <= MAX_LOOK_AHEAD)
		stream->draining = true;
}

/*
 * Return the next block's buffer, pinned, or InvalidBuffer if the block has to be
 * read, or there is none.
 *
 * A read stream does not say which pages it is about to return, so that the CPU
 * could load them.  Where pages are in buffers, it gains nothing either.
 */
static inline Buffer
pin_looked_up(SstBufferStream *stream, BlockNumber *blkno)
{
	Buffer		buf = sst_looked_up_pin(&stream->ahead, blkno);

	if (BufferIsValid(buf))
	{
		stream->nrequested++;
		stream->nreturned++;
		stream->last_requested = *blkno;
	}
	else
		stream->exhausted = (stream->ahead.nblocks == 0);

	return buf;
}

static bool
pin_next(SstBufferStream *stream, SstPage *page)
{
	for (;;)
	{
		if (stream->looking_up)
		{
			page->buffer = pin_looked_up(stream, &page->blkno);
			if (BufferIsValid(page->buffer))
				break;
			if (stream->exhausted)
				return false;

			/* The block has to be read: go on with the read stream. */
			stream->looking_up = false;
			stream->draining = false;
			stream->nhits = 0;
			read_stream_reset(stream->read_stream);
		}

		page->buffer = read_stream_next_buffer(stream->read_stream, NULL);
		if (BufferIsValid(page->buffer))
		{
			page->blkno = BufferGetBlockNumber(page->buffer);
			stream->nreturned++;
			watch_hits(stream);
			break;
		}

		if (!stream->draining || stream->exhausted)
			return false;
		stream->looking_up = true;
	}

	page->image = BufferGetPage(page->buffer);

	return true;
}

static bool
buffer_stream_next(SstStream *base, SstPage *page)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	if (!stream->temp)
		return pin_next(stream, page);

	if (!stream->begun)
		stream->more = pin_next(stream, &stream->next);
	stream->begun = true;
	if (!stream->more)
		return false;

	*page = stream->next;
	stream->more = pin_next(stream, &stream->next);
	return true;
}

static const char *
buffer_stream_peek(const SstStream *base)
{
	const SstBufferStream *stream = (const SstBufferStream *) base;

	if (stream->temp)
		return stream->more ? stream->next.image : NULL;
	return stream->looking_up ? sst_looked_up_peek(&stream->ahead) : NULL;
}

/*
 * Return the end of the blocks that were taken from the source and may not have
 * been returned yet: one past the last, or InvalidBlockNumber if none was taken.
 */
BlockNumber
sst_buffer_stream_unread_end(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	return stream->last_requested == InvalidBlockNumber ?
		InvalidBlockNumber : stream->last_requested + 1;
}

/*
 * Add what the stream did to its io_stats, without ending it: for a stream whose
 * resources were released at the end of a subtransaction.
 */
void
sst_buffer_stream_abandon(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;
	SstIoStats *io_stats = base->io_stats;
	int64		nread = *stream->read_counter - stream->read_before;

	io_stats->blocks_requested += stream->nreturned;
	io_stats->blocks_hit += *stream->hit_counter - stream->hit_before;
	io_stats->blocks_read += nread;
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max, stream->look_ahead_max);

#ifdef SST_HAVE_BACKEND_IO_STATS
#ifdef SST_HAVE_READ_STREAM
	/* Reads are started ahead; only the server's statistics count them. */
	{
		uint64		reads;
		uint64		bytes;

		if (stream->io_stats && io_stats->reads >= 0 &&
			sst_backend_io_reads(base->strategy, stream->temp, &reads, &bytes))
		{
			io_stats->reads += reads - stream->io_reads_before;
			io_stats->read_bytes += bytes - stream->io_bytes_before;
		}
		else
			io_stats->reads = io_stats->read_bytes = -1;
		return;
	}
#endif
#endif

	/* One call does at most one read, and counts its blocks. */
	io_stats->reads += stream->nreads;
	io_stats->read_bytes += nread * BLCKSZ;
}

static void
buffer_stream_end(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;
#ifndef SST_HAVE_READ_STREAM
	const SstReadStreamStats *stats = sst_read_stream_stats(stream->read_stream);

	base->io_stats->advice_calls += stats->advice_calls + stream->nadvice_calls;
	base->io_stats->advice_blocks += stats->advice_blocks + stream->nadvice_blocks;
#endif
	sst_buffer_stream_abandon(base);
	if (stream->more)
		ReleaseBuffer(stream->next.buffer);
	read_stream_end(stream->read_stream);
	if (stream->advised)
	{
		sst_segment_file_close(&stream->advice_file);
		pfree(stream->advised);
	}
	pfree(stream);
}
