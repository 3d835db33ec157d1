/*-------------------------------------------------------------------------
 *
 * stream_file.c
 *	  Pages from a relation's files, without the buffer manager
 *
 * Blocks that are in no buffer are read from the segment files into private
 * memory, in runs of neighbours (run_queue.c).  This saves the buffer manager's
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
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "stream/looked_up.h"
#include "stream/run_queue.h"

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

	SstRunQueue queue;
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

	sst_run_queue_close(&stream->queue);
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
		stream->run = sst_run_queue_next(&stream->queue);
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
	sst_run_queue_end(&stream->queue);
	sst_block_reader_end(&stream->block_reader);
	MemoryContextDelete(stream->context);
}

/*
 * Begin to read the source's blocks, about nblocks of them, of a fork of a
 * relation in shared buffers.
 *
 * The relation must stay open and locked until the end.  What the stream does is
 * added to io_stats run by run.  A page that the buffer manager refuses is an
 * ERROR by contrib's rules, else it is returned without an image.  With any_order,
 * a block may come before those of lower numbers; when the source or the stream
 * ends, all that were taken from the source have been returned in either case.
 */
SstStream *
sst_file_stream_begin(Relation rel, ForkNumber forknum, SstSource *source,
					  BlockNumber nblocks, BufferAccessStrategy strategy,
					  SstRules rules, const SstPageNeeds *needs, bool any_order,
					  SstIoStats *io_stats)
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
	sst_stream_init(&stream->base, rel, forknum, source, strategy, io_stats);

	stream->rules = rules;
	stream->block_reader = (SstBlockReader)
	{
		rel, forknum, strategy, io_stats
	};

	oldcontext = MemoryContextSwitchTo(context);
	sst_run_queue_init(&stream->queue, rel, forknum, source, nblocks, needs,
					   any_order, io_stats);
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
