/*-------------------------------------------------------------------------
 *
 * try_estimate.c
 *	  Measuring a relation that may not let itself be measured
 *
 * The relation is not waited for.  It is locked and read in a subtransaction,
 * whose error is that relation's reason and nobody else's.
 *
 * On a standby a conflict with recovery ends a session that is in a
 * subtransaction.  Such conflicts are normal there, so that an attempt has none,
 * and any error is the whole call's.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/try_estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "storage/lmgr.h"

#include "report/try_estimate.h"
#include "run/blocking.h"
#include "run/subtransaction.h"

/*
 * Lock and open, an index behind its table, and never wait.  NULL if that
 * cannot be; then no lock is held.
 */
static Relation
open_entry(SstEstimateRequest *attempt)
{
	Oid			relid = attempt->relid;
	Oid			tableoid = attempt->tableoid;
	Relation	rel;

	attempt->locked = OidIsValid(tableoid) &&
		!ConditionalLockRelationOid(tableoid, AccessShareLock);
	if (attempt->locked)
		return NULL;

	attempt->locked = !ConditionalLockRelationOid(relid, AccessShareLock);
	if (!attempt->locked)
	{
		/* The lock is ours already; an index may have become another's. */
		rel = try_relation_open(relid, NoLock);
		if (rel != NULL && (!OidIsValid(tableoid) ||
							IndexGetRelation(relid, true) == tableoid))
			return rel;

		attempt->reason = gettext_noop("dropped meanwhile");
		if (rel != NULL)
			relation_close(rel, NoLock);
		UnlockRelationOid(relid, AccessShareLock);
	}
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);

	return NULL;
}

static void
try_estimate(void *arg)
{
	SstEstimateRequest *attempt = arg;
	Relation	rel = open_entry(attempt);
	SstTarget	target;

	if (rel == NULL)
		return;

	sst_target_examine(&target, rel);
	if (!sst_target_is_readable(&target))
		attempt->reason = target.note;
	else
		attempt->measured = sst_estimate_bloat(&target, attempt->nblocks,
										attempt->seed, &attempt->limits,
										&attempt->measurement);
	sst_target_close(&target);
	if (OidIsValid(attempt->tableoid))
		UnlockRelationOid(attempt->tableoid, AccessShareLock);
}

/* Is the error meant for the session, and not about one relation? */
static bool
is_everybodys(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		sqlerrcode == ERRCODE_OUT_OF_MEMORY;
}

/*
 * Make an attempt.  An error that is about the relation becomes the reason, in
 * the given context.
 */
void
sst_try_estimate(SstEstimateRequest *attempt, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	ErrorData  *error = NULL;

	if (RecoveryInProgress())
		try_estimate(attempt);
	else
		error = sst_run_in_subtransaction(try_estimate, attempt);
	MemoryContextSwitchTo(oldcontext);

	if (error == NULL)
		return;
	if (is_everybodys(error->sqlerrcode))
		ReThrowError(error);
	/* Others wait for a lock that is not of this attempt. */
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking())
		ReThrowError(error);

	attempt->measured = false;
	attempt->reason = error->message;
}
