/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Reporting the progress of a call
 *
 * The server has fields in shared memory for the progress of each backend's
 * command.  A call uses them under its own command number, which no view of
 * the server shows.  While another command of the backend uses the fields
 * (COPY from a query), the call reports nothing.
 *
 * The server clears the fields when a transaction or subtransaction fails.
 * This ends a call that began inside that transaction.  A call that began
 * outside it continues, so its state is kept here, and reported again.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/backend_progress.h"
#include "utils/timestamp.h"

#include "run/progress.h"

/* Far from the server's own numbers */
#define PROGRESS_COMMAND ((ProgressCommandType) (('S' << 16) | ('S' << 8) | 'T'))

#define NPARAMS ((int) (sizeof(SstProgress) / sizeof(int64)))

/* Nested calls at most; deeper ones report no progress. */
#define MAX_DEPTH 8

/* The outermost call, which reports, if depth is above 0 */
static struct
{
	int			depth;			/* calls in progress, one within the other */
	int			nest_levels[MAX_DEPTH]; /* transactions that they began in */
	Oid			named[MAX_DEPTH];	/* relations that they were called with */
	bool		reports;
	bool		total_given;	/* the outermost call knew the bytes */
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

/* Set one of the members of current.progress. */
static void
set_param(int64 *param, int64 value)
{
	*param = value;
	if (current.reports)
		pgstat_progress_update_param((int) (param - (int64 *) &current.progress), value);
}

/* Show it, unless another command of the server has the place. */
static void
start_to_report(void)
{
	if (!current.reports)
		return;

	pgstat_progress_start_command(PROGRESS_COMMAND, InvalidOid);
	show();
}

/* All calls end with their transaction. */
static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		current.depth = 0;
}

/* Calls end with the subtransaction that they began in; others go on. */
static void
at_subtransaction_end(SubXactEvent event, SubTransactionId mySubid,
					  SubTransactionId parentSubid, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB || current.depth == 0)
		return;

	while (current.depth > 0 && current.nest_levels[current.depth - 1] >=
		   GetCurrentTransactionNestLevel())
		current.depth--;
	if (current.depth > 0)
		start_to_report();
}

/* Prepare this process to report; once. */
void
sst_progress_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
}

/*
 * Begin to report a call of a function.  Of one relation, the bytes need not be
 * known: its last scan tells.  A call within another one does not report: the
 * outer call has said what all of it is about.
 *
 * Returns the depth of the call, which sst_progress_end() wants to have.
 */
int
sst_progress_begin(const char *function, int64 relations_total,
				   int64 bytes_total)
{
	if (current.depth == MAX_DEPTH)
		return MAX_DEPTH + 1;

	current.named[current.depth] = InvalidOid;
	current.nest_levels[current.depth++] = GetCurrentTransactionNestLevel();
	if (current.depth > 1)
		return current.depth;

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

	return current.depth;
}

/* End the call that began with this depth, and those within it. */
void
sst_progress_end(int depth)
{
	if (depth > current.depth)
		return;

	current.depth = depth - 1;
	if (current.depth == 0 && current.reports)
		pgstat_progress_end_command();
}

/* Set the relation that the innermost call was called with. */
void
sst_progress_named(Oid relid)
{
	if (current.depth > 0)
		current.named[current.depth - 1] = relid;
}

/* That relation, and the one of the last scan that has begun; each may be InvalidOid. */
void
sst_progress_present(Oid *named, Oid *scanned)
{
	*named = *scanned = InvalidOid;
	if (current.depth > 0)
	{
		*named = current.named[current.depth - 1];
		*scanned = (Oid) current.progress.relid;
	}
}

/* Set the totals of the outermost call, when they come to be known. */
void
sst_progress_totals(int64 relations_total, int64 bytes_total)
{
	if (current.depth != 1)
		return;

	current.total_given = (bytes_total >= 0);
	set_param(&current.progress.relations_total, relations_total);
	set_param(&current.progress.bytes_total, bytes_total);
}

void
sst_progress_phase(SstPhase phase)
{
	if (current.depth == 1)
		set_param(&current.progress.phase, phase);
}

/* Set the number of relations that the outermost call is done with. */
void
sst_progress_relations(int64 relations_done)
{
	if (current.depth == 1)
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

	if (current.depth == 0)
		return;

	progress->bytes_done += progress->blocks_done * BLCKSZ;
	progress->relid = relid;
	progress->blocks_done = 0;
	progress->blocks_total = nblocks;
	if (last && !current.total_given && progress->relations_total == 1)
		progress->bytes_total = progress->bytes_done + (int64) nblocks * BLCKSZ;

	if (current.reports)
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

	if (current.depth == 0)
		return;

	/* Some blocks of the range may be left out, and not be among the total. */
	if (chunks != NULL && chunks->end > chunks->first)
	{
		uint64		next = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
														 &chunks->next));
		double		fraction = (double) (next - chunks->first) /
			(chunks->end - chunks->first);

		ndone = (int64) (fraction * current.progress.blocks_total);
	}
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
