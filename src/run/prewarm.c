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

#include "compat/compat.h"
#include "run/prewarm.h"

/* Blocks to read past the buffers by one call, as streams combine them */
#define READ_BLOCKS (128 * 1024 / BLCKSZ)

/* Such reads to advise the kernel of, ahead of the one that is due */
#define READS_AHEAD 8

static void
prewarm_buffers(Relation rel, ForkNumber forknum, BlockNumber first,
				BlockNumber end, SstStreamReport *report)
{
	SstRangeSource range;
	SstStream  *stream;
	Buffer		buf;

	stream = sst_stream_begin(rel, forknum,
							  sst_range_source_init(&range, first, end),
							  NULL, report);
	while (BufferIsValid(buf = sst_stream_next(stream)))
	{
		ReleaseBuffer(buf);
		CHECK_FOR_INTERRUPTS();
	}
	sst_stream_end(stream);
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
			 BlockNumber end, SstStreamReport *report)
{
	char	   *image = sst_palloc_blocks(READ_BLOCKS);
	void	   *images[READ_BLOCKS];
	BlockNumber advised = first;
	BlockNumber blkno = first;
	SstAdviceFile file;

	sst_advice_file_init(&file, rel, forknum);
	for (int i = 0; i < READ_BLOCKS; i++)
		images[i] = image + (Size) i * BLCKSZ;

	report->reads = report->read_bytes = -1;
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
	report->reads = report->read_bytes = -1;
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
 * Prewarm blocks first to end - 1 of a fork, which must exist.  Returns how
 * many they are.  The relation must be open and locked.
 */
int64
sst_prewarm(Relation rel, ForkNumber forknum, SstPrewarmMode mode,
			BlockNumber first, BlockNumber end, SstStreamReport *report)
{
	sst_stream_report_init(report);

	switch (mode)
	{
		case SST_PREWARM_PREFETCH:
			report->stream = "none (advice)";
			prewarm_prefetch(rel, forknum, first, end, report);
			break;
		case SST_PREWARM_READ:
			report->stream = "none (direct reads)";
			prewarm_read(rel, forknum, first, end, report);
			break;
		case SST_PREWARM_BUFFER:
			prewarm_buffers(rel, forknum, first, end, report);
			break;
	}

	return first < end ? (int64) end - first : 0;
}
