/*-------------------------------------------------------------------------
 *
 * warm_rows.h
 *	  Result rows of functions that warm relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/warm_rows.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_ROWS_H
#define SST_WARM_ROWS_H

#include "fmgr.h"
#include "warm/warm.h"

extern void sst_put_warm_rows(FunctionCallInfo fcinfo, const SstWarmSet *set,
							  SstWarmEnd end, const char *resume_from);

#endif							/* SST_WARM_ROWS_H */
