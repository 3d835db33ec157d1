/*-------------------------------------------------------------------------
 *
 * multixacts.h
 *	  The updater in a multixact
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/multixacts.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MULTIXACTS_H
#define SST_MULTIXACTS_H

#include "access/multixact.h"

#include "am/heap/xacts.h"

extern void sst_multixacts_begin(void);
extern bool sst_multixact_has_begun(MultiXactId multi);
extern bool sst_multixact_updater(SstXacts *xacts, MultiXactId multi,
								  TransactionId *xid);

#endif							/* SST_MULTIXACTS_H */
