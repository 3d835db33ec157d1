/*-------------------------------------------------------------------------
 *
 * target.c
 *	  Opening a relation and saying no to what cannot be read
 *
 * All checks on kind, access method, validity and ownership of buffers stand
 * here.  The words are those of pgstattuple and of the server itself in the
 * same situations.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/target.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "relation/target.h"

/* An index access method, and how pgstattuple speaks of it */
typedef struct IndexKind
{
	SstTargetKind kind;
	Oid			amoid;
	const char *wrong_type;
	const char *other_temp;
} IndexKind;

static const char other_temp_table[] =
gettext_noop("cannot access temporary tables of other sessions");
static const char other_temp_index[] =
gettext_noop("cannot access temporary indexes of other sessions");

static const IndexKind index_kinds[] = {
	{SST_BTREE, BTREE_AM_OID,
	gettext_noop("relation \"%s\" is not a btree index"), other_temp_table},
	{SST_HASH, HASH_AM_OID,
	gettext_noop("relation \"%s\" is not a hash index"), other_temp_index},
	{SST_GIN, GIN_AM_OID,
	gettext_noop("relation \"%s\" is not a GIN index"), other_temp_index},
	{SST_GIST, GIST_AM_OID,
	gettext_noop("relation \"%s\" is not a GiST index"), other_temp_index},
	{SST_SPGIST, SPGIST_AM_OID,
	gettext_noop("relation \"%s\" is not an SP-GiST index"), other_temp_index},
	{SST_BRIN, BRIN_AM_OID,
	gettext_noop("relation \"%s\" is not a BRIN index"), other_temp_index},
};

/* The index kind of a relation, or NULL if it is none of core's. */
static const IndexKind *
find_index_kind(Relation rel)
{
	for (int i = 0; i < lengthof(index_kinds); i++)
	{
		if (rel->rd_rel->relkind == RELKIND_INDEX &&
			rel->rd_rel->relam == index_kinds[i].amoid)
			return &index_kinds[i];
	}
	return NULL;
}

/* Does the relation have a table access method, and a file? */
static bool
is_table(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION ||
		rel->rd_rel->relkind == RELKIND_MATVIEW ||
		rel->rd_rel->relkind == RELKIND_TOASTVALUE;
}

static bool
is_partitioned(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
}

static SstTargetKind
find_kind(Relation rel)
{
	const IndexKind *index = find_index_kind(rel);

	if (index != NULL)
		return index->kind;
	if (rel->rd_rel->relkind == RELKIND_INDEX)
		return SST_OTHER_INDEX;
	if (is_table(rel) && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
		return SST_HEAP;
	if (rel->rd_rel->relkind == RELKIND_SEQUENCE)
		return SST_SEQUENCE;
	return 0;
}

/* ERROR: the relation is none of the kinds that the function accepts. */
static void
report_wrong_kind(Relation rel, int kinds)
{
	char		relkind = rel->rd_rel->relkind;

	for (int i = 0; i < lengthof(index_kinds); i++)
	{
		if (kinds == index_kinds[i].kind)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg(index_kinds[i].wrong_type,
							RelationGetRelationName(rel)),
					 relkind == RELKIND_INDEX ? 0 :
					 errdetail_relkind_not_supported(relkind)));
	}

	if (is_table(rel) && (kinds & SST_HEAP) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only heap AM is supported")));

	if (kinds == SST_ANY_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index",
						RelationGetRelationName(rel))));

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot get page statistics of relation \"%s\"",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(relkind),
			 is_partitioned(rel) ?
			 errhint("Its partitions can be asked about, one at a time.") : 0));
}

/*
 * ERROR for a temporary relation of another session: its current blocks are
 * in that session's private buffers.
 */
void
sst_refuse_other_temp(Relation rel, const char *message)
{
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s", _(message ? message : other_temp_table))));
}

/* On a standby an unlogged relation has no data. */
static bool
is_without_data(Relation rel)
{
	return !RelationIsPermanent(rel) && RecoveryInProgress();
}

/*
 * Is it an index whose building has not ended?  That writes pages past the buffer
 * manager, some of them twice: a page that is read into a buffer meanwhile would
 * stay there as it was, for everybody.
 */
bool
sst_is_being_built(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_INDEX && !rel->rd_index->indisready;
}

/* ERROR if the relation is of none of the given kinds. */
void
sst_require_kind(Relation rel, int kinds)
{
	if ((find_kind(rel) & kinds) == 0)
		report_wrong_kind(rel, kinds);
}

/*
 * Make an open relation, locked in AccessShareLock mode, the target, whatever it
 * is, and find out whether it can be read.
 */
void
sst_target_examine(SstTarget *target, Relation rel)
{
	target->rel = rel;
	target->kind = find_kind(rel);
	target->obstacle = NULL;
	target->nblocks = 0;

	if (RELATION_IS_OTHER_TEMP(rel))
		target->obstacle = gettext_noop("temporary relation of another session");
	else if (is_without_data(rel))
		target->obstacle = gettext_noop("no data during recovery");
	else if (is_partitioned(rel))
		target->obstacle = gettext_noop("partitioned: has no blocks of its own");
	else if (target->kind == 0)
		target->obstacle = gettext_noop("no blocks of a kind that is known");
	else if (sst_is_being_built(rel))
		target->obstacle = SST_INVALID_INDEX_NOTE;
	else
		target->nblocks = RelationGetNumberOfBlocks(rel);
}

/*
 * Make an open relation, locked in AccessShareLock mode, the target, if it is
 * of one of the given kinds and can be read now; else ERROR.
 */
void
sst_target_adopt(SstTarget *target, Relation rel, int kinds)
{
	const IndexKind *index = find_index_kind(rel);

	sst_require_kind(rel, kinds);
	sst_refuse_other_temp(rel, index ? index->other_temp : NULL);

	if (is_without_data(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));

	if (rel->rd_rel->relkind == RELKIND_INDEX && !rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel))));

	sst_target_examine(target, rel);
}

/*
 * Open and lock a relation by OID and make it the target.
 */
void
sst_target_open(SstTarget *target, Oid relid, int kinds)
{
	sst_target_adopt(target, relation_open(relid, AccessShareLock), kinds);
}

/* Close the target's relation and release the lock. */
void
sst_target_close(SstTarget *target)
{
	relation_close(target->rel, AccessShareLock);
	target->rel = NULL;
}

/* Open a relation, AccessShareLock, by its possibly qualified name. */
Relation
sst_open_by_name(text *name)
{
	RangeVar   *relvar = makeRangeVarFromNameList(textToQualifiedNameList(name));

	return relation_openrv(relvar, AccessShareLock);
}

/*
 * Open a relation by OID, AccessShareLock, and if it is an index, lock its
 * table in the same mode first, as everybody does.  *tableoid is the OID of that
 * table, for the caller to unlock in the end, or InvalidOid.
 *
 * What an OID means can change as long as it is not locked.  So the index's
 * table is looked up again when both are locked: the index may have been dropped
 * and its OID used again in between.
 */
Relation
sst_open_with_table(Oid relid, Oid *tableoid)
{
	char		relkind = get_rel_relkind(relid);
	bool		is_index = relkind == RELKIND_INDEX ||
		relkind == RELKIND_PARTITIONED_INDEX;
	Relation	rel;

	*tableoid = InvalidOid;
	if (is_index)
	{
		*tableoid = IndexGetRelation(relid, true);
		if (OidIsValid(*tableoid))
			LockRelationOid(*tableoid, AccessShareLock);
	}

	rel = relation_open(relid, AccessShareLock);

	if (is_index &&
		(!OidIsValid(*tableoid) || *tableoid != IndexGetRelation(relid, true)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not find parent table of index \"%s\"",
						RelationGetRelationName(rel))));

	return rel;
}
