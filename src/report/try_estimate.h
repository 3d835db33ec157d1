/*-------------------------------------------------------------------------
 *
 * try_estimate.h
 *	  Measuring a relation that may not let itself be measured
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/try_estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TRY_ESTIMATE_H
#define SST_TRY_ESTIMATE_H

#include "report/bloat_estimate.h"

/* What to measure, and what became of that */
typedef struct SstEstimateRequest
{
	Oid			relid;
	Oid			tableoid;		/* of an index, or InvalidOid */
	BlockNumber nblocks;
	uint32		seed;
	SstLimits	limits;

	bool		locked;			/* by another session: nothing was done */
	const char *reason;			/* why nothing was measured, or NULL */
	bool		measured;
	SstBloatEstimate measurement;
} SstEstimateRequest;

extern void sst_try_estimate(SstEstimateRequest *attempt, MemoryContext context);

#endif							/* SST_TRY_ESTIMATE_H */
