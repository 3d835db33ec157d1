/*-------------------------------------------------------------------------
 *
 * blocking.c
 *	  Yielding to sessions that a call keeps waiting
 *
 * An AccessShareLock blocks only requests for an AccessExclusiveLock, but all
 * later requests wait behind such a one.  A transaction with a snapshot blocks
 * commands with CONCURRENTLY.  So a call that keeps one of these waiting for
 * too long ends with an error, much as autovacuum does, or unlocks its relations
 * if it is about many (warm/queue.c).
 *
 * Locks that the transaction took for other statements are not the call's matter.
 * The call's are those on the relation that it was called with, on the one that it
 * reads, and on what belongs to the same table as one of these.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat/compat.h"
#include "run/call.h"
#include "streamstat.h"

/* From one look at those who wait to the next */
#define CHECK_SECONDS 0.05

/* What a session waits for because of our transaction, and since when */
typedef struct BlockedSession
{
	Oid			relid;			/* a lock on it; InvalidOid: the end of the
								 * transaction */
	TimestampTz since;
} BlockedSession;

/* Is it the virtual transaction of this process or of one of its workers? */
static bool
is_our_transaction(const LOCKTAG *tag)
{
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		VirtualTransactionId vxid;
		LOCKTAG		ours;

		if (proc != MyProc && proc->lockGroupLeader != MyProc)
			continue;
		GET_VXID_FROM_PGPROC(vxid, *proc);
		SET_LOCKTAG_VIRTUALTRANSACTION(ours, vxid);
		if (memcmp(tag, &ours, sizeof(LOCKTAG)) == 0)
			return true;
	}

	return false;
}

/*
 * Is a diagnostic call all that a session waits for which waits for this lock in this mode?
 * Then *relid is set as in BlockedSession.
 *
 * That is an AccessExclusiveLock, where the call has an AccessShareLock and
 * our transaction none that is stronger.  It is also the end of our transaction: CREATE INDEX
 * CONCURRENTLY and its like wait for all transactions with older snapshots, on
 * whatever relation (WaitForOlderSnapshots() in commands/indexcmds.c).  A
 * transaction that has written is waited for in any case.
 */
static bool
blocked_by_call(const LOCKTAG *tag, LOCKMODE mode, Oid *relid)
{
	*relid = InvalidOid;
	if (tag->locktag_type == LOCKTAG_RELATION)
	{
		*relid = tag->locktag_field2;
		return mode == AccessExclusiveLock &&
			sst_lock_held(tag, AccessShareLock) &&
			!sst_lock_held(tag, RowShareLock) &&
			sst_call_locks(*relid);
	}

	return tag->locktag_type == LOCKTAG_VIRTUALTRANSACTION &&
		!TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		is_our_transaction(tag);
}

/*
 * Find a session that has waited because of our transaction, or only for its end, for
 * streamstat.max_blocking_time of the current statement.  False if there is none.
 *
 * This takes no lock, so a process can begin or end to wait meanwhile.  Then its fields can
 * be of two waits, also because a CPU may load them in another order.  The lock that it
 * waits for is in shared memory, which stays mapped; the pointer is loaded once.
 * sst_check_blocking() requires the same result twice, 50 ms apart: by then all stores
 * that preceded the first check are visible.
 */
static bool
find_blocked(BlockedSession *session, bool for_end)
{
	int64		microseconds = (int64) sst_max_blocking_time * 1000;

	memset(session, 0, sizeof(BlockedSession));
	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];
		LOCK	   *lock = *(LOCK *volatile *) &proc->waitLock;
		LOCKMODE	mode = proc->waitLockMode;
		LOCKTAG		tag;
		TimestampTz since;

		if (lock == NULL)
			continue;

		tag = lock->tag;
		since = (TimestampTz) pg_atomic_read_u64(&proc->waitStart);
		if (since == 0 ||
			GetCurrentTimestamp() - Max(since, GetCurrentStatementStartTimestamp()) < microseconds)
			continue;

		if (blocked_by_call(&tag, mode, &session->relid) &&
			!(for_end && OidIsValid(session->relid)))
		{
			session->since = since;
			return true;
		}
	}

	return false;
}

/* Does somebody wait for the end of the transaction, whatever it has locked? */
bool
sst_is_blocking(void)
{
	BlockedSession session;

	return find_blocked(&session, true);
}

static void
yield_to(const BlockedSession *session)
{
	if (OidIsValid(session->relid))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("canceling statement due to conflict with a lock request on relation \"%s\"",
						get_rel_name(session->relid)),
				 errhint("Consider increasing the configuration parameter \"%s\".",
						 "streamstat.max_blocking_time")));

	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("canceling statement due to conflict with a session that waits for this transaction"),
			 errdetail("CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY wait for all transactions with older snapshots."),
			 errhint("Consider increasing the configuration parameter \"%s\", or CALL streamstat.run_database_report() outside of a transaction block, where it holds no snapshot while it reads.",
					 "streamstat.max_blocking_time")));
}

/*
 * Find somebody whom our transaction has kept waiting for
 * streamstat.max_blocking_time, and still does at the next look.  That this is
 * called often costs little.
 *
 * In recovery, conflicts are the server's.
 */
static bool
find_blocked_twice(BlockedSession *session)
{
	static double checked;
	static BlockedSession seen;
	double		now;

	if (sst_max_blocking_time < 0 || IsParallelWorker() ||
		!sst_server_has(SST_PROCESSES))
		return false;

	now = sst_now();
	if (now - checked < CHECK_SECONDS || RecoveryInProgress())
		return false;
	checked = now;

	if (find_blocked(session, false) && session->relid == seen.relid &&
		session->since == seen.since)
		return true;
	seen = *session;

	return false;
}

/* Has somebody waited for our transaction for too long? */
bool
sst_must_yield(void)
{
	BlockedSession session;

	return find_blocked_twice(&session);
}

/* Raise an error in that case. */
void
sst_check_blocking(void)
{
	BlockedSession session;

	if (find_blocked_twice(&session))
		yield_to(&session);
}
