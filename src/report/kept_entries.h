/*-------------------------------------------------------------------------
 *
 * kept_entries.h
 *	  The fraction of an index's entries that a build keeps
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/kept_entries.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_KEPT_ENTRIES_H
#define SST_KEPT_ENTRIES_H

#include "rebuild/entry_sample.h"
#include "report/dead_rows.h"

/* Fractions of the entries' bytes */
typedef struct SstKeptEntries
{
	SstEstimate kept;
	double		keys;			/* of the others, left where their keys are */
} SstKeptEntries;

extern bool sst_look_up_entries(SstEntrySample *entries, BlockNumber npages,
								SstTableRows *rows, const SstDeadTids *dead,
								BlockNumber most, SstSampling *sampling,
								SstKeptEntries *result);

#endif							/* SST_KEPT_ENTRIES_H */
