/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Reporting how far a call is
 *
 * The server has a place in shared memory for the progress of each backend's
 * command.  A call uses it under a command number of its own, which no view of
 * the server shows.  While another command of the backend has the place (COPY
 * from a query), the call reports nothing.
 *
 * The end of a failed (sub)transaction clears the place.  What was in it is kept
 * here as well, so that whoever catches an error can go on with it.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/backend_progress.h"
#include "utils/timestamp.h"

#include "run/progress.h"

/* Far from the server's own numbers */
#define PROGRESS_COMMAND ((ProgressCommandType) (('S' << 16) | ('S' << 8) | 'T'))

/* Which parameter says what; bytes of earlier scans are those before this one */
enum
{
	PARAM_FUNCTION,
	PARAM_PHASE,
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

/* Their numbers go from one session to another: append only. */
static const char *const function_names[] = {
	"?",
	"brin_stats",
	"btree_stats",
	"database_report",
	"free_space_map_summary",
	"gin_stats",
	"gist_stats",
	"hash_stats",
	"index_stats",
	"index_stats_tree",
	"layout_map",
	"pg_prewarm",
	"pgstatginindex",
	"pgstathashindex",
	"pgstatindex",
	"pgstattuple",
	"pgstattuple_approx",
	"sample_stats",
	"spgist_stats",
	"table_stats",
	"table_stats_tree",
	"unfrozen_ranges",
	"visibility_map_summary",
	"bloat",
};

static const char *const phase_names[] = {
	[SST_PHASE_SCANNING] = "scanning",
	[SST_PHASE_CATALOG] = "catalog",
	[SST_PHASE_FIRST_SAMPLES] = "first samples",
	[SST_PHASE_MEASURING] = "measuring",
	[SST_PHASE_FINISHING] = "finishing"
};

/* The call that reports, if depth is above 0 */
static struct
{
	int			depth;			/* calls within calls */
	bool		reports;
	bool		total_given;	/* the outermost call knew the bytes */
	int64		params[NPARAMS];
}			current;

static ProgressCommandType
command_in_progress(void)
{
	return MyBEEntry == NULL ? PROGRESS_COMMAND_INVALID :
		MyBEEntry->st_progress_command;
}

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

static int
function_number(const char *name)
{
	for (int i = 1; i < lengthof(function_names); i++)
	{
		if (strcmp(function_names[i], name) == 0)
			return i;
	}

	Assert(false);
	return 0;
}

/*
 * Begin to report a call of a function.  Of one relation, the bytes need not be
 * known: its last scan tells.  Within a call that reports, nothing happens: it
 * has said what all of it is about.
 */
void
sst_progress_begin(const char *function, int64 relations_total,
				   int64 bytes_total)
{
	ProgressCommandType command = command_in_progress();

	/* A call that failed has left its depth behind, but not the command. */
	if (current.depth > 0 && current.reports && command == PROGRESS_COMMAND)
	{
		current.depth++;
		return;
	}

	current.depth = 1;
	current.reports = (command == PROGRESS_COMMAND_INVALID ||
					   command == PROGRESS_COMMAND);
	current.total_given = (bytes_total >= 0);
	memset(current.params, 0, sizeof(current.params));
	current.params[PARAM_FUNCTION] = function_number(function);
	current.params[PARAM_RELATIONS_TOTAL] = relations_total;
	current.params[PARAM_BLOCKS_TOTAL] = SST_PROGRESS_UNKNOWN;
	current.params[PARAM_BYTES_TOTAL] = bytes_total;
	current.params[PARAM_STARTED] = GetCurrentTimestamp();

	sst_progress_resume();
}

/*
 * Go on to report after an error was caught, that is, after a subtransaction was
 * rolled back.
 */
void
sst_progress_resume(void)
{
	if (current.depth == 0 || !current.reports)
		return;

	pgstat_progress_start_command(PROGRESS_COMMAND, InvalidOid);
	show();
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

/* Set the number of blocks of the scan that have been looked at. */
void
sst_progress_blocks(BlockNumber nblocks)
{
	if (current.depth > 0)
		set_param(PARAM_BLOCKS_DONE, nblocks);
}

/*
 * The same, of a scan whose blocks from first on are dealt out to several
 * processes.  What each of them has in hand counts as done.
 */
void
sst_progress_chunks(const SstChunks *chunks, BlockNumber first)
{
	double		share;

	if (current.depth == 0 || chunks->end <= first)
		return;

	/* Some of the range may not have to be read. */
	share = ((double) pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
													&chunks->next)) - first) /
		(chunks->end - first);
	set_param(PARAM_BLOCKS_DONE,
			  (int64) (share * current.params[PARAM_BLOCKS_TOTAL]));
}

/* End what was begun. */
void
sst_progress_end(void)
{
	if (current.depth == 0 || --current.depth > 0)
		return;

	if (current.reports)
		pgstat_progress_end_command();
}

/*
 * What a backend reports, from a copy of its status; false if it is not in a
 * call of ours.
 */
bool
sst_progress_read(const PgBackendStatus *status, SstProgress *progress)
{
	const int64 *params = status->st_progress_param;
	uint64		function = params[PARAM_FUNCTION];
	uint64		phase = params[PARAM_PHASE];

	if (status->st_progress_command != PROGRESS_COMMAND)
		return false;

	/* It may have another version of this library. */
	progress->function = function_names[function < lengthof(function_names) ?
										function : 0];
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
