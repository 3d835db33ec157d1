/*-------------------------------------------------------------------------
 *
 * dead_entries.h
 *	  Leaving the index entries of dead rows out of an estimate
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

/* The model of an index's rebuild, and what it says of the entries there are */
typedef struct SstIndexModel
{
	const SstTarget *index;
	const SstRebuild *rebuild;
	const SstMeta *meta;
	const double *counts;		/* of all pages */
} SstIndexModel;

extern void sst_leave_out_dead_entries(const SstIndexModel *model,
									   const SstIndexTable *table,
									   SstSampling *sampling,
									   SstBloatEstimate *estimate);

#endif							/* SST_DEAD_ENTRIES_H */
