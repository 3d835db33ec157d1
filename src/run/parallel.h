/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  Reading one relation with several processes
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PARALLEL_H
#define SST_PARALLEL_H

#include "storage/dsm.h"
#include "storage/shm_toc.h"
#include "utils/rel.h"

#include "source/source.h"
#include "stream/io_stats.h"

/*
 * A kind of work that processes share: constants of the file that does it.
 * Plans and results are plain data without pointers.
 */
typedef struct SstParallelTask
{
	/* Name of the workers' entry point, which calls sst_parallel_worker() */
	const char *worker;
	Size		plan_size;
	Size		result_size;

	/*
	 * Do one process's part of a plan, until the chunks give no more blocks.
	 * Sets up the result, which begins with the SstIoStats of what the
	 * process read: these are added up in any case.  The set is that of the
	 * job.
	 */
	void		(*participate) (const void *plan, Relation rel,
								SstChunks *chunks, const SstBlockSet *set,
								void *result);

	/* Add what else is in a worker's result to the leader's, or NULL. */
	void		(*merge) (void *into, const void *from);
} SstParallelTask;

/* Work to share, of one relation; each worker gets a copy of plan and set. */
typedef struct SstParallelJob
{
	const SstParallelTask *task;
	Relation	rel;			/* open */
	const void *plan;
	const SstBlockSet *set;		/* or NULL */
	BlockNumber first;			/* blocks first + ndone to end - 1 are dealt
								 * out */
	BlockNumber end;
	BlockNumber ndone;			/* the first ones have been read before */
	int			nworkers;		/* at most */
	void	   *result;			/* of all of them */
} SstParallelJob;

extern int	sst_parallel_workers(Relation rel, BlockNumber nblocks, BlockNumber least);
extern void sst_parallel_run(const SstParallelJob *job);
extern void sst_parallel_worker(const SstParallelTask *task, dsm_segment *seg,
								shm_toc *toc);

#endif							/* SST_PARALLEL_H */
