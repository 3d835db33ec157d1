/*-------------------------------------------------------------------------
 *
 * family.c
 *	  A table with its maps, indexes and TOAST table
 *
 * The order is: the maps, which are small and save other reads, then the
 * indexes, the table, and the TOAST table.  When memory is full, the rest is
 * skipped.  Everything comes from a list of relations; none is opened or
 * locked.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/family.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "relation/refuse.h"
#include "warm/family.h"
#include "warm/rights.h"

/* The set in the making */
typedef struct Builder
{
	SstWarmSet *set;
	const SstRelations *relations;
	const SstWarmParts *parts;
	bool		may_warm_all;
	bool	   *added;			/* by place in the list: each relation once */

	/* The indexes in the list, by table, then by OID */
	int			nindexes;
	const SstRelation **indexes;
} Builder;

static int
compare_by_table(const void *a, const void *b)
{
	const SstRelation *left = *(const SstRelation *const *) a;
	const SstRelation *right = *(const SstRelation *const *) b;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	return (left->relid > right->relid) - (left->relid < right->relid);
}

static void
sort_indexes(Builder *builder)
{
	const SstRelations *relations = builder->relations;

	builder->nindexes = 0;
	builder->indexes = palloc_extended(sizeof(SstRelation *) * (relations->n + 1),
									   MCXT_ALLOC_HUGE);
	for (int i = 0; i < relations->n; i++)
	{
		if (relations->relation[i].relkind == RELKIND_INDEX)
			builder->indexes[builder->nindexes++] = &relations->relation[i];
	}
	qsort(builder->indexes, builder->nindexes, sizeof(SstRelation *),
		  compare_by_table);
}

/* The place of a table's first index; *n is how many it has. */
static int
find_indexes(const Builder *builder, Oid tableoid, int *n)
{
	int			low = 0;
	int			high = builder->nindexes;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (builder->indexes[middle]->parent < tableoid)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < builder->nindexes &&
		 builder->indexes[low + *n]->parent == tableoid;)
		(*n)++;

	return low;
}

/* ----------
 * One relation
 * ----------
 */

/* Why a relation cannot be warmed, translated; or NULL */
static const char *
refusal(const SstRelation *relation)
{
	SstTargetState state = sst_listed_state(relation);

	if (!RELKIND_HAS_STORAGE(relation->relkind))
		return sst_no_storage_note(relation->relkind);
	if (relation->persistence == RELPERSISTENCE_TEMP && !relation->other_temp)
		return sst_temporary_note();
	return state == SST_TARGET_INVALID ? NULL : sst_state_note(state);
}

/* Is the relation added for the first time?  If it cannot be warmed, its note is. */
static bool
begin_relation(Builder *builder, const SstRelation *relation)
{
	bool	   *added = &builder->added[relation - builder->relations->relation];
	const char *note = refusal(relation);

	if (*added)
		return false;
	*added = true;
	if (note != NULL)
		sst_warm_set_add_note(builder->set, relation, note);

	return note == NULL;
}

/* Add all blocks of a map, if the relation has it. */
static void
add_map(Builder *builder, const SstRelation *relation, ForkNumber forknum)
{
	int64		bytes = sst_fork_bytes(&relation->files, forknum);

	if (bytes >= 0)
		sst_warm_set_add_range(builder->set,
							   sst_warm_set_add_fork(builder->set, relation,
													 forknum, bytes),
							   0, InvalidBlockNumber);
}

static void
add_maps(Builder *builder, const SstRelation *relation)
{
	if (builder->parts->only_upper)
		return;
	if (relation->relkind != RELKIND_INDEX)
		add_map(builder, relation, VISIBILITYMAP_FORKNUM);
	add_map(builder, relation, FSM_FORKNUM);
}

/*
 * Add the main fork.  Only for b-trees, and without blocks, if it is only about their
 * inner pages.
 */
static void
add_main(Builder *builder, const SstRelation *relation)
{
	int			fork;

	if (builder->parts->only_maps ||
		(builder->parts->only_upper && relation->amoid != BTREE_AM_OID))
		return;
	fork = sst_warm_set_add_fork(builder->set, relation, MAIN_FORKNUM,
								 relation->bytes);
	if (!builder->parts->only_upper)
		sst_warm_set_add_range(builder->set, fork, 0, InvalidBlockNumber);
}

/* ----------
 * A relation with what belongs to it
 * ----------
 */

static void
add_index(Builder *builder, const SstRelation *index, bool maps)
{
	if (!begin_relation(builder, index))
		return;
	if (maps)
		add_maps(builder, index);
	add_main(builder, index);
}

static void
add_indexes(Builder *builder, Oid tableoid)
{
	int			n;
	int			first = find_indexes(builder, tableoid, &n);

	for (int i = first; i < first + n; i++)
		add_index(builder, builder->indexes[i], builder->parts->maps);
}

/* A TOAST table is of no use without its index, nor is that without it. */
static void
add_toast(Builder *builder, const SstRelation *toast)
{
	if (!begin_relation(builder, toast))
		return;
	if (builder->parts->maps)
		add_maps(builder, toast);
	add_indexes(builder, toast->relid);
	add_main(builder, toast);
}

static void
add_table(Builder *builder, const SstRelation *table)
{
	const SstRelation *toast = sst_find_relation(builder->relations,
												 table->toastrelid);

	if (!begin_relation(builder, table))
		return;
	if (builder->parts->maps)
		add_maps(builder, table);
	if (builder->parts->indexes)
		add_indexes(builder, table->relid);
	add_main(builder, table);
	if (builder->parts->toast && toast != NULL)
		add_toast(builder, toast);
}

/*
 * May the user warm a unit?  Who may read a partitioned table may read its partitions
 * through it.
 */
static bool
is_permitted(const Builder *builder, const SstWarmUnit *unit)
{
	return builder->may_warm_all || sst_may_warm(sst_table_of(unit->relid)) ||
		(unit->named != unit->relid && sst_may_warm(sst_table_of(unit->named)));
}

static void
add_unit(Builder *builder, const SstWarmUnit *unit)
{
	const SstRelation *relation = sst_find_relation(builder->relations,
													unit->relid);
	SstRelation *missing;

	if (relation == NULL)
	{
		missing = palloc0(sizeof(SstRelation));
		missing->relid = unit->relid;
		sst_warm_set_add_note(builder->set, missing,
							  sst_state_note(SST_TARGET_MISSING));
	}
	else if (!is_permitted(builder, unit))
		sst_warm_set_add_note(builder->set, relation, _("permission denied"));
	else if (relation->relkind == RELKIND_INDEX)
		add_index(builder, relation, true);
	else if (relation->relkind == RELKIND_TOASTVALUE)
		add_toast(builder, relation);
	else
		add_table(builder, relation);
}

/*
 * Add relations to a set, each with what belongs to it and is asked for, and each
 * once.  An index alone is added whatever is asked for of tables.  What does not
 * exist, cannot be warmed or is not permitted gets a note.  The set refers to the list
 * of relations.
 *
 * With parts->only_upper, the forks of b-trees have no ranges yet.
 */
void
sst_add_units(SstWarmSet *set, const SstRelations *relations,
			  const SstWarmUnits *units, const SstWarmParts *parts)
{
	Builder		builder = {
		.set = set,
		.relations = relations,
		.parts = parts,
		.may_warm_all = sst_may_warm_all()
	};

	builder.added = palloc0(relations->n + 1);
	sort_indexes(&builder);
	for (int i = 0; i < units->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_unit(&builder, &units->units[i]);
	}
	pfree(builder.indexes);
	pfree(builder.added);
}
