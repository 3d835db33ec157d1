/*-------------------------------------------------------------------------
 *
 * saved_cache_names.c
 *	  The names by which relations are saved and found
 *
 * TOAST tables are named by OIDs, which a restored database does not have.  So they
 * and their indexes go by the names of their tables.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_names.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "warm/saved_cache_names.h"

/*
 * Set the kind and the name under which a listed relation is saved; they point into
 * the list.  False if there is none: a TOAST table without a table, or an index of a
 * TOAST table that is not in use.
 */
bool
sst_name_to_save(const SstRelations *list, const SstRelation *relation,
				 SstSavedRelation *name)
{
	const SstRelation *parent = OidIsValid(relation->parent) ?
		sst_find_relation(list, relation->parent) : NULL;

	name->schema = relation->schema;
	name->name = relation->name;
	if (relation->relkind == RELKIND_INDEX)
	{
		name->kind = SST_SAVED_INDEX;
		if (parent == NULL || parent->relkind != RELKIND_TOASTVALUE)
			return true;
		name->kind = SST_SAVED_TOAST_INDEX;
		if (!relation->valid)
			return false;
		parent = sst_find_relation(list, parent->parent);
	}
	else if (relation->relkind == RELKIND_TOASTVALUE)
		name->kind = SST_SAVED_TOAST;
	else
	{
		name->kind = relation->relkind == RELKIND_MATVIEW ? SST_SAVED_MATVIEW :
			SST_SAVED_TABLE;
		return true;
	}

	if (parent == NULL)
		return false;
	name->schema = parent->schema;
	name->name = parent->name;
	return true;
}

/* A table may have become a materialized view: kinds are compared without that. */
static char
comparable_kind(char kind)
{
	return kind == SST_SAVED_MATVIEW ? SST_SAVED_TABLE : kind;
}

static int
compare_names(const void *a, const void *b)
{
	const SstSavedRelation *left = &((const SstNamedRelation *) a)->name;
	const SstSavedRelation *right = &((const SstNamedRelation *) b)->name;
	int			result = strcmp(left->name, right->name);

	if (result == 0)
		result = strcmp(left->schema, right->schema);
	return result != 0 ? result :
		comparable_kind(left->kind) - comparable_kind(right->kind);
}

/*
 * Sort the relations of a list by name.  The result is allocated in the current memory
 * context, and points into the list.
 */
void
sst_index_names(const SstRelations *list, SstNamedRelations *names)
{
	names->n = 0;
	names->named = MemoryContextAllocHuge(CurrentMemoryContext,
										  sizeof(SstNamedRelation) *
										  (Size) Max(list->n, 1));
	for (int i = 0; i < list->n; i++)
	{
		SstNamedRelation *named = &names->named[names->n];

		CHECK_FOR_INTERRUPTS();
		named->relation = &list->relation[i];
		if (sst_name_to_save(list, named->relation, &named->name))
			names->n++;
	}
	qsort(names->named, names->n, sizeof(SstNamedRelation), compare_names);
}

/* Find a relation by the name under which it was saved, or return NULL. */
const SstRelation *
sst_find_saved_relation(const SstNamedRelations *names,
						const SstSavedRelation *name)
{
	SstNamedRelation key = {.name = *name};
	SstNamedRelation *found = bsearch(&key, names->named, names->n,
									  sizeof(SstNamedRelation), compare_names);

	return found != NULL ? found->relation : NULL;
}
