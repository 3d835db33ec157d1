/*-------------------------------------------------------------------------
 *
 * stream_file.c
 *	  Pages from a relation's files, past the buffer manager
 *
 * Blocks that are in no buffer are read from the segment files into private
 * memory, in runs of neighbours.  This spares the buffer manager's work for
 * each block, and disturbs no buffer.  What is in a buffer, or in doubt, goes
 * through the buffer manager; private_pages.c says what is.
 *
 * A run whose data is in the page cache is copied at once through a buffer
 * that stays in the CPU's cache.  When data is missing there, a queue of runs
 * is read ahead, until it proves to be there again.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/stream_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/uio.h>

#include "access/xact.h"
#include "lib/ilist.h"
#include "port/pg_bitutils.h"
#include "utils/memdebug.h"
#include "utils/memutils.h"

#include "stream/direct_page_check.h"

/* Blocks that are read for nothing, rather than to begin another read */
#define MAX_GAP 8

/* Doubtful pages from which on, if so many, all goes through buffers */
#define MIN_DOUBTS 64
#define MAX_DOUBT_SHARE 8

/* Pages to look ahead for the CPU's sake */
#define PEEK_DISTANCE 4

typedef struct SstFileStream
{
	SstStream	base;
	MemoryContext context;
	MemoryContextCallback callback;
	dlist_node	node;			/* of streams */
	SubTransactionId subid;		/* where it began */

	int			max_blocks;		/* of a run */
	SstRules	rules;
	SstDirectPageCheck pages;
	SstBlockReader careful;

	SstSegmentFile file;
	SstFileReader *reader;		/* NULL until something is not cached */
	bool		nowait;			/* reads can be tried without waiting */

	/*
	 * A ring of runs.  One is being returned, and the one before it is kept
	 * as long; behind it depth - 1 runs are read ahead.
	 */
	SstRun	   *runs;
	int			nruns;
	int			current;
	int			nqueued;		/* the current one included */
	int			depth;
	int			max_depth;
	int			ncached;		/* runs in a row that were in the page cache */
	uint64		left;			/* blocks of the current run to return */
	char	  **spare;			/* memory for runs, last used last */
	int			nspare;

	int64		ntaken;			/* blocks, from the source */
	int64		nreturned;
	int64		ndoubts;		/* private pages that were not believed */
	bool		gave_up;
} SstFileStream;

/* Those that have begun and not ended, in this process */
static dlist_head streams = DLIST_STATIC_INIT(streams);

static void
close_reader(SstFileStream *stream)
{
	if (stream->reader != NULL)
		stream->reader->close(stream->reader);
	stream->reader = NULL;
}

/* Close the reader and what it reads, whatever ends the stream. */
static void
close_stream(void *arg)
{
	SstFileStream *stream = arg;

	close_reader(stream);
	dlist_delete(&stream->node);
}

/*
 * End the streams that a failed transaction, or one of its subtransactions, has
 * begun.
 *
 * Their memory may live longer.  That of a cursor declared before a savepoint
 * stays until the cursor is closed, that of a function's query until somebody
 * says ROLLBACK.  No stream lives longer than the call that began it, so that
 * none has to pass to a parent.
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
 * Open a reader that suits the settings and the machine.
 */
static void
open_reader(SstFileStream *stream)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(stream->context);

	if (sst_io_method != SST_IO_METHOD_SYNC)
		stream->reader = sst_uring_reader_open(stream->nruns);
	if (stream->reader == NULL)
		stream->reader = sst_sync_reader_open();

	stream->base.io_stats->reader = stream->reader->method;
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Take neighbouring blocks from the source: up to the largest size of a run,
 * the end of a segment, or a gap that is worth another read.
 */
static bool
take_run(SstFileStream *stream, SstRun *run)
{
	SstSource  *source = stream->base.source;
	BlockNumber last;
	BlockNumber blkno;

	if (stream->gave_up)
		return false;

	run->first = last = sst_source_next(source);
	if (run->first == InvalidBlockNumber)
		return false;
	run->wanted = SST_RUN_BIT(0);

	while ((blkno = sst_source_next(source)) != InvalidBlockNumber)
	{
		if (blkno - last > MAX_GAP + 1 ||
			blkno - run->first >= stream->max_blocks ||
			blkno / RELSEG_SIZE != run->first / RELSEG_SIZE)
		{
			sst_source_put_back(source, blkno);
			break;
		}
		run->wanted |= SST_RUN_BIT(blkno - run->first);
		last = blkno;
	}

	stream->ntaken += pg_popcount64(run->wanted);
	stream->base.io_stats->look_ahead_max = Max(stream->base.io_stats->look_ahead_max,
											  stream->ntaken - stream->nreturned);

	return true;
}

/* Wait for the run's read. */
static void
finish_read(SstFileStream *stream, SstRun *run)
{
	if (!run->finished)
		stream->reader->finish(stream->reader, &run->read);
	run->finished = true;
}

/*
 * Have the segment of a run open; runs of the one before are finished first.
 */
static int
open_segment(SstFileStream *stream, const SstRun *run)
{
	if (stream->file.segno != run->first / RELSEG_SIZE)
	{
		for (int i = 0; i < stream->nqueued; i++)
			finish_read(stream, &stream->runs[(stream->current + i) % stream->nruns]);
	}

	return sst_segment_file_open(&stream->file, run->first);
}

/*
 * Try to copy what is to be read from the page cache; true if all was there.
 */
static bool
read_cached(SstFileStream *stream, SstFileRead *read)
{
#ifdef RWF_NOWAIT
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

/* Memory for a run: that which was in use last, as the CPU's cache has it. */
static char *
take_memory(SstFileStream *stream)
{
	MemoryContext oldcontext;
	char	   *memory;

	if (stream->nspare > 0)
	{
		memory = stream->spare[--stream->nspare];
		VALGRIND_MAKE_MEM_UNDEFINED(memory, (Size) BLCKSZ * stream->max_blocks);
		return memory;
	}

	oldcontext = MemoryContextSwitchTo(stream->context);
	memory = sst_palloc_blocks(stream->max_blocks);
	MemoryContextSwitchTo(oldcontext);

	return memory;
}

/*
 * Begin to read those of the run's blocks that are in no buffer.
 */
static void
start_run(SstFileStream *stream, SstRun *run)
{
	SstFileRead *read = &run->read;
	uint64		missing;
	int			last;

	sst_run_look_up(&stream->pages, run);
	run->finished = true;
	read->done = read->length = 0;

	missing = run->wanted & ~run->buffered;
	if (missing == 0)
		return;

	run->read_first = pg_rightmost_one_pos64(missing);
	last = pg_leftmost_one_pos64(missing);

	/* A file that cannot be opened is the buffer manager's to complain of. */
	read->fd = open_segment(stream, run);
	if (read->fd < 0)
		return;

	run->memory = take_memory(stream);
	read->offset = (off_t) BLCKSZ * ((run->first + run->read_first) % RELSEG_SIZE);
	read->buffer = run->memory + (Size) BLCKSZ * run->read_first;
	read->length = (Size) BLCKSZ * (last - run->read_first + 1);

	stream->base.io_stats->reads++;
	stream->base.io_stats->read_bytes += read->length;

	if (read_cached(stream, read))
	{
		/* All of the queue was there: read no further ahead. */
		if (++stream->ncached > 2 * stream->max_depth)
			stream->depth = 1;
		return;
	}

	stream->ncached = 0;
	stream->depth = stream->max_depth;
	if (stream->reader == NULL)
		open_reader(stream);
	stream->reader->start(stream->reader, read);
	run->finished = false;
}

/*
 * Step to the next run, whose data then is there, and fill up the queue behind
 * it; false at the end.
 */
static bool
next_run(SstFileStream *stream)
{
	SstRun	   *run;

	if (stream->nqueued > 0)
	{
		/* The page returned last stays valid; the run before goes. */
		run = &stream->runs[(stream->current + stream->nruns - 1) % stream->nruns];
		if (run->memory != NULL)
		{
			VALGRIND_MAKE_MEM_NOACCESS(run->memory,
									   (Size) BLCKSZ * stream->max_blocks);
			stream->spare[stream->nspare++] = run->memory;
		}
		run->memory = NULL;

		stream->current = (stream->current + 1) % stream->nruns;
		stream->nqueued--;
	}

	while (stream->nqueued < stream->depth)
	{
		run = &stream->runs[(stream->current + stream->nqueued) % stream->nruns];

		if (!take_run(stream, run))
			break;
		start_run(stream, run);
		stream->nqueued++;
	}

	if (stream->nqueued == 0)
		return false;

	run = &stream->runs[stream->current];
	finish_read(stream, run);
	stream->left = run->wanted;
	sst_run_check(&stream->pages, run);

	return true;
}

/*
 * Get a block through the buffer manager.
 */
static void
read_buffer(SstFileStream *stream, BlockNumber blkno, SstPage *page)
{
	SstStream  *base = &stream->base;

	if (stream->rules == SST_RULES_TOLERANT)
	{
		sst_read_block_noerror(&stream->careful, blkno, page);
		return;
	}

	page->blkno = blkno;
	page->buffer = ReadBufferExtended(base->rel, base->forknum, blkno,
									  RBM_NORMAL, base->strategy);
	page->image = BufferGetPage(page->buffer);
	base->io_stats->blocks_read++;
}

static bool
file_stream_next(SstStream *base, SstPage *page)
{
	SstFileStream *stream = (SstFileStream *) base;
	SstRun	   *run;
	int			i;

	if (stream->left == 0 && !next_run(stream))
		return false;

	run = &stream->runs[stream->current];
	i = pg_rightmost_one_pos64(stream->left);
	stream->left &= stream->left - 1;
	stream->nreturned++;
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
		base->io_stats->blocks_read++;
		base->io_stats->blocks_private++;
		page->buffer = InvalidBuffer;
		page->image = run->memory + (Size) BLCKSZ * i;
		return true;
	}

	read_buffer(stream, page->blkno, page);

	/* The buffer manager knew better?  If that goes on, leave it to it. */
	if (page->image != NULL)
	{
		int64		ndoubts = ++stream->ndoubts + stream->pages.nappeared;

		if (ndoubts > MIN_DOUBTS &&
			ndoubts > stream->nreturned / MAX_DOUBT_SHARE)
			stream->gave_up = true;
	}

	return true;
}

/* Pages of this run that are in buffers will be where they were found. */
static const char *
file_stream_peek(const SstStream *base)
{
	const SstFileStream *stream = (const SstFileStream *) base;
	const SstRun *run = &stream->runs[stream->current];
	uint64		soon = stream->left & run->buffered;

	for (int i = 1; i < PEEK_DISTANCE && soon != 0; i++)
		soon &= soon - 1;

	return soon == 0 ? NULL :
		BufferGetBlock(run->buffers[pg_rightmost_one_pos64(soon)]);
}

static void
file_stream_end(SstStream *base)
{
	SstFileStream *stream = (SstFileStream *) base;

	close_reader(stream);
	sst_segment_file_close(&stream->file);
	sst_block_reader_end(&stream->careful);
	MemoryContextDelete(stream->context);
}

/*
 * Begin to read the source's blocks, about nblocks of them, of a fork of a
 * relation whose buffers are shared.
 *
 * The relation must be open and locked until the end.  What the stream did is
 * added to the report as it goes.  Pages that the buffer manager refuses are
 * errors by contrib's rules, else they have no image.
 */
SstStream *
sst_file_stream_begin(Relation rel, ForkNumber forknum, SstSource *source,
					  BlockNumber nblocks, BufferAccessStrategy strategy,
					  SstRules rules, SstIoStats *io_stats)
{
	static bool registered = false;
	MemoryContext oldcontext;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "streamstat file stream",
												  ALLOCSET_DEFAULT_SIZES);
	SstFileStream *stream = MemoryContextAllocZero(context, sizeof(SstFileStream));

	stream->base.next = file_stream_next;
	stream->base.peek = file_stream_peek;
	stream->base.end = file_stream_end;
	stream->base.rel = rel;
	stream->base.forknum = forknum;
	stream->base.source = source;
	stream->base.strategy = strategy;
	stream->base.io_stats = io_stats;

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

	stream->max_blocks = sst_run_blocks();
	stream->rules = rules;
	oldcontext = MemoryContextSwitchTo(context);
	sst_direct_page_check_init(&stream->pages, rel, forknum, nblocks, &stream->file);
	MemoryContextSwitchTo(oldcontext);
	stream->careful.rel = rel;
	stream->careful.forknum = forknum;
	stream->careful.strategy = strategy;
	stream->careful.io_stats = io_stats;

	sst_segment_file_init(&stream->file, rel, forknum);
	stream->nowait = true;

	stream->depth = 1;
	stream->max_depth = sst_io_depth(rel);
	stream->nruns = stream->max_depth + 1;
	stream->runs = MemoryContextAlloc(context, sizeof(SstRun) * stream->nruns);
	for (int i = 0; i < stream->nruns; i++)
		stream->runs[i].memory = NULL;
	stream->spare = MemoryContextAlloc(context, sizeof(char *) * stream->nruns);

	return &stream->base;
}

/*
 * After the last page: did the stream leave the rest of the source to the
 * buffer stream?
 */
bool
sst_file_stream_gave_up(const SstStream *base)
{
	return ((const SstFileStream *) base)->gave_up;
}
