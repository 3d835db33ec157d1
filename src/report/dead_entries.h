/*-------------------------------------------------------------------------
 *
 * dead_entries.h
 *	  Excluding the index entries of dead rows from an estimate
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/dead_entries.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DEAD_ENTRIES_H
#define SST_DEAD_ENTRIES_H

#include "am/rebuild.h"
#include "report/bloat_estimate.h"

/* How the entries of dead rows are told from the others */
typedef enum SstDeadEntriesWay
{
	SST_NO_DEAD_ENTRIES,		/* there are none, or the model leaves them
								 * out, or they do not matter */
	SST_DEAD_BY_TABLE,			/* as many as the table has dead rows */
	SST_DEAD_UNKNOWN
} SstDeadEntriesWay;

/* What an estimate has to know of its index's table; all zero for a table */
typedef struct SstDeadEntries
{
	SstDeadEntriesWay way;
	SstDeadTids *tids;			/* or NULL */
	const SstBloatEstimate *table;	/* or NULL: not known */
	SstBloatEstimate sampled;	/* if it was not, and is now */
} SstDeadEntries;

extern void sst_dead_entries_begin(SstDeadEntries *dead,
								   const SstTarget *index,
								   const SstIndexTable *table,
								   SstSampling *sampling, SstRebuild *rebuild);
extern SstEstimate sst_dead_entries_kept(const SstDeadEntries *dead,
										 const SstTarget *index,
										 const SstPageSample *sample,
										 SstRebuild *rebuild,
										 SstBloatEstimate *estimate);
extern void sst_dead_entries_end(SstDeadEntries *dead);

#endif							/* SST_DEAD_ENTRIES_H */
