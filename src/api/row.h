/*-------------------------------------------------------------------------
 *
 * row.h
 *	  A row that is made value by value
 *
 * For rows of many columns of several types, where a table of columns, each
 * with its function (result.h), would say less.
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

#include <math.h>

#include "utils/builtins.h"

#define SST_MAX_COLUMNS 32

/* A row's values, one after the other */
typedef struct SstRow
{
	int			n;
	Datum		values[SST_MAX_COLUMNS];
	bool		nulls[SST_MAX_COLUMNS];
} SstRow;

static inline void
sst_put(SstRow *row, Datum value)
{
	row->nulls[row->n] = false;
	row->values[row->n++] = value;
}

static inline void
sst_put_null(SstRow *row)
{
	row->nulls[row->n++] = true;
}

static inline void
sst_put_text(SstRow *row, const char *text)
{
	if (text == NULL)
		sst_put_null(row);
	else
		sst_put(row, CStringGetTextDatum(text));
}

static inline void
sst_put_oid(SstRow *row, Oid oid)
{
	if (OidIsValid(oid))
		sst_put(row, ObjectIdGetDatum(oid));
	else
		sst_put_null(row);
}

static inline void
sst_put_float(SstRow *row, double value)
{
	if (isnan(value))
		sst_put_null(row);
	else
		sst_put(row, Float8GetDatum(value));
}

/* More bytes than a relation can have are an estimate's; they must be a number. */
static inline void
sst_put_bytes(SstRow *row, double value)
{
	if (isnan(value))
		sst_put_null(row);
	else
		sst_put(row, Int64GetDatum((int64) rint(Min(value, 1e18))));
}

#endif							/* SST_ROW_H */
