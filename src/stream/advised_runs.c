/*-------------------------------------------------------------------------
 *
 * advised_runs.c
 *	  Blocks of a source, with advice further ahead than a read stream looks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/advised_runs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf.h"

#include "stream/advised_runs.h"
#include "stream/buffered.h"
#include "stream/page_cache.h"
#include "stream/stream.h"

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
