/*-------------------------------------------------------------------------
 *
 * xacts.h
 *	  The outcome of the transactions that a heap page names
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_XACTS_H
#define SST_XACTS_H

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"

typedef enum SstXactStatus
{
	SST_XACT_COMMITTED,
	SST_XACT_ABORTED,			/* or crashed */
	SST_XACT_IN_PROGRESS,
	SST_XACT_OWN,				/* this transaction, also before it ends */
	SST_XACT_IMPOSSIBLE			/* no page can name it: see sst_xact_status() */
} SstXactStatus;

/* Transactions known to have ended, by the low bits of their ids */
#define SST_NXACTS 256

typedef struct SstXacts
{
	TransactionId next;			/* ids from here on were not given out */
	TransactionId running;		/* one in progress during this page */
	TransactionId ended[SST_NXACTS];
	bool		committed[SST_NXACTS];

	/*
	 * For multixacts: the caller holds a lock on the page, and has to let it
	 * go
	 */
	bool		page_locked;
	bool		postponed;
} SstXacts;

extern bool sst_xact_has_begun(SstXacts *xacts, TransactionId xid);
extern SstXactStatus sst_xact_status(SstXacts *xacts, TransactionId xid);
extern void sst_multixacts_begin(void);
extern bool sst_multixact_has_begun(MultiXactId multi);
extern bool sst_multixact_updater(SstXacts *xacts, MultiXactId multi,
								  TransactionId *xid);

/* Who inserted the tuple: has it committed? */
static inline SstXactStatus
sst_tuple_inserter(SstXacts *xacts, const HeapTupleHeaderData *tuple)
{
	uint16		mask = tuple->t_infomask;

	/* A frozen tuple has both bits. */
	if (mask & HEAP_XMIN_COMMITTED)
		return SST_XACT_COMMITTED;
	if (mask & HEAP_XMIN_INVALID)
		return SST_XACT_ABORTED;

	/*
	 * VACUUM FULL of releases before 9.0 moved tuples, of which one copy
	 * counts: the new one if it committed, or else the old one.  It is long
	 * over.
	 */
	if (mask & HEAP_MOVED)
	{
		SstXactStatus status = sst_xact_status(xacts, tuple->t_choice.t_heap.t_field3.t_xvac);

		if (status == SST_XACT_IMPOSSIBLE)
			return status;
		return (status == SST_XACT_COMMITTED) == ((mask & HEAP_MOVED_IN) != 0) ?
			SST_XACT_COMMITTED : SST_XACT_ABORTED;
	}

	return sst_xact_status(xacts, HeapTupleHeaderGetRawXmin(tuple));
}

#endif							/* SST_XACTS_H */
