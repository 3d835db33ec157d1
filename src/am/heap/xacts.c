/*-------------------------------------------------------------------------
 *
 * xacts.c
 *	  The outcome of the transactions that a heap page names
 *
 * The server's own visibility tests write hint bits into the page, which
 * dirties it and with checksums writes WAL.  So we check the proc array and
 * the commit log directly, in the order that access/heap/heapam_visibility.c
 * explains: in progress first, then committed.
 *
 * A damaged page can name any transaction.  The commit log is read only for
 * transactions that it has.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/xacts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"

#include "compat/compat.h"
#include "am/heap/xacts.h"

/* Ask the commit log; false if it does not reach back so far. */
static bool
has_ended(TransactionId xid, bool *committed)
{
	bool		known;

	LWLockAcquire(XactTruncationLock, LW_SHARED);
	known = !TransactionIdPrecedes(xid, TransamVariables->oldestClogXid);
	if (known)
		*committed = TransactionIdDidCommit(xid);
	LWLockRelease(XactTruncationLock);

	return known;
}

/* Has the ID, which is a normal one, been given to a transaction? */
bool
sst_xact_has_begun(SstXacts *xacts, TransactionId xid)
{
	if (!TransactionIdIsValid(xacts->next) ||
		!TransactionIdPrecedes(xid, xacts->next))
		xacts->next = ReadNextTransactionId();

	return TransactionIdPrecedes(xid, xacts->next);
}

/*
 * What became of a transaction?  It is impossible that a sound page names one
 * that has not begun, or that is older than the commit log.
 *
 * A page that was read past the buffer manager can name one that the commit log
 * has just lost, when VACUUM has frozen the page in the meantime.  Who finds such
 * a page impossible has to read it again.
 *
 * A transaction in progress is remembered until the caller resets
 * xacts->running.
 */
SstXactStatus
sst_xact_status(SstXacts *xacts, TransactionId xid)
{
	int			slot = xid % SST_NXACTS;

	if (!TransactionIdIsNormal(xid))
		return TransactionIdIsValid(xid) ? SST_XACT_COMMITTED :
			SST_XACT_ABORTED;

	if (xid == xacts->running)
		return SST_XACT_IN_PROGRESS;

	if (xacts->ended[slot] != xid)
	{
		bool		committed;

		if (TransactionIdIsCurrentTransactionId(xid))
			return SST_XACT_OWN;

		if (!sst_xact_has_begun(xacts, xid))
			return SST_XACT_IMPOSSIBLE;

		if (TransactionIdIsInProgress(xid))
		{
			xacts->running = xid;
			return SST_XACT_IN_PROGRESS;
		}

		if (!has_ended(xid, &committed))
			return SST_XACT_IMPOSSIBLE;
		xacts->ended[slot] = xid;
		xacts->committed[slot] = committed;
	}

	return xacts->committed[slot] ? SST_XACT_COMMITTED : SST_XACT_ABORTED;
}
