/*-------------------------------------------------------------------------
 *
 * result.h
 *	  From what was counted to a row
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/result.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RESULT_H
#define SST_RESULT_H

#include "fmgr.h"
#include "portability/instr_time.h"
#include "stats/counters.h"
#include "stream/stream.h"
#include "visit/visit.h"

/* All that is known at the end of a scan of an index */
typedef struct SstIndexResult
{
	SstCounters counters;
	SstMeta		meta;
	BlockNumber nblocks;
} SstIndexResult;

/*
 * A column of a function's row: its name and type, as the SQL declares them,
 * and the counter that it shows or else the function that computes it.
 */
typedef struct SstColumn
{
	const char *name;
	Oid			type;
	SstCount	count;
	Datum		(*compute) (const SstIndexResult *result, bool *isnull);
} SstColumn;

extern Datum sst_form_row(FunctionCallInfo fcinfo, const SstColumn *columns,
						  int ncolumns, const SstIndexResult *result);

/* What stream_stats() tells */
extern void sst_remember_call(const char *function, Oid relid,
							  instr_time start, const SstStreamReport *report);

#endif							/* SST_RESULT_H */
