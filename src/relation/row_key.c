/*-------------------------------------------------------------------------
 *
 * row_key.c
 *	  Does a table have an index that identifies its rows?
 *
 * Only catalogs are read; the table is neither opened nor locked.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/row_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_index.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "relation/row_key.h"

static bool
is_not_null(Oid tableoid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(tableoid),
										Int16GetDatum(attnum));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);

	return result;
}

/* Is it a complete unique index on columns that are not null? */
static bool
identifies_rows(HeapTuple tuple)
{
	Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

	if (!index->indisunique || !index->indisvalid || !index->indimmediate ||
		!heap_attisnull(tuple, Anum_pg_index_indpred, NULL))
		return false;

	/*
	 * An expression has the number 0.  pg_repack wants INCLUDE columns not to
	 * be null as well (its view repack.primary_keys).
	 */
	for (int i = 0; i < index->indnatts; i++)
	{
		AttrNumber	attnum = index->indkey.values[i];

		if (attnum == 0 || !is_not_null(index->indrelid, attnum))
			return false;
	}
	return true;
}

/* Has the table a primary key, or a unique index on columns that are not null? */
bool
sst_table_has_row_key(Oid tableoid)
{
	Relation	catalog = table_open(IndexRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(tableoid));
	scan = systable_beginscan(catalog, IndexIndrelidIndexId, true, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = identifies_rows(tuple);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	return found;
}
