/*-------------------------------------------------------------------------
 *
 * present_files.c
 *	  Where the files of a relation are now
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/present_files.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "utils/fmgroids.h"

#include "relation/present_files.h"

/*
 * Find a relation's files, and its persistence, by its row in pg_class, which is read
 * past the caches, so that a call about many relations leaves nothing there.  False if
 * the relation or its files do not exist.  The caller has locked it.
 */
bool
sst_present_files(Oid relid, SstFiles *files, char *persistence)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, ClassOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		found = RELKIND_HAS_STORAGE(form->relkind) &&
			sst_catalog_files(form, files);
		*persistence = form->relpersistence;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	return found;
}
