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
 * IDENTIFICATION
 *	  src/run/progress.c
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

/* Parameters that it takes to hold the name of a function */
#define NAME_PARAMS (SST_PROGRESS_NAME_SIZE / sizeof(int64))

/* Which parameter says what; bytes of earlier scans are those before this one */
enum
{
	PARAM_FUNCTION,
	PARAM_PHASE = PARAM_FUNCTION + NAME_PARAMS,
	PARAM_RELATION,
	PARAM_BLOCKS_DONE,
	PARAM_BLOCKS_TOTAL,
	PARAM_RELATIONS_DONE,
	PARAM_RELATIONS_TOTAL,
	PARAM_EARLIER_BYTES,
	PARAM_BYTES_TOTAL,
	PARAM_STARTED,
	NPARAMS
};

static const char *const phase_names[] = {
	[SST_PHASE_SCANNING] = "scanning",
	[SST_PHASE_CATALOG] = "catalog",
	[SST_PHASE_FIRST_SAMPLES] = "first samples",
	[SST_PHASE_MEASURING] = "measuring",
	[SST_PHASE_FINISHING] = "finishing",
	[SST_PHASE_PROBING] = "probing"
};

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
	int64		params[NPARAMS];
}			current;

/* Show all of it. */
static void
show(void)
{
	int			indexes[NPARAMS];

	for (int i = 0; i < NPARAMS; i++)
		indexes[i] = i;
	pgstat_progress_update_multi_param(NPARAMS, indexes, current.params);
}

static void
set_param(int param, int64 value)
{
	current.params[param] = value;
	if (current.reports)
		pgstat_progress_update_param(param, value);
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
	int64	   *params = current.params;

	if (current.depth == MAX_DEPTH)
		return MAX_DEPTH + 1;

	current.named[current.depth] = InvalidOid;
	current.nest_levels[current.depth++] = GetCurrentTransactionNestLevel();
	if (current.depth > 1)
		return current.depth;

	current.reports = MyBEEntry == NULL ||
		MyBEEntry->st_progress_command == PROGRESS_COMMAND_INVALID;
	current.total_given = (bytes_total >= 0);
	memset(params, 0, sizeof(current.params));
	strncpy((char *) &params[PARAM_FUNCTION], function, SST_PROGRESS_NAME_SIZE);
	params[PARAM_RELATIONS_TOTAL] = relations_total;
	params[PARAM_BLOCKS_TOTAL] = SST_PROGRESS_UNKNOWN;
	params[PARAM_BYTES_TOTAL] = bytes_total;
	params[PARAM_STARTED] = GetCurrentTimestamp();
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
		*scanned = (Oid) current.params[PARAM_RELATION];
	}
}

/* Set the totals of the outermost call, when they come to be known. */
void
sst_progress_totals(int64 relations_total, int64 bytes_total)
{
	if (current.depth != 1)
		return;

	current.total_given = (bytes_total >= 0);
	set_param(PARAM_RELATIONS_TOTAL, relations_total);
	set_param(PARAM_BYTES_TOTAL, bytes_total);
}

void
sst_progress_phase(SstPhase phase)
{
	if (current.depth == 1)
		set_param(PARAM_PHASE, phase);
}

/* Set the number of relations that the outermost call is done with. */
void
sst_progress_relations(int64 relations_done)
{
	if (current.depth == 1)
		set_param(PARAM_RELATIONS_DONE, relations_done);
}

/*
 * Begin a scan of so many blocks.  "last" says that there is no other one behind
 * it, if the call is about one relation.
 */
void
sst_progress_scan(Oid relid, BlockNumber nblocks, bool last)
{
	int64	   *params = current.params;

	if (current.depth == 0)
		return;

	params[PARAM_EARLIER_BYTES] += params[PARAM_BLOCKS_DONE] * BLCKSZ;
	params[PARAM_RELATION] = relid;
	params[PARAM_BLOCKS_DONE] = 0;
	params[PARAM_BLOCKS_TOTAL] = nblocks;
	if (last && !current.total_given && params[PARAM_RELATIONS_TOTAL] == 1)
		params[PARAM_BYTES_TOTAL] = params[PARAM_EARLIER_BYTES] +
			(int64) nblocks * BLCKSZ;

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

		ndone = (int64) (fraction * current.params[PARAM_BLOCKS_TOTAL]);
	}
	set_param(PARAM_BLOCKS_DONE, ndone);
}

/*
 * What a backend reports, from a copy of its status; false if it is not in a
 * call of ours.
 */
bool
sst_progress_read(const PgBackendStatus *status, SstProgress *progress)
{
	const int64 *params = status->st_progress_param;
	uint64		phase = params[PARAM_PHASE];

	if (status->st_progress_command != PROGRESS_COMMAND)
		return false;

	memcpy(progress->function, &params[PARAM_FUNCTION], SST_PROGRESS_NAME_SIZE);
	progress->function[SST_PROGRESS_NAME_SIZE] = '\0';

	/* The backend may have another version of this library. */
	progress->phase = phase < lengthof(phase_names) ? phase_names[phase] : "?";
	progress->relid = (Oid) params[PARAM_RELATION];
	progress->blocks_done = params[PARAM_BLOCKS_DONE];
	progress->blocks_total = params[PARAM_BLOCKS_TOTAL];
	progress->relations_done = params[PARAM_RELATIONS_DONE];
	progress->relations_total = params[PARAM_RELATIONS_TOTAL];
	progress->bytes_done = params[PARAM_EARLIER_BYTES] +
		params[PARAM_BLOCKS_DONE] * BLCKSZ;
	progress->bytes_total = params[PARAM_BYTES_TOTAL];
	progress->started = params[PARAM_STARTED];

	return true;
}
