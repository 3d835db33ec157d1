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

#include "report/bloat_estimate.h"

/* An index's table, while its dead rows are looked for */
typedef struct SstTableRows
{
	SstTarget	table;
	bool		readable;
	SstBlockSet *visible;		/* blocks known to be all-visible, or NULL */
	BlockNumber nothers;		/* all other blocks */
} SstTableRows;

/* The model of an index's rebuild, and what it says of the entries there are */
typedef struct SstIndexModel
{
	const SstTarget *index;
	const SstRebuild *rebuild;
	const SstMeta *meta;
	const double *counts;		/* of all pages */
} SstIndexModel;

/* How the entries of dead rows are told from the others */
typedef enum SstDeadEntriesWay
{
	SST_NO_DEAD_ENTRIES,		/* there are none, or they do not matter */
	SST_DEAD_BY_TID,			/* all are known: the model leaves them out */
	SST_DEAD_BY_LOOKUP,			/* some entries are looked up afterwards */
	SST_DEAD_BY_TABLE,			/* as many as the table has dead rows */
	SST_DEAD_UNKNOWN
} SstDeadEntriesWay;

/* What an estimate has to know of its index's table; all zero for a table */
typedef struct SstDeadEntries
{
	SstDeadEntriesWay way;
	const SstIndexTable *table;
	bool		has_rows;
	SstTableRows rows;			/* if so */
	SstDeadTids *tids;			/* or NULL */
	SstEntrySample *entries;	/* or NULL */
} SstDeadEntries;

extern void sst_dead_entries_begin(SstDeadEntries *dead,
								   const SstTarget *index,
								   const SstIndexTable *table,
								   SstSampling *sampling, SstRebuild *rebuild);
extern void sst_dead_entries_leave_out(SstDeadEntries *dead,
									   const SstIndexModel *model,
									   SstSampling *sampling,
									   SstBloatEstimate *estimate);
extern void sst_dead_entries_end(SstDeadEntries *dead);

#endif							/* SST_DEAD_ENTRIES_H */
