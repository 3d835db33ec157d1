/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  The space of a page's contents in a rebuilt relation
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/rebuild.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat/compat.h"
#include "rebuild/rebuild.h"
#include "relation/refuse.h"

/* Note why the size after a rebuild cannot be predicted. */
static void
set_unpredictable(SstRebuild *rebuild, const char *note)
{
	rebuild->unpredictable = true;
	rebuild->note = note;
}

/*
 * The fraction of a table's rows that an index has entries of, which has none of
 * nulls: by statistics, which ANALYZE would make.  NaN if the index is partial.
 */
static double
entry_fraction(Relation index)
{
	int			column = index->rd_index->indkey.values[0];
	Oid			relid = column == 0 ? RelationGetRelid(index) :
		index->rd_index->indrelid;
	HeapTuple	tuple;
	double		result = 1;

	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return NAN;

	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
							Int16GetDatum(column == 0 ? 1 : column),
							BoolGetDatum(false));
	if (HeapTupleIsValid(tuple))
	{
		result -= ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
		ReleaseSysCache(tuple);
	}
	return result;
}

/*
 * Get the size of an index's table.  The index is locked.  Everybody locks the
 * table before its index, so this must not wait for the lock on the table.
 */
static void
estimate_table(SstRebuild *rebuild, Relation index)
{
	Oid			tableoid = index->rd_index->indrelid;
	Relation	table;
	BlockNumber nblocks;
	double		allvisfrac;

	if (!ConditionalLockRelationOid(tableoid, AccessShareLock))
	{
		set_unpredictable(rebuild, gettext_noop("size after a rebuild is not known: the table is locked"));
		return;
	}
	table = relation_open(tableoid, NoLock);
	if (RELATION_IS_OTHER_TEMP(table))
		set_unpredictable(rebuild, sst_state_note(SST_TARGET_OTHER_TEMP));
	else
	{
		rebuild->table_blocks = RelationGetNumberOfBlocks(table);
		estimate_rel_size(table, NULL, &nblocks, &rebuild->table_tuples,
						  &allvisfrac);
	}
	relation_close(table, AccessShareLock);
}

#ifdef SST_HAVE_PARALLEL_GIN_BUILD
/*
 * Does a function keep the planner from a parallel plan?  Functions in SQL are taken to be
 * inlined, which does away with their own mark.
 */
static bool
is_parallel_unsafe_function(Oid funcid, void *context)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	bool		result = true;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);

		result = proc->proparallel != PROPARALLEL_SAFE &&
			proc->prolang != SQLlanguageId;
		ReleaseSysCache(tuple);
	}
	return result;
}

static bool
is_parallel_unsafe(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, is_parallel_unsafe_function, context) ||
		expression_tree_walker(node, is_parallel_unsafe, context);
}

/*
 * Are an index's expressions and predicate parallel safe?  The planner first evaluates what
 * is constant in them.  This does not, because that can be code of the index's owner.
 */
static bool
is_index_parallel_safe(Relation index)
{
	static const AttrNumber attnums[] = {Anum_pg_index_indexprs, Anum_pg_index_indpred};
	bool		result = true;

	for (int i = 0; i < lengthof(attnums); i++)
	{
		bool		isnull;
		Datum		tree = SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
										   attnums[i], &isnull);

		if (!isnull)
			result &= !is_parallel_unsafe(stringToNode(TextDatumGetCString(tree)), NULL);
	}
	return result;
}
#endif

/*
 * Will workers build a GIN index?  plan_create_index_workers() decides, but must not be
 * called, because it evaluates parts of the index's expressions.  A table whose lock is
 * not to be had is taken for a large one.
 */
static bool
is_built_in_parallel(Relation index)
{
#ifdef SST_HAVE_PARALLEL_GIN_BUILD
	Oid			tableoid = index->rd_index->indrelid;
	bool		has_memory = maintenance_work_mem / 2 >= 32 * 1024;
	bool		result = has_memory;

	if (max_parallel_workers == 0 || max_parallel_maintenance_workers == 0 ||
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return false;
	if (ConditionalLockRelationOid(tableoid, AccessShareLock))
	{
		Relation	table = relation_open(tableoid, NoLock);
		int			nworkers = RelationGetParallelWorkers(table, -1);

		result = nworkers >= 0 ? nworkers > 0 : has_memory &&
			RelationGetNumberOfBlocks(table) >= (BlockNumber) min_parallel_table_scan_size;
		relation_close(table, AccessShareLock);
	}
	return result && is_index_parallel_safe(index);
#else
	return false;
#endif
}

/* Compress a copy: see SstTryCompression. */
double
sst_try_compression(const char *data, int32 nbytes, char method)
{
	struct varlena *value;
	struct varlena *compressed;
	double		result = 1;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
#ifndef USE_LZ4
	if (method == TOAST_LZ4_COMPRESSION)
		return NAN;
#endif

	value = palloc(VARHDRSZ + nbytes);
	SET_VARSIZE(value, VARHDRSZ + nbytes);
	memcpy(VARDATA(value), data, nbytes);
	compressed = (struct varlena *)
		DatumGetPointer(toast_compress_datum(PointerGetDatum(value), method));
	if (compressed != NULL)
	{
		result = (double) VARSIZE(compressed) / VARSIZE(value);
		pfree(compressed);
	}
	pfree(value);

	return result;
}

/*
 * May a column have been altered, so that its values were stored by other rules
 * than the present ones?  Its row in pg_attribute is then not the one that was
 * inserted.  Setting a default is no such change; when the table is created, that
 * updates the row as well.
 */
static bool
may_be_altered(Relation rel, Form_pg_attribute att)
{
	HeapTuple	row = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)),
									  Int16GetDatum(att->attnum));
	HeapTuple	ctid = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)),
									   Int16GetDatum(SelfItemPointerAttributeNumber));
	bool		result = true;

	if (HeapTupleIsValid(row) && HeapTupleIsValid(ctid))
		result = (row->t_data->t_infomask & HEAP_UPDATED) != 0 &&
			!(att->atthasdef && HeapTupleHeaderGetRawXmin(row->t_data) ==
			  HeapTupleHeaderGetRawXmin(ctid->t_data));
	if (HeapTupleIsValid(row))
		ReleaseSysCache(row);
	if (HeapTupleIsValid(ctid))
		ReleaseSysCache(ctid);

	return result;
}

/* Find out what the catalogs say of how a table's values are stored. */
static void
describe_values(SstHeapRebuild *heap, Relation rel)
{
	SstToaster *toaster = &heap->toaster;
	TupleDesc	tupdesc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		return;

	/* A TOAST table that is not needed any more vanishes. */
	toaster->has_toast = OidIsValid(rel->rd_rel->reltoastrelid) &&
		table_relation_needs_toast_table(rel);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->attlen != -1 || att->attisdropped ||
			att->attstorage == TYPSTORAGE_PLAIN)
			continue;
		if (att->attstorage == TYPSTORAGE_EXTENDED)
			toaster->compression.try = sst_try_compression;
		if (!may_be_altered(rel, att))
			continue;

		/* Short values may have been stored as PLAIN. */
		heap->reforms = true;
		if (att->attstorage != TYPSTORAGE_EXTERNAL)
		{
			if (!toaster->any_compressible)
				toaster->method = att->attcompression;
			toaster->any_compressible = true;
			toaster->compressible[i / 8] |= 1 << i % 8;
		}
	}
	if (toaster->any_compressible)
		toaster->compression.try = sst_try_compression;
}

/*
 * Set up for a target that is open.  An index of an access method that needs the
 * size of the table takes a lock on that for the time of this call.
 */
void
sst_rebuild_init(SstRebuild *rebuild, const SstTarget *target)
{
	memset(rebuild, 0, sizeof(SstRebuild));
	rebuild->kind = target->kind;

	switch (target->kind)
	{
		case SST_BTREE:
			sst_rebuild_btree_init(rebuild, target->rel);
			break;
		case SST_HASH:
			estimate_table(rebuild, target->rel);
			rebuild->entry_fraction = entry_fraction(target->rel);
			sst_rebuild_hash_init(rebuild, target->rel);
			break;
		case SST_GIN:
			sst_rebuild_gin_init(rebuild, target->rel);
			rebuild->u.gin.in_parallel = is_built_in_parallel(target->rel);
			break;
		case SST_GIST:
		case SST_SPGIST:
			sst_rebuild_tree_init(rebuild, target->rel);
			break;
		case SST_BRIN:
			set_unpredictable(rebuild,
							  gettext_noop("a BRIN index is taken to keep its size"));
			break;
		case SST_HEAP:
			sst_rebuild_heap_init(rebuild, target->rel);
			describe_values(&rebuild->u.heap, target->rel);
			break;
		case SST_SEQUENCE:
			set_unpredictable(rebuild,
							  gettext_noop("a sequence cannot be rebuilt"));
			break;
		default:
			set_unpredictable(rebuild,
							  gettext_noop("size after a rebuild is not known for this access method"));
			break;
	}
}
