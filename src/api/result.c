/*-------------------------------------------------------------------------
 *
 * result.c
 *	  From what was counted to a row
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/result.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"

#include "api/result.h"

/*
 * Make the function's row.  The table of columns must be what the SQL
 * declares: a library that is newer or older than the SQL script says so
 * instead of returning columns under wrong names.
 */
Datum
sst_form_row(FunctionCallInfo fcinfo, const SstColumn *columns, int ncolumns,
			 const SstIndexResult *result)
{
	Datum	   *values = palloc(sizeof(Datum) * ncolumns);
	bool	   *nulls = palloc0(sizeof(bool) * ncolumns);
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (tupdesc->natts != ncolumns)
		elog(ERROR, "function has %d result columns where the library has %d",
			 tupdesc->natts, ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->atttypid != columns[i].type ||
			strcmp(NameStr(att->attname), columns[i].name) != 0)
			elog(ERROR, "result column %d is \"%s\" where the library has \"%s\"",
				 i + 1, NameStr(att->attname), columns[i].name);

		if (columns[i].compute)
			values[i] = columns[i].compute(result, &nulls[i]);
		else
			values[i] = Int64GetDatum(result->counters.n[columns[i].count]);
	}

	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
											 values, nulls));
}
