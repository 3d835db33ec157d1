/*-------------------------------------------------------------------------
 *
 * run_queue.h
 *	  Runs of neighbouring blocks, read ahead from files
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/run_queue.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RUN_QUEUE_H
#define SST_RUN_QUEUE_H

#include "stream/mapped_file.h"

typedef struct SstRunQueue
{
	SstSource  *source;
	SstIoStats *io_stats;
	MemoryContext context;
	int			cached_blocks;	/* of a run, while the page cache has all */
	int			max_blocks;		/* of any run */
	bool		any_order;		/* return runs as they arrive */
	bool		stopped;		/* take no more blocks from the source */
	bool		waiting;		/* the run after those in the queue was taken,
								 * but its segment cannot be open yet */

	SstDirectPageCheck check;
	SstSegmentSet segments;
	SstFileReader *reader;		/* NULL until a run is not in the page cache */
	bool		nowait;			/* preadv2() with RWF_NOWAIT works */
	bool		cache_unknown;	/* what the page cache has cannot be known */
	instr_time	wait_start;		/* zero while there is no wait */
	SstRunMapper mapper;

	/*
	 * A ring of runs: the current one, up to depth - 1 runs read ahead, and
	 * the previous one, whose memory is kept
	 */
	SstRun	  **runs;
	int			nruns;
	int			current;
	int			nqueued;		/* the current one included */
	int			depth;
	int			max_depth;
	int64		nbytes;			/* to read for the runs in the queue */
	int			ncached;		/* successive runs found in the page cache */
	char	  **spare;			/* memory for runs; the last one used last */
	int			nspare;

	int64		ntaken;			/* blocks taken from the source */
	int64		nreturned;		/* of these, returned by the stream */
} SstRunQueue;

extern void sst_run_queue_init(SstRunQueue *queue, Relation rel,
							   ForkNumber forknum, SstSource *source,
							   BlockNumber nblocks, const SstPageNeeds *needs,
							   bool any_order,
							   SstIoStats *io_stats);
extern SstRun *sst_run_queue_next(SstRunQueue *queue);
extern void sst_run_queue_close(SstRunQueue *queue);
extern void sst_run_queue_end(SstRunQueue *queue);

#endif							/* SST_RUN_QUEUE_H */
