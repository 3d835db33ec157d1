/*-------------------------------------------------------------------------
 *
 * call.c
 *	  The call of an SQL function: its name, its time, its I/O, its progress, and errors
 *	  that it contains
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

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "compat/compat.h"
#include "relation/relation.h"
#include "run/call.h"

/* ----------
 * Progress
 *
 * The server has fields in shared memory for the progress of each backend's
 * command.  A call uses them under its own command number, which no view of
 * the server shows.  While another command of the backend uses the fields
 * (COPY from a query), the call reports nothing.
 *
 * The server clears the fields when a transaction or subtransaction fails, which ends
 * the call, but for one that runs the subtransaction.  So their contents are kept here,
 * and reported again.
 * ----------
 */

/* Far from the server's own numbers */
#define PROGRESS_COMMAND ((ProgressCommandType) (('S' << 16) | ('S' << 8) | 'T'))

#define NPARAMS ((int) (sizeof(SstProgress) / sizeof(int64)))

/* The call; there is one at most, as no call runs code of others */
static struct
{
	bool		in_progress;	/* or ended by an error */
	Oid			named;			/* relation that it was called with */
	bool		reports;
	bool		total_given;	/* the bytes are known without a scan */
	SstProgress progress;
}			current;

/* Show all of it. */
static void
show(void)
{
	int			indexes[NPARAMS];

	for (int i = 0; i < NPARAMS; i++)
		indexes[i] = i;
	pgstat_progress_update_multi_param(NPARAMS, indexes, (int64 *) &current.progress);
}

/* Set one of the members of current.progress, if there is a call. */
static void
set_param(int64 *param, int64 value)
{
	*param = value;
	if (current.in_progress && current.reports)
		pgstat_progress_update_param((int) (param - (int64 *) &current.progress), value);
}

/* Show the call, unless another command of the server has the place. */
static void
start_to_report(void)
{
	if (!current.in_progress || !current.reports)
		return;

	pgstat_progress_start_command(PROGRESS_COMMAND, InvalidOid);
	show();
}

/*
 * Begin to report a call of a function.  Of one relation, the bytes need not be
 * known: its last scan tells.
 */
static void
begin_progress(const char *function, int64 relations_total, int64 bytes_total)
{
	current.in_progress = true;
	current.named = InvalidOid;
	current.reports = MyBEEntry == NULL ||
		MyBEEntry->st_progress_command == PROGRESS_COMMAND_INVALID;
	current.total_given = (bytes_total >= 0);
	current.progress = (SstProgress)
	{
		.relations_total = relations_total,
			.blocks_total = SST_PROGRESS_UNKNOWN,
			.bytes_total = bytes_total,
			.started = GetCurrentTimestamp()
	};
	strncpy(current.progress.function, function, SST_PROGRESS_NAME_SIZE);
	start_to_report();
}

/*
 * Does the call in progress need a lock on this relation?  So it does on the one that it was
 * called with, on that of the last scan that has begun, and on what belongs to their tables.
 */
bool
sst_call_locks(Oid relid)
{
	Oid			table = sst_table_of(relid);

	return current.in_progress && OidIsValid(table) &&
		(sst_table_of(current.named) == table ||
		 sst_table_of((Oid) current.progress.relid) == table);
}

/* Set the totals of the call, when they come to be known. */
void
sst_progress_totals(int64 relations_total, int64 bytes_total)
{
	current.total_given = (bytes_total >= 0);
	set_param(&current.progress.relations_total, relations_total);
	set_param(&current.progress.bytes_total, bytes_total);
}

void
sst_progress_phase(SstPhase phase)
{
	set_param(&current.progress.phase, phase);
}

/* Set the number of relations that the call is done with. */
void
sst_progress_relations(int64 relations_done)
{
	set_param(&current.progress.relations_done, relations_done);
}

/*
 * Begin a scan of so many blocks.  "last" says that there is no other one behind
 * it, if the call is about one relation.
 */
void
sst_progress_scan(Oid relid, BlockNumber nblocks, bool last)
{
	SstProgress *progress = &current.progress;

	progress->bytes_done += progress->blocks_done * BLCKSZ;
	progress->relid = relid;
	progress->blocks_done = 0;
	progress->blocks_total = nblocks;
	if (last && !current.total_given && progress->relations_total == 1)
		progress->bytes_total = progress->bytes_done + (int64) nblocks * BLCKSZ;

	if (current.in_progress && current.reports)
		show();
}

/*
 * Set the number of blocks of the scan that have been looked at: nblocks, or what the
 * chunks tell, if these deal the blocks out to several processes.  What each of them has in
 * hand counts as done.
 */
void
sst_progress_blocks(BlockNumber nblocks, const SstChunks *chunks)
{
	int64		ndone = nblocks;

	/* Some blocks of the range may be left out, and not be among the total. */
	if (chunks != NULL && chunks->end > chunks->first)
	{
		uint64		next = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
														 &chunks->next));
		double		fraction = (double) (next - chunks->first) /
			(chunks->end - chunks->first);

		ndone = (int64) (fraction * current.progress.blocks_total);
	}
	/* A scan may have to begin again. */
	if (ndone > current.progress.blocks_done)
		set_param(&current.progress.blocks_done, ndone);
}

/*
 * What a backend reports, from a copy of its status; false if it is not in a
 * call of ours.
 */
bool
sst_progress_read(const PgBackendStatus *status, SstProgress *progress)
{
	if (status->st_progress_command != PROGRESS_COMMAND)
		return false;

	memcpy(progress, status->st_progress_param, sizeof(SstProgress));
	progress->bytes_done += progress->blocks_done * BLCKSZ;

	return true;
}

/* ----------
 * Errors
 * ----------
 */

/*
 * Copy a string that CopyErrorData() takes for a constant.  In an error of a parallel
 * worker it is not: it is overwritten by that worker's next message.
 */
static const char *
keep_string(const char *string)
{
	return string == NULL ? NULL :
		MemoryContextStrdup(TopTransactionContext, string);
}

/*
 * Run an action in a subtransaction, and in the current memory context.
 *
 * Returns NULL when it is done.  After an error all locks, pins and files are
 * released that the action held, and the error is returned, in the same context:
 * for the caller to judge.  Not to be called in parallel mode, nor in recovery,
 * where a conflict in a subtransaction ends the session.
 */
ErrorData *
sst_run_in_subtransaction(void (*action) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		MemoryContextSwitchTo(context);
		action(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		error->filename = keep_string(error->filename);
		error->funcname = keep_string(error->funcname);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		start_to_report();
	}
	PG_END_TRY();

	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;

	return error;
}

/* Is the error about the session, and not about what it was doing? */
static bool
is_about_session(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		error->sqlerrcode == ERRCODE_OUT_OF_MEMORY;
}

/*
 * The same, also in recovery, where the action runs without a subtransaction and
 * every error passes.  Errors about the session always pass.
 */
ErrorData *
sst_contain_errors(void (*action) (void *arg), void *arg)
{
	ErrorData  *error;

	if (RecoveryInProgress())
	{
		action(arg);
		return NULL;
	}

	error = sst_run_in_subtransaction(action, arg);
	if (error != NULL && is_about_session(error))
		ReThrowError(error);

	return error;
}

/* ----------
 * The call
 * ----------
 */

/* The last call of the session that has ended; its function is "" before that. */
static SstCall last_call;

/* What each process did for it, the leader first, and what each worker does for the present one */
static int	nlast = 1;
static SstIoStats *last_processes;
static int	nprocesses;
static SstIoStats *processes;	/* NULL between two calls */

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
	if (processes != NULL)
		pfree(processes);
	processes = MemoryContextAllocZero(TopMemoryContext,
									   sizeof(SstIoStats) * (sst_max_workers + 1));
	nprocesses = 1;
	strlcpy(call->function, name != NULL ? name : "?", NAMEDATALEN);
	sst_io_stats_init(&call->io_stats, sst_usual_io_path());
	INSTR_TIME_SET_CURRENT(call->start);
	begin_progress(call->function, relations_total, bytes_total);
}

/* Say which relation the call is about; nothing has been read by then. */
void
sst_call_set_relation(SstCall *call, Relation rel)
{
	call->relid = RelationGetRelid(rel);
	current.named = call->relid;
	sst_io_stats_init(&call->io_stats, sst_choose_io_path(rel));
}

/* Add what a worker, the first one being 0, did in one scan of the call, if there is one. */
void
sst_call_add_worker(int worker, const SstIoStats *io_stats)
{
	if (processes == NULL)
		return;
	nprocesses = Max(nprocesses, worker + 2);
	sst_io_stats_merge(&processes[worker + 1], io_stats);
}

/*
 * End a call that has done its reading.  Until now its sums were those of all processes,
 * and its maxima those of the leader.
 */
void
sst_call_end(SstCall *call)
{
	SstIoStats *all = &call->io_stats;

	call->elapsed_ms = sst_seconds_since(call->start) * 1000;
	processes[0] = *all;
	for (int i = 1; i < nprocesses; i++)
	{
		sst_io_stats_subtract(&processes[0], &processes[i]);
		all->in_flight_max = Max(all->in_flight_max, processes[i].in_flight_max);
		all->look_ahead_max = Max(all->look_ahead_max, processes[i].look_ahead_max);
	}
	last_call = *call;

	if (last_processes != NULL)
		pfree(last_processes);
	last_processes = processes;
	nlast = nprocesses;
	processes = NULL;

	current.in_progress = false;
	if (current.reports)
		pgstat_progress_end_command();
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
	return nlast;
}

/* What one of these processes did; the leader is 0. */
const SstIoStats *
sst_last_call_process(int process)
{
	return &last_processes[process];
}
