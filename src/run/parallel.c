/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Reading one relation with several processes
 *
 * Leader and workers do the same: they take chunks of blocks from a counter in
 * shared memory until none is left.  Each has its own result, and the leader
 * merges the results at the end.  Running without any worker is normal.
 *
 * What they do is an SstParallelTask.  Its address can differ between processes,
 * so that it is not in shared memory: each task has its own entry point for
 * workers, which passes the task on to sst_parallel_worker().
 *
 * A worker loads the library that is installed when it starts.  After an upgrade
 * that is not the leader's, and structs in shared memory may differ.  So the leader
 * names its build there, and a worker of another build takes no part.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "run/call.h"
#include "run/parallel.h"
#include "streamstat.h"

/* From one look at blocked sessions to the next, while the leader waits */
#define WAIT_MILLISECONDS 50L

/* Keys of what is in shared memory */
#define KEY_SHARED 1
#define KEY_PLAN 2
#define KEY_SET 3
#define KEY_RESULTS 4
#define KEY_QUERY 5
#define KEY_BUILD 8				/* the same in all versions */

/* The makefile makes it of the sources. */
#ifndef STREAMSTAT_BUILD
#define STREAMSTAT_BUILD STREAMSTAT_VERSION
#endif

/* What a worker reports besides its result */
typedef struct WorkerReport
{
	bool		took_part;
	BufferUsage buffer_usage;
	WalUsage	wal_usage;
} WorkerReport;

typedef struct Shared
{
	Oid			relid;
	SstChunks	chunks;
	WorkerReport reports[FLEXIBLE_ARRAY_MEMBER];
} Shared;

/*
 * How many workers should help to read nblocks of a relation?  With fewer than the
 * least number of blocks for each participant, a worker would start when the others have
 * finished.
 */
int
sst_parallel_workers(Relation rel, BlockNumber nblocks, BlockNumber least)
{
	int			most = Min(sst_max_workers, max_parallel_maintenance_workers);

	if (most == 0 || nblocks / 2 < least || RelationUsesLocalBuffers(rel) ||
		IsInParallelMode() || !IsUnderPostmaster || !ActiveSnapshotSet())
		return 0;

	return Min(most, nblocks / least - 1);
}

/* Plan for size bytes under a key; for size 0 there will be no key. */
static void
estimate(ParallelContext *pcxt, Size size)
{
	if (size > 0)
	{
		shm_toc_estimate_chunk(&pcxt->estimator, size);
		shm_toc_estimate_keys(&pcxt->estimator, 1);
	}
}

/* Add size bytes under a key: a copy of data, or zeros if that is NULL. */
static void *
add(ParallelContext *pcxt, uint64 key, Size size, const void *data)
{
	void	   *place;

	if (size == 0)
		return NULL;

	place = shm_toc_allocate(pcxt->toc, size);
	if (data != NULL)
		memcpy(place, data, size);
	else
		memset(place, 0, size);
	shm_toc_insert(pcxt->toc, key, place);

	return place;
}

/* Does a worker still run, or has not begun yet? */
static bool
workers_run(const ParallelContext *pcxt)
{
	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		const ParallelWorkerInfo *worker = &pcxt->worker[i];
		pid_t		pid;

		/* The queue is closed when its worker has said that it ends. */
		if (worker->error_mqh != NULL &&
			GetBackgroundWorkerPid(worker->bgwhandle, &pid) != BGWH_STOPPED)
			return true;
	}

	return false;
}

/*
 * Wait until the workers have ended, and raise their errors.  That can take as long
 * as they read, so blocked sessions are looked at meanwhile, which the server's
 * function does not do.
 */
static void
wait_for_workers(ParallelContext *pcxt)
{
	while (workers_run(pcxt))
	{
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WAIT_MILLISECONDS, WAIT_EVENT_PARALLEL_FINISH);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		sst_check_blocking();
	}

	/*
	 * Takes note of workers that could not begin.  The others' results are
	 * visible: they were written before the message that closed the queue,
	 * which has barriers, or before the end of the process, which was asked
	 * for under a lock.
	 */
	WaitForParallelWorkersToFinish(pcxt);
}

/*
 * Do a job with its workers, or with fewer of them.
 *
 * Begins and ends parallel mode, in which no subtransaction can begin.  An error
 * of a worker is raised here; an error here ends the workers.
 */
void
sst_parallel_run(const SstParallelJob *job)
{
	const SstParallelTask *task = job->task;
	ParallelContext *pcxt;
	Shared	   *shared;
	char	   *results;
	Size		shared_size = add_size(offsetof(Shared, reports),
									   mul_size(sizeof(WorkerReport), job->nworkers));
	Size		query_size = debug_query_string ?
		strlen(debug_query_string) + 1 : 0;
	Size		set_size = job->set ? sst_block_set_size(job->set->nblocks) : 0;
	Size		results_size = mul_size(task->result_size, job->nworkers);

	EnterParallelMode();
	pcxt = CreateParallelContext("streamstat", task->worker, job->nworkers);

	estimate(pcxt, shared_size);
	estimate(pcxt, task->plan_size);
	estimate(pcxt, set_size);
	estimate(pcxt, results_size);
	estimate(pcxt, sizeof(STREAMSTAT_BUILD));
	estimate(pcxt, query_size);
	InitializeParallelDSM(pcxt);

	shared = add(pcxt, KEY_SHARED, shared_size, NULL);
	shared->relid = RelationGetRelid(job->rel);
	sst_chunks_init(&shared->chunks, job->first + job->ndone, job->end, job->nworkers + 1);
	shared->chunks.first = job->first;
	add(pcxt, KEY_PLAN, task->plan_size, job->plan);
	add(pcxt, KEY_SET, set_size, job->set);
	results = add(pcxt, KEY_RESULTS, results_size, NULL);
	add(pcxt, KEY_BUILD, sizeof(STREAMSTAT_BUILD), STREAMSTAT_BUILD);
	add(pcxt, KEY_QUERY, query_size, debug_query_string);

	LaunchParallelWorkers(pcxt);
	task->participate(job->plan, job->rel, &shared->chunks, job->set, job->result);
	wait_for_workers(pcxt);

	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		WorkerReport *report = &shared->reports[i];
		char	   *from = results + i * task->result_size;
		const SstIoStats *io_stats = (const SstIoStats *) from;

		if (!report->took_part)
			continue;
		InstrAccumParallelQuery(&report->buffer_usage, &report->wal_usage);
		sst_io_stats_merge_worker(job->result, io_stats);
		if (task->merge != NULL)
			task->merge(job->result, from);
		sst_call_add_worker(i, io_stats);
	}

	DestroyParallelContext(pcxt);
	ExitParallelMode();
}

/* Is the leader of this build?  Nothing else in shared memory may be read if not. */
static bool
leader_is_of_this_build(shm_toc *toc)
{
	const char *build = shm_toc_lookup(toc, KEY_BUILD, true);

	/* Its leader would take an untouched result for a worker's. */
	if (build == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("session uses another version of the streamstat library than the installed one"),
				 errhint("Reconnect to use the installed version.")));

	return strcmp(build, STREAMSTAT_BUILD) == 0;
}

/*
 * All of a worker.  Its entry point calls this with the arguments that it has
 * got.
 */
void
sst_parallel_worker(const SstParallelTask *task, dsm_segment *seg,
					shm_toc *toc)
{
	Shared	   *shared;
	WorkerReport *report;
	char	   *results;
	Relation	rel;

	if (!leader_is_of_this_build(toc))
		return;

	shared = shm_toc_lookup(toc, KEY_SHARED, false);
	report = &shared->reports[ParallelWorkerNumber];
	results = shm_toc_lookup(toc, KEY_RESULTS, false);
	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);

	rel = relation_open(shared->relid, AccessShareLock);

	InstrStartParallelQuery();
	task->participate(shm_toc_lookup(toc, KEY_PLAN, false), rel,
					  &shared->chunks, shm_toc_lookup(toc, KEY_SET, true),
					  results + ParallelWorkerNumber * task->result_size);
	InstrEndParallelQuery(&report->buffer_usage, &report->wal_usage);

	report->took_part = true;

	relation_close(rel, AccessShareLock);
}
