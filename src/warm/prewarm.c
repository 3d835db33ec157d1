/*-------------------------------------------------------------------------
 *
 * prewarm.c
 *	  Reading blocks of a relation into memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "compat/shared_blocks.h"
#include "run/call.h"
#include "run/limits.h"
#include "run/parallel.h"
#include "stream/buffered.h"
#include "stream/segment_file.h"
#include "streamstat.h"
#include "warm/warm.h"

/* The least for each participant; the second where workers help little, and of buffers */
#define MIN_BLOCKS_PER_PARTICIPANT 8192
#define MIN_CACHED_BLOCKS_PER_PARTICIPANT 32768

/* Blocks from one report of progress to the next */
#define BLOCKS_PER_REPORT 64

/* One process's part */
typedef struct PrewarmPart
{
	const SstPrewarmPlan *plan;
	Relation	rel;
	SstChunks  *chunks;			/* shared with others, or NULL */
	SstIoStats *io_stats;
	BlockNumber ndone;
} PrewarmPart;

static inline void
count_blocks(PrewarmPart *part, BlockNumber nblocks)
{
	BlockNumber before = part->ndone;

	part->ndone += nblocks;
	if (before / BLOCKS_PER_REPORT == part->ndone / BLOCKS_PER_REPORT)
		return;

	sst_check_blocking();
	sst_progress_blocks(part->ndone, part->chunks);
}

static void
prewarm_buffers(PrewarmPart *part, SstSource *source)
{
	const SstPrewarmPlan *plan = part->plan;
	SstBlockReader reader = {part->rel, plan->forknum, NULL, part->io_stats};
	SstStream  *stream = sst_buffer_stream_begin(&reader, source, !plan->cached);
	SstFiles	files;
	SstPage		page;

	sst_relation_files(part->rel, &files);
	while (stream->next(stream, &page))
	{
		ReleaseBuffer(page.buffer);
		if (plan->evicts)
			sst_use_often(&files, part->rel->rd_rel->relpersistence, plan->forknum,
						  page.blkno);
		count_blocks(part, 1);
		CHECK_FOR_INTERRUPTS();
	}
	stream->end(stream);
}

/*
 * Read neighbouring blocks of one segment: at once, or if that does not work,
 * as the server does, which knows about direct I/O and has the errors.
 */
static void
read_run(const PrewarmPart *part, SstSegmentFile *file, BlockNumber blkno,
		 BlockNumber nblocks, char *memory, int in_flight)
{
	SstIoStats *io_stats = part->io_stats;
	BlockNumber nread = 0;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (!sst_direct_io())
		nread = sst_segment_file_read(file, blkno, nblocks, memory);
	for (BlockNumber i = nread; i < nblocks; i++)
		smgrread(RelationGetSmgr(part->rel), file->forknum, blkno + i, memory);

	if (RelationUsesLocalBuffers(part->rel))
	{
		sst_io_stats_read(io_stats, nblocks, in_flight);
		sst_io_stats_waited(io_stats, start);
		pgBufferUsage.local_blks_read += nblocks;
	}
	else
	{
		sst_io_stats_private_read(io_stats, nblocks, in_flight);
		sst_io_stats_waited_privately(io_stats, start);
		pgBufferUsage.shared_blks_read += nblocks;
	}
}

/* A run that is to be read, in a ring of these */
typedef struct ReadRun
{
	BlockNumber first;
	BlockNumber nblocks;
} ReadRun;

/* Take the next run, of most blocks; false at the end. */
static bool
next_run(SstSource *source, int most, ReadRun *run)
{
	run->nblocks = pg_popcount64(sst_source_take_run(source, most, 0, &run->first));
	return run->nblocks > 0;
}

/*
 * Read what the source gives.  The kernel gets advice for the runs ahead, across chunks: a
 * chunk alone has hardly any.  Processes that take chunks share the look-ahead of one.
 */
static void
prewarm_read(PrewarmPart *part, SstSource *source)
{
	SstIoStats *io_stats = part->io_stats;
	int			nparticipants = part->chunks == NULL ? 1 : part->chunks->nparticipants;
	int			max_runs = part->plan->cached || sst_direct_io() ? 1 :
		Max(sst_io_depth(part->rel->rd_rel->reltablespace) / nparticipants, 1);
	int			run_blocks = part->plan->cached ? sst_run_blocks() : sst_cold_run_blocks();
	char	   *memory = sst_palloc_blocks(run_blocks);
	ReadRun    *runs = palloc(sizeof(ReadRun) * max_runs);
	int			first_run = 0;
	int			nruns = 0;
	BlockNumber nahead = 0;
	SstSegmentFile file;
	SstSegmentFile advice_file;

	sst_segment_file_init(&file, part->rel, part->plan->forknum);
	sst_segment_file_init(&advice_file, part->rel, part->plan->forknum);

	for (;;)
	{
		ReadRun    *run = &runs[(first_run + nruns) % max_runs];

		CHECK_FOR_INTERRUPTS();
		if (nruns < max_runs && next_run(source, run_blocks, run))
		{
			int64		cached = sst_direct_io() ? 0 :
				sst_page_cache_range(&advice_file, run->first, run->first + run->nblocks);

			sst_add_count(&io_stats->blocks_page_cache, cached < 0 ? -1 : cached / BLCKSZ);
			if (nruns > 0)
				(void) sst_segment_file_advise(&advice_file, run->first,
											   run->nblocks);
			nahead += run->nblocks;
			nruns++;
			continue;
		}
		if (nruns == 0)
			break;

		run = &runs[first_run];
		read_run(part, &file, run->first, run->nblocks, memory, nruns);
		io_stats->blocks_requested += run->nblocks;
		io_stats->blocks_read += run->nblocks;
		sst_io_stats_returned(io_stats, nahead, run->nblocks);
		count_blocks(part, run->nblocks);
		nahead -= run->nblocks;
		nruns--;
		first_run = (first_run + 1) % max_runs;
	}

	sst_segment_file_close(&advice_file);
	sst_segment_file_close(&file);
	sst_pfree_blocks(memory);
	pfree(runs);
}

static void
prewarm_prefetch(PrewarmPart *part, BlockNumber first, BlockNumber end)
{
#ifdef USE_PREFETCH
	SstIoStats *io_stats = part->io_stats;

	for (BlockNumber blkno = first; blkno < end; blkno++)
	{
		PrefetchBufferResult result;

		CHECK_FOR_INTERRUPTS();
		result = PrefetchBuffer(part->rel, part->plan->forknum, blkno);
		io_stats->blocks_requested++;
		if (BufferIsValid(result.recent_buffer))
			io_stats->blocks_hit++;
		else
			io_stats->blocks_read++;
		count_blocks(part, 1);
	}
#else
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("prefetch is not supported by this build")));
#endif
}

/* Prewarm some of the blocks, or what the chunks give if there are any. */
static void
prewarm_blocks(PrewarmPart *part, BlockNumber first, BlockNumber end)
{
	SstRangeSource range;
	SstSource  *source = sst_range_source_init(&range, part->chunks, first, end, NULL);

	switch (part->plan->mode)
	{
		case SST_PREWARM_PREFETCH:
			prewarm_prefetch(part, first, end);
			break;
		case SST_PREWARM_READ:
			prewarm_read(part, source);
			break;
		case SST_PREWARM_BUFFER:
			prewarm_buffers(part, source);
			break;
	}
}

/*
 * Do one process's part: what the chunks give, or all of it if there are none.
 */
static void
prewarm_part(const SstPrewarmPlan *plan, Relation rel, SstChunks *chunks,
			 SstIoStats *io_stats)
{
	PrewarmPart part = {plan, rel, chunks, io_stats};
	SstThrottle throttle;

	sst_io_stats_init(io_stats, SST_IO_PATH_BUFFER);
	if (plan->mode == SST_PREWARM_READ)
		io_stats->stream = SST_STREAM_READS;
	if (plan->mode == SST_PREWARM_PREFETCH)
	{
		/* Nobody tells what the kernel reads. */
		io_stats->stream = SST_STREAM_ADVICE;
		io_stats->reads = io_stats->read_bytes = -1;
		io_stats->waits = io_stats->wait_ns = io_stats->in_flight_sum = -1;
		io_stats->blocks_page_cache = io_stats->look_ahead_sum = -1;
		sst_io_stats_forget_sizes(io_stats);
	}

	if (chunks != NULL || !sst_throttle_begin(&throttle, NULL))
	{
		prewarm_blocks(&part, plan->first, plan->end);
		return;
	}

	for (BlockNumber blkno = plan->first; blkno < plan->end;)
	{
		BlockNumber nblocks = sst_throttle_take(&throttle, plan->end - blkno);

		prewarm_blocks(&part, blkno, blkno + nblocks);
		blkno += nblocks;
		sst_progress_blocks(part.ndone, NULL);
	}
}

static void
participate(const void *plan, Relation rel, SstChunks *chunks,
			const SstBlockSet *set, void *result)
{
	prewarm_part(plan, rel, chunks, result);
}

static const SstParallelTask prewarm_task = {
	.worker = "sst_prewarm_worker",
	.plan_size = sizeof(SstPrewarmPlan),
	.result_size = sizeof(SstIoStats),
	.participate = participate
};

extern PGDLLEXPORT void sst_prewarm_worker(dsm_segment *seg, shm_toc *toc);

/* Where a worker begins */
void
sst_prewarm_worker(dsm_segment *seg, shm_toc *toc)
{
	sst_parallel_worker(&prewarm_task, seg, toc);
}

/*
 * Does a worker pay only for very many blocks, if they are in the page cache?
 *
 * The first process that uses a buffer since the server started has the kernel
 * provide its memory, which takes three times as long as copying a block to it.  Two
 * processes do both in little more than half the time of one: 136 MB in 0.61 of it,
 * 32 MB in 0.73, and in 0.72 what goes to buffers that have been used.  It is not so where
 * neighbouring buffers share a page of the kernel, for which the processes wait in turn (before
 * version 16; 0.98 for 120 MB), and where the server's I/O workers copy anyway (1.0 to 1.1).
 * What is read and not kept takes less time than a worker's start.
 */
static bool
few_workers_pay(SstPrewarmMode mode)
{
	long		page_size = sysconf(_SC_PAGESIZE);

	return mode == SST_PREWARM_READ || sst_server_has_io_workers() ||
		BLCKSZ % page_size != 0 || (uintptr_t) BufferBlocks % page_size != 0;
}

/*
 * Prewarm blocks of a fork with as many workers as pay.  False if none do: then nothing
 * is done, but that the plan says what is cached.  The relation must be open and locked.
 */
bool
sst_prewarm_parallel(SstPrewarmPlan *plan, Relation rel, SstIoStats *io_stats)
{
	BlockNumber nblocks = Max(plan->end, plan->first) - plan->first;
	bool		reads = (plan->mode != SST_PREWARM_PREFETCH);
	double		share = 0;		/* in the page cache, if that matters */
	bool		mostly_cached;
	SstParallelJob job = {
		.task = &prewarm_task, .rel = rel, .plan = plan,
		.first = plan->first, .end = plan->end, .result = io_stats
	};

	if (reads && !sst_direct_io() && !RelationUsesLocalBuffers(rel))
		share = sst_page_cache_share(rel, plan->forknum, plan->first, plan->end);
	plan->cached = (share >= 1);
	mostly_cached = (share > 0.5);
	if (reads && sst_max_rate == 0 && (mostly_cached || nblocks >= SST_PREWARM_PARALLEL_BLOCKS))
		job.nworkers = sst_parallel_workers(rel, nblocks, MIN_BLOCKS_PER_PARTICIPANT);
	if (job.nworkers > 0 && ((mostly_cached && few_workers_pay(plan->mode)) ||
							 sst_mostly_buffered(rel, plan->forknum, plan->end)))
		job.nworkers = sst_parallel_workers(rel, nblocks, MIN_CACHED_BLOCKS_PER_PARTICIPANT);
	if (job.nworkers == 0)
		return false;

	sst_progress_scan(RelationGetRelid(rel), nblocks, true);
	sst_parallel_run(&job);
	return true;
}

/*
 * Prewarm blocks of a fork, which must exist.  The relation must be open and locked.
 */
void
sst_prewarm(SstPrewarmPlan *plan, Relation rel, SstIoStats *io_stats)
{
	if (sst_prewarm_parallel(plan, rel, io_stats))
		return;
	sst_progress_scan(RelationGetRelid(rel), Max(plan->end, plan->first) - plan->first, true);
	prewarm_part(plan, rel, NULL, io_stats);
}
