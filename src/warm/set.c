/*-------------------------------------------------------------------------
 *
 * set.c
 *	  A set of ranges to warm, while it grows
 *
 * An array is doubled when its length is a power of two, so that the set needs
 * no count of what is allocated.  Only this file may add to the arrays of a
 * set.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "warm/set.h"

/* Elements that an array has room for at first: a power of two */
#define FIRST_LENGTH 16

/* Make an array of n elements large enough for another one. */
static void *
grow(void *array, int64 n, Size size)
{
	if (n < FIRST_LENGTH || (n & (n - 1)) != 0)
		return array;

	return repalloc_huge(array, size * n * 2);
}

/* Make an empty set, in the current memory context. */
void
sst_warm_set_init(SstWarmSet *set)
{
	set->nforks = 0;
	set->forks = palloc(sizeof(SstWarmFork) * FIRST_LENGTH);
	set->nranges = 0;
	set->ranges = palloc(sizeof(SstWarmRange) * FIRST_LENGTH);
}

/*
 * Add a fork of a relation, which is not copied.  bytes is its size as far as it is
 * known, or -1.  Returns the fork's index.
 */
int
sst_warm_set_add_fork(SstWarmSet *set, const SstRelation *relation,
					  ForkNumber forknum, int64 bytes)
{
	SstWarmFork *fork;

	set->forks = grow(set->forks, set->nforks, sizeof(SstWarmFork));
	fork = &set->forks[set->nforks];
	memset(fork, 0, sizeof(SstWarmFork));
	fork->relation = relation;
	fork->forknum = forknum;
	fork->nblocks = bytes < 0 ? InvalidBlockNumber : (BlockNumber) (bytes / BLCKSZ);
	fork->next_block = InvalidBlockNumber;

	return set->nforks++;
}

/* Add a relation of which nothing can be warmed, and why. */
void
sst_warm_set_add_note(SstWarmSet *set, const SstRelation *relation,
					  const char *note)
{
	int			fork = sst_warm_set_add_fork(set, relation, InvalidForkNumber, -1);

	set->forks[fork].note = note;
}

/* Add blocks of a fork, InvalidBlockNumber for those up to its end. */
void
sst_warm_set_add_range(SstWarmSet *set, int fork, BlockNumber first,
					   BlockNumber end)
{
	SstWarmRange *range;

	set->ranges = grow(set->ranges, set->nranges, sizeof(SstWarmRange));
	range = &set->ranges[set->nranges++];
	range->fork = fork;
	range->first = first;
	range->end = end;
}

/*
 * Count what progress is reported of: blocks of the ranges, as far as sizes are
 * known, and relations, again when the set comes back to one.
 */
void
sst_warm_set_totals(const SstWarmSet *set, int64 *nrelations, int64 *nblocks)
{
	const SstRelation *last = NULL;

	*nrelations = *nblocks = 0;
	for (int64 i = 0; i < set->nranges; i++)
	{
		const SstWarmRange *range = &set->ranges[i];
		const SstWarmFork *fork = &set->forks[range->fork];
		BlockNumber end = Min(range->end, fork->nblocks);

		if (fork->note != NULL)
			continue;
		*nrelations += fork->relation != last;
		last = fork->relation;
		if (end != InvalidBlockNumber && end > range->first)
			*nblocks += end - range->first;
	}
}
