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
 *	  src/target/target.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "storage/bufmgr.h"
#include "utils/varlena.h"

#include "target/target.h"

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
};

/*
 * The index kind of a relation, or NULL when it is no index or its access
 * method is not known here.
 */
static const IndexKind *
find_index_kind(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_INDEX)
		return NULL;

	for (int i = 0; i < lengthof(index_kinds); i++)
	{
		if (rel->rd_rel->relam == index_kinds[i].amoid)
			return &index_kinds[i];
	}
	return NULL;
}

static bool
is_table(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION ||
		rel->rd_rel->relkind == RELKIND_MATVIEW ||
		rel->rd_rel->relkind == RELKIND_TOASTVALUE;
}

/*
 * Complain that a relation is none of the kinds that the function accepts.
 */
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

	if (is_table(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only heap AM is supported")));

	if (relkind == RELKIND_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method of index \"%s\" is not supported",
						RelationGetRelationName(rel)),
				 errhint("Supported access methods are \"btree\" and \"hash\".")));

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot sample relation \"%s\"",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(relkind),
			 relkind == RELKIND_PARTITIONED_TABLE ||
			 relkind == RELKIND_PARTITIONED_INDEX ?
			 errhint("Sample its partitions, one at a time.") : 0));
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

/*
 * Make an open relation, locked in AccessShareLock mode, the target, if it is
 * of one of the given kinds and can be read now; else ERROR.
 */
void
sst_target_adopt(SstTarget *target, Relation rel, int kinds)
{
	const IndexKind *index = find_index_kind(rel);

	target->rel = rel;
	if (index != NULL)
		target->kind = index->kind;
	else if (is_table(rel) && rel->rd_rel->relam == HEAP_TABLE_AM_OID)
		target->kind = SST_HEAP;
	else
		target->kind = 0;

	if ((target->kind & kinds) == 0)
		report_wrong_kind(rel, kinds);

	sst_refuse_other_temp(rel, index ? index->other_temp : NULL);

	/* On a standby an unlogged relation has no data. */
	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));

	if (index != NULL && !rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel))));

	target->nblocks = RelationGetNumberOfBlocks(rel);
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
