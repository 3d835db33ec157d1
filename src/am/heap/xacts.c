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
 * A tuple's xmax can be a multixact, of which the updater is looked up in files
 * (see below).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"

#include "am/heap/xacts.h"
#include "compat/compat.h"
#include "compat/multixact_pages.h"

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

/* ----------
 * The updater in a multixact
 *
 * A tuple's xmax can be a multixact: the transactions that lock the tuple, of which
 * one may have updated or deleted it.  The server numbers multixacts one after the
 * other.  For each, pg_multixact/offsets has where its members begin in
 * pg_multixact/members; they end where those of the next one begin.
 *
 * A multixact within the valid range need not exist: if the server crashes
 * between two sessions that make one, the first leaves a zero.  Files of a
 * damaged cluster and numbers on a damaged page cannot be trusted either.  So
 * each step is checked, and bounded.
 *
 * Values that are not zero never change while the multixact exists.  So this
 * process keeps images of some pages, and reads a page again only where its
 * image has a zero.
 * ----------
 */

/* Images to keep of each area, by the low bits of their numbers */
#define NIMAGES 8

/* How long to wait in a scan for multixacts that others are making, in ms */
#define MAX_WAIT 1000

/*
 * Members of a sound multixact are fewer.  Sessions and prepared transactions are each
 * less than 2^18, and none is a member more than once for each of the 6 kinds.
 */
#define MAX_MEMBERS (1 << 22)

typedef struct PageImage
{
	int64		pageno;			/* -1 if there is none */
	PGAlignedBlock page;
} PageImage;

static PageImage images[SST_MULTIXACT_MEMBERS + 1][NIMAGES];
static int	waited;				/* ms in this scan */

/*
 * Begin a scan.  Images of another one may be of multixacts that have had the same
 * numbers long ago.
 */
void
sst_multixacts_begin(void)
{
	for (int i = 0; i < NIMAGES; i++)
	{
		images[SST_MULTIXACT_OFFSETS][i].pageno = -1;
		images[SST_MULTIXACT_MEMBERS][i].pageno = -1;
	}
	waited = 0;
}

/*
 * Get an image of a page, a new one if so many bytes at this place are zero in the one that was
 * kept.  NULL if there is no such page, or if it would have to be read while a lock is held.
 */
static const char *
get_page(SstXacts *xacts, SstMultixactArea area, int64 pageno, Size place, Size size)
{
	static const MultiXactOffset zero = 0;
	PageImage  *image = &images[area][pageno % NIMAGES];

	if (image->pageno == pageno && memcmp(image->page.data + place, &zero, size) != 0)
		return image->page.data;

	if (xacts->page_locked)
	{
		xacts->postponed = true;
		return NULL;
	}

	image->pageno = -1;
	if (!sst_copy_multixact_page(area, pageno, image->page.data))
		return NULL;
	image->pageno = pageno;

	return image->page.data;
}

/* Has the number been given to a multixact? */
bool
sst_multixact_has_begun(MultiXactId multi)
{
	return MultiXactIdPrecedes(multi, ReadNextMultiXactId());
}

/* Where a multixact's members begin; 0 if that is not known. */
static MultiXactOffset
get_offset(SstXacts *xacts, MultiXactId multi)
{
	int			i = multi % SST_MULTIXACT_OFFSETS_PER_PAGE;
	const MultiXactOffset *offsets = (const MultiXactOffset *)
		get_page(xacts, SST_MULTIXACT_OFFSETS, multi / SST_MULTIXACT_OFFSETS_PER_PAGE,
				 i * sizeof(*offsets), sizeof(*offsets));

	return offsets != NULL ? offsets[i] : 0;
}

/* Get a member; false if there is none. */
static bool
get_member(SstXacts *xacts, MultiXactOffset offset, MultiXactMember *member)
{
	int			on_page = offset % SST_MULTIXACT_MEMBERS_PER_PAGE;
	int			in_group = on_page % SST_MULTIXACT_GROUP_MEMBERS;
	Size		place = on_page / SST_MULTIXACT_GROUP_MEMBERS * sizeof(SstMultixactGroup);
	const char *page =
		get_page(xacts, SST_MULTIXACT_MEMBERS, offset / SST_MULTIXACT_MEMBERS_PER_PAGE,
				 place + offsetof(SstMultixactGroup, xids) + in_group * sizeof(TransactionId),
				 sizeof(TransactionId));
	const SstMultixactGroup *group;

	if (page == NULL)
		return false;
	group = (const SstMultixactGroup *) (page + place);
	member->xid = group->xids[in_group];
	member->status = group->statuses >> (8 * in_group) & 0xFF;

	return TransactionIdIsValid(member->xid);
}

/*
 * Can a session be about to write where the multixact's members begin?  Each session
 * announces the oldest multixact that it may make or see.  On a standby, where the
 * sessions are others, that says nothing.
 */
static bool
may_be_in_creation(MultiXactId multi)
{
	return RecoveryInProgress() ||
		!MultiXactIdPrecedes(multi, GetOldestMultiXactId());
}

/*
 * Where a multixact's members end, when the one behind it has been given out; 0 if that is
 * not known.
 *
 * Before the servers that multixact_pages.c names, a multixact can be on a page when the
 * one behind it is still being made, which takes microseconds.
 */
static MultiXactOffset
get_end(SstXacts *xacts, MultiXactId behind)
{
	MultiXactOffset end = get_offset(xacts, behind);
	bool		wait = true;

	while (end == 0 && !xacts->page_locked && wait)
	{
		/* Look again when no session is creating it. */
		wait = may_be_in_creation(behind) && waited < MAX_WAIT;
		if (wait)
		{
			pg_usleep(1000L);
			waited++;
			CHECK_FOR_INTERRUPTS();
		}
		end = get_offset(xacts, behind);
	}

	return end;
}

/* Find the one member that is no locker; false if the members make no sense. */
static bool
find_updater(SstXacts *xacts, MultiXactOffset first, MultiXactOffset nmembers,
			 TransactionId *xid)
{
	*xid = InvalidTransactionId;
	for (MultiXactOffset i = 0; i < nmembers; i++)
	{
		MultiXactOffset offset = first + i;
		MultiXactMember member;

		if (i % SST_MULTIXACT_MEMBERS_PER_PAGE == 0)
			CHECK_FOR_INTERRUPTS();

		if (!get_member(xacts, offset, &member))
		{
			/* Offsets of 4 bytes start again, and may leave out 0. */
			if (offset == 0 && !xacts->postponed)
				continue;
			return false;
		}
		if (member.status > MaxMultiXactStatus)
			return false;
		if (ISUPDATE_from_mxstatus(member.status))
		{
			if (TransactionIdIsValid(*xid))
				return false;
			*xid = member.xid;
		}
	}

	return true;
}

/*
 * Find the transaction that updated or deleted what a multixact locks, or
 * InvalidTransactionId if it has only lockers.  False if there is no such multixact, or
 * if it makes no sense.
 *
 * While xacts->page_locked, it does not read or wait: if that would be needed,
 * xacts->postponed is set, and false returned.  Otherwise this may read files,
 * and wait for a moment; it can be canceled.
 */
bool
sst_multixact_updater(SstXacts *xacts, MultiXactId multi, TransactionId *xid)
{
	MultiXactId behind = Max(multi + 1, FirstMultiXactId);
	MultiXactId oldest;
	MultiXactId next;
	MultiXactOffset next_offset;
	MultiXactOffset first;
	MultiXactOffset end;
	Oid			database;

	MultiXactGetCheckptMulti(false, &next, &next_offset, &oldest, &database);
	oldest = Max(oldest, FirstMultiXactId);
	next = Max(next, FirstMultiXactId);
	if (!MultiXactIdIsValid(multi) ||
		MultiXactIdPrecedes(multi, oldest) ||
		!MultiXactIdPrecedes(multi, next))
		return false;

	first = get_offset(xacts, multi);
	if (first == 0)
		return false;

	/*
	 * No member is at offset 0, but it may be noted as the next
	 * (GetNewMultiXactId()).
	 */
	end = behind == next ? Max(next_offset, 1) : get_end(xacts, behind);
	if (end == 0 || end == first || end - first > MAX_MEMBERS)
		return false;

	return find_updater(xacts, first, end - first, xid);
}
