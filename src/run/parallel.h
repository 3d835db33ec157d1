/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  Reading one relation with several processes
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/parallel.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PARALLEL_H
#define SST_PARALLEL_H

#include "storage/dsm.h"
#include "storage/shm_toc.h"

#include "run/plan.h"
#include "run/prewarm.h"

typedef enum SstTask
{
	SST_TASK_SCAN,
	SST_TASK_PREWARM
} SstTask;

/* What to do together; every participant gets a copy */
typedef struct SstParallelJob
{
	SstTask		task;
	Oid			relid;
	BlockNumber first;			/* blocks to deal out: first to end - 1 */
	BlockNumber end;
	SstScanPlan scan;			/* SST_TASK_SCAN */
	const SstBlockSet *skip;	/* the same; the leader's, can be NULL */
	SstPrewarmPlan prewarm;		/* SST_TASK_PREWARM */
} SstParallelJob;

extern int	sst_parallel_workers(Relation rel, ForkNumber forknum,
								 BlockNumber nblocks, BlockNumber total);
extern void sst_parallel_run(const SstParallelJob *job, Relation rel,
							 int nworkers, SstScanResult *result);

extern PGDLLEXPORT void sst_parallel_main(dsm_segment *seg, shm_toc *toc);

#endif							/* SST_PARALLEL_H */
