/*-------------------------------------------------------------------------
 *
 * one_relation.c
 *	  Calls about one relation, or about the tree of one: opening and scanning
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "api/api.h"

/* Has the target, which need not exist, a TOAST table? */
bool
sst_has_toast(const SstTarget *target)
{
	return target->rel != NULL &&
		OidIsValid(target->rel->rd_rel->reltoastrelid);
}

/*
 * Open the relation that argument 0 names: by its possibly qualified name if the
 * function takes text, else by its OID.  The argument is not null.
 */
Relation
sst_open_name_or_oid(FunctionCallInfo fcinfo)
{
	Oid		   *argtypes;
	int			nargs;

	(void) get_func_signature(fcinfo->flinfo->fn_oid, &argtypes, &nargs);

	return argtypes[0] == TEXTOID ?
		relation_openrv(makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0))),
						AccessShareLock) :
		relation_open(PG_GETARG_OID(0), AccessShareLock);
}

/*
 * Begin a call about the relation that argument 0 names, and open it; ERROR if it
 * is of none of the given kinds or cannot be read.
 */
void
sst_call_open(SstCall *call, FunctionCallInfo fcinfo, SstTarget *target,
			  int kinds)
{
	sst_call_begin(call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_target_adopt(target, relation_open(sst_relation_argument(fcinfo), AccessShareLock),
					 kinds, SST_RULES_TOLERANT);
	sst_call_set_relation(call, target->rel);
}

/* Do that; a relation that cannot be read is not opened, and has a note. */
void
sst_call_try_open(SstCall *call, FunctionCallInfo fcinfo, SstTarget *target,
				  int kinds)
{
	Oid			relid = sst_relation_argument(fcinfo);

	sst_call_begin(call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_target_try_open(target, relid, InvalidOid, kinds, true);
	if (target->rel != NULL)
		sst_call_set_relation(call, target->rel);
}

/* End the call, and close its relation if it is open. */
void
sst_call_close(SstCall *call, SstTarget *target)
{
	sst_call_end(call);
	sst_target_close(target);
}

/* ----------
 * The relations of a partition tree, one at a time
 *
 * Each is locked only while it is read, because a tree can have thousands.
 * ----------
 */

/*
 * Is the root one that the function reads, or could it have others below it that
 * the function reads?
 */
static bool
root_is_accepted(const SstTree *tree)
{
	const SstTarget *root = &tree->root;

	if (root->state != SST_TARGET_PARTITIONED)
		return root->state != SST_TARGET_MISSING && root->state != SST_TARGET_WRONG_KIND;

	return (tree->kinds & (root->rel->rd_rel->relkind == RELKIND_PARTITIONED_INDEX ?
						   SST_INDEX : SST_TABLE)) != 0;
}

/*
 * Begin a call about the relation that argument 0 names, and unless "alone" about those
 * below it.  Relations of the given kinds are read.  A root that is not accepted is the only
 * one, and has a note.  The tables of indexes are locked as long as the indexes.
 */
void
sst_tree_begin(SstTree *tree, FunctionCallInfo fcinfo, int kinds, bool alone)
{
	Oid			relid = sst_relation_argument(fcinfo);

	sst_call_begin(&tree->call, fcinfo, SST_PROGRESS_UNKNOWN,
				   SST_PROGRESS_UNKNOWN);
	tree->kinds = kinds;
	tree->next = 0;
	sst_target_try_open(&tree->root, relid, sst_index_table(relid), kinds, true);
	if (tree->root.rel != NULL)
		sst_call_set_relation(&tree->call, tree->root.rel);

	tree->alone = alone || !root_is_accepted(tree);
	tree->members = tree->alone ? list_make1_oid(relid) :
		find_all_inheritors(relid, NoLock, NULL);
	tree->has_sum = list_length(tree->members) > 1 ||
		(!tree->alone && tree->root.state == SST_TARGET_PARTITIONED);
	sst_progress_totals(list_length(tree->members), SST_PROGRESS_UNKNOWN);
}

/*
 * Open the next relation, which the caller closes; false at the end.  Partitioned
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
		sst_target_try_open(target, relid, sst_index_table(relid), tree->kinds, true);
		if (tree->alone || (target->state != SST_TARGET_MISSING &&
							target->state != SST_TARGET_PARTITIONED))
			return true;
		sst_target_close(target);
	}

	return false;
}

/* End the call, and close the root. */
void
sst_tree_end(SstTree *tree)
{
	sst_call_end(&tree->call);
	sst_target_close(&tree->root);
}
