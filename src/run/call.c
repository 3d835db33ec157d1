/*-------------------------------------------------------------------------
 *
 * call.c
 *	  The call of an SQL function: its name, its time, its I/O
 *
 * Between begin and end, the call is to be seen in stat_progress.  Behind its
 * end, stream_stats() tells about it.  An error ends it as well, and leaves the
 * call before it as the last one.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "run/call.h"
#include "run/progress.h"
#include "streamstat.h"

/* The last call of the session that has ended; its function is "" before that. */
static SstCall last_call;

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
	strlcpy(call->function, name != NULL ? name : "?", NAMEDATALEN);
	sst_io_stats_init(&call->io_stats, sst_usual_io_path());
	INSTR_TIME_SET_CURRENT(call->start);
	call->progress_depth = sst_progress_begin(call->function, relations_total,
											  bytes_total);
}

/* Say which relation the call is about; nothing has been read by then. */
void
sst_call_set_relation(SstCall *call, Relation rel)
{
	call->relid = RelationGetRelid(rel);
	sst_io_stats_init(&call->io_stats, sst_choose_io_path(rel));
}

/* End a call that has done its reading. */
void
sst_call_end(SstCall *call)
{
	instr_time	elapsed;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, call->start);
	call->elapsed_ms = INSTR_TIME_GET_MILLISEC(elapsed);
	last_call = *call;

	sst_progress_end(call->progress_depth);
}

/* The last call that has ended, or NULL if there is none */
const SstCall *
sst_last_call(void)
{
	return last_call.function[0] != '\0' ? &last_call : NULL;
}
