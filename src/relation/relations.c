/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  The relations of the current database that have pages
 *
 * Each catalog is read once, and sizes come from the file system.  No listed
 * relation is opened, locked or looked up, so that a list of ten thousand takes
 * some tens of milliseconds.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "compat/shared_blocks.h"
#include "relation/relation.h"

/* Find a relation in the list, or return NULL. */
SstRelation *
sst_find_relation(const SstRelations *list, Oid relid)
{
	return list->n == 0 ? NULL :
		bsearch(&relid, list->relation, list->n, sizeof(SstRelation), oid_cmp);
}

/*
 * The listed table that a listed relation belongs to: itself, that of an index, or that of a TOAST
 * table or of its index.  NULL if that is not listed.
 */
const SstRelation *
sst_owning_table(const SstRelations *list, const SstRelation *relation)
{
	if (relation->relkind == RELKIND_INDEX)
		relation = sst_find_relation(list, relation->parent);
	if (relation != NULL && relation->relkind == RELKIND_TOASTVALUE)
		relation = sst_find_relation(list, relation->parent);

	return relation;
}

bool
sst_has_pages_to_report(char relkind)
{
	return relkind == RELKIND_RELATION || relkind == RELKIND_MATVIEW ||
		relkind == RELKIND_TOASTVALUE || relkind == RELKIND_INDEX;
}

/*
 * Return the bytes of a fork, or -1 if it does not exist: as the file system has them,
 * unless only the relation's storage manager knows where the blocks are.
 */
int64
sst_fork_bytes(const SstFiles *files, ForkNumber forknum)
{
	char		path[MAXPGPATH];
	int64		bytes = 0;

	if (!sst_files_are_plain(files))
	{
		BlockNumber nblocks = sst_stored_blocks(files, forknum);

		return nblocks == InvalidBlockNumber ? -1 : (int64) nblocks * BLCKSZ;
	}

	sst_files_path(files, forknum, path, sizeof(path));

	/* Every segment but the last one has the full length. */
	for (int segno = 0;; segno++)
	{
		char		segment[MAXPGPATH + 12];
		struct stat st;

		if (segno == 0)
			strlcpy(segment, path, sizeof(segment));
		else
			snprintf(segment, sizeof(segment), "%s.%d", path, segno);
		if (stat(segment, &st) != 0)
			return segno == 0 ? -1 : bytes;
		bytes += st.st_size;
		if (st.st_size < (int64) RELSEG_SIZE * BLCKSZ)
			return bytes;
	}
}

/*
 * Show the fixed part of each row of a catalog to a function; with attno, of those
 * rows that have such an OID in that column, by an index if there is one for it.
 */
void
sst_read_catalog(Oid catalogid, Oid indexid, AttrNumber attno, Oid value,
				 void (*add) (void *arg, const void *row), void *arg)
{
	Relation	catalog = table_open(catalogid, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, attno, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(value));
	scan = systable_beginscan(catalog, indexid, OidIsValid(indexid), NULL,
							  attno != InvalidAttrNumber ? 1 : 0, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CHECK_FOR_INTERRUPTS();
		add(arg, GETSTRUCT(tuple));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

/* ----------
 * A list in the making: begin, add relations, sort, add what other catalogs tell of
 * them, end
 * ----------
 */

/* A name that many relations refer to, of a schema or a partitioned table */
typedef struct SharedName
{
	Oid			catalog;
	Oid			oid;
	char	   *name;			/* NULL if it was dropped */
} SharedName;

static const char *
shared_name(const SstRelations *list, Oid catalog, Oid oid)
{
	SharedName	key = {catalog, oid};
	bool		found;
	SharedName *shared = hash_search(list->names, &key, HASH_ENTER, &found);

	if (!found)
		shared->name = catalog == NamespaceRelationId ? get_namespace_name(oid) : get_rel_name(oid);
	return shared->name;
}

/* Begin a list, which is allocated in the current memory context. */
static void
relations_begin(SstRelations *list)
{
	HASHCTL		ctl = {.keysize = offsetof(SharedName, name), .entrysize = sizeof(SharedName),
	.hcxt = CurrentMemoryContext};

	list->names = hash_create("streamstat names", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	list->n = 0;
	list->relation = NULL;
}

/* Add a relation, by its row in pg_class.  Its file is looked at. */
static void
add_relation(void *arg, const void *row)
{
	SstRelations *list = arg;
	const FormData_pg_class *form = row;
	SstRelation *relation;
	const char *schema;

	schema = shared_name(list, NamespaceRelationId, form->relnamespace);
	relation = sst_append(list->relation, list->n);
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
	relation->valid = relation->live = relation->ready = true;
	relation->toastrelid = form->reltoastrelid;
	relation->bytes = sst_catalog_files(form, &relation->files) ?
		sst_fork_bytes(&relation->files, MAIN_FORKNUM) : -1;
}

/*
 * Put all relations that were added in order, each once.  From then on, they can be
 * found, and stay where they are.
 */
static void
relations_sort(SstRelations *list)
{
	if (list->n == 0)
		return;
	qsort(list->relation, list->n, sizeof(SstRelation), oid_cmp);
	list->n = qunique(list->relation, list->n, sizeof(SstRelation), oid_cmp);
	list->relation = repalloc_huge(list->relation, sizeof(SstRelation) * list->n);
}

static void
add_pg_class_row(void *list, const void *row)
{
	if (sst_has_pages_to_report(((const FormData_pg_class *) row)->relkind))
		add_relation(list, row);
}

/* Set what pg_index tells of a listed index, and of its table. */
static void
add_pg_index_row(void *list, const void *row)
{
	const FormData_pg_index *form = row;
	SstRelation *index = sst_find_relation(list, form->indexrelid);
	SstRelation *owner = sst_find_relation(list, form->indrelid);

	if (index != NULL)
	{
		index->parent = form->indrelid;
		index->valid = form->indisvalid;
		index->live = form->indislive;
		index->ready = form->indisready;
		index->exclusion = form->indisexclusion;
		index->unique = form->indisunique;
	}
	if (owner != NULL && form->indisvalid && form->indimmediate &&
		(owner->replident == REPLICA_IDENTITY_INDEX ? form->indisreplident :
		 owner->replident == REPLICA_IDENTITY_DEFAULT && form->indisprimary))
		owner->identity = true;
}

/* Set what pg_inherits tells of a listed partition. */
static void
add_pg_inherits_row(void *list, const void *row)
{
	const FormData_pg_inherits *form = row;
	SstRelation *child = sst_find_relation(list, form->inhrelid);

	if (child != NULL && child->partition &&
		child->relkind == RELKIND_RELATION)
		child->parent = form->inhparent;
}

/* Call a statistics function for a relation; returns 0 for null. */
static TimestampTz
call_for_time(PGFunction function, Oid relid)
{
	LOCAL_FCINFO(fcinfo, 1);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = ObjectIdGetDatum(relid);
	fcinfo->args[0].isnull = false;
	result = function(fcinfo);

	return fcinfo->isnull ? 0 : DatumGetTimestampTz(result);
}

/* When a table was last vacuumed, as the statistics know now; 0 if not known */
TimestampTz
sst_last_vacuum(Oid tableoid)
{
	return Max(call_for_time(pg_stat_get_last_vacuum_time, tableoid),
			   call_for_time(pg_stat_get_last_autovacuum_time, tableoid));
}

/* Set the name of the parent: from the list, or from the catalog cache. */
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
		relation->parent_name = shared_name(list, RelationRelationId, relation->parent);
		relation->parent_schema = shared_name(list, NamespaceRelationId,
											  get_rel_namespace(relation->parent));
	}
}

/*
 * Does another session hold a lock on the table as those who build its indexes
 * do?
 */
static bool
is_locked_for_builds(Oid tableoid)
{
	LOCKTAG		tag;
	int			n;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, tableoid);
	(void) GetLockConflicts(&tag, ShareUpdateExclusiveLock, &n);

	return n > 0;
}

/*
 * End a list: set what relations in it tell of each other.
 */
static void
relations_end(SstRelations *list)
{
	for (int i = 0; i < list->n; i++)
	{
		SstRelation *toast = sst_find_relation(list, list->relation[i].toastrelid);

		if (toast != NULL)
			toast->parent = list->relation[i].relid;
	}
	for (int i = 0; i < list->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		name_parent(list, &list->relation[i]);
	}
	hash_destroy(list->names);
}

/* Set when listed tables were vacuumed, and of which indexes others may be building. */
void
sst_look_up_activity(SstRelations *list)
{
	for (int i = 0; i < list->n; i++)
	{
		SstRelation *relation = &list->relation[i];

		CHECK_FOR_INTERRUPTS();
		if (relation->relkind != RELKIND_INDEX)
			relation->last_vacuum = sst_last_vacuum(relation->relid);
	}
	for (int i = 0; i < list->n; i++)
	{
		SstRelation *relation = &list->relation[i];

		if (relation->relkind == RELKIND_INDEX)
		{
			SstRelation *parent = sst_find_relation(list, relation->parent);

			relation->last_vacuum = parent ? parent->last_vacuum : 0;
			relation->building = !relation->valid &&
				is_locked_for_builds(relation->parent);
		}
	}
}

/*
 * List the tables, partitions, materialized views, TOAST tables and indexes of
 * the current database, and the shared catalogs.  The list and its names are
 * allocated in the current memory context.
 */
void
sst_list_relations(SstRelations *list)
{
	relations_begin(list);
	sst_read_catalog(RelationRelationId, InvalidOid, InvalidAttrNumber, InvalidOid,
					 add_pg_class_row, list);
	relations_sort(list);
	sst_read_catalog(IndexRelationId, InvalidOid, InvalidAttrNumber, InvalidOid,
					 add_pg_index_row, list);
	sst_read_catalog(InheritsRelationId, InvalidOid, InvalidAttrNumber, InvalidOid,
					 add_pg_inherits_row, list);
	relations_end(list);
	sst_look_up_activity(list);
}

/*
 * Return the state of a listed relation as far as the catalogs tell it.
 */
SstTargetState
sst_listed_state(const SstRelation *relation)
{
	if (relation->other_temp)
		return SST_TARGET_OTHER_TEMP;
	if (relation->persistence != RELPERSISTENCE_PERMANENT && RecoveryInProgress())
		return SST_TARGET_NO_DATA;
	if (!relation->ready)
		return SST_TARGET_NOT_READY;
	if (!relation->valid)
		return SST_TARGET_INVALID;
	return SST_TARGET_READABLE;
}

/* ----------
 * Some relations of the database, with what belongs to them
 *
 * The list is like that of all relations, but catalog rows are looked up by
 * index.  So the time for one table does not depend on the size of the
 * database.
 * ----------
 */

/* Add a relation, if it exists. */
static void
find_and_add(SstRelations *list, Oid relid)
{
	sst_read_catalog(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, relid,
					 add_relation, list);
}

static void
add_index(void *list, const void *row)
{
	find_and_add(list, ((const FormData_pg_index *) row)->indexrelid);
}

static void
add_with_indexes(SstRelations *list, Oid relid)
{
	find_and_add(list, relid);
	sst_read_catalog(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid,
					 relid, add_index, list);
}

/* Set what catalogs other than pg_class tell of a listed relation. */
static void
add_details(SstRelations *list, SstRelation *relation)
{
	if (relation->relkind == RELKIND_INDEX)
		sst_read_catalog(IndexRelationId, IndexRelidIndexId,
						 Anum_pg_index_indexrelid, relation->relid,
						 add_pg_index_row, list);
	else if (relation->partition)
		sst_read_catalog(InheritsRelationId, InheritsRelidSeqnoIndexId,
						 Anum_pg_inherits_inhrelid, relation->relid,
						 add_pg_inherits_row, list);
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
	relations_begin(list);
	for (int i = 0; i < n; i++)
		add_with_indexes(list, relids[i]);
	for (int i = 0; i < list->n; i++)
	{
		if (OidIsValid(list->relation[i].toastrelid))
			add_with_indexes(list, list->relation[i].toastrelid);
	}
	relations_sort(list);
	for (int i = 0; i < list->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_details(list, &list->relation[i]);
	}
	relations_end(list);
}

/* ----------
 * One row of pg_class, which is read past the caches
 * ----------
 */

static void
copy_row(void *form, const void *row)
{
	*(FormData_pg_class *) form = *(const FormData_pg_class *) row;
}

/* Find the row that has the value in a column, by an index if there is one for it. */
static bool
find_row(Oid indexid, AttrNumber attno, Oid value, FormData_pg_class *form)
{
	form->oid = InvalidOid;
	sst_read_catalog(RelationRelationId, indexid, attno, value, copy_row, form);
	return OidIsValid(form->oid);
}

/*
 * Find a relation's files, and its persistence; a call about many relations leaves nothing
 * in the caches.  False if the relation or its files do not exist, which can change unless it
 * is locked.
 */
bool
sst_present_files(Oid relid, SstFiles *files, char *persistence)
{
	FormData_pg_class form;

	if (!find_row(ClassOidIndexId, Anum_pg_class_oid, relid, &form))
		return false;
	*persistence = form.relpersistence;
	return RELKIND_HAS_STORAGE(form.relkind) && sst_catalog_files(&form, files);
}

/*
 * Find the table of a TOAST table, which need not be locked.  InvalidOid if there is
 * none.
 *
 * Only the table's row says so, and has no index for that.  The server names TOAST tables
 * after their tables' OIDs, so that the right row is found at once unless one was renamed.
 */
Oid
sst_toast_owner(Oid toastoid)
{
	char	   *name = get_rel_name(toastoid);
	Oid			named;
	FormData_pg_class form;

	if (name == NULL)
		return InvalidOid;
	if (sscanf(name, "pg_toast_%u", &named) == 1 &&
		find_row(ClassOidIndexId, Anum_pg_class_oid, named, &form) &&
		form.reltoastrelid == toastoid)
		return named;

	(void) find_row(InvalidOid, Anum_pg_class_reltoastrelid, toastoid, &form);
	return form.oid;
}

/*
 * The table that an index or a TOAST table belongs to, or the relation itself if it
 * is none of them.  InvalidOid if there is none.  Nothing is locked.
 */
Oid
sst_table_of(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX)
	{
		relid = IndexGetRelation(relid, true);
		relkind = get_rel_relkind(relid);
	}
	if (relkind == RELKIND_TOASTVALUE)
		relid = sst_toast_owner(relid);

	return relid;
}
