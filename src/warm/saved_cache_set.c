/*-------------------------------------------------------------------------
 *
 * saved_cache_set.c
 *	  What of a saved cache can be loaded here
 *
 * The relations of the database are listed once, and the saved ones are looked up by
 * name in that list.  What cannot be loaded has a note, and takes nothing from the
 * rest.
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
#include "warm/saved_cache_names.h"
#include "warm/saved_cache_set.h"
#include "warm/warm_note.h"

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

static void
set_fork(SstWarmFork *fork, const SstRelations *list,
		 const SstNamedRelations *names, const SstSavedRelation *name,
		 ForkNumber forknum)
{
	memset(fork, 0, sizeof(SstWarmFork));
	fork->forknum = forknum;
	fork->nblocks = fork->next_block = InvalidBlockNumber;
	fork->relation = sst_find_saved_relation(names, name);
	if (fork->relation == NULL)
	{
		fork->relation = missing_relation(name);
		fork->note = sst_state_note(SST_TARGET_MISSING);
	}
	else
		fork->note = sst_warm_note(list, fork->relation);
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
	int		   *forks = MemoryContextAllocExtended(CurrentMemoryContext,
												   sizeof(int) * Max(nforks, 1),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	/* The hottest come first. */
	set->nranges = 0;
	while (set->nranges < saved->nranges &&
		   saved->ranges[set->nranges].usage >= min_usage)
	{
		const SstSavedRange *range = &saved->ranges[set->nranges++];

		forks[(Size) range->relation * SAVED_FORKS + range->forknum] = 1;
	}

	sst_list_relations(list);
	sst_index_names(list, &names);
	set->nforks = 0;
	for (Size i = 0; i < nforks; i++)
		set->nforks += forks[i];
	set->forks = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(SstWarmFork) *
										(Size) Max(set->nforks, 1));
	set->nforks = 0;
	for (Size i = 0; i < nforks; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (forks[i] == 0)
			continue;
		forks[i] = set->nforks++;
		set_fork(&set->forks[forks[i]], list, &names,
				 &saved->relations[i / SAVED_FORKS], i % SAVED_FORKS);
	}

	set->ranges = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(SstWarmRange) *
										 (Size) Max(set->nranges, 1));
	for (int64 i = 0; i < set->nranges; i++)
	{
		const SstSavedRange *range = &saved->ranges[i];

		set->ranges[i].fork = forks[(Size) range->relation * SAVED_FORKS + range->forknum];
		set->ranges[i].first = range->first;
		set->ranges[i].end = range->end;
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
				psprintf(ngettext("%lld saved block lies beyond its end",
								  "%lld saved blocks lie beyond its end",
								  ncut[i]), (long long) ncut[i]);
	}
	pfree(ncut);
}
