/*-------------------------------------------------------------------------
 *
 * refuse.c
 *	  Why a relation cannot be read: notes for rows, and errors
 *
 * All reasons to refuse a relation are in this file.  A function that gives a row
 * for every relation puts a note into it.  Other functions raise an error, in the
 * words that contrib's functions or the server have for the same situation.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/relation/refuse.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "compat/compat.h"
#include "relation/refuse.h"

/* What contrib's function for one kind of index says of other relations */
typedef struct WrongIndex
{
	SstTargetKind kind;
	const char *message;
} WrongIndex;

static const WrongIndex wrong_indexes[] = {
	{SST_BTREE, gettext_noop("relation \"%s\" is not a btree index")},
	{SST_HASH, gettext_noop("relation \"%s\" is not a hash index")},
	{SST_GIN, gettext_noop("relation \"%s\" is not a GIN index")},
	{SST_GIST, gettext_noop("relation \"%s\" is not a GiST index")},
	{SST_SPGIST, gettext_noop("relation \"%s\" is not an SP-GiST index")},
	{SST_BRIN, gettext_noop("relation \"%s\" is not a BRIN index")},
};

static bool
is_partitioned(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
}

static bool
is_index(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_INDEX ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
}

/* The function that reads the partitions of such a relation */
static const char *
tree_function(Relation rel)
{
	return is_index(rel) ? "index_stats_tree" : "table_stats_tree";
}

/*
 * Return the translated note on a state, or NULL if there is nothing to say.  Not
 * for states whose note depends on the relation: see sst_relation_note().
 */
const char *
sst_state_note(SstTargetState state)
{
	switch (state)
	{
		case SST_TARGET_MISSING:
			return _("relation does not exist");
		case SST_TARGET_OTHER_TEMP:
			return _("temporary relation of another session");
		case SST_TARGET_NO_DATA:
			return _("no data during recovery");
		case SST_TARGET_INVALID:
			return _("index is not valid");
		case SST_TARGET_NOT_READY:
			return _("index is not valid: it is being built, or its build failed");
		default:
			return NULL;
	}
}

/* The note on a partitioned relation, for one whose tree a function can read */
char *
sst_partitioned_note(const char *function)
{
	return psprintf(_("partitioned: %s reads its partitions"), function);
}

static const char *
no_storage_note(char relkind)
{
	switch (relkind)
	{
		case RELKIND_VIEW:
			return _("a view has no pages");
		case RELKIND_FOREIGN_TABLE:
			return _("a foreign table has no pages");
		case RELKIND_COMPOSITE_TYPE:
			return _("a composite type has no pages");
		default:
			return _("relation has no pages");
	}
}

/*
 * Return the translated note on an open relation in a state, or NULL if there is
 * nothing to say.  It may be palloc'd in the current context.
 */
const char *
sst_relation_note(Relation rel, SstTargetState state)
{
	switch (state)
	{
		case SST_TARGET_NO_STORAGE:
			return no_storage_note(rel->rd_rel->relkind);
		case SST_TARGET_PARTITIONED:
			return sst_partitioned_note(tree_function(rel));
		case SST_TARGET_OTHER_TABLE_AM:
			return psprintf(_("table access method \"%s\" is not supported"),
							get_am_name(rel->rd_rel->relam));
		case SST_TARGET_WRONG_KIND:
			return is_index(rel) ? _("an index: index_stats reads it") :
				_("not an index: table_stats reads it");
		default:
			return sst_state_note(state);
	}
}

/* Hint at the function for a relation that another one refuses, if there is one. */
static int
hint_function(Relation rel, int kinds)
{
	if (is_partitioned(rel))
		return errhint("Use %s to read its partitions.", tree_function(rel));
	if (is_index(rel) && (kinds & SST_ANY_INDEX) == 0)
		return errhint("Use %s to read an index.", "index_stats");
	if (RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) && (kinds & SST_TABLE) == 0)
		return errhint("Use %s to read a table.", "table_stats");

	return 0;
}

/* ERROR: the relation is none of the kinds that the function accepts. */
void
sst_refuse_wrong_kind(Relation rel, int kinds)
{
	char		relkind = rel->rd_rel->relkind;

	for (int i = 0; i < lengthof(wrong_indexes); i++)
	{
		if (kinds == wrong_indexes[i].kind)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg(wrong_indexes[i].message,
							RelationGetRelationName(rel)),
					 relkind == RELKIND_INDEX ? 0 :
					 errdetail_relkind_not_supported(relkind)));
	}

	if (RELKIND_HAS_TABLE_AM(relkind) && (kinds & SST_HEAP) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only heap AM is supported")));

	if (kinds == SST_ANY_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index",
						RelationGetRelationName(rel)),
				 hint_function(rel, kinds)));

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot get page statistics of relation \"%s\"",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(relkind),
			 hint_function(rel, kinds)));
}

/*
 * ERROR for a temporary relation of another session: its current blocks are in
 * that session's local buffers.  contrib's functions for indexes other than
 * b-trees say "indexes"; kind 0 is for all else.
 */
static void
refuse_other_temp(Relation rel, SstTargetKind kind)
{
	if (!RELATION_IS_OTHER_TEMP(rel))
		return;

	if ((kind & SST_ANY_INDEX & ~(SST_BTREE | SST_OTHER_INDEX)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot access temporary tables of other sessions")));
}

/*
 * ERROR if a relation of that kind cannot be read now: in the words of contrib's
 * functions and, during recovery, of the server.
 */
void
sst_refuse_unreadable(Relation rel, SstTargetKind kind)
{
	refuse_other_temp(rel, kind);

	if (!RelationIsPermanent(rel) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));

	if (rel->rd_rel->relkind == RELKIND_INDEX && !rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel))));
}

/* ERROR if pgstattuple() of contrib has no numbers for such a relation. */
void
sst_refuse_for_pgstattuple(Relation rel)
{
	const char *what = "unknown index";

	refuse_other_temp(rel, 0);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
		case RELKIND_TOASTVALUE:
		case RELKIND_SEQUENCE:
			return;
		case RELKIND_INDEX:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot get tuple-level statistics for relation \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
	}

	switch (rel->rd_rel->relam)
	{
		case BTREE_AM_OID:
		case HASH_AM_OID:
		case GIST_AM_OID:
			return;
		case GIN_AM_OID:
			what = "gin index";
			break;
		case SPGIST_AM_OID:
			what = "spgist index";
			break;
		case BRIN_AM_OID:
			what = "brin index";
			break;
	}

	if (rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" (%s) is not supported",
						RelationGetRelationName(rel), what)));
}

/* ERROR if pgstattuple_approx() of contrib does not accept such a relation. */
void
sst_refuse_for_pgstattuple_approx(Relation rel)
{
	refuse_other_temp(rel, 0);

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_MATVIEW &&
		rel->rd_rel->relkind != RELKIND_TOASTVALUE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("relation \"%s\" is of wrong relation kind",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
}

/* ERROR if pg_relpages() of contrib does not accept such a relation. */
void
sst_refuse_for_pg_relpages(Relation rel)
{
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot get page count of relation \"%s\"",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
}

/*
 * ERROR if pg_prewarm() of contrib does not accept such a relation, or it has no
 * such fork.
 *
 * An index that is being built is refused as well: its builder writes pages
 * without the buffer manager, so that a page read into a buffer now would stay
 * there in an old state.
 */
void
sst_refuse_for_pg_prewarm(Relation rel, ForkNumber forknum)
{
#ifdef SST_PREWARM_CHECKS_STORAGE
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" does not have storage",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
#endif
	if (!smgrexists(RelationGetSmgr(rel), forknum))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fork \"%s\" does not exist for this relation",
						forkNames[forknum])));

	refuse_other_temp(rel, 0);

	if (rel->rd_rel->relkind == RELKIND_INDEX && !rel->rd_index->indisready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel)),
				 errdetail("It is being built, or its build failed.")));
}
