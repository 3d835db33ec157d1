/*-------------------------------------------------------------------------
 *
 * pick.c
 *	  The commands that give back most within some time
 *
 * Commands are taken, those first that give back most for each second, and left out again, the
 * last one first, as long as others could give back more than the best set so far if a part of
 * one could be run.  Of very many commands, the search ends before all has been tried: the first
 * sets are nearly the best then, as none of these takes much of the time.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "report/plan.h"

/* Commands that the search looks at, each time again */
#define MAX_STEPS 10000000

/* Worth more than all bytes there are; and less than one */
#define REPAIR_GAIN 1e16
#define LEAST_GAIN 0.001

static double
worth(const SstChoice *choice)
{
	return isnan(choice->gain) ? REPAIR_GAIN : Max(choice->gain, LEAST_GAIN);
}

/* The most bytes for each second first; seconds are not NaN */
static int
compare_rates(const void *a, const void *b)
{
	const SstChoice *left = *(SstChoice *const *) a;
	const SstChoice *right = *(SstChoice *const *) b;
	double		rates[2] = {worth(left) * right->seconds, worth(right) * left->seconds};

	if (rates[0] != rates[1])
		return rates[0] < rates[1] ? 1 : -1;
	return (left > right) - (left < right);
}

/*
 * Could these commands, which are sorted by their rates, give back more than that in so many
 * seconds, if a part of one could be run?
 */
static bool
could_give_more(SstChoice *const *order, int n, double seconds, double wanted, int64 *steps)
{
	for (int i = 0; i < n; i++)
	{
		double		part = order[i]->seconds <= seconds ? 1 : seconds / order[i]->seconds;

		(*steps)++;
		wanted -= part * worth(order[i]);
		if (wanted < 0)
			return true;
		if (part < 1)
			return false;
		seconds -= order[i]->seconds;
	}
	return false;
}

/*
 * Pick among n commands what gives back most within so many seconds; of two that give back
 * the same in the same time, the first.
 */
void
sst_pick(SstChoice *choices, int n, double seconds)
{
	SstChoice **order = palloc_extended(sizeof(SstChoice *) * (n + 1), MCXT_ALLOC_HUGE);
	bool	   *taken = palloc_extended(n + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	double		gain = 0;
	double		most = -1;
	int64		steps = 0;
	int			nfit = 0;

	for (int i = 0; i < n; i++)
	{
		choices[i].picked = false;
		if (choices[i].seconds <= seconds)
			order[nfit++] = &choices[i];
	}
	qsort(order, nfit, sizeof(SstChoice *), compare_rates);

	for (int i = 0;; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (; i < nfit && steps < MAX_STEPS &&
			 could_give_more(order + i, nfit - i, seconds, most - gain, &steps); i++)
		{
			taken[i] = order[i]->seconds <= seconds;
			if (!taken[i])
				continue;
			seconds -= order[i]->seconds;
			gain += worth(order[i]);
		}
		if (i == nfit && gain > most)
		{
			most = gain;
			for (int k = 0; k < nfit; k++)
				order[k]->picked = taken[k];
		}

		/* Go on without the last one that was taken. */
		do
			i--;
		while (i >= 0 && !taken[i]);
		if (i < 0 || steps >= MAX_STEPS)
			break;
		taken[i] = false;
		seconds += order[i]->seconds;
		gain -= worth(order[i]);
	}
	pfree(taken);
	pfree(order);
}
