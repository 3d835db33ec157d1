/*-------------------------------------------------------------------------
 *
 * try_estimate.c
 *	  Estimating the bloat of a relation that may be locked, or damaged
 *
 * It does not wait for locks.  The relation is locked and read in a
 * subtransaction, so that an error becomes a note about that relation, and the
 * caller continues.
 *
 * On a standby a conflict with recovery ends a session that is in a
 * subtransaction.  Such conflicts are normal there.  So no subtransaction begins,
 * and an error ends the whole call.
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
#include "catalog/index.h"
#include "storage/lmgr.h"

#include "report/bloat.h"
#include "report/try_estimate.h"
#include "run/blocking.h"
#include "run/subtransaction.h"

/*
 * Lock the table of an index, or that of a TOAST table, without waiting.  A TOAST
 * table can do without; then it is as if it had none.  False if an index's is locked.
 */
static bool
lock_table(SstEstimateTry *attempt)
{
	if (!OidIsValid(attempt->table.relid) ||
		ConditionalLockRelationOid(attempt->table.relid, AccessShareLock))
		return true;

	if (attempt->is_toast)
		attempt->table.relid = InvalidOid;
	return attempt->is_toast;
}

/*
 * Lock and open a relation, an index or a TOAST table after its table, without
 * waiting.  Returns NULL and sets the outcome if that is not possible; then no lock is
 * held.
 */
static Relation
open_unless_locked(SstEstimateTry *attempt)
{
	Oid			relid = attempt->relid;
	Oid			tableoid;
	Relation	rel;

	attempt->outcome = SST_TRY_LOCKED;
	if (!lock_table(attempt))
		return NULL;
	tableoid = attempt->table.relid;

	if (ConditionalLockRelationOid(relid, AccessShareLock))
	{
		/* Before it was locked, the OID may have become another index's. */
		rel = try_relation_open(relid, NoLock);
		if (rel != NULL && (!OidIsValid(tableoid) || attempt->is_toast ||
							IndexGetRelation(relid, true) == tableoid))
			return rel;

		attempt->outcome = SST_TRY_REFUSED;
		attempt->note = _("dropped meanwhile");
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
	SstEstimateTry *attempt = arg;
	Relation	rel = open_unless_locked(attempt);
	const SstIndexTable *table = &attempt->table;
	SstTarget	target;

	if (rel == NULL)
		return;

	sst_target_examine(&target, rel);
	if (!sst_target_is_readable(&target))
	{
		attempt->outcome = SST_TRY_REFUSED;
		attempt->note = target.note;
	}
	else if (sst_estimate_bloat(&target, OidIsValid(table->relid) ||
								attempt->is_toast ? table : NULL,
								&attempt->sampling, &attempt->estimate))
		attempt->outcome = SST_TRY_ESTIMATED;
	else
		attempt->outcome = SST_TRY_LIMITED;
	sst_target_close(&target);
	if (OidIsValid(table->relid))
		UnlockRelationOid(table->relid, AccessShareLock);
}

/*
 * Make the attempt, with memory from the given context.  Afterwards no lock is
 * held.  An error that is about the relation becomes the note, in that context;
 * other errors pass.
 */
void
sst_try_estimate(SstEstimateTry *attempt, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	ErrorData  *error;

	attempt->sampling.limits = &attempt->limits;
	error = sst_contain_errors(try_estimate, attempt);
	MemoryContextSwitchTo(oldcontext);

	if (error == NULL)
		return;
	/* Others wait for a lock that this attempt did not take. */
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking())
		ReThrowError(error);

	attempt->outcome = SST_TRY_REFUSED;
	attempt->note = error->message;
}
