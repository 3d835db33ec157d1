/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  Read-ahead advice to the kernel
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/advice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf.h"

#include "compat/shared_blocks.h"
#include "stream/advice.h"
#include "stream/buffered.h"
#include "stream/page_cache.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/* ----------
 * Read-ahead advice for blocks that will be read soon
 *
 * A stream looks ahead in one relation.  Advice needs only the files, which
 * are known from the catalogs, so that reads of many relations can be in
 * flight before the first of them is opened.  It is only a hint: files may be
 * gone, or be those of another relation by now.
 * ----------
 */

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

/* ----------
 * Blocks of a source, with advice further ahead than a read stream looks
 * ----------
 */

/*
 * Begin to take the source's blocks of a fork, with up to max_runs runs advised ahead.
 * The relation is not temporary.  Memory is taken from the current context.
 */
SstAdvisedRuns *
sst_advised_runs_begin(Relation rel, ForkNumber forknum, SstSource *source,
					   int max_runs)
{
	SstAdvisedRuns *advised = palloc0(sizeof(SstAdvisedRuns));

	advised->rel = rel;
	advised->forknum = forknum;
	advised->source = source;
	advised->max_runs = max_runs;
	advised->runs = palloc(sizeof(SstAdvisedRun) * max_runs);
	sst_segment_file_init(&advised->file, rel, forknum);

	return advised;
}

/* Advise the kernel of a run, if it seems not to be in buffers. */
static void
advise(SstAdvisedRuns *advised, const SstAdvisedRun *run)
{
	int			nblocks = run->end - run->next;
	int			ncached;

	if (BufferIsValid(sst_find_buffer(advised->rel, advised->forknum, run->end - 1,
									  InvalidBuffer)))
		return;

	ncached = sst_page_cache_blocks(&advised->file, run->next, nblocks);
	if (ncached < 0 || advised->nabsent < 0)
		advised->nabsent = -1;
	else
		advised->nabsent += nblocks - ncached;

	if (sst_segment_file_advise(&advised->file, run->next, nblocks))
	{
		advised->seen.advice_calls++;
		advised->seen.advice_blocks += nblocks;
		sst_io_stats_in_flight(&advised->seen, advised->nruns + 1);
	}
}

/* Take neighbouring blocks from the source.  False at its end. */
static bool
add_run(SstAdvisedRuns *advised)
{
	SstAdvisedRun *run = &advised->runs[(advised->current + advised->nruns) %
										advised->max_runs];
	BlockNumber blkno = sst_source_next(advised->source);

	if (blkno == InvalidBlockNumber)
		return false;

	run->next = blkno;
	run->end = blkno + 1;
	while ((blkno = sst_source_next(advised->source)) != InvalidBlockNumber)
	{
		if (blkno != run->end || run->end - run->next >= sst_cold_run_blocks() ||
			blkno % RELSEG_SIZE == 0)
		{
			sst_source_put_back(advised->source, blkno);
			break;
		}
		run->end++;
	}
	advise(advised, run);
	advised->nruns++;

	return true;
}

/* Return the next block, or InvalidBlockNumber at the end.  Does not wait for reads. */
BlockNumber
sst_advised_runs_take(SstAdvisedRuns *advised)
{
	SstAdvisedRun *run = &advised->runs[advised->current];

	if (advised->nruns > 0 && run->next == run->end)
	{
		advised->current = (advised->current + 1) % advised->max_runs;
		advised->nruns--;
		run = &advised->runs[advised->current];
	}

	while (advised->nruns < advised->max_runs && add_run(advised))
		;

	return advised->nruns == 0 ? InvalidBlockNumber : run->next++;
}

/* Close the file, and free the memory. */
void
sst_advised_runs_end(SstAdvisedRuns *advised)
{
	sst_segment_file_close(&advised->file);
	pfree(advised->runs);
	pfree(advised);
}
