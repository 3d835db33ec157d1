/*-------------------------------------------------------------------------
 *
 * bloat.h
 *	  Estimating the bloat of one relation
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/bloat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOAT_H
#define SST_BLOAT_H

#include "report/bloat_estimate.h"

/* Blocks by which bulk inserts extend a table at most (MAX_BUFFERS_TO_EXTEND_BY) */
#define SST_MAX_EXTENSION 64

extern bool sst_estimate_bloat(const SstTarget *target,
							   const SstIndexTable *table,
							   SstSampling *sampling,
							   SstBloatEstimate *estimate);

#endif							/* SST_BLOAT_H */
