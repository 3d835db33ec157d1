/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Arguments of SQL functions, checked
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/arguments.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ARGUMENTS_H
#define SST_ARGUMENTS_H

#include "fmgr.h"
#include "stream/rules.h"
#include "run/limits.h"
#include "run/prewarm.h"

/* What to do with a table's TOAST table */
typedef enum SstWithToast
{
	SST_TOAST_LEFT_OUT,
	SST_TOAST_ROW,				/* a row of its own */
	SST_TOAST_SUMMED			/* added to the table's row */
} SstWithToast;

extern void sst_require_argument(FunctionCallInfo fcinfo, int argno,
								 const char *what);
extern void sst_check_not_negative(double value, const char *what);
extern void sst_check_positive(double value, const char *what, const char *hint);
extern void sst_check_range(int64 value, int64 low, int64 high, const char *what);
extern Oid	sst_relation_argument(FunctionCallInfo fcinfo);
extern const Oid *sst_oids_argument(FunctionCallInfo fcinfo, int argno,
									const char *what, int *n);
extern BlockNumber sst_sample_size_argument(FunctionCallInfo fcinfo, int argno);
extern uint32 sst_seed_argument(FunctionCallInfo fcinfo, int argno);
extern SstWithToast sst_with_toast_argument(FunctionCallInfo fcinfo, int argno);
extern double sst_seconds_argument(FunctionCallInfo fcinfo, int argno);
extern SstLimits *sst_max_time_argument(FunctionCallInfo fcinfo, int argno,
										SstLimits *limits);
extern int64 sst_bytes_argument(FunctionCallInfo fcinfo, int argno);
extern int64 sst_max_bytes_argument(FunctionCallInfo fcinfo, int argno);
extern int64 sst_max_rate_argument(FunctionCallInfo fcinfo, int argno);
extern char *sst_text_argument(FunctionCallInfo fcinfo, int argno,
							   const char *what);
extern SstPrewarmMode sst_prewarm_mode_argument(FunctionCallInfo fcinfo,
												int argno, SstRules rules);
extern SstLimits *sst_limits_arguments(FunctionCallInfo fcinfo, int argno,
									   SstLimits *limits);

#endif							/* SST_ARGUMENTS_H */
