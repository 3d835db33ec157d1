/*-------------------------------------------------------------------------
 *
 * targets.c
 *	  The relations that a probe reads, one on each tablespace
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/targets.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"

#include "probe/targets.h"

/* Would it give figures, by what the catalogs say? */
static bool
is_suitable(const SstRelation *relation)
{
	return relation->bytes >= SST_PROBE_MIN_BYTES &&
		relation->persistence == RELPERSISTENCE_PERMANENT && !relation->building &&
		sst_listed_state(relation) <= SST_TARGET_INVALID &&
		(relation->relkind == RELKIND_INDEX || relation->amoid == HEAP_TABLE_AM_OID);
}

static int
compare_bytes(const void *a, const void *b)
{
	int64		left = (*(const SstRelation *const *) a)->bytes;
	int64		right = (*(const SstRelation *const *) b)->bytes;

	return (left < right) - (left > right);
}

static SstProbeTablespace *
describe(Oid tablespace, const SstRelations *list)
{
	SstProbeTablespace *described = palloc0(sizeof(SstProbeTablespace));

	described->tablespace = tablespace;
	described->relations = palloc(sizeof(SstRelation *) * Max(list->n, 1));
	for (int i = 0; i < list->n; i++)
	{
		const SstRelation *relation = &list->relation[i];

		if (relation->bytes >= 0 && relation->files.tablespace == tablespace &&
			is_suitable(relation))
			described->relations[described->n++] = relation;
	}
	qsort(described->relations, described->n, sizeof(SstRelation *), compare_bytes);

	return described;
}

/*
 * List the tablespaces, as SstProbeTablespace, but for that of shared catalogs.  No
 * relation is opened or locked.
 */
List *
sst_list_probe_tablespaces(void)
{
	SstRelations *list = palloc(sizeof(SstRelations));
	List	   *tablespaces = NIL;
	Relation	catalog;
	SysScanDesc scan;
	HeapTuple	tuple;

	sst_list_relations(list);
	catalog = table_open(TableSpaceRelationId, AccessShareLock);
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			oid = ((Form_pg_tablespace) GETSTRUCT(tuple))->oid;

		if (oid != GLOBALTABLESPACE_OID)
			tablespaces = lappend(tablespaces, describe(oid, list));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	return tablespaces;
}

/* Why a readable relation with so many bytes gives no figures, or NULL */
const char *
sst_probe_relation_note(Relation rel, int64 bytes)
{
	if (!RelationIsPermanent(rel))
		return _("temporary or unlogged: its blocks may not have been written to its files");
	if (bytes < SST_PROBE_MIN_BYTES)
		return _("the relation is smaller than 8 MB");

	return NULL;
}
