/*-------------------------------------------------------------------------
 *
 * pick.c
 *	  The commands that give back most within some time, held against all sets of them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "report/plan.h"
#include "test_estimate.h"

#define MAX_COMMANDS 6
#define TRIALS 20000

/* Sum up the commands of a set, or those that are picked. */
static double
sum_of(const SstChoice *choices, int n, int set, double *seconds)
{
	double		gain = 0;

	*seconds = 0;
	for (int i = 0; i < n; i++)
	{
		if ((set & 1 << i) == 0)
			continue;
		gain += choices[i].gain;
		*seconds += choices[i].seconds;
	}
	return gain;
}

/* What the best set gives back within some time */
static double
best_within(const SstChoice *choices, int n, double seconds)
{
	double		best = 0;

	for (int set = 0; set < 1 << n; set++)
	{
		double		needed;
		double		gain = sum_of(choices, n, set, &needed);

		if (needed <= seconds)
			best = Max(best, gain);
	}
	return best;
}

void
test_pick(void)
{
	int			nlate = 0;
	int			nworse = 0;

	random_start(7);
	for (int trial = 0; trial < TRIALS; trial++)
	{
		SstChoice	choices[MAX_COMMANDS] = {0};
		int			n = 1 + (int) (random_unit() * MAX_COMMANDS);
		double		seconds;
		double		needed;
		double		gain;
		int			picked = 0;

		for (int i = 0; i < n; i++)
		{
			choices[i].gain = 1 + random_unit() * 1e6;
			choices[i].seconds = 0.01 + random_unit();
		}

		/* A set only just fits, or does not. */
		sum_of(choices, n, 1 + (int) (random_unit() * ((1 << n) - 1)), &seconds);
		seconds *= 0.99 + 0.02 * random_unit();

		sst_pick(choices, n, seconds);
		for (int i = 0; i < n; i++)
			picked |= choices[i].picked << i;
		gain = sum_of(choices, n, picked, &needed);
		nlate += needed > seconds * (1 + 1e-9);
		nworse += gain < best_within(choices, n, seconds * (1 - 1e-9)) * (1 - 1e-9);
	}
	check(nlate == 0, "what is picked takes no longer than it may");
	check(nworse == 0, "nothing gives back more within the time");
}
