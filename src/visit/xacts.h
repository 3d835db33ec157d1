/*-------------------------------------------------------------------------
 *
 * xacts.h
 *	  The outcome of the transactions that a heap page names
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/xacts.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_XACTS_H
#define SST_XACTS_H

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

	/* multixacts.c: the caller holds a lock on the page, and has to let it go */
	bool		page_locked;
	bool		postponed;
} SstXacts;

extern SstXactStatus sst_xact_status(SstXacts *xacts, TransactionId xid);

#endif							/* SST_XACTS_H */
