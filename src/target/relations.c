/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  The relations of the current database that have pages
 *
 * The catalogs are read through, once each; no relation in them is opened, locked
 * or looked up, and sizes are those of the files.  So a list of ten
 * thousand takes some tens of milliseconds.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/target/relations.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat/catalog.h"
#include "target/relations.h"

static int
compare_relids(const void *a, const void *b)
{
	Oid			left = ((const SstRelation *) a)->relid;
	Oid			right = ((const SstRelation *) b)->relid;

	return (left > right) - (left < right);
}

/* The relation in the list, or NULL */
SstRelation *
sst_find_relation(const SstRelations *list, Oid relid)
{
	SstRelation key = {.relid = relid};

	return bsearch(&key, list->relation, list->n, sizeof(SstRelation),
				   compare_relids);
}

static bool
has_pages_to_report(char relkind)
{
	return relkind == RELKIND_RELATION || relkind == RELKIND_MATVIEW ||
		relkind == RELKIND_TOASTVALUE || relkind == RELKIND_INDEX;
}

static void
describe(SstRelation *relation, Form_pg_class form)
{
	char	   *schema = get_namespace_name(form->relnamespace);

	memset(relation, 0, sizeof(SstRelation));
	relation->relid = form->oid;
	relation->schema = schema ? schema : "";
	relation->name = pstrdup(NameStr(form->relname));
	relation->relkind = form->relkind;
	relation->persistence = form->relpersistence;
	relation->amoid = form->relam;
	relation->shared = form->relisshared;
	relation->partition = form->relispartition;
	relation->catalog = IsCatalogRelationOid(form->oid);
	relation->other_temp = form->relpersistence == RELPERSISTENCE_TEMP &&
		!isTempOrTempToastNamespace(form->relnamespace);
	relation->replident = form->relreplident;
	relation->valid = true;
	relation->toastrelid = form->reltoastrelid;
	relation->bytes = sst_relation_file_bytes(form);
}

static void
read_pg_class(SstRelations *list)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;
	int			allocated = 1024;

	list->n = 0;
	list->relation = palloc(sizeof(SstRelation) * allocated);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (!has_pages_to_report(form->relkind))
			continue;
		if (list->n == allocated)
		{
			allocated *= 2;
			list->relation = repalloc_huge(list->relation,
										   sizeof(SstRelation) * allocated);
		}
		describe(&list->relation[list->n++], form);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	qsort(list->relation, list->n, sizeof(SstRelation), compare_relids);
}

static void
read_pg_index(const SstRelations *list)
{
	Relation	catalog = table_open(IndexRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);
		SstRelation *index = sst_find_relation(list, form->indexrelid);
		SstRelation *owner = sst_find_relation(list, form->indrelid);

		if (index != NULL)
		{
			index->parent = form->indrelid;
			index->valid = form->indisvalid;
			index->exclusion = form->indisexclusion;
		}
		if (owner != NULL && form->indisvalid && form->indimmediate &&
			(owner->replident == REPLICA_IDENTITY_INDEX ? form->indisreplident :
			 owner->replident == REPLICA_IDENTITY_DEFAULT && form->indisprimary))
			owner->identity = true;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

static void
read_pg_inherits(const SstRelations *list)
{
	Relation	catalog = table_open(InheritsRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);
		SstRelation *child = sst_find_relation(list, form->inhrelid);

		if (child != NULL && child->partition &&
			child->relkind == RELKIND_RELATION)
			child->parent = form->inhparent;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* What a statistics function says of a relation; 0 for null */
static TimestampTz
ask(PGFunction function, Oid relid)
{
	LOCAL_FCINFO(fcinfo, 1);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = ObjectIdGetDatum(relid);
	fcinfo->args[0].isnull = false;
	result = function(fcinfo);

	return fcinfo->isnull ? 0 : DatumGetTimestampTz(result);
}

static TimestampTz
last_vacuum(Oid relid)
{
	return Max(ask(pg_stat_get_last_vacuum_time, relid),
			   ask(pg_stat_get_last_autovacuum_time, relid));
}

/* Names of parents: of those that have no pages, from the catalog cache */
static void
name_parent(const SstRelations *list, SstRelation *relation)
{
	SstRelation *parent;

	if (!OidIsValid(relation->parent))
		return;

	parent = sst_find_relation(list, relation->parent);
	if (parent != NULL)
	{
		relation->parent_schema = parent->schema;
		relation->parent_name = parent->name;
	}
	else
	{
		relation->parent_name = get_rel_name(relation->parent);
		relation->parent_schema =
			get_namespace_name(get_rel_namespace(relation->parent));
	}
}

/*
 * List the tables, partitions, materialized views, TOAST tables and indexes of
 * the current database, and the catalogs that all share.  Everything is in the
 * current memory context.
 */
void
sst_list_relations(SstRelations *list)
{
	read_pg_class(list);
	read_pg_index(list);
	read_pg_inherits(list);

	for (int i = 0; i < list->n; i++)
	{
		SstRelation *toast = sst_find_relation(list, list->relation[i].toastrelid);

		if (toast != NULL)
			toast->parent = list->relation[i].relid;
		if (list->relation[i].relkind != RELKIND_INDEX)
			list->relation[i].last_vacuum = last_vacuum(list->relation[i].relid);
	}
	for (int i = 0; i < list->n; i++)
	{
		SstRelation *relation = &list->relation[i];

		CHECK_FOR_INTERRUPTS();
		name_parent(list, relation);
		if (relation->relkind == RELKIND_INDEX)
		{
			SstRelation *parent = sst_find_relation(list, relation->parent);

			relation->last_vacuum = parent ? parent->last_vacuum : 0;
		}
	}
}
