/*-------------------------------------------------------------------------
 *
 * stream_file.c
 *	  Pages from a relation's files, without the buffer manager
 *
 * Blocks that are in no buffer are read from the segment files into private
 * memory, in runs of neighbours.  This saves the buffer manager's
 * work for each block, and evicts no buffer.  Blocks that are in buffers, and
 * pages that fail the checks of direct_page_check.c, are read through the buffer
 * manager.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "port/pg_bitutils.h"
#include "utils/memdebug.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "stream/run.h"
#include "stream/segment_file.h"

/* Memory for a run that has none, and how many blocks of it were ever written */
typedef struct SpareMemory
{
	char	   *memory;
	int			nblocks;
} SpareMemory;

typedef struct SstFileStream
{
	SstStream	base;
	MemoryContext context;
	MemoryContextCallback callback;

	/* What to read, and how */
	SstSource  *source;
	int			cached_blocks;	/* of a run, while the page cache has all */
	int			max_blocks;		/* of any run */
	int			max_gap;		/* unwanted blocks between two of a run */
	bool		any_order;		/* return runs as they arrive */

	SstDirectPageCheck check;
	SstIoMethod method;			/* SST_IO_METHOD_AUTO until a run is not in
								 * the page cache */
	SstRing    *ring;			/* NULL for reads after advice */
	bool		nowait;			/* preadv2() with RWF_NOWAIT works */
	bool		cache_unknown;	/* what the page cache has cannot be known */
	instr_time	wait_start;		/* zero while there is no wait */
	SstRunMapper mapper;

	/*
	 * A ring of runs: the current one, up to depth - 1 runs read ahead, and
	 * the previous one, whose memory is kept
	 */
	SstRun	  **runs;
	int			nruns;
	int			current;
	int			nqueued;		/* the current one included */
	int			depth;
	int			max_depth;
	int64		nbytes;			/* to read for the runs in the queue */
	int			ncached;		/* successive runs found in the page cache */
	SpareMemory *spare;			/* memory for runs; the last one used last */
	int			nspare;
	int64		memory_blocks;	/* of the memory of all runs, ever written */

	SstRun	   *run;			/* the current one, whose pages are returned */
	uint64		left;			/* its blocks not returned yet */

	int64		ntaken;			/* blocks taken from the source */
	int64		nreturned;		/* of these, returned by the stream */
} SstFileStream;

/* ----------
 * Runs of neighbouring blocks, read ahead
 *
 * A run whose data is in the page cache is copied at once, into memory that is
 * still in the CPU's cache.  When data is missing there, up to max_depth runs
 * are read ahead, and they are longer.  When all of the queue was found in the page
 * cache again, the depth returns to one run.
 *
 * Runs are returned in block order, or in the order in which their data
 * arrives, so that a slow read does not delay others.
 * ----------
 */

/*
 * Memory of runs is reused for longer ones: so much less is read ahead than the
 * limit allows, to stay within it.  If that is not enough, because long and short runs
 * take turns, memory goes back to the system.
 */
#define SPARE_BYTES (2 * 1024 * 1024)

/*
 * At the first run that is not in the page cache: open a ring, by the settings and by what
 * the machine has.
 */
static void
choose_method(SstFileStream *stream)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(stream->context);

	if (sst_io_method != SST_IO_METHOD_SYNC)
		stream->ring = sst_ring_open(stream->nruns);
	stream->method = stream->ring != NULL ? SST_IO_METHOD_IO_URING : SST_IO_METHOD_SYNC;
	stream->base.reader->io_stats->reader = stream->method;
	MemoryContextSwitchTo(oldcontext);
}

/* Take the next run from the source; false at its end. */
static bool
take_run(SstFileStream *stream, SstRun *run)
{
	SstIoStats *io_stats = stream->base.reader->io_stats;

	run->wanted = sst_source_take_run(stream->source, stream->depth > 1 ?
									  stream->max_blocks : stream->cached_blocks,
									  stream->max_gap, &run->first);
	if (run->wanted == 0)
		return false;

	stream->ntaken += pg_popcount64(run->wanted);
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max,
								   stream->ntaken - stream->nreturned);

	return true;
}

/* The n'th run of the ring from the current one on */
static inline SstRun *
nth_run(SstFileStream *stream, int n)
{
	return stream->runs[(stream->current + n) % stream->nruns];
}

/* From here on data is needed that has not arrived. */
static void
begin_wait(SstFileStream *stream)
{
	if (INSTR_TIME_IS_ZERO(stream->wait_start))
		INSTR_TIME_SET_CURRENT(stream->wait_start);
}

static void
end_wait(SstFileStream *stream)
{
	if (INSTR_TIME_IS_ZERO(stream->wait_start))
		return;

	sst_io_stats_waited_privately(stream->base.reader->io_stats, stream->wait_start);
	INSTR_TIME_SET_ZERO(stream->wait_start);
}

/* Wait for one of the reads in flight, if none has arrived. */
static void
wait_for_any(SstFileStream *stream)
{
	if (!sst_ring_ready(stream->ring))
		begin_wait(stream);
	sst_ring_wait(stream->ring);
}

/*
 * Wait until the run is read.  What is in flight in a ring has its file, although that was
 * closed if other segments were read from since; what is read now needs it open.
 */
static void
finish_read(SstFileStream *stream, SstRun *run)
{
	SstFileRead *read = &run->read;

	if (read->done == read->length && !read->in_flight)
		return;

	while (read->in_flight)
		wait_for_any(stream);
	if (read->done < read->length)
	{
		begin_wait(stream);
		read->fd = sst_segment_file_open(&stream->check.file, run->first);
	}
	sst_file_read_rest(read);
	end_wait(stream);
}

/*
 * Read what is in the page cache without waiting; false if some is missing there.
 */
static bool
read_without_waiting(SstFileStream *stream, SstFileRead *read)
{
#ifdef SST_HAVE_NOWAIT_READS
	struct iovec iov = {read->buffer, read->length};
	ssize_t		n;

	if (!stream->nowait)
		return false;

	n = preadv2(read->fd, &iov, 1, read->offset, RWF_NOWAIT);
	if (n >= 0)
		read->done = n;
	else if (errno != EAGAIN && errno != EINTR)
		stream->nowait = false;

	return read->done == read->length;
#else
	return false;
#endif
}

/*
 * Copy a run from the page cache, in part or whole; false if some is missing there.
 *
 * While runs are read ahead, nothing is mapped: what is on its way into the page
 * cache would be waited for.
 */
static bool
copy_cached(SstFileStream *stream, SstRun *run)
{
	return (stream->depth == 1 &&
			sst_run_copy_mapped(&stream->mapper, run, stream->nowait)) ||
		read_without_waiting(stream, &run->read);
}

/*
 * Note which blocks of the run the page cache had, when what was there has been
 * copied.  Where that cannot be done without waiting for the rest, the kernel is asked.
 */
static void
note_cached(SstFileStream *stream, SstRun *run)
{
	const SstFileRead *read = &run->read;
	int			ncached = read->done / BLCKSZ;

	if (read->done == 0 && !stream->nowait)
	{
		int64		bytes = sst_page_cache_part(read->fd, read->offset, read->length);

		stream->cache_unknown |= bytes < 0;
		ncached = bytes == read->length ? bytes / BLCKSZ : 0;
	}

	if (ncached > 0)
		run->cached = (PG_UINT64_MAX >> (64 - ncached)) << run->read_first;
}

/*
 * Take memory for a run, of which so many blocks may be written: that which was used last is still
 * in the CPU's cache.
 */
static void
take_memory(SstFileStream *stream, SstRun *run, int nblocks)
{
	int			more;

	if (stream->nspare > 0)
	{
		SpareMemory *spare = &stream->spare[--stream->nspare];

		run->memory = spare->memory;
		run->memory_blocks = spare->nblocks;
		VALGRIND_MAKE_MEM_UNDEFINED(run->memory, (Size) BLCKSZ * stream->max_blocks);
	}
	else
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(stream->context);

		run->memory = sst_palloc_blocks(stream->max_blocks);
		run->memory_blocks = 0;
		MemoryContextSwitchTo(oldcontext);
	}
	more = nblocks - run->memory_blocks;
	if (more > 0)
	{
		run->memory_blocks += more;
		stream->memory_blocks += more;
	}
}

static void
return_memory(SstFileStream *stream, SstRun *run)
{
	if (run->memory == NULL)
		return;

#ifdef SST_HAVE_MADV_DONTNEED
	if (stream->memory_blocks > SST_MAX_BYTES_AHEAD / BLCKSZ &&
		madvise(run->memory, (Size) BLCKSZ * run->memory_blocks, MADV_DONTNEED) == 0)
	{
		stream->memory_blocks -= run->memory_blocks;
		run->memory_blocks = 0;
	}
#endif
	VALGRIND_MAKE_MEM_NOACCESS(run->memory, (Size) BLCKSZ * stream->max_blocks);
	stream->spare[stream->nspare].memory = run->memory;
	stream->spare[stream->nspare++].nblocks = run->memory_blocks;
	run->memory = NULL;
}

/* Count a read that has been started, or is done already, beside those in the queue. */
static void
count_read(SstFileStream *stream, const SstFileRead *read)
{
	int			in_flight = 1;

	for (int n = 0; n < stream->nqueued; n++)
	{
		const SstFileRead *other = &nth_run(stream, n)->read;

		in_flight += other->in_flight || other->done < other->length;
	}
	sst_io_stats_private_read(stream->base.reader->io_stats, read->length / BLCKSZ, in_flight);
}

/* Begin to read those of the run's blocks that are in no buffer. */
static void
start_run(SstFileStream *stream, SstRun *run)
{
	SstFileRead *read = &run->read;
	uint64		missing;
	bool		cached;
	int			last;

	sst_run_look_up(&stream->check, run);
	run->cached = 0;
	run->mapped = false;
	read->done = read->length = 0;

	missing = run->wanted & ~run->buffered;
	if (missing == 0)
		return;

	run->read_first = pg_rightmost_one_pos64(missing);
	last = pg_leftmost_one_pos64(missing);

	/*
	 * If the file cannot be opened, the stream reads the blocks through the
	 * buffer manager, which reports the error.
	 */
	read->fd = sst_segment_file_open(&stream->check.file, run->first);
	if (read->fd < 0)
		return;

	take_memory(stream, run, last + 1);
	read->offset = (off_t) BLCKSZ * ((run->first + run->read_first) % RELSEG_SIZE);
	read->buffer = run->memory + (Size) BLCKSZ * run->read_first;
	read->length = (Size) BLCKSZ * (last - run->read_first + 1);

	cached = copy_cached(stream, run);
	note_cached(stream, run);
	if (cached)
	{
		count_read(stream, read);

		/* Once all of the queue was in the page cache, stop reading ahead. */
		if (++stream->ncached > 2 * stream->nqueued && stream->nqueued > 0)
			stream->depth = 1;
		return;
	}

	stream->ncached = 0;
	sst_run_mapper_missed(&stream->mapper);
	stream->depth = stream->max_depth;
	if (stream->method == SST_IO_METHOD_AUTO)
		choose_method(stream);
	sst_file_read_start(read, stream->ring);
	count_read(stream, read);
}

/*
 * Of the runs in the queue, make the first whose data is there the current one.
 * Waits until there is one.
 */
static void
bring_arrived_run(SstFileStream *stream)
{
	SstRun	   *run;
	int			n = 0;

	while ((run = nth_run(stream, n))->read.in_flight)
	{
		if (++n == stream->nqueued)
		{
			wait_for_any(stream);
			n = 0;
		}
	}
	end_wait(stream);

	for (; n > 0; n--)
		stream->runs[(stream->current + n) % stream->nruns] = nth_run(stream, n - 1);
	stream->runs[stream->current] = run;
}

/*
 * Step to the next run, fill the queue behind it, and wait for the run's data.
 * NULL at the end of the source.
 *
 * The memory of the run before stays until the next call, because the caller may
 * still look at its last page.
 */
static SstRun *
next_run(SstFileStream *stream)
{
	SstRun	   *run;

	if (stream->nqueued > 0)
	{
		return_memory(stream, nth_run(stream, stream->nruns - 1));
		stream->nbytes -= nth_run(stream, 0)->read.length;
		stream->current = (stream->current + 1) % stream->nruns;
		stream->nqueued--;
	}

	while (stream->nqueued < stream->depth &&
		   stream->nbytes < SST_MAX_BYTES_AHEAD - SPARE_BYTES)
	{
		run = nth_run(stream, stream->nqueued);

		if (!take_run(stream, run))
			break;
		start_run(stream, run);
		stream->nbytes += run->read.length;
		stream->nqueued++;
	}

	if (stream->nqueued == 0)
		return NULL;

	if (stream->any_order)
		bring_arrived_run(stream);
	run = nth_run(stream, 0);
	finish_read(stream, run);
	sst_io_stats_returned(stream->base.reader->io_stats, stream->ntaken - stream->nreturned,
						  pg_popcount64(run->wanted));
	sst_run_check(&stream->check, run);
	sst_run_mapper_done(&stream->mapper, run);

	return run;
}

/* ----------
 * The stream
 * ----------
 */

/*
 * When the stream's memory context is deleted, be it at the end of the process: close the
 * ring, which waits for its reads in flight, and the files, and unmap what is mapped.
 * No ERROR.
 */
static void
close_stream(void *arg)
{
	SstFileStream *stream = arg;

	sst_run_mapper_close(&stream->mapper);
	if (stream->ring != NULL)
		sst_ring_close(stream->ring);
	sst_segment_file_close(&stream->check.file);
}

/*
 * Count the pages of the current run that were returned from private memory, also for
 * EXPLAIN (BUFFERS).
 */
static void
count_private_pages(SstFileStream *stream)
{
	SstIoStats *io_stats = stream->base.reader->io_stats;
	const SstRun *run = stream->run;
	uint64		returned;
	int			n;

	if (run == NULL)
		return;

	returned = run->good & ~stream->left;
	n = pg_popcount64(returned);
	io_stats->blocks_read += n;
	io_stats->blocks_private += n;
	io_stats->blocks_mapped += run->mapped ? n : 0;
	io_stats->blocks_page_cache += pg_popcount64(returned & run->cached);
	pgBufferUsage.shared_blks_read += n;
	stream->run = NULL;
}

static bool
file_stream_next(SstStream *base, SstPage *page)
{
	SstFileStream *stream = (SstFileStream *) base;
	const SstBlockReader *reader = base->reader;
	SstRun	   *run;
	int			i;

	if (stream->left == 0)
	{
		count_private_pages(stream);
		stream->run = next_run(stream);
		if (stream->run == NULL)
			return false;
		stream->left = stream->run->wanted;
	}

	run = stream->run;
	i = pg_rightmost_one_pos64(stream->left);
	stream->left &= stream->left - 1;
	stream->nreturned++;
	reader->io_stats->blocks_requested++;
	page->blkno = run->first + i;

	/* No block is both buffered and good. */
	if ((run->buffered & SST_RUN_BIT(i)) &&
		sst_read_recent_buffer(reader->rel, reader->forknum, page->blkno,
							   run->buffers[i]))
	{
		reader->io_stats->blocks_hit++;
		page->buffer = run->buffers[i];
		page->image = BufferGetPage(page->buffer);
	}
	else if (run->good & SST_RUN_BIT(i))
	{
		page->buffer = InvalidBuffer;
		page->image = run->memory + (Size) BLCKSZ * i;
	}
	else
		sst_read_block(reader, page->blkno, page, NULL);

	return true;
}

/* A page of the current run that was in a buffer is probably still there. */
static const char *
file_stream_peek(const SstStream *base)
{
	const SstFileStream *stream = (const SstFileStream *) base;
	const SstRun *run = stream->run;
	int			i = sst_peek_block(stream->left);

	if (i < 0)
		return NULL;
	if (run->buffered & SST_RUN_BIT(i))
		return BufferGetBlock(run->buffers[i]);
	if (run->good & SST_RUN_BIT(i))
		return run->memory + (Size) BLCKSZ * i;

	return NULL;
}

static void
file_stream_end(SstStream *base)
{
	SstFileStream *stream = (SstFileStream *) base;

	count_private_pages(stream);
	if (stream->cache_unknown)
		sst_add_count(&base->reader->io_stats->blocks_page_cache, -1);

	/* This also closes what is open. */
	MemoryContextDelete(stream->context);
}

/* Prepare the ring of runs.  Memory is taken from the current context. */
static void
init_runs(SstFileStream *stream)
{
	SstRun	   *runs;

	stream->depth = 1;
	stream->max_depth = sst_io_depth(stream->base.reader->rel->rd_rel->reltablespace);
	stream->nruns = stream->max_depth + 1;
	stream->runs = palloc(sizeof(SstRun *) * stream->nruns);
	runs = palloc(sizeof(SstRun) * stream->nruns);
	for (int i = 0; i < stream->nruns; i++)
	{
		stream->runs[i] = &runs[i];
		runs[i].read.in_flight = false;
		runs[i].memory = NULL;
	}
	stream->spare = palloc(sizeof(SpareMemory) * stream->nruns);
}

/*
 * Begin to read the source's blocks, about nblocks of them, of a fork of a
 * relation in shared buffers; and up to max_gap blocks between two of them, if that saves
 * a read.
 *
 * The relation must stay open and locked until the end.  The caller ends the stream
 * after an ERROR, too: the current memory context may live longer than the query.  What
 * the stream does is added to io_stats run by run.  A page that the buffer manager refuses
 * is an ERROR by contrib's rules, else it is returned without an image.  With any_order,
 * a block may come before those of lower numbers.
 */
SstStream *
sst_file_stream_begin(const SstBlockReader *reader, SstSource *source,
					  BlockNumber nblocks, int max_gap, const SstPageNeeds *needs,
					  bool any_order)
{
	MemoryContext oldcontext;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "streamstat file stream",
												  ALLOCSET_DEFAULT_SIZES);
	SstFileStream *stream = MemoryContextAllocZero(context, sizeof(SstFileStream));

	stream->base = (SstStream)
	{
		file_stream_next, file_stream_peek, file_stream_end, reader
	};
	stream->context = context;
	stream->source = source;
	stream->cached_blocks = sst_run_blocks();
	stream->max_blocks = sst_cold_run_blocks();
	stream->max_gap = max_gap;
	stream->any_order = any_order;
#ifdef SST_HAVE_NOWAIT_READS
	stream->nowait = true;
#endif

	oldcontext = MemoryContextSwitchTo(context);
	sst_direct_page_check_init(&stream->check, reader->rel, reader->forknum, nblocks);
	sst_run_mapper_init(&stream->mapper, needs, &stream->check);
	init_runs(stream);
	MemoryContextSwitchTo(oldcontext);

	stream->callback.func = close_stream;
	stream->callback.arg = stream;
	MemoryContextRegisterResetCallback(context, &stream->callback);

	/* The look for the tablespace's settings may have left one. */
	InvalidateCatalogSnapshot();

	return &stream->base;
}

/* ----------
 * Read-ahead advice for blocks that will be read soon
 *
 * A stream looks ahead in one relation.  Advice needs only the files, which
 * are known from the catalogs, so that reads of many relations can be in
 * flight before the first of them is opened.  It is only a hint: files may be
 * gone, or be those of another relation by now.
 * ----------
 */

/*
 * Advise the kernel of the source's blocks, in runs as a file stream with a limit reads
 * them: from the first to the last one that is not in shared buffers.  Returns the number
 * of runs, or -1 if there is no such file, which is no error.
 *
 * The relation need not be open or locked.  It must not be temporary.  One file is
 * open at a time, and none afterwards.
 */
int
sst_advise_blocks(const SstFiles *files, ForkNumber forknum, SstSource *source,
				  SstIoStats *io_stats)
{
	SstSegmentFile file;
	BlockNumber first;
	uint64		run;
	int			nruns = 0;
	bool		opened = true;

	sst_segment_file_init_files(&file, files, forknum);
	while (opened &&
		   (run = sst_source_take_run(source, sst_run_blocks(), 0, &first)) != 0)
	{
		BlockNumber end = first + pg_leftmost_one_pos64(run) + 1;

		while (first < end && sst_is_buffered(files, forknum, first))
			first++;
		while (first < end && sst_is_buffered(files, forknum, end - 1))
			end--;
		if (first == end)
			continue;
		opened = sst_segment_file_advise(&file, first, end - first);
		nruns++;

		/* -1 stands for a stream that does not count its advice. */
		if (opened && io_stats->advice_calls >= 0)
		{
			io_stats->advice_calls++;
			io_stats->advice_blocks += end - first;
		}
	}
	sst_segment_file_close(&file);

	return opened ? nruns : -1;
}
