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
	Oid			function;		/* of sst_find_store_report() */
	int32		top_relations;	/* so many are shown by report_metrics */
	int64		min_bytes;		/* ... if they have so many; such are stored */
	TimestampTz keep_since;		/* delete what began before, if the caller may */
	bool		is_partial;		/* not of the whole database */
	const char *note;			/* or NULL */
} SstStoreOptions;

extern Oid	sst_find_store_report(Oid namespace);
extern void sst_store_report(const SstStoreOptions *options);

extern void sst_return_stored(FunctionCallInfo fcinfo, const char *table,
							  const char *order);
extern Datum sst_form_stored_summary(FunctionCallInfo fcinfo);

#endif							/* SST_STORED_REPORT_H */
