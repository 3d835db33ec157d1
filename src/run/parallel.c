/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Reading one relation with several processes
 *
 * Leader and workers do the same: take chunks of blocks from a counter that
 * they share, until there is none left.  Each has a result of its own, and the
 * leader merges them at the end.  That no worker can be had is normal.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/parallel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/snapmgr.h"

#include "run/parallel.h"
#include "run/scan.h"
#include "stream/buffered.h"

/*
 * A participant for fewer blocks would begin when the others have finished; so
 * it would for several times as many that are in buffers.
 */
#define MIN_BLOCKS_PER_PARTICIPANT 8192
#define MIN_BUFFERED_BLOCKS_PER_PARTICIPANT 32768

/* Keys of what is in shared memory */
#define KEY_SHARED 1
#define KEY_RESULTS 2
#define KEY_QUERY 3
#define KEY_BUFFER_USAGE 4
#define KEY_WAL_USAGE 5
#define KEY_SKIP 6

typedef struct Shared
{
	SstParallelJob job;
	SstChunks	chunks;
} Shared;

/*
 * How many workers should help to read nblocks of a fork's total blocks?
 */
int
sst_parallel_workers(Relation rel, ForkNumber forknum, BlockNumber nblocks,
					 BlockNumber total)
{
	int			most = Min(sst_max_workers, max_parallel_maintenance_workers);
	BlockNumber share = MIN_BLOCKS_PER_PARTICIPANT;

	if (most == 0 || nblocks < 2 * share || RelationUsesLocalBuffers(rel) ||
		IsInParallelMode() || !IsUnderPostmaster || !ActiveSnapshotSet())
		return 0;

	if (sst_mostly_buffered(rel, forknum, total))
		share = MIN_BUFFERED_BLOCKS_PER_PARTICIPANT;

	return nblocks < 2 * share ? 0 : Min(most, nblocks / share - 1);
}

/* Do this process's part; skip is its own copy of the job's. */
static void
participate(Shared *shared, Relation rel, const SstBlockSet *skip,
			SstScanResult *result)
{
	const SstParallelJob *job = &shared->job;

	switch (job->task)
	{
		case SST_TASK_SCAN:
			sst_result_init(result, &job->scan);
			sst_scan_part(&job->scan, rel, &shared->chunks, skip, result);
			break;
		case SST_TASK_PREWARM:
			sst_prewarm_part(&job->prewarm, rel, &shared->chunks,
							 &result->io_stats);
			break;
	}
}

/*
 * Do a job for an open relation, with up to so many workers.
 *
 * Begins and ends parallel mode, in which no subtransaction can begin.  A
 * worker's error becomes ours; ours ends the workers.
 */
void
sst_parallel_run(const SstParallelJob *job, Relation rel, int nworkers,
				 SstScanResult *result)
{
	ParallelContext *pcxt;
	Shared	   *shared;
	SstScanResult *results;
	BufferUsage *buffer_usage;
	WalUsage   *wal_usage;
	char	   *query;
	Size		query_size = debug_query_string ?
		strlen(debug_query_string) + 1 : 0;
	Size		skip_size = job->skip ?
		sst_block_set_size(job->skip->nblocks) : 0;

	EnterParallelMode();
	pcxt = CreateParallelContext("streamstat", "sst_parallel_main", nworkers);

	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(Shared));
	shm_toc_estimate_chunk(&pcxt->estimator,
						   mul_size(sizeof(SstScanResult), nworkers));
	shm_toc_estimate_chunk(&pcxt->estimator,
						   mul_size(sizeof(BufferUsage), nworkers));
	shm_toc_estimate_chunk(&pcxt->estimator,
						   mul_size(sizeof(WalUsage), nworkers));
	shm_toc_estimate_keys(&pcxt->estimator, 4);
	if (query_size > 0)
	{
		shm_toc_estimate_chunk(&pcxt->estimator, query_size);
		shm_toc_estimate_keys(&pcxt->estimator, 1);
	}

	if (skip_size > 0)
	{
		shm_toc_estimate_chunk(&pcxt->estimator, skip_size);
		shm_toc_estimate_keys(&pcxt->estimator, 1);
	}

	InitializeParallelDSM(pcxt);

	shared = shm_toc_allocate(pcxt->toc, sizeof(Shared));
	shared->job = *job;
	sst_chunks_init(&shared->chunks, job->first, job->end, nworkers + 1);
	shm_toc_insert(pcxt->toc, KEY_SHARED, shared);

	results = shm_toc_allocate(pcxt->toc, sizeof(SstScanResult) * nworkers);
	memset(results, 0, sizeof(SstScanResult) * nworkers);
	shm_toc_insert(pcxt->toc, KEY_RESULTS, results);

	buffer_usage = shm_toc_allocate(pcxt->toc, sizeof(BufferUsage) * nworkers);
	shm_toc_insert(pcxt->toc, KEY_BUFFER_USAGE, buffer_usage);
	wal_usage = shm_toc_allocate(pcxt->toc, sizeof(WalUsage) * nworkers);
	shm_toc_insert(pcxt->toc, KEY_WAL_USAGE, wal_usage);

	if (query_size > 0)
	{
		query = shm_toc_allocate(pcxt->toc, query_size);
		memcpy(query, debug_query_string, query_size);
		shm_toc_insert(pcxt->toc, KEY_QUERY, query);
	}

	if (skip_size > 0)
		shm_toc_insert(pcxt->toc, KEY_SKIP,
					   memcpy(shm_toc_allocate(pcxt->toc, skip_size),
							  job->skip, skip_size));

	LaunchParallelWorkers(pcxt);
	participate(shared, rel, job->skip, result);
	WaitForParallelWorkersToFinish(pcxt);

	for (int i = 0; i < pcxt->nworkers_launched; i++)
	{
		InstrAccumParallelQuery(&buffer_usage[i], &wal_usage[i]);
		sst_result_merge(result, &results[i]);
	}
	result->io_stats.nworkers = pcxt->nworkers_launched;

	DestroyParallelContext(pcxt);
	ExitParallelMode();
}

/* Where a worker begins. */
void
sst_parallel_main(dsm_segment *seg, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	SstScanResult *results = shm_toc_lookup(toc, KEY_RESULTS, false);
	BufferUsage *buffer_usage = shm_toc_lookup(toc, KEY_BUFFER_USAGE, false);
	WalUsage   *wal_usage = shm_toc_lookup(toc, KEY_WAL_USAGE, false);
	Relation	rel;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);

	rel = relation_open(shared->job.relid, AccessShareLock);

	InstrStartParallelQuery();
	participate(shared, rel, shm_toc_lookup(toc, KEY_SKIP, true),
				&results[ParallelWorkerNumber]);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);

	relation_close(rel, AccessShareLock);
}
