/*-------------------------------------------------------------------------
 *
 * row.h
 *	  Result rows that are filled by column name
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/row.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ROW_H
#define SST_ROW_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "fmgr.h"

#include "am/am.h"
#include "relation/relations.h"
#include "relation/target.h"
#include "stats/counters.h"
#include "stats/estimate.h"

/* A row of the result of a function that is being called */
typedef struct SstRow
{
	FunctionCallInfo fcinfo;
	TupleDesc	tupdesc;		/* the columns that the SQL script declares */
	Datum	   *values;
	bool	   *nulls;
	bool	   *filled;			/* has a value, or null */
	int			next;			/* where the next name is looked for first */
	MemoryContext context;		/* of a set: emptied after each row */
} SstRow;

extern void sst_row_init(SstRow *row, FunctionCallInfo fcinfo);
extern void sst_rows_begin(SstRow *row, FunctionCallInfo fcinfo);

extern int	sst_row_find(SstRow *row, const char *column, Oid type);
extern void sst_row_set(SstRow *row, int attno, Datum value, bool isnull);

extern void sst_put_datum(SstRow *row, const char *column, Oid type,
						  Datum value, bool isnull);
extern void sst_put_bool(SstRow *row, const char *column, bool value);
extern void sst_put_int32(SstRow *row, const char *column, int32 value);
extern void sst_put_int64(SstRow *row, const char *column, int64 value);
extern void sst_put_count(SstRow *row, const char *column, int64 value);
extern void sst_put_float8(SstRow *row, const char *column, double value);
extern void sst_put_bytes(SstRow *row, const char *column, double value);
extern void sst_put_oid(SstRow *row, const char *column, Oid oid);
extern void sst_put_regclass(SstRow *row, const char *column, Oid relid);
extern void sst_put_text(SstRow *row, const char *column, const char *value);
extern void sst_put_timestamptz(SstRow *row, const char *column,
								TimestampTz value);
extern void sst_put_estimate(SstRow *row, const char *column,
							 SstEstimate estimate);
extern void sst_put_bytes_estimate(SstRow *row, const char *column,
								   SstEstimate estimate);
extern void sst_put_duration(SstRow *row, const char *column, SstEstimate seconds);

extern Datum sst_row_datum(SstRow *row);
extern void sst_row_store(SstRow *row);

extern Datum sst_form_row(FunctionCallInfo fcinfo, const SstColumns *columns,
						  const SstRelationStats *found);
extern void sst_put_row(SstRow *row, const SstColumns *columns,
						const SstRelationStats *found);

extern void sst_relation_stats_init(SstRelationStats *found, const SstTarget *target);

extern const char *sst_kind_name(const SstRelation *relation);
extern void sst_put_relation(SstRow *row, const SstRelation *relation);

#endif							/* SST_ROW_H */
