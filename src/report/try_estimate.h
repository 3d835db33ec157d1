/*-------------------------------------------------------------------------
 *
 * try_estimate.h
 *	  Estimating the bloat of a relation that may be locked, or damaged
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

typedef enum SstTryOutcome
{
	SST_TRY_ESTIMATED,
	SST_TRY_LOCKED,				/* by another session: nothing was done */
	SST_TRY_LIMITED,			/* a limit ended the scan */
	SST_TRY_REFUSED				/* the note says why */
} SstTryOutcome;

/* An attempt to estimate the bloat of a relation */
typedef struct SstEstimateTry
{
	/* Given; sampling.limits is set by the call */
	Oid			relid;
	SstIndexTable table;		/* of an index or a TOAST table, not locked;
								 * or InvalidOid */
	bool		is_toast;		/* it can do without that */
	SstSampling sampling;
	SstLimits	limits;

	/* Found */
	SstTryOutcome outcome;
	const char *note;			/* for people, translated */
	SstBloatEstimate estimate;
} SstEstimateTry;

extern void sst_try_estimate(SstEstimateTry *attempt, MemoryContext context);

#endif							/* SST_TRY_ESTIMATE_H */
