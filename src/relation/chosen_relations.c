/*-------------------------------------------------------------------------
 *
 * chosen_relations.c
 *	  Some relations of the database, with what belongs to them
 *
 * The list is like that of all relations, but catalog rows are looked up by
 * index.  So the time for one table does not depend on the size of the
 * database.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/chosen_relations.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "relation/chosen_relations.h"
#include "relation/toast_owner.h"

/* Show each row of a catalog with such an OID in an indexed column to a function. */
static void
look_up(Oid catalogid, Oid indexid, AttrNumber attno, Oid value,
		void (*add) (void *arg, const void *row), void *arg)
{
	Relation	catalog = table_open(catalogid, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, attno, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(value));
	scan = systable_beginscan(catalog, indexid, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		add(arg, GETSTRUCT(tuple));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* Add a relation, if it exists.  Returns the OID of its TOAST table, or InvalidOid. */
static Oid
add_relation(SstRelationsBuilder *builder, Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			toastrelid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	sst_relations_add(builder, (Form_pg_class) GETSTRUCT(tuple));
	toastrelid = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
	ReleaseSysCache(tuple);

	return toastrelid;
}

static void
add_index(void *builder, const void *row)
{
	(void) add_relation(builder, ((const FormData_pg_index *) row)->indexrelid);
}

static void
add_indexes(SstRelationsBuilder *builder, Oid tableoid)
{
	look_up(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid,
			tableoid, add_index, builder);
}

static void
add_partition(void *list, const void *row)
{
	sst_relations_add_partition(list, row);
}

/* Set what catalogs other than pg_class tell of a listed relation. */
static void
add_details(SstRelations *list, SstRelation *relation)
{
	if (relation->relkind == RELKIND_INDEX)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID,
											ObjectIdGetDatum(relation->relid));

		if (!HeapTupleIsValid(tuple))
			return;
		sst_relations_add_index(list, (Form_pg_index) GETSTRUCT(tuple));
		ReleaseSysCache(tuple);
	}
	else if (relation->partition)
		look_up(InheritsRelationId, InheritsRelidSeqnoIndexId,
				Anum_pg_inherits_inhrelid, relation->relid, add_partition, list);
	else if (relation->relkind == RELKIND_TOASTVALUE)
		relation->parent = sst_toast_owner(relation->relid);
}

/*
 * List relations of any kind, and the indexes and TOAST tables of those that have
 * some, with the indexes of these.  Relations that do not exist are left out.  None is
 * locked.  The list and its names are allocated in the current memory context.
 * last_vacuum and building are not looked up.
 */
void
sst_list_chosen_relations(SstRelations *list, const Oid *relids, int n)
{
	SstRelationsBuilder builder;

	sst_relations_begin(&builder, list);
	for (int i = 0; i < n; i++)
	{
		Oid			toastrelid = add_relation(&builder, relids[i]);

		CHECK_FOR_INTERRUPTS();
		add_indexes(&builder, relids[i]);
		if (OidIsValid(toastrelid))
		{
			(void) add_relation(&builder, toastrelid);
			add_indexes(&builder, toastrelid);
		}
	}
	sst_relations_sort(&builder);
	for (int i = 0; i < list->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_details(list, &list->relation[i]);
	}
	sst_relations_end(&builder);
}
