/*-------------------------------------------------------------------------
 *
 * call.c
 *	  The call of an SQL function: its name, its time, its I/O
 *
 * Between begin and end, stat_progress shows the call.  After its end,
 * stream_stats() describes it.  An error also ends a call, and leaves the
 * previous call as the last one.
 *
 * The I/O of each worker is kept besides the sum: the first workers of several
 * scans in a call are shown as one row.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat/compat.h"
#include "run/call.h"
#include "run/progress.h"

/* The last call of the session that has ended; its function is "" before that. */
static SstCall last_call;

/* What each worker did for a call */
typedef struct WorkersOfCall
{
	int			n;
	int			nallocated;
	SstIoStats *io_stats;
} WorkersOfCall;

static SstIoStats last_leader;
static WorkersOfCall current_workers;
static WorkersOfCall last_workers;

/*
 * Begin a call about so many relations and bytes; SST_PROGRESS_UNKNOWN where
 * that is not known.  Its I/O is to be added to call->io_stats.
 */
void
sst_call_begin(SstCall *call, FunctionCallInfo fcinfo, int64 relations_total,
			   int64 bytes_total)
{
	char	   *name = get_func_name(fcinfo->flinfo->fn_oid);

	memset(call, 0, sizeof(SstCall));
	current_workers.n = 0;
	strlcpy(call->function, name != NULL ? name : "?", NAMEDATALEN);
	sst_io_stats_init(&call->io_stats, sst_usual_io_path());
	INSTR_TIME_SET_CURRENT(call->start);
	sst_progress_begin(call->function, relations_total, bytes_total);
}

/* Say which relation the call is about; nothing has been read by then. */
void
sst_call_set_relation(SstCall *call, Relation rel)
{
	call->relid = RelationGetRelid(rel);
	sst_progress_named(call->relid);
	sst_io_stats_init(&call->io_stats, sst_choose_io_path(rel));
}

/* Add what a worker, the first one being 0, did in one scan of the call. */
void
sst_call_add_worker(int worker, const SstIoStats *io_stats)
{
	WorkersOfCall *workers = &current_workers;

	if (worker >= workers->nallocated)
	{
		Size		size = sizeof(SstIoStats) * (worker + 1);

		workers->io_stats = workers->io_stats == NULL ?
			MemoryContextAlloc(TopMemoryContext, size) :
			repalloc(workers->io_stats, size);
		workers->nallocated = worker + 1;
	}
	for (; workers->n <= worker; workers->n++)
		memset(&workers->io_stats[workers->n], 0, sizeof(SstIoStats));

	sst_io_stats_merge(&workers->io_stats[worker], io_stats);
}

/*
 * End a call that has done its reading.  Until now its sums were those of all processes,
 * and its maxima those of the leader.
 */
void
sst_call_end(SstCall *call)
{
	SstIoStats *all = &call->io_stats;
	WorkersOfCall swap = last_workers;

	call->elapsed_ms = sst_seconds_since(call->start) * 1000;
	last_leader = *all;
	for (int i = 0; i < current_workers.n; i++)
	{
		const SstIoStats *worker = &current_workers.io_stats[i];

		sst_io_stats_subtract(&last_leader, worker);
		all->in_flight_max = Max(all->in_flight_max, worker->in_flight_max);
		all->look_ahead_max = Max(all->look_ahead_max, worker->look_ahead_max);
	}
	last_call = *call;

	/* The workers of the call that ends are those of the last call. */
	last_workers = current_workers;
	current_workers = swap;

	sst_progress_end();
}

/* The last call that has ended, or NULL if there is none */
const SstCall *
sst_last_call(void)
{
	return last_call.function[0] != '\0' ? &last_call : NULL;
}

/* How many processes worked for the last call, the leader included? */
int
sst_last_call_processes(void)
{
	return last_workers.n + 1;
}

/* What one of these processes did; the leader is 0. */
const SstIoStats *
sst_last_call_process(int process)
{
	return process == 0 ? &last_leader : &last_workers.io_stats[process - 1];
}
