/*-------------------------------------------------------------------------
 *
 * dead_tids.h
 *	  Rows of a table that an index build skips
 *
 * They are identified by the TIDs that indexes have for them.  The set uses
 * memory only for blocks with such rows.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/dead_tids.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DEAD_TIDS_H
#define SST_DEAD_TIDS_H

#include "storage/itemptr.h"

typedef struct SstDeadTids SstDeadTids;

extern SstDeadTids *sst_dead_tids_create(void);
extern void sst_dead_tids_add(SstDeadTids *set, BlockNumber blkno,
							  OffsetNumber offnum);
extern bool sst_dead_tids_contain(const SstDeadTids *set, BlockNumber blkno,
								  OffsetNumber offnum);
extern bool sst_dead_tids_is_empty(const SstDeadTids *set);
extern void sst_dead_tids_free(SstDeadTids *set);

#endif							/* SST_DEAD_TIDS_H */
