/*-------------------------------------------------------------------------
 *
 * units.c
 *	  The tables and indexes that a call names, in the order of warming
 *
 * When memory is full, the rest is skipped.  So the newest partitions come
 * first, and in a schema or a database the most used tables.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/units.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"

#include "warm/units.h"

/* Make an empty list, in the current memory context. */
void
sst_warm_units_init(SstWarmUnits *list)
{
	list->n = 0;
	list->allocated = 16;
	list->units = palloc(sizeof(SstWarmUnit) * list->allocated);
}

static void
add_unit(SstWarmUnits *list, Oid relid, Oid named)
{
	if (list->n == list->allocated)
	{
		list->allocated *= 2;
		list->units = repalloc_huge(list->units,
									sizeof(SstWarmUnit) * list->allocated);
	}
	list->units[list->n].relid = relid;
	list->units[list->n++].named = named;
}

/* ----------
 * Partition trees
 * ----------
 */

/* The partitions of an open table that is partitioned by range, by their upper bounds */
static List *
partitions_by_bound(Relation rel)
{
	PartitionDesc desc = RelationGetPartitionDesc(rel, true);
	int			defaultno = desc->nparts == 0 ? -1 :
		desc->boundinfo->default_index;
	List	   *result = NIL;

	/* Ranges do not overlap, and ascend. */
	for (int i = desc->nparts - 1; i >= 0; i--)
	{
		if (i != defaultno)
			result = lappend_oid(result, desc->oids[i]);
	}
	if (defaultno >= 0)
		result = lappend_oid(result, desc->oids[defaultno]);

	return result;
}

/* The partitions of a table, the last one made first, which is the next best guess */
static List *
partitions_by_oid(Oid relid)
{
	Oid			defaultoid = get_default_partition_oid(relid);
	List	   *ascending = find_inheritance_children(relid, NoLock);
	List	   *result = NIL;

	list_sort(ascending, list_oid_cmp);
	for (int i = list_length(ascending) - 1; i >= 0; i--)
	{
		if (list_nth_oid(ascending, i) != defaultoid)
			result = lappend_oid(result, list_nth_oid(ascending, i));
	}
	if (list_member_oid(ascending, defaultoid))
		result = lappend_oid(result, defaultoid);

	return result;
}

/*
 * The partitions of a table, newest first.  The table is locked for a moment, to read
 * its bounds; if others have locked it, the order is that of OIDs.
 */
static List *
newest_partitions(Oid relid)
{
	List	   *result = NIL;
	Relation	rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return partitions_by_oid(relid);

	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(relid, AccessShareLock);
		return NIL;
	}
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		result = RelationGetPartitionKey(rel)->strategy == PARTITION_STRATEGY_RANGE ?
			partitions_by_bound(rel) : partitions_by_oid(relid);
	relation_close(rel, AccessShareLock);

	return result;
}

/* The leaves of a partition tree, newest first, added to a list of OIDs */
static List *
add_leaves(List *leaves, Oid relid)
{
	List	   *partitions;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return lappend_oid(leaves, relid);

	partitions = newest_partitions(relid);
	for (int i = 0; i < list_length(partitions); i++)
		leaves = add_leaves(leaves, list_nth_oid(partitions, i));
	list_free(partitions);

	return leaves;
}

/* An index, and the table that it is on */
typedef struct IndexOfTable
{
	Oid			tableoid;
	Oid			indexoid;
} IndexOfTable;

static int
compare_indexes(const void *a, const void *b)
{
	Oid			left = ((const IndexOfTable *) a)->tableoid;
	Oid			right = ((const IndexOfTable *) b)->tableoid;

	return (left > right) - (left < right);
}

/* Add the indexes of a partitioned one, in the order of their tables. */
static void
add_index_tree(SstWarmUnits *list, Oid relid)
{
	List	   *oids = find_all_inheritors(relid, NoLock, NULL);
	int			n = list_length(oids);
	IndexOfTable *indexes = palloc_extended(sizeof(IndexOfTable) * n,
											MCXT_ALLOC_HUGE);
	List	   *tables = add_leaves(NIL, IndexGetRelation(relid, true));

	for (int i = 0; i < n; i++)
	{
		indexes[i].indexoid = list_nth_oid(oids, i);
		indexes[i].tableoid = IndexGetRelation(indexes[i].indexoid, true);
	}
	qsort(indexes, n, sizeof(IndexOfTable), compare_indexes);

	for (int i = 0; i < list_length(tables); i++)
	{
		IndexOfTable key = {.tableoid = list_nth_oid(tables, i)};
		IndexOfTable *found = bsearch(&key, indexes, n, sizeof(IndexOfTable),
									  compare_indexes);

		if (found != NULL)
			add_unit(list, found->indexoid, relid);
	}
	pfree(indexes);
	list_free(tables);
	list_free(oids);
}

/*
 * Add a relation that a call names, or if it is partitioned its partitions, newest
 * first: those by range by descending upper bounds, others by descending OIDs, and the
 * default one last.  No lock is waited for or kept.
 */
void
sst_warm_units_add(SstWarmUnits *list, Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_INDEX)
		add_index_tree(list, relid);
	else
	{
		List	   *leaves = add_leaves(NIL, relid);

		for (int i = 0; i < list_length(leaves); i++)
			add_unit(list, list_nth_oid(leaves, i), relid);
		list_free(leaves);
	}
}

/* ----------
 * All relations
 * ----------
 */

/* How much a table is used, with its indexes and its TOAST table */
typedef struct Use
{
	Oid			relid;
	int64		fetched;		/* blocks, in buffers or not */
	int64		bytes;
} Use;

/* Most fetched per block first; then the smaller one, then by OID */
static int
compare_uses(const void *a, const void *b)
{
	const Use  *left = a;
	const Use  *right = b;
	double		left_use = (double) left->fetched / Max(left->bytes, BLCKSZ);
	double		right_use = (double) right->fetched / Max(right->bytes, BLCKSZ);

	if (left_use != right_use)
		return left_use < right_use ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return (left->relid > right->relid) - (left->relid < right->relid);
}

/* Find the listed table that an index or a TOAST table belongs to, or the relation itself. */
static const SstRelation *
find_table(const SstRelations *relations, const SstRelation *relation)
{
	while (relation != NULL && (relation->relkind == RELKIND_INDEX ||
								relation->relkind == RELKIND_TOASTVALUE) &&
		   OidIsValid(relation->parent))
		relation = sst_find_relation(relations, relation->parent);

	return relation;
}

/* Add up, for each listed relation, the use that the cumulative statistics know. */
static void
add_up_uses(const SstRelations *relations, Use *uses)
{
	for (int i = 0; i < relations->n; i++)
	{
		const SstRelation *relation = &relations->relation[i];
		const SstRelation *table = find_table(relations, relation);
		Datum		fetched;
		Use		   *use;

		CHECK_FOR_INTERRUPTS();
		if (table == NULL)
			continue;
		use = &uses[table - relations->relation];
		fetched = DirectFunctionCall1(pg_stat_get_blocks_fetched,
									  ObjectIdGetDatum(relation->relid));
		use->bytes += Max(relation->bytes, 0);
		use->fetched += DatumGetInt64(fetched);
	}
}

/*
 * Add the tables and materialized views of a list: those of a schema, or all for NULL.
 * A TOAST table is added only where its own schema is asked for, as it belongs to its
 * table.  The order is that of OIDs, which stays the same from one call to the next,
 * or by use: those first of which most blocks were fetched for each one there is.
 */
void
sst_warm_units_add_all(SstWarmUnits *list, const SstRelations *relations,
					   const char *schema, bool by_use)
{
	Use		   *uses = MemoryContextAllocExtended(CurrentMemoryContext,
												  sizeof(Use) * (relations->n + 1),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int			n = 0;

	if (by_use)
		add_up_uses(relations, uses);
	for (int i = 0; i < relations->n; i++)
	{
		const SstRelation *relation = &relations->relation[i];

		uses[i].relid = relation->relid;
		if (relation->relkind != RELKIND_INDEX &&
			(schema != NULL ? strcmp(relation->schema, schema) == 0 :
			 relation->relkind != RELKIND_TOASTVALUE))
			uses[n++] = uses[i];
	}
	if (by_use)
		qsort(uses, n, sizeof(Use), compare_uses);
	for (int i = 0; i < n; i++)
		add_unit(list, uses[i].relid, uses[i].relid);
	pfree(uses);
}
