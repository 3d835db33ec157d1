/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  Read-ahead advice for blocks that will be read soon
 *
 * A stream looks ahead in one relation.  Advice needs only the files, which
 * are known from the catalogs, so that reads of many relations can be in
 * flight before the first of them is opened.  It is only a hint: files may be
 * gone, or be those of another relation by now.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/advice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat/shared_blocks.h"
#include "stream/advice.h"
#include "stream/segment_file.h"

/* Advise of a run of blocks.  False if their file cannot be opened. */
static bool
advise_run(SstSegmentFile *file, BlockNumber first, BlockNumber last,
		   SstIoStats *io_stats)
{
	if (!sst_segment_file_advise(file, first, last - first + 1))
		return false;

	/* -1 stands for a stream that does not count its advice. */
	if (io_stats->advice_calls >= 0)
	{
		io_stats->advice_calls++;
		io_stats->advice_blocks += last - first + 1;
	}
	return true;
}

/*
 * Advise the kernel of those of the source's blocks that are not in shared buffers, in
 * runs as a file stream reads them.  Returns the number of runs, or -1 if there is
 * no such file, which is no error.
 *
 * The relation need not be open or locked.  It must not be temporary.  One file is
 * open at a time, and none afterwards.
 */
int
sst_advise_blocks(const SstFiles *files, ForkNumber forknum, SstSource *source,
				  SstIoStats *io_stats)
{
	SstSegmentFile file;
	BlockNumber first = InvalidBlockNumber;
	BlockNumber last = InvalidBlockNumber;
	BlockNumber blkno;
	int			nruns = 0;
	bool		opened = true;

	sst_segment_file_init_files(&file, files, forknum);
	while (opened && (blkno = sst_source_next(source)) != InvalidBlockNumber)
	{
		if (sst_is_buffered(files, forknum, blkno))
			continue;
		if (first != InvalidBlockNumber &&
			(blkno - last > SST_MAX_GAP + 1 || blkno - first >= sst_run_blocks() ||
			 blkno / RELSEG_SIZE != first / RELSEG_SIZE))
		{
			opened = advise_run(&file, first, last, io_stats);
			nruns++;
			first = InvalidBlockNumber;
		}
		if (first == InvalidBlockNumber)
			first = blkno;
		last = blkno;
	}
	if (opened && first != InvalidBlockNumber)
	{
		opened = advise_run(&file, first, last, io_stats);
		nruns++;
	}
	sst_segment_file_close(&file);

	return opened ? nruns : -1;
}
