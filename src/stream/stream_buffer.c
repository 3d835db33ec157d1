/*-------------------------------------------------------------------------
 *
 * stream_buffer.c
 *	  Pages through the buffer manager, by a read stream
 *
 * The read stream is the server's, or the bundled one where the server has
 * none.  This file joins a source of block numbers to it, puts our settings
 * in force while it starts, and reports what it did.
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

#include "stream/buffered.h"
#include "stream/read_stream.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/* Buffers that follow each other, from which on the next one is guessed */
#define MIN_SUCCESSORS 16

/* Pages to look ahead for the CPU's sake: found by trying 1 to 8 */
#define PEEK_DISTANCE 4

/* Neighbouring blocks that the kernel is told of by one call */
typedef struct AdvisedRun
{
	BlockNumber next;			/* first one that was not asked for yet */
	BlockNumber end;
} AdvisedRun;

typedef struct SstBufferStream
{
	SstStream	base;
	ReadStream *read_stream;
	bool		temp;

	/* Blocks asked for and returned; the difference is the look-ahead */
	int64		nasked;
	int64		nreturned;
	int64		look_ahead_max;
	BlockNumber last_asked;

	/* Guessing buffers from their neighbours; see follow_neighbours() */
	bool		may_follow;
	bool		following;
	bool		stop_asking;	/* let the read stream run empty */
	bool		exhausted;		/* the source has no more */
	int			nsuccessors;	/* neighbours found in neighbouring buffers */
	BlockNumber last_block;
	Buffer		last_buffer;

	/*
	 * Advice, further ahead than the read stream looks: a ring of runs that
	 * the kernel was told of, or NULL
	 */
	AdvisedRun *advised;
	int			current_run;
	int			nadvised;
	int			max_advised;
	SstSegmentFile advice_file;
	int64		nadvice_calls;
	int64		nadvice_blocks;

	/* Counters of the server when the stream began */
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
 * Take neighbouring blocks from the source, and tell the kernel of them if
 * they seem not to be in buffers; false at the end.
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
		if (blkno != run->end || run->end - run->next >= sst_run_blocks() ||
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

/* The next block of the runs that the kernel was told of */
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
		sst_source_next(stream->base.source);

	stream->exhausted = (blkno == InvalidBlockNumber);

	return blkno;
}

static BlockNumber
next_block(ReadStream *read_stream, void *callback_private_data,
		   void *per_buffer_data)
{
	SstBufferStream *stream = callback_private_data;
	BlockNumber blkno;

	if (stream->stop_asking)
		return InvalidBlockNumber;

	blkno = take_block(stream);
	if (blkno != InvalidBlockNumber)
	{
		stream->nasked++;
		stream->look_ahead_max = Max(stream->look_ahead_max,
									 stream->nasked - stream->nreturned);
		stream->last_asked = blkno;
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
 * Put our settings in the place of the server's, until the GUC nest level
 * ends.  A stream reads them when it begins, and never again.
 */
static void
apply_settings(void)
{
	if (sst_io_concurrency > 0)
	{
		/* The server lets streams on catalogs use the effective one. */
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
 * With read_ahead, the kernel is told of blocks further ahead than the read
 * stream looks.  That pays when storage is slow and all blocks have to go
 * through buffers: the server's own advice, where it gives any, comes too late
 * to keep many reads under way, and its I/O workers are few.
 *
 * The relation must be open and locked until the end.  What the stream did is
 * added to the report when it ends.  Memory is the current context's.
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
	stream->base.rel = rel;
	stream->base.forknum = forknum;
	stream->base.source = source;
	stream->base.strategy = strategy;
	stream->base.io_stats = io_stats;
	stream->temp = RelationUsesLocalBuffers(rel);

	/*
	 * Pins by guess leave usage counts as they are.  That suits a scan with a
	 * ring of buffers; without one, pages that are read are to look used.
	 */
	stream->may_follow = strategy != NULL && !stream->temp;
	stream->last_asked = InvalidBlockNumber;

	/* Read-ahead fills the page cache, which direct I/O does not look at. */
	stream->max_advised = sst_io_depth(rel);
	if (read_ahead && stream->max_advised > 1 && !stream->temp &&
		!sst_direct_io())
	{
		/* What follows neighbouring buffers returns blocks to the source. */
		Assert(!stream->may_follow);

		stream->advised = palloc(sizeof(AdvisedRun) * stream->max_advised);
		sst_segment_file_init(&stream->advice_file, rel, forknum);
		flags |= READ_STREAM_SEQUENTIAL;	/* gives no advice of its own */
	}

	apply_settings();

	/*
	 * Batch mode is safe because next_block() waits for no I/O of ours and
	 * the sources take no lock.
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
 * Note where a block was found.  After enough neighbouring blocks in
 * neighbouring buffers, have the read stream run empty, to follow them.
 */
static inline void
watch_neighbours(SstBufferStream *stream, Buffer buf)
{
	BlockNumber blkno = BufferGetBlockNumber(buf);
	bool		read = *stream->read_counter != stream->read_last;

	if (read)
	{
		stream->nreads++;
		stream->read_last = *stream->read_counter;
	}

	if (read || buf != stream->last_buffer + 1 ||
		blkno != stream->last_block + 1)
		stream->nsuccessors = 0;
	else if (++stream->nsuccessors >= MIN_SUCCESSORS && stream->may_follow)
		stream->stop_asking = true;

	stream->last_block = blkno;
	stream->last_buffer = buf;
}

/*
 * The next block's buffer if it is where we expect it, else InvalidBuffer.
 *
 * A relation that came into the pool in one go lies in neighbouring buffers.
 * Then the buffer of the next block is known without the mapping table, whose
 * look-ups are most of the cost of a cached scan: the buffer's header says
 * whether the guess is right.
 */
static Buffer
follow_neighbours(SstBufferStream *stream)
{
	BlockNumber blkno = take_block(stream);
	Buffer		guess = stream->last_buffer + 1;

	if (blkno == InvalidBlockNumber)
		return InvalidBuffer;

	if (blkno != stream->last_block + 1 || guess > NBuffers ||
		!sst_read_recent_buffer(stream->base.rel, stream->base.forknum, blkno, guess))
	{
		sst_source_put_back(stream->base.source, blkno);
		return InvalidBuffer;
	}

	stream->nasked++;
	stream->nreturned++;
	stream->last_asked = blkno;
	stream->last_block = blkno;
	stream->last_buffer = guess;

	return guess;
}

static bool
buffer_stream_next(SstStream *base, SstPage *page)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	for (;;)
	{
		if (stream->following)
		{
			page->buffer = follow_neighbours(stream);
			if (BufferIsValid(page->buffer))
				break;
			if (stream->exhausted)
				return false;

			/* Wrong guess: let the read stream go on from here. */
			stream->following = false;
			stream->stop_asking = false;
			stream->nsuccessors = 0;
			read_stream_reset(stream->read_stream);
		}

		page->buffer = read_stream_next_buffer(stream->read_stream, NULL);
		if (BufferIsValid(page->buffer))
		{
			stream->nreturned++;
			watch_neighbours(stream, page->buffer);
			break;
		}

		if (!stream->stop_asking || stream->exhausted)
			return false;
		stream->following = true;
	}

	page->blkno = stream->last_block;
	page->image = BufferGetPage(page->buffer);

	return true;
}

static const char *
buffer_stream_peek(const SstStream *base)
{
	const SstBufferStream *stream = (const SstBufferStream *) base;
	Buffer		buf = stream->last_buffer + PEEK_DISTANCE;

	if (!stream->following || buf > NBuffers)
		return NULL;

	return BufferGetBlock(buf);
}

/*
 * The end of the blocks that the source has named and the caller may not have
 * got yet: one past the last, or InvalidBlockNumber when none was named.
 */
BlockNumber
sst_buffer_stream_unread_end(SstStream *base)
{
	SstBufferStream *stream = (SstBufferStream *) base;

	return stream->last_asked == InvalidBlockNumber ?
		InvalidBlockNumber : stream->last_asked + 1;
}

/*
 * Add what the stream did to its io_stats, and no more: for a stream whose
 * resources were released by the end of a subtransaction.
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
	/* Reads are started ahead: only the server's statistics tell them apart. */
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

	/* One call does at most one read, whose blocks are counted in the call. */
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
	read_stream_end(stream->read_stream);
	if (stream->advised)
	{
		sst_segment_file_close(&stream->advice_file);
		pfree(stream->advised);
	}
	pfree(stream);
}
