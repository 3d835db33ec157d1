/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  The relations of a partition tree, one at a time
 *
 * Each is locked only while it is read, because a tree can have thousands.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "api/arguments.h"
#include "api/tree.h"
#include "run/progress.h"

/* Open a relation of the tree; of an index, lock the table first. */
static void
open_member(const SstTree *tree, Oid relid, SstTarget *target, Oid *tableoid)
{
	sst_target_try_open_with_table(target, relid, tree->kinds, tableoid);
}

static void
close_member(SstTarget *target, Oid tableoid)
{
	sst_target_close(target);
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);
}

/*
 * Is the root one that the function reads, or could it have others below it that
 * the function reads?
 */
static bool
root_is_accepted(const SstTree *tree)
{
	switch (tree->root.state)
	{
		case SST_TARGET_MISSING:
		case SST_TARGET_WRONG_KIND:
			return false;
		case SST_TARGET_PARTITIONED:
			return tree->root.rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ?
				(tree->kinds & SST_ANY_INDEX) != 0 :
				(tree->kinds & SST_TABLE) != 0;
		default:
			return true;
	}
}

/*
 * Begin a call about the tree of the relation that argument 0 names, of which
 * relations of the given kinds are read.  A root that is not accepted is the only
 * one, and has a note.  The tables of indexes are locked as long as the indexes.
 */
void
sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds)
{
	Oid			relid = sst_relation_argument(fcinfo);

	sst_call_begin(&tree->call, fcinfo, SST_PROGRESS_UNKNOWN,
				   SST_PROGRESS_UNKNOWN);
	tree->kinds = kinds;
	tree->next = 0;
	open_member(tree, relid, &tree->root, &tree->root_table);
	if (tree->root.rel != NULL)
		sst_call_set_relation(&tree->call, tree->root.rel);

	tree->alone = !root_is_accepted(tree);
	tree->members = tree->alone ? list_make1_oid(relid) :
		find_all_inheritors(relid, NoLock, NULL);
	tree->has_sum = list_length(tree->members) > 1 ||
		(!tree->alone && tree->root.state == SST_TARGET_PARTITIONED);
	sst_progress_totals(list_length(tree->members), SST_PROGRESS_UNKNOWN);
}

/* Set up the sum of the tree. */
void
sst_tree_init_sum(const SstTree *tree, SstRelationStats *sum)
{
	sst_relation_stats_init(sum, &tree->root);
	sum->nblocks = 0;
	sum->unread = false;
	sum->is_sum = true;
	sum->note = NULL;
}

/*
 * Open the next relation, which sst_tree_close() closes; false at the end.  Partitioned
 * ones are left out, and those that are gone by now.  Others that cannot be read
 * have a note.
 */
bool
sst_tree_next(SstTree *tree, SstTarget *target)
{
	while (tree->next < list_length(tree->members))
	{
		Oid			relid = list_nth_oid(tree->members, tree->next++);

		CHECK_FOR_INTERRUPTS();
		sst_progress_relations(tree->next - 1);
		open_member(tree, relid, target, &tree->table);
		if (tree->alone || (target->state != SST_TARGET_MISSING &&
							target->state != SST_TARGET_PARTITIONED))
			return true;
		sst_tree_close(tree, target);
	}

	return false;
}

/* Close the relation that sst_tree_next() has opened. */
void
sst_tree_close(SstTree *tree, SstTarget *target)
{
	close_member(target, tree->table);
}

/* End the call, and close the root. */
void
sst_tree_end(SstTree *tree)
{
	sst_call_end(&tree->call);
	close_member(&tree->root, tree->root_table);
}

/* Add what was found of one relation to a sum, where block numbers say nothing. */
void
sst_add_to_sum(SstRelationStats *sum, const SstRelationStats *found)
{
	sum->nblocks += found->nblocks;
	sst_counters_merge(&sum->counters, &found->counters);
	sum->counters.first_new = InvalidBlockNumber;
	sum->counters.first_corrupt = InvalidBlockNumber;
}
