/*-------------------------------------------------------------------------
 *
 * run_queue.c
 *	  Runs of neighbouring blocks, read ahead from files
 *
 * A run whose data is in the page cache is copied at once, into memory that is
 * still in the CPU's cache.  When data is missing there, up to max_depth runs
 * are read ahead, and they are longer.  When all of the queue was found in the page
 * cache again, the depth returns to one run.
 *
 * Runs are returned in block order, or in the order in which their data
 * arrives, so that a slow read does not delay others.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/run_queue.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/uio.h>

#include "port/pg_bitutils.h"
#include "utils/memdebug.h"
#include "utils/memutils.h"

#include "compat/platform.h"
#include "stream/page_cache.h"
#include "stream/run_queue.h"

/*
 * Memory of runs is reused for longer ones: so much less is read ahead than the
 * limit allows, to stay within it.
 */
#define SPARE_BYTES (2 * 1024 * 1024)

/*
 * Prepare to read the source's blocks, about nblocks of them, of a fork.  Memory
 * is taken from the current context, now and later.
 */
void
sst_run_queue_init(SstRunQueue *queue, Relation rel, ForkNumber forknum,
				   SstSource *source, BlockNumber nblocks,
				   const SstPageNeeds *needs, bool any_order,
				   SstIoStats *io_stats)
{
	SstRun	   *runs;

	memset(queue, 0, sizeof(SstRunQueue));
	queue->source = source;
	queue->io_stats = io_stats;
	queue->context = CurrentMemoryContext;
	queue->cached_blocks = sst_run_blocks();
	queue->max_blocks = sst_cold_run_blocks();
	queue->any_order = any_order;

	sst_direct_page_check_init(&queue->check, rel, forknum, nblocks);
	sst_segment_set_init(&queue->segments, rel, forknum);
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
		runs[i].segment = NULL;
	}
	queue->spare = palloc(sizeof(char *) * queue->nruns);
}

/*
 * Close the reader, which waits for its reads in flight, and the files, and unmap what
 * is mapped.  No ERROR.
 */
void
sst_run_queue_close(SstRunQueue *queue)
{
	sst_mapped_file_close(&queue->mapper.file);
	if (queue->reader != NULL)
		queue->reader->close(queue->reader);
	queue->reader = NULL;
	sst_segment_set_close(&queue->segments);
}

/* Close what is open.  Memory stays until its context is deleted. */
void
sst_run_queue_end(SstRunQueue *queue)
{
	if (queue->cache_unknown)
		sst_io_stats_page_cache(queue->io_stats, -1);
	sst_run_queue_close(queue);
}

/*
 * Open a reader by the settings and by what the machine has.
 */
static void
open_reader(SstRunQueue *queue)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(queue->context);

	if (sst_io_method != SST_IO_METHOD_SYNC)
		queue->reader = sst_uring_reader_open(queue->nruns);
	if (queue->reader == NULL)
		queue->reader = sst_sync_reader_open();

	queue->io_stats->reader = queue->reader->method;
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Take neighbouring blocks from the source.  A run ends at its largest size, at
 * the end of a segment, or at a gap that is worth another read.  False at the
 * end of the source.
 */
static bool
take_run(SstRunQueue *queue, SstRun *run)
{
	SstSource  *source = queue->source;
	SstIoStats *io_stats = queue->io_stats;
	BlockNumber max_blocks = queue->depth > 1 ? queue->max_blocks :
		queue->cached_blocks;
	BlockNumber last;
	BlockNumber blkno;

	if (queue->stopped)
		return false;

	run->first = last = sst_source_next(source);
	if (run->first == InvalidBlockNumber)
		return false;
	run->wanted = SST_RUN_BIT(0);

	while ((blkno = sst_source_next(source)) != InvalidBlockNumber)
	{
		if (blkno - last > SST_MAX_GAP + 1 ||
			blkno - run->first >= max_blocks ||
			blkno / RELSEG_SIZE != run->first / RELSEG_SIZE)
		{
			sst_source_put_back(source, blkno);
			break;
		}
		run->wanted |= SST_RUN_BIT(blkno - run->first);
		last = blkno;
	}

	queue->ntaken += pg_popcount64(run->wanted);
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max,
								   queue->ntaken - queue->nreturned);

	return true;
}

/* The n'th run of the ring from the current one on */
static inline SstRun *
nth_run(SstRunQueue *queue, int n)
{
	return queue->runs[(queue->current + n) % queue->nruns];
}

/* From here on data is needed that has not arrived. */
static void
begin_wait(SstRunQueue *queue)
{
	if (INSTR_TIME_IS_ZERO(queue->wait_start))
		INSTR_TIME_SET_CURRENT(queue->wait_start);
}

static void
end_wait(SstRunQueue *queue)
{
	if (INSTR_TIME_IS_ZERO(queue->wait_start))
		return;

	sst_io_stats_waited_privately(queue->io_stats, queue->wait_start);
	INSTR_TIME_SET_ZERO(queue->wait_start);
}

/* Wait for one of the reads in flight, if none has arrived. */
static void
wait_for_any(SstRunQueue *queue)
{
	if (!queue->reader->ready(queue->reader))
		begin_wait(queue);
	queue->reader->wait(queue->reader);
}

/* Wait until the run is read. */
static void
finish_read(SstRunQueue *queue, SstRun *run)
{
	SstFileRead *read = &run->read;

	if (run->finished)
		return;

	while (read->in_flight)
		wait_for_any(queue);
	if (read->done < read->length)
		begin_wait(queue);
	queue->reader->finish(queue->reader, read);
	end_wait(queue);
	run->finished = true;
}

/* The run's file is needed no more. */
static void
return_segment(SstRunQueue *queue, SstRun *run)
{
	if (run->segment != NULL)
		sst_segment_set_return(&queue->segments, run->segment);
	run->segment = NULL;
}

/*
 * Read what is in the page cache without waiting; false if some is missing there.
 */
static bool
read_without_waiting(SstRunQueue *queue, SstFileRead *read)
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
copy_cached(SstRunQueue *queue, SstRun *run)
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
note_cached(SstRunQueue *queue, SstRun *run)
{
	const SstFileRead *read = &run->read;
	int			ncached = read->done / BLCKSZ;

	if (read->done == 0 && !queue->nowait)
	{
		int			nblocks = read->length / BLCKSZ;

		ncached = sst_page_cache_part(read->fd, read->offset, nblocks);
		queue->cache_unknown |= ncached < 0;
		ncached = ncached == nblocks ? nblocks : 0;
	}

	if (ncached > 0)
		run->cached = (PG_UINT64_MAX >> (64 - ncached)) << run->read_first;
}

/* Memory for a run: that which was used last is still in the CPU's cache. */
static char *
take_memory(SstRunQueue *queue)
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
return_memory(SstRunQueue *queue, SstRun *run)
{
	if (run->memory == NULL)
		return;

	VALGRIND_MAKE_MEM_NOACCESS(run->memory, (Size) BLCKSZ * queue->max_blocks);
	queue->spare[queue->nspare++] = run->memory;
	run->memory = NULL;
}

/* Count a read that has been started, or is done already. */
static void
count_read(SstRunQueue *queue, const SstFileRead *read)
{
	int			in_flight = queue->reader == NULL ? 0 : queue->reader->nin_flight;

	if (read->done == read->length)
		in_flight++;
	sst_io_stats_private_read(queue->io_stats, read->length / BLCKSZ,
							  Max(in_flight, 1));
}

/*
 * Begin to read those of the run's blocks that are in no buffer.  False if that has to
 * be tried again after another run, because too many segments are open.
 */
static bool
start_run(SstRunQueue *queue, SstRun *run)
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
		return true;

	run->read_first = pg_rightmost_one_pos64(missing);
	last = pg_leftmost_one_pos64(missing);

	/*
	 * If the file cannot be opened, the stream reads the blocks through the
	 * buffer manager, which reports the error.
	 */
	run->segment = sst_segment_set_take(&queue->segments, run->first);
	if (run->segment == NULL)
		return false;
	read->fd = run->segment->fd;
	if (read->fd < 0)
		return true;

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
		return true;
	}

	queue->ncached = 0;
	queue->depth = queue->max_depth;
	if (queue->reader == NULL)
		open_reader(queue);
	queue->reader->start(queue->reader, read);
	run->finished = false;
	count_read(queue, read);

	return true;
}

/*
 * Of the runs in the queue, make the first whose data is there the current one.
 * Waits until there is one.
 */
static void
bring_arrived_run(SstRunQueue *queue)
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
SstRun *
sst_run_queue_next(SstRunQueue *queue)
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

		if (!queue->waiting && !take_run(queue, run))
			break;
		queue->waiting = !start_run(queue, run);
		if (queue->waiting)
			break;
		queue->nbytes += run->read.length;
		queue->nqueued++;
	}

	Assert(queue->nqueued > 0 || !queue->waiting);
	if (queue->nqueued == 0)
		return NULL;

	if (queue->any_order)
		bring_arrived_run(queue);
	run = nth_run(queue, 0);
	finish_read(queue, run);
	sst_io_stats_returned(queue->io_stats, queue->ntaken - queue->nreturned,
						  pg_popcount64(run->wanted));
	sst_run_check(&queue->check, run);
	return_segment(queue, run);

	return run;
}
