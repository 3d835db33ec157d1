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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "foreign/foreign.h"
#include "storage/smgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "relation/relation.h"

static bool
is_index(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_INDEX ||
		rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX;
}

/* The statistics function that reads the partitions of a relation */
const char *
sst_tree_function(Relation rel)
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
	static const char *const notes[SST_TARGET_MISSING + 1] = {
		[SST_TARGET_MISSING] = gettext_noop("relation does not exist"),
		[SST_TARGET_LOCKED] = gettext_noop("locked by another session"),
		[SST_TARGET_OTHER_TEMP] = gettext_noop("temporary relation of another session"),
		[SST_TARGET_NO_DATA] = gettext_noop("no data during recovery"),
		[SST_TARGET_INVALID] = gettext_noop("index is not valid"),
		[SST_TARGET_OTHER_FORMAT] = gettext_noop("unknown format: the metapage has another magic or version number"),
		[SST_TARGET_NOT_READY] = gettext_noop("index is not valid: it is being built, or its build failed")
	};

	return notes[state] != NULL ? _(notes[state]) : NULL;
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

/* Return the translated note on a relation without storage, by its kind. */
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

/* Return why a listed relation cannot be warmed, whoever calls, translated; or NULL. */
const char *
sst_warm_refusal(const SstRelation *relation)
{
	SstTargetState state = sst_listed_state(relation);

	if (!RELKIND_HAS_STORAGE(relation->relkind))
		return no_storage_note(relation->relkind);
	if (relation->persistence == RELPERSISTENCE_TEMP && !relation->other_temp)
		return _("temporary relation: its pages are in the session's local buffers");
	return state == SST_TARGET_INVALID ? NULL : sst_state_note(state);
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
				foreign_table_note(rel) : no_storage_note(rel->rd_rel->relkind);
		case SST_TARGET_PARTITIONED:
			return _("partitioned: only its partitions have pages");
		case SST_TARGET_OTHER_TABLE_AM:
			return sst_table_am_note(rel->rd_rel->relam);
		case SST_TARGET_WRONG_KIND:
			return is_index(rel) ? _("index: use index_stats") :
				_("not an index: use table_stats");
		default:
			return sst_state_note(state);
	}
}

/*
 * Hint at the function for a relation that is not of the kinds that are accepted, if there
 * is one.  contrib's functions have no hints.
 */
static int
hint_function(Relation rel, int kinds, SstRules rules)
{
	const SstAccessMethod *am = sst_relation_am(rel);

	if (rules == SST_RULES_CONTRIB)
		return 0;
	if (RELKIND_HAS_PARTITIONS(rel->rd_rel->relkind))
		return errhint("Use %s for statistics of its partitions.",
					   sst_tree_function(rel));
	if (is_index(rel) && (kinds & SST_INDEX) == 0)
		return errhint("Use %s for statistics of an index.", "index_stats");
	if (is_index(rel))
		return errhint("Use %s to read this index.",
					   psprintf("%s_stats", am->name != NULL ? am->name : "index"));
	if (am != NULL && (am->kind & SST_TABLE & ~kinds) != 0)
		return errhint("Use %s for statistics of a table.", "table_stats");

	return 0;
}

/* ERROR: the relation is none of the kinds that the function accepts. */
static void
refuse_wrong_kind(Relation rel, int kinds, SstRules rules)
{
	char		relkind = rel->rd_rel->relkind;

	if (RELKIND_HAS_TABLE_AM(relkind) && (kinds & SST_HEAP) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only heap AM is supported")));

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot get page statistics of relation \"%s\"",
					RelationGetRelationName(rel)),
			 errdetail_relkind_not_supported(relkind),
			 hint_function(rel, kinds, rules)));
}

/* ERROR: the relation is no index of the access method that the function accepts. */
void
sst_refuse_other_index(Relation rel, const SstAccessMethod *am, SstRules rules)
{
	char		relkind = rel->rd_rel->relkind;

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg(am->refusal, RelationGetRelationName(rel)),
			 relkind == RELKIND_INDEX ? 0 :
			 errdetail_relkind_not_supported(relkind),
			 hint_function(rel, SST_INDEX, rules)));
}

/*
 * ERROR for a temporary relation of another session: its current blocks are in
 * that session's local buffers.  Some of contrib's functions say "indexes".
 */
static void
refuse_other_temp(Relation rel, bool say_indexes)
{
	if (!RELATION_IS_OTHER_TEMP(rel))
		return;

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 say_indexes ?
			 errmsg("cannot access temporary indexes of other sessions") :
			 errmsg("cannot access temporary tables of other sessions")));
}

/*
 * ERROR if the target is not of one of the given kinds, or cannot be read now: in the words
 * of contrib's functions and, during recovery, of the server.
 */
void
sst_refuse_target(const SstTarget *target, int kinds, SstRules rules)
{
	Relation	rel = target->rel;

	if ((target->kind & kinds) == 0)
		refuse_wrong_kind(rel, kinds, rules);
	refuse_other_temp(rel, target->kind == SST_INDEX &&
					  (target->am->flags & (SST_AM_TEMPORARY_TABLES | SST_AM_UNKNOWN)) == 0);

	if (target->state == SST_TARGET_NO_DATA)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));

	if (rel->rd_rel->relkind == RELKIND_INDEX && !rel->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel)),
				 rules == SST_RULES_TOLERANT && target->state == SST_TARGET_NOT_READY ?
				 errdetail("It is being built, or its build failed.") : 0));

	if (target->state == SST_TARGET_OTHER_FORMAT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read index \"%s\"", RelationGetRelationName(rel)),
				 errdetail("Its metapage has another magic or version number than the known format of access method \"%s\".",
						   get_am_name(rel->rd_rel->relam))));
}

/* ERROR if pgstattuple() of contrib has no numbers for such a relation. */
void
sst_refuse_for_pgstattuple(Relation rel)
{
	const SstAccessMethod *am = sst_relation_am(rel);

	refuse_other_temp(rel, false);

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

	if (rel->rd_index->indisvalid && am->pgstattuple_first == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" (%s index) is not supported",
						RelationGetRelationName(rel),
						OidIsValid(am->oid) ? am->name : "unknown")));
}

/* ERROR if pgstattuple_approx() of contrib does not accept such a relation. */
void
sst_refuse_for_pgstattuple_approx(Relation rel)
{
	refuse_other_temp(rel, false);

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

	refuse_other_temp(rel, false);

	if (rel->rd_rel->relkind == RELKIND_INDEX && !rel->rd_index->indisready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(rel)),
				 errdetail("It is being built, or its build failed.")));
}

/* ----------
 * Tables whose data Citus keeps in shards
 *
 * On the coordinator of Citus, and on workers that have its metadata, a
 * distributed table is a shell.  Its pages, if any, are from before it was
 * distributed.  The shards are separate tables, mostly on other servers.
 *
 * Citus's catalog pg_dist_partition has a row for each such table; the library
 * need not be loaded.
 * ----------
 */

static void
set_true(void *found, const void *row)
{
	*(bool *) found = true;
}

/*
 * Is it a table that Citus distributes?  Without Citus, this is a look-up in the
 * server's catalog cache.
 */
bool
sst_is_distributed(Oid tableoid)
{
	Oid			catalog;
	AttrNumber	attno;
	bool		found = false;

	if (tableoid < FirstNormalObjectId)
		return false;
	catalog = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
	if (!OidIsValid(catalog) || !OidIsValid(get_extension_oid("citus", true)))
		return false;

	attno = get_attnum(catalog, "logicalrelid");
	if (attno == InvalidAttrNumber)
		return false;

	sst_read_catalog(catalog, get_relname_relid("pg_dist_partition_logical_relid_index",
												PG_CATALOG_NAMESPACE),
					 attno, tableoid, set_true, &found);

	return found;
}

/*
 * Return the translated note on a distributed table or one of its indexes, with the
 * query that asks the shards.  It is palloc'd in the current context.
 */
char *
sst_shards_note(Relation rel)
{
	bool		index = rel->rd_rel->relkind == RELKIND_INDEX;
	Oid			tableoid = index ? rel->rd_index->indrelid : RelationGetRelid(rel);
	char	   *name = quote_literal_cstr(quote_qualified_identifier(get_namespace_name(get_rel_namespace(tableoid)),
																	 get_rel_name(tableoid)));
	const char *command = index ?
		"SELECT json_agg(streamstat.index_stats(indexrelid)) FROM pg_index WHERE indrelid = %L::regclass" :
		"SELECT streamstat.table_stats(%L)";

	return psprintf(_("distributed by Citus, the data is in shards: SELECT * FROM run_command_on_shards(%s, $cmd$%s$cmd$)"),
					name, command);
}
