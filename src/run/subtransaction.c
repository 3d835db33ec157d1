/*-------------------------------------------------------------------------
 *
 * subtransaction.c
 *	  Running a function in a subtransaction, so that its error is contained
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "run/call.h"

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
