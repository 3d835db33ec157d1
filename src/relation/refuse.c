/*-------------------------------------------------------------------------
 *
 * refuse.c
 *	  Why a relation cannot be read: notes for rows, and errors
 *
 * All reasons to refuse a relation are in this file.  A function that returns
 * a row for every relation puts a note into it.  Other functions raise an
 * error, worded as contrib or the server does in the same situation.
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
#include "foreign/foreign.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "compat/compat.h"
#include "relation/refuse.h"

/*
 * Our function for one kind of index, and what it says of other relations, as
 * contrib's does
 */
typedef struct IndexFunction
{
	SstTargetKind kind;
	const char *name;
	const char *message;
} IndexFunction;

static const IndexFunction index_functions[] = {
	{SST_BTREE, "btree_stats", gettext_noop("relation \"%s\" is not a btree index")},
	{SST_HASH, "hash_stats", gettext_noop("relation \"%s\" is not a hash index")},
	{SST_GIN, "gin_stats", gettext_noop("relation \"%s\" is not a GIN index")},
	{SST_GIST, "gist_stats", gettext_noop("relation \"%s\" is not a GiST index")},
	{SST_SPGIST, "spgist_stats", gettext_noop("relation \"%s\" is not an SP-GiST index")},
	{SST_BRIN, "brin_stats", gettext_noop("relation \"%s\" is not a BRIN index")},
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
 * Return the translated note on a state, or NULL if there is none.  For states
 * with notes that depend on the relation, see sst_relation_note().
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
	return psprintf(_("partitioned: use %s to read its partitions"), function);
}

/* The note on a table of an access method that is not heap */
char *
sst_table_am_note(Oid amoid)
{
	return psprintf(_("table access method \"%s\" is not supported"),
					get_am_name(amoid));
}

/* The data of a foreign table is wherever its server is. */
static const char *
foreign_table_note(Relation rel)
{
	ForeignTable *table = GetForeignTable(RelationGetRelid(rel));

	return psprintf(_("a foreign table has no pages: its data is on server \"%s\""),
					GetForeignServer(table->serverid)->servername);
}

/* Return the translated note on a temporary relation, where only shared buffers count. */
const char *
sst_temporary_note(void)
{
	return _("temporary relation: its pages are in the session's local buffers");
}

/* Return the translated note on a relation without storage, by its kind. */
const char *
sst_no_storage_note(char relkind)
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
			return rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE ?
				foreign_table_note(rel) : sst_no_storage_note(rel->rd_rel->relkind);
		case SST_TARGET_PARTITIONED:
			return sst_partitioned_note(tree_function(rel));
		case SST_TARGET_OTHER_TABLE_AM:
			return sst_table_am_note(rel->rd_rel->relam);
		case SST_TARGET_WRONG_KIND:
			return is_index(rel) ? _("index: use index_stats") :
				_("not an index: use table_stats");
		default:
			return sst_state_note(state);
	}
}

/* The function that reads an index of that kind */
static const char *
index_function(SstTargetKind kind)
{
	for (int i = 0; i < lengthof(index_functions); i++)
	{
		if (index_functions[i].kind == kind)
			return index_functions[i].name;
	}
	return "index_stats";
}

/*
 * Hint at the function for a relation of that kind, which is not among the kinds
 * that are accepted, if there is one.  contrib's functions have no hints.
 */
static int
hint_function(Relation rel, SstTargetKind kind, int kinds, SstRules rules)
{
	if (rules == SST_RULES_CONTRIB)
		return 0;
	if (is_partitioned(rel))
		return errhint("Use %s to read its partitions.", tree_function(rel));
	if (is_index(rel) && (kinds & SST_ANY_INDEX) == 0)
		return errhint("Use %s to read an index.", "index_stats");
	if (is_index(rel))
		return errhint("Use %s to read this index.", index_function(kind));
	if ((kind & SST_TABLE & ~kinds) != 0)
		return errhint("Use %s to read a table.", "table_stats");

	return 0;
}

/* ERROR: the relation's kind, or 0, is none of those that the function accepts. */
void
sst_refuse_wrong_kind(Relation rel, SstTargetKind kind, int kinds,
					  SstRules rules)
{
	char		relkind = rel->rd_rel->relkind;

	for (int i = 0; i < lengthof(index_functions); i++)
	{
		if (kinds == index_functions[i].kind)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg(index_functions[i].message,
							RelationGetRelationName(rel)),
					 relkind == RELKIND_INDEX ? 0 :
					 errdetail_relkind_not_supported(relkind),
					 hint_function(rel, kind, kinds, rules)));
	}

	if (RELKIND_HAS_TABLE_AM(relkind) && (kinds & SST_HEAP) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only heap AM is supported")));

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot get page statistics of relation \"%s\"",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(relkind),
			 hint_function(rel, kind, kinds, rules)));
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
sst_refuse_unreadable(Relation rel, SstTargetKind kind, SstRules rules)
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
						RelationGetRelationName(rel)),
				 rules == SST_RULES_TOLERANT && !rel->rd_index->indisready ?
				 errdetail("It is being built, or its build failed.") : 0));
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

/* ERROR if a relation of that name and kind has no storage. */
void
sst_refuse_without_storage(const char *name, char relkind)
{
	if (!RELKIND_HAS_STORAGE(relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" does not have storage", name),
				 errdetail_relkind_not_supported(relkind)));
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
	sst_refuse_without_storage(RelationGetRelationName(rel),
							   rel->rd_rel->relkind);
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
