/*-------------------------------------------------------------------------
 *
 * stored_report.h
 *	  Reports in tables of the extension
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/stored_report.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_STORED_REPORT_H
#define SST_STORED_REPORT_H

#include "datatype/timestamp.h"
#include "fmgr.h"

/* What to store a report with */
typedef struct SstStoreOptions
{
	int32		top_relations;	/* so many are shown by report_metrics */
	int64		min_bytes;		/* ... if they have so many; such are stored */
	TimestampTz keep_since;		/* delete what began before, if the caller may */
	bool		is_partial;		/* not of the whole database */
	const char *note;			/* or NULL */
} SstStoreOptions;

/* The extension's tables and functions for it */
typedef struct SstStoredReport
{
	char	   *schema;
	Oid			owner;			/* of the tables */
	Oid			sequence;
	Oid			runs;
	Oid			relations;
	Oid			commands;
	Oid			report_function;
	Oid			plan_function;
	Oid			summary_function;
} SstStoredReport;

extern void sst_find_stored_report(SstStoredReport *stored, Oid namespace);
extern void sst_store_report(const SstStoredReport *stored,
							 const SstStoreOptions *options);

extern void sst_return_stored(FunctionCallInfo fcinfo, const char *table,
							  const char *order);
extern Datum sst_form_stored_summary(FunctionCallInfo fcinfo);

#endif							/* SST_STORED_REPORT_H */
