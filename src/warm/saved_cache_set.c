/*-------------------------------------------------------------------------
 *
 * saved_cache_set.c
 *	  The part of a saved cache that can be loaded here
 *
 * The relations of the database are listed once, and the saved ones are looked
 * up by name in that list.  A relation that cannot be loaded has a note, and
 * does not affect the rest.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "relation/refuse.h"
#include "warm/rights.h"
#include "warm/saved_cache_names.h"
#include "warm/saved_cache_set.h"
#include "warm/set.h"

/* Forks that are saved: main, fsm, vm */
#define SAVED_FORKS (VISIBILITYMAP_FORKNUM + 1)

/* A relation that is only known by name */
static SstRelation *
missing_relation(const SstSavedRelation *name)
{
	SstRelation *relation = palloc0(sizeof(SstRelation));

	relation->relid = InvalidOid;
	relation->bytes = -1;
	switch (name->kind)
	{
		case SST_SAVED_INDEX:
		case SST_SAVED_TOAST_INDEX:
			relation->relkind = RELKIND_INDEX;
			break;
		case SST_SAVED_TOAST:
			relation->relkind = RELKIND_TOASTVALUE;
			break;
		case SST_SAVED_MATVIEW:
			relation->relkind = RELKIND_MATVIEW;
			break;
		default:
			relation->relkind = RELKIND_RELATION;
	}
	if (name->kind == SST_SAVED_TOAST || name->kind == SST_SAVED_TOAST_INDEX)
	{
		relation->parent_schema = name->schema;
		relation->parent_name = name->name;
	}
	else
	{
		relation->schema = name->schema;
		relation->name = name->name;
	}

	return relation;
}

/* The table of an index, or of a TOAST table and its index; else the relation */
static Oid
table_of(const SstRelations *list, const SstRelation *relation)
{
	while (relation->relkind == RELKIND_INDEX ||
		   relation->relkind == RELKIND_TOASTVALUE)
	{
		relation = sst_find_relation(list, relation->parent);
		if (relation == NULL)
			return InvalidOid;
	}

	return relation->relid;
}

/* Return the translated note on a relation that cannot be warmed, else NULL. */
static const char *
refusal(const SstRelations *list, const SstRelation *relation)
{
	SstTargetState state = sst_listed_state(relation);

	/* No saved cache has one, but anybody can write such a text. */
	if (relation->persistence == RELPERSISTENCE_TEMP && !relation->other_temp)
		return sst_temporary_note();
	if (state != SST_TARGET_READABLE && state != SST_TARGET_INVALID)
		return sst_state_note(state);
	if (!sst_may_warm_all() && !sst_may_warm(table_of(list, relation)))
		return _("permission denied");
	return NULL;
}

/* Add a fork of a saved relation; returns its index. */
static int
add_fork(SstWarmSet *set, const SstRelations *list,
		 const SstNamedRelations *names, const SstSavedRelation *name,
		 ForkNumber forknum)
{
	const SstRelation *relation = sst_find_saved_relation(names, name);
	const char *note = relation == NULL ? sst_state_note(SST_TARGET_MISSING) :
		refusal(list, relation);
	int			fork;

	if (relation == NULL)
		relation = missing_relation(name);
	fork = sst_warm_set_add_fork(set, relation, forknum, note == NULL &&
								 forknum == MAIN_FORKNUM ? relation->bytes : -1);
	set->forks[fork].note = note;

	return fork;
}

/*
 * Make the set of a saved cache's ranges, in their order, of blocks with this usage
 * count or a higher one.  Relations that cannot be loaded have a note.
 *
 * The set is allocated in the current memory context, and points into *saved.
 */
void
sst_saved_cache_set(const SstSavedCache *saved, int min_usage, SstWarmSet *set)
{
	SstRelations *list = palloc(sizeof(SstRelations));
	SstNamedRelations names;
	Size		nforks = (Size) saved->nrelations * SAVED_FORKS;
	int		   *forks = palloc_extended(sizeof(int) * Max(nforks, 1),
										MCXT_ALLOC_HUGE);

	for (Size i = 0; i < nforks; i++)
		forks[i] = -1;
	sst_list_relations(list);
	sst_index_names(list, &names);

	sst_warm_set_init(set);
	for (int64 i = 0; i < saved->nranges; i++)
	{
		const SstSavedRange *range = &saved->ranges[i];
		int		   *fork = &forks[(Size) range->relation * SAVED_FORKS +
								  range->forknum];

		CHECK_FOR_INTERRUPTS();
		if (range->usage < min_usage)
			break;				/* the hottest come first */
		if (*fork < 0)
			*fork = add_fork(set, list, &names,
							 &saved->relations[range->relation], range->forknum);
		sst_warm_set_add_range(set, *fork, range->first, range->end);
	}
	pfree(forks);
	pfree(names.named);
}

/*
 * After a set was warmed: note how many of its blocks a fork does not have, unless
 * there is another note.
 */
void
sst_note_cut_ranges(SstWarmSet *set)
{
	int64	   *ncut = MemoryContextAllocExtended(CurrentMemoryContext, sizeof(int64) *
												  (Size) Max(set->nforks, 1),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int64 i = 0; i < set->nranges; i++)
	{
		const SstWarmRange *range = &set->ranges[i];
		BlockNumber nblocks = set->forks[range->fork].nblocks;

		if (range->end > nblocks)
			ncut[range->fork] += range->end - Max(range->first, nblocks);
	}
	for (int i = 0; i < set->nforks; i++)
	{
		if (ncut[i] > 0 && set->forks[i].note == NULL)
			set->forks[i].note =
				psprintf(ngettext("%lld saved block is past the end of the fork",
								  "%lld saved blocks are past the end of the fork",
								  ncut[i]), (long long) ncut[i]);
	}
	pfree(ncut);
}
