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
 * IDENTIFICATION
 *	  src/stream/stream_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/instrument.h"
#include "lib/ilist.h"
#include "port/pg_bitutils.h"
#include "utils/memdebug.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "stream/mapped_file.h"
#include "stream/segment_file.h"

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

typedef struct RunQueue
{
	SstSource  *source;
	SstIoStats *io_stats;
	MemoryContext context;
	int			cached_blocks;	/* of a run, while the page cache has all */
	int			max_blocks;		/* of any run */
	int			max_gap;		/* unwanted blocks between two of a run */
	bool		any_order;		/* return runs as they arrive */
	bool		stopped;		/* take no more blocks from the source */

	SstDirectPageCheck check;
	SstFileReader *reader;		/* NULL until a run is not in the page cache */
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
	char	  **spare;			/* memory for runs; the last one used last */
	int			nspare;

	int64		ntaken;			/* blocks taken from the source */
	int64		nreturned;		/* of these, returned by the stream */
} RunQueue;

/*
 * Memory of runs is reused for longer ones: so much less is read ahead than the
 * limit allows, to stay within it.
 */
#define SPARE_BYTES (2 * 1024 * 1024)

/*
 * Prepare to read the source's blocks, about nblocks of them, of a fork.  Memory
 * is taken from the current context, now and later.
 */
static void
run_queue_init(RunQueue *queue, Relation rel, ForkNumber forknum,
			   SstSource *source, BlockNumber nblocks, int max_gap,
			   const SstPageNeeds *needs, bool any_order,
			   SstIoStats *io_stats)
{
	SstRun	   *runs;

	memset(queue, 0, sizeof(RunQueue));
	queue->source = source;
	queue->io_stats = io_stats;
	queue->context = CurrentMemoryContext;
	queue->cached_blocks = sst_run_blocks();
	queue->max_blocks = sst_cold_run_blocks();
	queue->max_gap = max_gap;
	queue->any_order = any_order;

	sst_direct_page_check_init(&queue->check, rel, forknum, nblocks);
#ifdef SST_HAVE_NOWAIT_READS
	queue->nowait = true;
#endif
	sst_run_mapper_init(&queue->mapper, needs, &queue->check);

	queue->depth = 1;
	queue->max_depth = sst_io_depth(rel->rd_rel->reltablespace);
	queue->nruns = queue->max_depth + 1;
	queue->runs = palloc(sizeof(SstRun *) * queue->nruns);
	runs = palloc(sizeof(SstRun) * queue->nruns);
	for (int i = 0; i < queue->nruns; i++)
	{
		queue->runs[i] = &runs[i];
		runs[i].read.in_flight = false;
		runs[i].memory = NULL;
	}
	queue->spare = palloc(sizeof(char *) * queue->nruns);
}

/*
 * Close the reader, which waits for its reads in flight, and the files, and unmap what
 * is mapped.  No ERROR.
 */
static void
run_queue_close(RunQueue *queue)
{
	sst_mapped_file_close(&queue->mapper.file);
	if (queue->reader != NULL)
		queue->reader->close(queue->reader);
	sst_segment_file_close(&queue->check.file);
}

/*
 * Open a reader by the settings and by what the machine has.
 */
static void
open_reader(RunQueue *queue)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(queue->context);

	if (sst_io_method != SST_IO_METHOD_SYNC)
		queue->reader = sst_uring_reader_open(queue->nruns);
	if (queue->reader == NULL)
		queue->reader = sst_sync_reader_open();

	queue->io_stats->reader = queue->reader->method;
	MemoryContextSwitchTo(oldcontext);
}

/* Take the next run from the source; false at its end. */
static bool
take_run(RunQueue *queue, SstRun *run)
{
	SstIoStats *io_stats = queue->io_stats;

	if (queue->stopped)
		return false;

	run->wanted = sst_source_take_run(queue->source, queue->depth > 1 ?
									  queue->max_blocks : queue->cached_blocks,
									  queue->max_gap, &run->first);
	if (run->wanted == 0)
		return false;

	queue->ntaken += pg_popcount64(run->wanted);
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max,
								   queue->ntaken - queue->nreturned);

	return true;
}

/* The n'th run of the ring from the current one on */
static inline SstRun *
nth_run(RunQueue *queue, int n)
{
	return queue->runs[(queue->current + n) % queue->nruns];
}

/* From here on data is needed that has not arrived. */
static void
begin_wait(RunQueue *queue)
{
	if (INSTR_TIME_IS_ZERO(queue->wait_start))
		INSTR_TIME_SET_CURRENT(queue->wait_start);
}

static void
end_wait(RunQueue *queue)
{
	if (INSTR_TIME_IS_ZERO(queue->wait_start))
		return;

	sst_io_stats_waited_privately(queue->io_stats, queue->wait_start);
	INSTR_TIME_SET_ZERO(queue->wait_start);
}

/* Wait for one of the reads in flight, if none has arrived. */
static void
wait_for_any(RunQueue *queue)
{
	if (!queue->reader->ready(queue->reader))
		begin_wait(queue);
	queue->reader->wait(queue->reader);
}

/*
 * Wait until the run is read.  What is in flight in a ring has its file, although that was
 * closed if other segments were read from since; what is read now needs it open.
 */
static void
finish_read(RunQueue *queue, SstRun *run)
{
	SstFileRead *read = &run->read;

	if (run->finished)
		return;

	while (read->in_flight)
		wait_for_any(queue);
	if (read->done < read->length)
	{
		begin_wait(queue);
		read->fd = sst_segment_file_open(&queue->check.file, run->first);
	}
	queue->reader->finish(queue->reader, read);
	end_wait(queue);
	run->finished = true;
}

/*
 * Read what is in the page cache without waiting; false if some is missing there.
 */
static bool
read_without_waiting(RunQueue *queue, SstFileRead *read)
{
#ifdef SST_HAVE_NOWAIT_READS
	struct iovec iov = {read->buffer, read->length};
	ssize_t		n;

	if (!queue->nowait)
		return false;

	n = preadv2(read->fd, &iov, 1, read->offset, RWF_NOWAIT);
	if (n >= 0)
		read->done = n;
	else if (errno != EAGAIN && errno != EINTR)
		queue->nowait = false;

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
copy_cached(RunQueue *queue, SstRun *run)
{
	bool		absent = false;

	if (queue->depth == 1 && sst_run_copy_mapped(&queue->mapper, run, &absent))
		return true;
	if (!read_without_waiting(queue, &run->read))
		return false;

	if (absent)
		sst_run_mapper_was_wrong(&queue->mapper);
	return true;
}

/*
 * Note which blocks of the run the page cache had, when what was there has been
 * copied.  Where that cannot be done without waiting for the rest, the kernel is asked.
 */
static void
note_cached(RunQueue *queue, SstRun *run)
{
	const SstFileRead *read = &run->read;
	int			ncached = read->done / BLCKSZ;

	if (read->done == 0 && !queue->nowait)
	{
		int64		bytes = sst_page_cache_part(read->fd, read->offset, read->length);

		queue->cache_unknown |= bytes < 0;
		ncached = bytes == read->length ? bytes / BLCKSZ : 0;
	}

	if (ncached > 0)
		run->cached = (PG_UINT64_MAX >> (64 - ncached)) << run->read_first;
}

/* Memory for a run: that which was used last is still in the CPU's cache. */
static char *
take_memory(RunQueue *queue)
{
	MemoryContext oldcontext;
	char	   *memory;

	if (queue->nspare > 0)
	{
		memory = queue->spare[--queue->nspare];
		VALGRIND_MAKE_MEM_UNDEFINED(memory, (Size) BLCKSZ * queue->max_blocks);
		return memory;
	}

	oldcontext = MemoryContextSwitchTo(queue->context);
	memory = sst_palloc_blocks(queue->max_blocks);
	MemoryContextSwitchTo(oldcontext);

	return memory;
}

static void
return_memory(RunQueue *queue, SstRun *run)
{
	if (run->memory == NULL)
		return;

	VALGRIND_MAKE_MEM_NOACCESS(run->memory, (Size) BLCKSZ * queue->max_blocks);
	queue->spare[queue->nspare++] = run->memory;
	run->memory = NULL;
}

/* Count a read that has been started, or is done already. */
static void
count_read(RunQueue *queue, const SstFileRead *read)
{
	int			in_flight = queue->reader == NULL ? 0 : queue->reader->nin_flight;

	if (read->done == read->length)
		in_flight++;
	sst_io_stats_private_read(queue->io_stats, read->length / BLCKSZ,
							  Max(in_flight, 1));
}

/* Begin to read those of the run's blocks that are in no buffer. */
static void
start_run(RunQueue *queue, SstRun *run)
{
	SstFileRead *read = &run->read;
	uint64		missing;
	bool		cached;
	int			last;

	sst_run_look_up(&queue->check, run);
	run->cached = 0;
	run->finished = true;
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
	read->fd = sst_segment_file_open(&queue->check.file, run->first);
	if (read->fd < 0)
		return;

	run->memory = take_memory(queue);
	read->offset = (off_t) BLCKSZ * ((run->first + run->read_first) % RELSEG_SIZE);
	read->buffer = run->memory + (Size) BLCKSZ * run->read_first;
	read->length = (Size) BLCKSZ * (last - run->read_first + 1);

	cached = copy_cached(queue, run);
	note_cached(queue, run);
	if (cached)
	{
		count_read(queue, read);

		/* Once all of the queue was in the page cache, stop reading ahead. */
		if (++queue->ncached > 2 * queue->nqueued && queue->nqueued > 0)
			queue->depth = 1;
		return;
	}

	queue->ncached = 0;
	queue->depth = queue->max_depth;
	if (queue->reader == NULL)
		open_reader(queue);
	queue->reader->start(queue->reader, read);
	run->finished = false;
	count_read(queue, read);
}

/*
 * Of the runs in the queue, make the first whose data is there the current one.
 * Waits until there is one.
 */
static void
bring_arrived_run(RunQueue *queue)
{
	SstRun	   *run;
	int			n = 0;

	while ((run = nth_run(queue, n))->read.in_flight)
	{
		if (++n == queue->nqueued)
		{
			wait_for_any(queue);
			n = 0;
		}
	}
	end_wait(queue);

	for (; n > 0; n--)
		queue->runs[(queue->current + n) % queue->nruns] = nth_run(queue, n - 1);
	queue->runs[queue->current] = run;
}

/*
 * Step to the next run, fill the queue behind it, and wait for the run's data.
 * NULL at the end of the source.
 *
 * The memory of the run before stays until the next call, because the caller may
 * still look at its last page.
 */
static SstRun *
run_queue_next(RunQueue *queue)
{
	SstRun	   *run;

	if (queue->nqueued > 0)
	{
		return_memory(queue, nth_run(queue, queue->nruns - 1));
		queue->nbytes -= nth_run(queue, 0)->read.length;
		queue->current = (queue->current + 1) % queue->nruns;
		queue->nqueued--;
	}

	while (queue->nqueued < queue->depth &&
		   queue->nbytes < SST_MAX_BYTES_AHEAD - SPARE_BYTES)
	{
		run = nth_run(queue, queue->nqueued);

		if (!take_run(queue, run))
			break;
		start_run(queue, run);
		queue->nbytes += run->read.length;
		queue->nqueued++;
	}

	if (queue->nqueued == 0)
		return NULL;

	if (queue->any_order)
		bring_arrived_run(queue);
	run = nth_run(queue, 0);
	finish_read(queue, run);
	sst_io_stats_returned(queue->io_stats, queue->ntaken - queue->nreturned,
						  pg_popcount64(run->wanted));
	sst_run_check(&queue->check, run);

	return run;
}

/* ----------
 * The stream
 * ----------
 */

/*
 * The stream gives up when more than MIN_DOUBTS pages, and more than one in
 * PAGES_PER_DOUBT, had to be read again through the buffer manager.
 */
#define MIN_DOUBTS 64
#define PAGES_PER_DOUBT 8

typedef struct SstFileStream
{
	SstStream	base;
	MemoryContext context;
	MemoryContextCallback callback;
	dlist_node	node;			/* of streams */
	SubTransactionId subid;		/* where it began */

	SstRules	rules;
	SstBlockReader block_reader;	/* for pages read one by one */

	RunQueue	queue;
	SstRun	   *run;			/* the current one */
	uint64		left;			/* its blocks not returned yet */

	int64		ndoubts;		/* pages that failed the checks, and were good */
} SstFileStream;

/*
 * The streams of this process that have begun and not ended.  The end of a
 * failed (sub)transaction has to find them.
 */
static dlist_head streams = DLIST_STATIC_INIT(streams);

/* Close the reader and the files when the stream's memory context is deleted. */
static void
close_stream(void *arg)
{
	SstFileStream *stream = arg;

	run_queue_close(&stream->queue);
	dlist_delete(&stream->node);
}

/*
 * End the streams that began in a failed subtransaction, or all of them with
 * InvalidSubTransactionId.
 *
 * The memory context they were created in may live longer than the failed
 * transaction: until a cursor is closed, or until ROLLBACK.  No stream outlives
 * the call that began it, so none has to be passed to the parent transaction.
 */
static void
end_failed_streams(SubTransactionId subid)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &streams)
	{
		SstFileStream *stream = dlist_container(SstFileStream, node, iter.cur);

		if (subid == InvalidSubTransactionId || stream->subid == subid)
			MemoryContextDelete(stream->context);
	}
}

static void
at_end_of_subtransaction(SubXactEvent event, SubTransactionId subid,
						 SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		end_failed_streams(subid);
}

static void
at_end_of_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		end_failed_streams(InvalidSubTransactionId);
}

/*
 * Get a block through the buffer manager.
 */
static void
read_buffer(SstFileStream *stream, BlockNumber blkno, SstPage *page)
{
	SstStream  *base = &stream->base;
	int64		nread = pgBufferUsage.shared_blks_read;
	instr_time	start;

	if (stream->rules == SST_RULES_TOLERANT)
	{
		sst_read_block_noerror(&stream->block_reader, blkno, page);
		return;
	}

	INSTR_TIME_SET_CURRENT(start);
	page->blkno = blkno;
	page->buffer = ReadBufferExtended(base->rel, base->forknum, blkno,
									  RBM_NORMAL, base->strategy);
	page->image = BufferGetPage(page->buffer);

	if (pgBufferUsage.shared_blks_read == nread)
		base->io_stats->blocks_hit++;
	else
	{
		base->io_stats->blocks_read++;
		sst_io_stats_read(base->io_stats, 1, 1);
		if (sst_read_was_cached(1, sst_io_stats_waited(base->io_stats, start)))
			base->io_stats->blocks_page_cache++;
	}
}

/*
 * Count a page that failed the checks although the buffer manager accepts it.
 * When there are too many, take no more blocks: the caller goes on with a buffer
 * stream.
 */
static void
count_doubt(SstFileStream *stream)
{
	int64		ndoubts = ++stream->ndoubts + stream->queue.check.nappeared;

	if (ndoubts > MIN_DOUBTS &&
		ndoubts > stream->queue.nreturned / PAGES_PER_DOUBT)
		stream->queue.stopped = true;
}

/*
 * Count the pages of the current run that were returned from private memory, also for
 * EXPLAIN (BUFFERS).
 */
static void
count_private_pages(SstFileStream *stream)
{
	SstIoStats *io_stats = stream->base.io_stats;
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
	SstRun	   *run;
	int			i;

	if (stream->left == 0)
	{
		count_private_pages(stream);
		stream->run = run_queue_next(&stream->queue);
		if (stream->run == NULL)
			return false;
		stream->left = stream->run->wanted;
	}

	run = stream->run;
	i = pg_rightmost_one_pos64(stream->left);
	stream->left &= stream->left - 1;
	stream->queue.nreturned++;
	base->io_stats->blocks_requested++;
	page->blkno = run->first + i;

	if (run->buffered & SST_RUN_BIT(i))
	{
		if (sst_read_recent_buffer(base->rel, base->forknum, page->blkno,
								   run->buffers[i]))
		{
			base->io_stats->blocks_hit++;
			page->buffer = run->buffers[i];
			page->image = BufferGetPage(page->buffer);
		}
		else
			read_buffer(stream, page->blkno, page);
		return true;
	}

	if (run->good & SST_RUN_BIT(i))
	{
		page->buffer = InvalidBuffer;
		page->image = run->memory + (Size) BLCKSZ * i;
		return true;
	}

	read_buffer(stream, page->blkno, page);
	if (page->image != NULL)
		count_doubt(stream);

	return true;
}

/* A page of the current run that was in a buffer is probably still there. */
static const char *
file_stream_peek(const SstStream *base)
{
	const SstFileStream *stream = (const SstFileStream *) base;
	const SstRun *run = stream->run;
	uint64		soon = stream->left;
	int			i;

	for (int n = 1; n < SST_PEEK_DISTANCE && soon != 0; n++)
		soon &= soon - 1;
	if (soon == 0)
		return NULL;

	i = pg_rightmost_one_pos64(soon);
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
	if (stream->queue.cache_unknown)
		sst_add_count(&base->io_stats->blocks_page_cache, -1);
	sst_block_reader_end(&stream->block_reader);

	/* This also closes what is open. */
	MemoryContextDelete(stream->context);
}

/*
 * Begin to read the source's blocks, about nblocks of them, of a fork of a
 * relation in shared buffers; and up to max_gap blocks between two of them, if that saves
 * a read.
 *
 * The relation must stay open and locked until the end.  What the stream does is
 * added to io_stats run by run.  A page that the buffer manager refuses is an
 * ERROR by contrib's rules, else it is returned without an image.  With any_order,
 * a block may come before those of lower numbers; when the source or the stream
 * ends, all that were taken from the source have been returned in either case.
 */
SstStream *
sst_file_stream_begin(Relation rel, ForkNumber forknum, SstSource *source,
					  BlockNumber nblocks, int max_gap,
					  BufferAccessStrategy strategy, SstRules rules,
					  const SstPageNeeds *needs, bool any_order,
					  SstIoStats *io_stats)
{
	static bool registered = false;
	MemoryContext oldcontext;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "streamstat file stream",
												  ALLOCSET_DEFAULT_SIZES);
	SstFileStream *stream = MemoryContextAllocZero(context, sizeof(SstFileStream));

	stream->base = (SstStream)
	{
		file_stream_next, file_stream_peek, file_stream_end,
			rel, forknum, strategy, io_stats
	};
	stream->rules = rules;
	stream->block_reader = (SstBlockReader)
	{
		rel, forknum, strategy, io_stats
	};

	oldcontext = MemoryContextSwitchTo(context);
	run_queue_init(&stream->queue, rel, forknum, source, nblocks, max_gap,
				   needs, any_order, io_stats);
	MemoryContextSwitchTo(oldcontext);

	if (!registered)
	{
		RegisterSubXactCallback(at_end_of_subtransaction, NULL);
		RegisterXactCallback(at_end_of_transaction, NULL);
		registered = true;
	}

	stream->context = context;
	stream->subid = GetCurrentSubTransactionId();
	dlist_push_head(&streams, &stream->node);
	stream->callback.func = close_stream;
	stream->callback.arg = stream;
	MemoryContextRegisterResetCallback(context, &stream->callback);

	/* The look for the tablespace's settings may have left one. */
	InvalidateCatalogSnapshot();

	return &stream->base;
}

/*
 * After the last page: did the stream leave the rest of the source to a buffer
 * stream?
 */
bool
sst_file_stream_gave_up(const SstStream *base)
{
	return ((const SstFileStream *) base)->queue.stopped;
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
