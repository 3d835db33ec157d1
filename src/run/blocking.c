/*-------------------------------------------------------------------------
 *
 * blocking.c
 *	  Whom a call keeps waiting
 *
 * An AccessShareLock blocks nobody but those who want an AccessExclusiveLock;
 * but behind these, everybody else waits.  So a call that keeps one of them
 * waiting for too long ends with an error, much as autovacuum does.  (Commands
 * with CONCURRENTLY wait for the end of its transaction, and block nobody
 * meanwhile.)
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/blocking.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "portability/instr_time.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat/compat.h"
#include "run/blocking.h"
#include "streamstat.h"

/* Milliseconds from one look at those who wait to the next */
#define CHECK_INTERVAL 50.0

/*
 * Does our transaction have an AccessShareLock there, and none that is stronger?
 * Who waits for that waits for more than a diagnostic call.
 */
static bool
is_in_the_way(const LOCKTAG *tag)
{
	return tag->locktag_type == LOCKTAG_RELATION &&
		sst_lock_held(tag, AccessShareLock) &&
		!sst_lock_held(tag, RowShareLock);
}

/*
 * The relation for which somebody waits because of a lock of our transaction,
 * and has done so for streamstat.max_blocking_time of the present statement;
 * InvalidOid if there is none.
 *
 * No lock is taken for that, so that a process may begin or end to wait
 * meanwhile: what is seen of it can be of two waits.  What it waits for is in
 * shared memory, which stays.
 */
static Oid
find_blocked(TimestampTz *since)
{
	int64		microseconds = (int64) sst_max_blocking_time * 1000;

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		LOCK	   *lock = *(LOCK *volatile *) &proc->waitLock;
		LOCKTAG		tag;

		if (lock == NULL || proc->waitLockMode != AccessExclusiveLock)
			continue;

		tag = lock->tag;
		*since = (TimestampTz) pg_atomic_read_u64(&proc->waitStart);
		if (*since != 0 && is_in_the_way(&tag) &&
			GetCurrentTimestamp() - Max(*since, GetCurrentStatementStartTimestamp()) >= microseconds)
			return tag.locktag_field2;
	}

	return InvalidOid;
}

/* Would sst_check_blocking() still find somebody? */
bool
sst_is_blocking(void)
{
	TimestampTz since;

	return OidIsValid(find_blocked(&since));
}

/*
 * Raise an error if a lock of our transaction has kept somebody waiting for
 * streamstat.max_blocking_time, and still does at the next look.  That this is
 * called often costs little.
 *
 * In recovery, conflicts are the server's.
 */
void
sst_check_blocking(void)
{
	static instr_time checked;
	static Oid	seen = InvalidOid;
	static TimestampTz seen_since;
	instr_time	now;
	instr_time	elapsed;
	TimestampTz since = 0;
	Oid			relid;

	if (sst_max_blocking_time < 0 || IsParallelWorker())
		return;

	INSTR_TIME_SET_CURRENT(now);
	elapsed = now;
	INSTR_TIME_SUBTRACT(elapsed, checked);
	if (INSTR_TIME_GET_MILLISEC(elapsed) < CHECK_INTERVAL || RecoveryInProgress())
		return;
	checked = now;

	relid = find_blocked(&since);
	if (OidIsValid(relid) && relid == seen && since == seen_since)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("canceling statement because another session waits for a lock on relation \"%s\"",
						get_rel_name(relid)),
				 errhint("\"%s\" sets how long it may wait.",
						 "streamstat.max_blocking_time")));
	seen = relid;
	seen_since = since;
}
