/*-------------------------------------------------------------------------
 *
 * holder.h
 *	  What keeps VACUUM from removing dead rows, and commands from ending
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/holder.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HOLDER_H
#define SST_HOLDER_H

#include "relation/relations.h"

typedef struct SstHolders SstHolders;

extern SstHolders *sst_find_holders(void);
extern const char *sst_oldest_holder(const SstHolders *holders,
									 const SstRelation *table,
									 TransactionId before);
extern SstHolders *sst_find_waits(void);
extern const char *sst_waits_for(const SstHolders *waits, Oid table, int what);

#endif							/* SST_HOLDER_H */
