/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  The relations of a partition tree, one after the other
 *
 * Each is locked while it is looked at, and no longer: a tree can have thousands.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"

#include "api/tree.h"
#include "run/progress.h"

/*
 * Open the relation that argument 0 names: a partitioned one, or one of the
 * given kinds, which then is the first of its tree.  The sum is set up; a tree of
 * just one relation that can be read has none.
 */
void
sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds,
			   char partitioned_relkind, SstRelationStats *sum,
			   const char *function)
{
	SstTarget	target;
	Oid			relid;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("relation cannot be null")));
	relid = PG_GETARG_OID(0);

	INSTR_TIME_SET_CURRENT(tree->start);
	tree->root = relation_open(relid, AccessShareLock);
	if (tree->root->rd_rel->relkind != partitioned_relkind)
		sst_require_kind(tree->root, kinds);
	sst_target_examine(&target, tree->root);

	tree->members = find_all_inheritors(relid, NoLock, NULL);
	tree->next = 0;
	tree->has_sum = list_length(tree->members) > 1 ||
		tree->root->rd_rel->relkind == partitioned_relkind;
	tree->function = function;
	sst_progress_begin(function, list_length(tree->members),
					   SST_PROGRESS_UNKNOWN);
	sst_io_stats_init(&tree->io_stats, sst_choose_io_path(tree->root));

	sst_relation_stats_init(sum, &target);
	sum->nblocks = 0;
	sum->unread = false;
	sum->is_sum = true;
	sum->note = NULL;
}

/*
 * Open the next relation; false at the end.  Partitioned ones are left out, and
 * those that are gone by now.  Others that cannot be read have a note.
 */
bool
sst_tree_next(SstTree *tree, SstTarget *target)
{
	while (tree->next < list_length(tree->members))
	{
		Oid			relid = list_nth_oid(tree->members, tree->next++);
		Relation	rel = try_relation_open(relid, AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		sst_progress_relations(tree->next - 1);
		if (rel == NULL)
			continue;

		if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
			rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		{
			relation_close(rel, AccessShareLock);
			continue;
		}

		sst_target_examine(target, rel);
		return true;
	}

	return false;
}

/* Close the root. */
void
sst_tree_end(SstTree *tree)
{
	sst_remember_call(tree->function, RelationGetRelid(tree->root), tree->start,
					  &tree->io_stats);
	relation_close(tree->root, AccessShareLock);
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
