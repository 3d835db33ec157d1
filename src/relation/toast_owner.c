/*-------------------------------------------------------------------------
 *
 * toast_owner.c
 *	  Which table a TOAST table belongs to
 *
 * Only the table's row in pg_class says so, and has no index for that.  The
 * server names TOAST tables after their tables' OIDs, so that the right row is
 * found at once unless one was renamed.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/toast_owner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relation/toast_owner.h"

static bool
owns(Oid relid, Oid toastoid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid == toastoid;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Find the table of a TOAST table, which need not be locked.  InvalidOid if there is
 * none.
 */
Oid
sst_toast_owner(Oid toastoid)
{
	char	   *name = get_rel_name(toastoid);
	Oid			result = InvalidOid;
	ScanKeyData key;
	Relation	pg_class;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (name == NULL)
		return InvalidOid;
	if (sscanf(name, "pg_toast_%u", &result) == 1 && owns(result, toastoid))
		return result;

	ScanKeyInit(&key, Anum_pg_class_reltoastrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(toastoid));
	pg_class = table_open(RelationRelationId, AccessShareLock);
	scan = systable_beginscan(pg_class, InvalidOid, false, NULL, 1, &key);
	tuple = systable_getnext(scan);
	result = HeapTupleIsValid(tuple) ?
		((Form_pg_class) GETSTRUCT(tuple))->oid : InvalidOid;
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);

	return result;
}
