/*-------------------------------------------------------------------------
 *
 * stream_buffer.c
 *	  Pages through the buffer manager, by a read stream
 *
 * The read stream is the server's, or the bundled one.  This file connects it
 * to a source of block numbers, applies our settings while it starts, and
 * counts its I/O (io_stats.c).  As long as blocks are in shared buffers, they
 * are looked up here, without a read stream.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "compat/shared_blocks.h"
#include "stream/buffered.h"
#include "stream/read_stream.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/* ----------
 * Blocks of a source, looked up in shared buffers ahead
 *
 * For a relation in shared buffers, cache misses are most of the cost of a page:
 * in the mapping table, in the buffer's header and in the page.  Blocks that are
 * looked up before they are pinned give the CPU time to load all three.
 * Nothing is pinned ahead.
 * ----------
 */

/* Blocks to look up together, if they are not farther apart */
#define MAX_LOOKED_UP 64

/* Blocks that were taken from the source, and where each was found */
typedef struct LookedUp
{
	SstSource  *source;
	SstBuffered buffered;
	BlockNumber first;
	uint64		left;			/* not passed on yet; bit 0 is for the first */
	uint64		found;			/* in a buffer */
	Buffer		buffers[MAX_LOOKED_UP];
} LookedUp;

/*
 * Pin the next block.  InvalidBuffer if it is in no buffer: then it stays the next one
 * for looked_up_take(), unless there is none left.  Does no I/O.
 */
static Buffer
looked_up_pin(LookedUp *ahead, BlockNumber *blkno)
{
	Relation	rel = ahead->buffered.rel;
	int			i;

	if (ahead->left == 0)
	{
		ahead->left = sst_source_take_run(ahead->source, MAX_LOOKED_UP, MAX_LOOKED_UP,
										  &ahead->first);
		if (ahead->left == 0)
			return InvalidBuffer;
		ahead->found = sst_buffered_find(&ahead->buffered, ahead->first, ahead->left,
										 InvalidXLogRecPtr, ahead->buffers);
	}

	i = pg_rightmost_one_pos64(ahead->left);
	*blkno = ahead->first + i;
	if ((ahead->found & (UINT64CONST(1) << i)) == 0 ||
		!sst_read_recent_buffer(rel, ahead->buffered.forknum, *blkno, ahead->buffers[i]))
		return InvalidBuffer;

	ahead->left &= ahead->left - 1;
	return ahead->buffers[i];
}

/*
 * The next block, looked up or else from the source; InvalidBlockNumber at the end.
 * Takes no lock.
 */
static BlockNumber
looked_up_take(LookedUp *ahead)
{
	BlockNumber blkno;

	if (ahead->left == 0)
		return sst_source_next(ahead->source);

	blkno = ahead->first + pg_rightmost_one_pos64(ahead->left);
	ahead->left &= ahead->left - 1;

	return blkno;
}

/* ----------
 * Blocks of a source, with advice further ahead than a read stream looks
 * ----------
 */

/* Neighbouring blocks that are advised by one call */
typedef struct AdvisedRun
{
	BlockNumber next;			/* first one not passed on yet */
	BlockNumber end;
} AdvisedRun;

/* A ring of runs of a fork, which is not that of a temporary relation */
typedef struct AdvisedRuns
{
	SstSource  *source;
	SstSegmentFile file;
	AdvisedRun *runs;
	int			current;
	int			nruns;
	int			max_runs;

	SstAdviceStats stats;
} AdvisedRuns;

/*
 * Take neighbouring blocks from the source, and advise of them if they seem not to be
 * in buffers.  False at its end.
 */
static bool
add_run(AdvisedRuns *advised)
{
	AdvisedRun *run = &advised->runs[(advised->current + advised->nruns) %
									 advised->max_runs];
	int			nblocks = pg_popcount64(sst_source_take_run(advised->source,
															sst_cold_run_blocks(), 0,
															&run->next));

	if (nblocks == 0)
		return false;

	run->end = run->next + nblocks;
	advised->nruns++;
	if (!sst_is_buffered(&advised->file.files, advised->file.forknum, run->end - 1))
		sst_advise_run(&advised->file, run->next, nblocks, advised->nruns, &advised->stats);

	return true;
}

/* Return the next block, or InvalidBlockNumber at the end.  Does not wait for reads. */
static BlockNumber
advised_runs_take(AdvisedRuns *advised)
{
	AdvisedRun *run = &advised->runs[advised->current];

	if (advised->nruns > 0 && run->next == run->end)
	{
		advised->current = (advised->current + 1) % advised->max_runs;
		advised->nruns--;
		run = &advised->runs[advised->current];
	}

	while (advised->nruns < advised->max_runs && add_run(advised))
		;

	return advised->nruns == 0 ? InvalidBlockNumber : run->next++;
}

/* ----------
 * The stream
 * ----------
 */

typedef struct SstBufferStream
{
	SstStream	base;
	ReadStream *read_stream;	/* NULL until a block has to be read */
	int			flags;			/* of it */
	MemoryContext context;		/* of all this */

	/* Blocks requested and returned; the difference is the look-ahead */
	int64		nrequested;
	int64		nreturned;

	LookedUp	ahead;			/* blocks that are looked up here */

	/*
	 * Gives blocks, and advice further ahead than the read stream looks,
	 * unless it has no runs
	 */
	AdvisedRuns advised;

	/* What it does */
	SstReadWatch watch;
	SstIoStats	seen;			/* of it, look-ahead */
} SstBufferStream;

static BlockNumber
next_block(ReadStream *read_stream, void *callback_private_data,
		   void *per_buffer_data)
{
	SstBufferStream *stream = callback_private_data;
	BlockNumber blkno;

	/* The read stream may have started a read since the last call. */
	sst_read_watch_look(&stream->watch);
	blkno = stream->advised.runs != NULL ? advised_runs_take(&stream->advised) :
		looked_up_take(&stream->ahead);
	if (blkno != InvalidBlockNumber)
	{
		stream->nrequested++;
		stream->seen.look_ahead_max = Max(stream->seen.look_ahead_max,
										  stream->nrequested - stream->nreturned);
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

/*
 * Begin the read stream.  It looks up the tablespace's settings, which takes longer than to
 * visit some pages that are in buffers, and is not counted.
 *
 * Batch mode is safe because next_block() does not wait for our I/O and sources take
 * no lock.
 */
static void
begin_read_stream(SstBufferStream *stream)
{
	const SstBlockReader *reader = stream->base.reader;
	MemoryContext oldcontext = MemoryContextSwitchTo(stream->context);
	int			nestlevel = NewGUCNestLevel();

	sst_read_watch_add(&stream->watch, NULL, reader->io_stats);
	apply_settings();
	stream->read_stream = sst_read_stream_begin(stream->flags, reader->strategy,
												reader->rel, reader->forknum,
												next_block, stream,
												sst_io_combine_limit > 0 ?
												sst_io_combine_limit :
												SST_DEFAULT_IO_COMBINE_LIMIT);
#ifdef SST_HAVE_READ_STREAM
	stream->watch.combine_limit = io_combine_limit;
#endif
	AtEOXact_GUC(true, nestlevel);
	MemoryContextSwitchTo(oldcontext);
	sst_read_watch_restart(&stream->watch);

	/* The look for the tablespace's settings may have left one. */
	InvalidateCatalogSnapshot();
}

/*
 * Blocks are looked up here until one has to be read.  A read stream does not say which
 * pages it is about to return, so that the CPU could load them.  Where pages are in
 * buffers, it gains nothing either.
 */
static bool
buffer_stream_next(SstStream *base, SstPage *page)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	page->buffer = InvalidBuffer;
	if (stream->read_stream == NULL)
	{
		page->buffer = looked_up_pin(&stream->ahead, &page->blkno);
		if (BufferIsValid(page->buffer))
			stream->nrequested++;
		else if (stream->ahead.left == 0)
			return false;
		else
			begin_read_stream(stream);
	}

	if (!BufferIsValid(page->buffer))
	{
		page->buffer = read_stream_next_buffer(stream->read_stream, NULL);
		if (!BufferIsValid(page->buffer))
			return false;
		page->blkno = BufferGetBlockNumber(page->buffer);
		sst_read_watch_look(&stream->watch);
	}

	stream->seen.look_ahead_sum += stream->nrequested - stream->nreturned;
	stream->nreturned++;
	page->image = BufferGetPage(page->buffer);

	return true;
}

static const char *
buffer_stream_peek(const SstStream *base)
{
	const SstBufferStream *stream = (const SstBufferStream *) base;
	const LookedUp *ahead = &stream->ahead;
	int			i = sst_peek_block(ahead->left);

	return stream->read_stream == NULL && i >= 0 && (ahead->found & (UINT64CONST(1) << i)) != 0 ?
		BufferGetBlock(ahead->buffers[i]) : NULL;
}

/* What is known of the advice for the stream's blocks; NULL if the server gives it */
static const SstAdviceStats *
advice_of(const SstBufferStream *stream)
{
	if (stream->advised.runs != NULL)
		return &stream->advised.stats;
#ifdef SST_HAVE_READ_STREAM
	return NULL;
#else
	return stream->read_stream == NULL ? NULL :
		sst_read_stream_stats(stream->read_stream);
#endif
}

/* Add what the stream did, as far as the watch does not, to its io_stats. */
static void
add_seen(SstBufferStream *stream)
{
	stream->seen.blocks_requested = stream->nreturned;
	stream->seen.look_ahead_count = stream->nreturned;

	/* What is looked up is requested and returned one by one. */
	if (stream->nreturned > 0)
		stream->seen.look_ahead_max = Max(stream->seen.look_ahead_max, 1);
	sst_io_stats_merge(stream->base.reader->io_stats, &stream->seen);
}

/*
 * Add what the stream did to its io_stats, without ending it, after an error: the end of
 * the (sub)transaction releases its resources.
 */
void
sst_buffer_stream_abandon(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	add_seen(stream);
	sst_read_watch_add(&stream->watch, advice_of(stream), base->reader->io_stats);
}

static void
buffer_stream_end(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	add_seen(stream);
	sst_read_watch_end(&stream->watch, advice_of(stream), base->reader->io_stats);
	if (stream->read_stream != NULL)
		read_stream_end(stream->read_stream);
	if (stream->advised.runs != NULL)
	{
		sst_segment_file_close(&stream->advised.file);
		pfree(stream->advised.runs);
	}
	pfree(stream);
}

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
sst_buffer_stream_begin(const SstBlockReader *reader, SstSource *source, bool read_ahead)
{
	SstBufferStream *stream = palloc0(sizeof(SstBufferStream));
	bool		temp = RelationUsesLocalBuffers(reader->rel);
	AdvisedRuns *advised = &stream->advised;

	stream->flags = READ_STREAM_MAINTENANCE | READ_STREAM_FULL |
		READ_STREAM_USE_BATCHING;
	stream->context = CurrentMemoryContext;
	stream->base = (SstStream)
	{
		buffer_stream_next, buffer_stream_peek, buffer_stream_end, reader
	};
	stream->ahead.source = source;
	sst_buffered_init(&stream->ahead.buffered, reader->rel, reader->forknum, 0);

	/* What is prewarmed without read-ahead is cached, and needs no advice. */
	if (reader->strategy == NULL && !read_ahead)
		stream->flags |= READ_STREAM_SEQUENTIAL;

	/* Read-ahead fills the page cache, which direct I/O does not use. */
	sst_segment_file_init(&advised->file, reader->rel, reader->forknum);
	if (read_ahead && !temp && !sst_direct_io() && advised->file.plain &&
		(advised->max_runs = sst_io_depth(reader->rel->rd_rel->reltablespace)) > 1)
	{
		advised->source = source;
		advised->runs = palloc(sizeof(AdvisedRun) * advised->max_runs);

		/* It gives no advice of its own. */
		stream->flags |= READ_STREAM_SEQUENTIAL;
	}

	/*
	 * A pin by a look-up does not raise the usage count.  That suits a scan
	 * with a buffer ring; without one, reading a page must count as use.
	 */
	sst_read_watch_begin(&stream->watch, temp, true);
	if (reader->strategy == NULL || temp)
		begin_read_stream(stream);

	return &stream->base;
}
