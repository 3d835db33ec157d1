/*-------------------------------------------------------------------------
 *
 * warm_options.h
 *	  Arguments of functions that warm relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/warm_options.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_OPTIONS_H
#define SST_WARM_OPTIONS_H

#include "fmgr.h"
#include "warm/warm.h"

extern SstPrewarmMode sst_mode_argument(FunctionCallInfo fcinfo, int argno);
extern int64 sst_max_bytes_argument(FunctionCallInfo fcinfo, int argno);
extern void sst_warm_limits(FunctionCallInfo fcinfo, int argno,
							SstWarmOptions *options, SstLimits *limits);

#endif							/* SST_WARM_OPTIONS_H */
