/*-------------------------------------------------------------------------
 *
 * turnover.h
 *	  Is the free space of a table being used again?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/turnover.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_TURNOVER_H
#define SST_TURNOVER_H

#include "fmgr.h"

#include "report/bloat_estimate.h"

extern double sst_table_statistic(PGFunction function, Oid tableoid);
extern bool sst_space_is_reused(Oid tableoid, const SstBloatEstimate *table,
								const SstBloatEstimate *toast);
extern bool sst_index_space_is_reused(Oid indexoid, Oid tableoid,
									  const SstBloatEstimate *index,
									  const SstBloatEstimate *table);

#endif							/* SST_TURNOVER_H */
