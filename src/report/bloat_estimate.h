/*-------------------------------------------------------------------------
 *
 * bloat_estimate.h
 *	  What a bounded number of a relation's blocks tells of all of it
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/bloat_estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOAT_ESTIMATE_H
#define SST_BLOAT_ESTIMATE_H

#include "run/limits.h"
#include "run/plan.h"

typedef struct SstBloatEstimate
{
	uint64		nblocks;		/* of the relation, when it was measured */
	uint64		nread;			/* of these, read */
	bool		exact;			/* all of them were */

	/* In percent of the relation's bytes; NaN where not known */
	SstEstimate free_share;
	SstEstimate dead_share;

	/* What a rebuild would make of it; NaN where not known */
	SstEstimate rebuilt_blocks;
	const char *obstacle;		/* why not */
	const char *note;			/* what it leaves out, or NULL */

	/*
	 * Of a table: percent of what its indexes point to that new ones would
	 * have
	 */
	SstEstimate kept_share;

	SstCounters counters;		/* of the pages that were read */
	SstMeta		meta;
	SstIoStats io_stats;
} SstBloatEstimate;

extern bool sst_estimate_bloat(const SstTarget *target, BlockNumber nsample,
						uint32 seed, SstLimits *limits,
						SstBloatEstimate *measurement);

#endif							/* SST_BLOAT_ESTIMATE_H */
