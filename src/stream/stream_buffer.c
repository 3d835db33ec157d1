/*-------------------------------------------------------------------------
 *
 * stream_buffer.c
 *	  Pages through the buffer manager, by a read stream
 *
 * The read stream is the server's, or the bundled one.  This file connects it
 * to a source of block numbers, applies our settings while it starts, and
 * counts its I/O (read_watch.c).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/stream_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "compat/shared_blocks.h"
#include "stream/advice.h"
#include "stream/looked_up.h"
#include "stream/read_stream.h"
#include "stream/read_watch.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/*
 * Successive blocks found in buffers before blocks are looked up here, and the
 * look-ahead that may be given up for that
 */
#define MIN_HITS 32
#define MAX_LOOK_AHEAD 32

typedef struct SstBufferStream
{
	SstStream	base;
	ReadStream *read_stream;

	/*
	 * Of a temporary relation, the next page is pinned ahead, so that the CPU
	 * can load it: no other session waits for pins on local buffers.
	 */
	bool		temp;
	bool		begun;
	bool		more;			/* there is a next page */
	SstPage		next;

	/* Blocks requested and returned; the difference is the look-ahead */
	int64		nrequested;
	int64		nreturned;
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
	 * Gives blocks, and advice further ahead than the read stream looks, or
	 * NULL
	 */
	SstAdvisedRuns *advised;

	/* What it does */
	SstReadWatch watch;
	int64		nreads;			/* seen by the watch until the last block */
	SstIoStats	seen;			/* of it, look-ahead */
} SstBufferStream;

static inline BlockNumber
take_block(SstBufferStream *stream)
{
	BlockNumber blkno = stream->advised ? sst_advised_runs_take(stream->advised) :
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

	/* The read stream may have started a read since the last call. */
	sst_read_watch_look(&stream->watch);
	if (stream->draining)
		return InvalidBlockNumber;

	blkno = take_block(stream);
	if (blkno != InvalidBlockNumber)
	{
		stream->nrequested++;
		stream->seen.look_ahead_max = Max(stream->seen.look_ahead_max,
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

/* End the GUC nest level of the settings, and begin to watch the stream's reads. */
static void
watch_stream(SstBufferStream *stream, int nestlevel)
{
#ifdef SST_HAVE_READ_STREAM
	int			combine_limit = io_combine_limit;

	AtEOXact_GUC(true, nestlevel);
	sst_read_watch_begin(&stream->watch, stream->base.strategy, stream->temp, true,
						 combine_limit);
#else
	AtEOXact_GUC(true, nestlevel);
	sst_read_watch_begin(&stream->watch, stream->base.strategy, stream->temp, false, 1);
#endif
#ifdef SST_HAVE_READ_STREAM_STATS
	read_stream_enable_stats(stream->read_stream, &stream->watch.stream_stats);
	stream->watch.has_stream = true;
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
	int			max_advised = sst_io_depth(rel->rd_rel->reltablespace);

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
	if (read_ahead && max_advised > 1 && !stream->temp &&
		!sst_direct_io() && sst_relation_is_plain(rel))
	{
		/* What is looked up comes from the source, past the advised runs. */
		Assert(!stream->may_look_up);

		stream->advised = sst_advised_runs_begin(rel, forknum, source, max_advised);
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
	watch_stream(stream, nestlevel);

	/* The look for the tablespace's settings may have left one. */
	InvalidateCatalogSnapshot();

	return &stream->base;
}

static inline void
count_returned(SstBufferStream *stream)
{
	stream->seen.look_ahead_sum += stream->nrequested - stream->nreturned;
	stream->nreturned++;
}

/*
 * Note whether a block was found in a buffer.  After enough of these, when the read
 * stream has stopped looking far ahead, drain it, to look up blocks here.
 */
static inline void
watch_hits(SstBufferStream *stream)
{
	sst_read_watch_look(&stream->watch);
	if (stream->watch.seen.reads != stream->nreads)
	{
		stream->nreads = stream->watch.seen.reads;
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
		stream->last_requested = *blkno;
		count_returned(stream);
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
			count_returned(stream);
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

/* Complete what the watch saw by what is known of advice. */
static void
add_advice(SstBufferStream *stream)
{
	SstIoStats *seen = &stream->seen;
	int64		nabsent = 0;
#ifndef SST_HAVE_READ_STREAM
	const SstReadStreamStats *stats = sst_read_stream_stats(stream->read_stream);

	seen->advice_calls = stats->advice_calls;
	seen->advice_blocks = stats->advice_blocks;
	seen->in_flight_sum = stats->in_flight_sum;
	seen->in_flight_count = stats->in_flight_count;
	seen->in_flight_max = stats->in_flight_max;
	nabsent = stats->ndisk;
	sst_read_watch_replace(&stream->watch, seen, nabsent);
#endif

	if (stream->advised == NULL)
		return;
	seen->in_flight_sum = stream->advised->seen.in_flight_sum;
	seen->in_flight_count = stream->advised->seen.in_flight_count;
	seen->in_flight_max = stream->advised->seen.in_flight_max;
	seen->advice_calls += stream->advised->seen.advice_calls;
	seen->advice_blocks += stream->advised->seen.advice_blocks;
	if (stream->advised->nabsent < 0 || nabsent < 0)
		nabsent = -1;
	else
		nabsent += stream->advised->nabsent;
	sst_read_watch_replace(&stream->watch, seen, nabsent);
}

/* Add what the stream did, as far as the watch does not, to its io_stats. */
static void
add_seen(SstBufferStream *stream)
{
	SstIoStats	seen = stream->seen;

	seen.in_flight_sum = seen.in_flight_count = seen.in_flight_max = 0;
	seen.blocks_requested = stream->nreturned;
	seen.look_ahead_count = stream->nreturned;
	sst_io_stats_merge(stream->base.io_stats, &seen);
}

/*
 * Add what the stream did to its io_stats, without ending it: for a stream whose
 * resources were released at the end of a subtransaction.
 */
void
sst_buffer_stream_abandon(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	add_advice(stream);
	add_seen(stream);
	sst_read_watch_add(&stream->watch, base->io_stats);
}

static void
buffer_stream_end(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	add_advice(stream);
	add_seen(stream);
	sst_read_watch_end(&stream->watch, base->io_stats);
	if (stream->more)
		ReleaseBuffer(stream->next.buffer);
	read_stream_end(stream->read_stream);
	if (stream->advised)
		sst_advised_runs_end(stream->advised);
	pfree(stream);
}
