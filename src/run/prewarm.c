/*-------------------------------------------------------------------------
 *
 * prewarm.c
 *	  Bringing blocks of a relation into memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/prewarm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "run/parallel.h"
#include "run/prewarm.h"

/* Blocks to read past the buffers by one call, as streams combine them */
#define READ_BLOCKS (128 * 1024 / BLCKSZ)

/* Such reads to advise the kernel of, ahead of the one that is due */
#define READS_AHEAD 8

static void
prewarm_buffers(Relation rel, ForkNumber forknum, SstSource *source,
				SstStreamReport *report)
{
	SstStream  *stream = sst_buffer_stream_begin(rel, forknum, source, NULL,
												 true, report);
	SstPage		page;

	while (stream->next(stream, &page))
	{
		ReleaseBuffer(page.buffer);
		CHECK_FOR_INTERRUPTS();
	}
	stream->end(stream);
}

/*
 * The blocks that one read takes, from blkno on.
 */
static BlockNumber
read_length(BlockNumber blkno, BlockNumber end)
{
	return sst_smgr_read_limit(blkno, Min(end - blkno, READ_BLOCKS));
}

static void
prewarm_read(Relation rel, ForkNumber forknum, BlockNumber first,
			 BlockNumber end, char *image, SstStreamReport *report)
{
	void	   *images[READ_BLOCKS];
	BlockNumber advised = first;
	BlockNumber blkno = first;
	SstAdviceFile file;

	sst_advice_file_init(&file, rel, forknum);
	for (int i = 0; i < READ_BLOCKS; i++)
		images[i] = image + (Size) i * BLCKSZ;

	while (blkno < end)
	{
		BlockNumber nblocks = read_length(blkno, end);

		CHECK_FOR_INTERRUPTS();

		advised = Max(advised, blkno + nblocks);
		while (!sst_direct_io() && advised < end &&
			   advised - blkno < READ_BLOCKS * READS_AHEAD)
		{
			BlockNumber nadvised = read_length(advised, end);

			(void) sst_advise(&file, advised, nadvised);
			advised += nadvised;
		}

		sst_smgr_read(RelationGetSmgr(rel), forknum, blkno, images, nblocks);
		report->blocks_requested += nblocks;
		report->blocks_read += nblocks;
		blkno += nblocks;
	}
	sst_advice_file_close(&file);
}

static void
prewarm_prefetch(Relation rel, ForkNumber forknum, BlockNumber first,
				 BlockNumber end, SstStreamReport *report)
{
#ifdef USE_PREFETCH
	for (BlockNumber blkno = first; blkno < end; blkno++)
	{
		PrefetchBufferResult result;

		CHECK_FOR_INTERRUPTS();
		result = PrefetchBuffer(rel, forknum, blkno);
		report->blocks_requested++;
		report->blocks_hit += BufferIsValid(result.recent_buffer);
	}
#else
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("prefetch is not supported by this build")));
#endif
}

/*
 * Do one process's part: what the chunks give, or all of it if there are none.
 */
void
sst_prewarm_part(const SstPrewarmPlan *plan, Relation rel, SstChunks *chunks,
				 SstStreamReport *report)
{
	SstRangeSource range;
	BlockNumber first = plan->first;
	BlockNumber end = plan->end;
	char	   *image;

	sst_stream_report_init(report, SST_IO_PATH_BUFFER);

	switch (plan->mode)
	{
		case SST_PREWARM_PREFETCH:
			report->stream = SST_STREAM_ADVICE;
			report->reads = report->read_bytes = -1;
			prewarm_prefetch(rel, plan->forknum, first, end, report);
			break;
		case SST_PREWARM_READ:
			report->stream = SST_STREAM_READS;
			report->reads = report->read_bytes = -1;
			image = sst_palloc_blocks(READ_BLOCKS);
			if (chunks == NULL)
				prewarm_read(rel, plan->forknum, first, end, image, report);
			else
				while (sst_chunks_take(chunks, &first, &end))
					prewarm_read(rel, plan->forknum, first, end, image, report);
			break;
		case SST_PREWARM_BUFFER:
			prewarm_buffers(rel, plan->forknum,
							sst_range_source_init(&range, chunks, first, end),
							report);
			break;
	}
}

/*
 * Prewarm blocks of a fork, which must exist.  Returns how many they are.  The
 * relation must be open and locked.
 */
int64
sst_prewarm(const SstPrewarmPlan *plan, Relation rel, SstStreamReport *report)
{
	int64		nblocks = plan->first < plan->end ?
		(int64) plan->end - plan->first : 0;
	int			nworkers = plan->mode == SST_PREWARM_PREFETCH ? 0 :
		sst_parallel_workers(rel, nblocks);

	if (nworkers > 0)
	{
		SstParallelJob job = {.task = SST_TASK_PREWARM,
			.relid = RelationGetRelid(rel), .first = plan->first,
		.end = plan->end, .prewarm = *plan};
		SstScanResult result = {0};

		sst_parallel_run(&job, rel, nworkers, &result);
		*report = result.report;
	}
	else
		sst_prewarm_part(plan, rel, NULL, report);

	return nblocks;
}
