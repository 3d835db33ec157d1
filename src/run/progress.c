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

/* The call; there is one at most, as no call runs code of others */
static struct
{
	bool		in_progress;
	int			nest_level;		/* of the transaction that it began in */
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

/* A call ends with its transaction. */
static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		current.in_progress = false;
}

/* A call ends with the subtransaction that it began in; else it goes on. */
static void
at_subtransaction_end(SubXactEvent event, SubTransactionId mySubid,
					  SubTransactionId parentSubid, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB || !current.in_progress)
		return;

	current.in_progress = current.nest_level < GetCurrentTransactionNestLevel();
	if (current.in_progress)
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
 * known: its last scan tells.
 */
void
sst_progress_begin(const char *function, int64 relations_total,
				   int64 bytes_total)
{
	Assert(!current.in_progress);
	current.in_progress = true;
	current.nest_level = GetCurrentTransactionNestLevel();
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

/* End the call. */
void
sst_progress_end(void)
{
	current.in_progress = false;
	if (current.reports)
		pgstat_progress_end_command();
}

/* Set the relation that the call was called with. */
void
sst_progress_named(Oid relid)
{
	current.named = relid;
}

/* That relation, and the one of the last scan that has begun; each may be InvalidOid. */
void
sst_progress_present(Oid *named, Oid *scanned)
{
	*named = *scanned = InvalidOid;
	if (current.in_progress)
	{
		*named = current.named;
		*scanned = (Oid) current.progress.relid;
	}
}

/* Set the totals of the call, when they come to be known. */
void
sst_progress_totals(int64 relations_total, int64 bytes_total)
{
	if (!current.in_progress)
		return;

	current.total_given = (bytes_total >= 0);
	set_param(&current.progress.relations_total, relations_total);
	set_param(&current.progress.bytes_total, bytes_total);
}

void
sst_progress_phase(SstPhase phase)
{
	if (current.in_progress)
		set_param(&current.progress.phase, phase);
}

/* Set the number of relations that the call is done with. */
void
sst_progress_relations(int64 relations_done)
{
	if (current.in_progress)
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

	if (!current.in_progress)
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

	if (!current.in_progress)
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
