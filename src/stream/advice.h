/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  Read-ahead advice to the kernel
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/advice.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ADVICE_H
#define SST_ADVICE_H

#include "compat/catalog.h"
#include "source/source.h"
#include "stream/io_stats.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

extern int	sst_advise_blocks(const SstFiles *files, ForkNumber forknum,
							  SstSource *source, SstIoStats *io_stats);

/* Neighbouring blocks that are advised by one call */
typedef struct SstAdvisedRun
{
	BlockNumber next;			/* first one not passed on yet */
	BlockNumber end;
} SstAdvisedRun;

/* A ring of runs */
typedef struct SstAdvisedRuns
{
	Relation	rel;
	ForkNumber	forknum;
	SstSource  *source;
	SstSegmentFile file;
	SstAdvisedRun *runs;
	int			current;
	int			nruns;
	int			max_runs;

	SstIoStats	seen;			/* of it, advice and reads in flight */
	int64		nabsent;		/* of the blocks advised, not in the page
								 * cache; -1 if not known */
} SstAdvisedRuns;

extern SstAdvisedRuns *sst_advised_runs_begin(Relation rel, ForkNumber forknum,
											  SstSource *source, int max_runs);
extern BlockNumber sst_advised_runs_take(SstAdvisedRuns *advised);
extern void sst_advised_runs_end(SstAdvisedRuns *advised);

#endif							/* SST_ADVICE_H */
