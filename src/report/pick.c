/*-------------------------------------------------------------------------
 *
 * pick.c
 *	  The commands that give back most within some time
 *
 * The time is cut into slots, and for each number of slots it is known how much the
 * commands up to one give back at most.  The rounding to slots is carried on, so that many
 * short commands take as many slots as they take time.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "report/plan.h"

#define SLOTS 1000

/* Slots that rounding may take too many of: one of each command, where these are few */
#define ROUNDED_SLOTS 10

/* Size of one command's bitmap, which has a bit for each number of slots */
#define ROW_BYTES (SLOTS / 8 + 1)

/* Worth more than all bytes there are; and less than one */
#define REPAIR_GAIN 1e18
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
 * Pick the commands that the slots were found to be best used by, and again leave the last
 * of these out while they take longer than that.  Returns what they give back.
 */
static double
pick_by_slots(SstChoice **order, int n, const uint8 *taken, int slots, double seconds)
{
	double		gain = 0;

	for (int i = n - 1; i >= 0; i--)
	{
		SstChoice  *choice = order[i];

		choice->picked = (taken[(Size) i * ROW_BYTES + slots / 8] & 1 << slots % 8) != 0;
		if (!choice->picked)
			continue;
		slots -= choice->slots;
		seconds -= choice->seconds;
		gain += worth(choice);
	}
	for (int i = n - 1; i >= 0 && seconds < 0; i--)
	{
		if (!order[i]->picked)
			continue;
		order[i]->picked = false;
		seconds += order[i]->seconds;
		gain -= worth(order[i]);
	}

	return gain;
}

/*
 * Pick among n commands what gives back most within so many seconds; of two that give back
 * the same in the same time, the first.  The best use of all slots can take longer than that
 * by rounding, so that a few less can be better.
 */
void
sst_pick(SstChoice *choices, int n, double seconds)
{
	SstChoice **order = palloc_extended(sizeof(SstChoice *) * (n + 1), MCXT_ALLOC_HUGE);
	double		best[SLOTS + 1] = {0};
	uint8	   *taken;
	double		carry = 0;
	double		most = -1;
	int			nfit = 0;
	int			best_slots = SLOTS;

	for (int i = 0; i < n; i++)
	{
		choices[i].picked = false;
		if (choices[i].seconds <= seconds)
			order[nfit++] = &choices[i];
	}
	qsort(order, nfit, sizeof(SstChoice *), compare_rates);

	taken = palloc_extended((Size) nfit * ROW_BYTES + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < nfit; i++)
	{
		SstChoice  *choice = order[i];

		CHECK_FOR_INTERRUPTS();
		carry += seconds > 0 ? choice->seconds / seconds * SLOTS : 0;
		choice->slots = rint(carry);
		carry -= choice->slots;
		for (int slot = SLOTS; slot >= choice->slots; slot--)
		{
			double		gain = best[slot - choice->slots] + worth(choice);

			if (gain <= best[slot])
				continue;
			best[slot] = gain;
			taken[(Size) i * ROW_BYTES + slot / 8] |= 1 << slot % 8;
		}
	}
	for (int slots = SLOTS; slots >= SLOTS - ROUNDED_SLOTS; slots--)
	{
		double		gain = pick_by_slots(order, nfit, taken, slots, seconds);

		if (gain <= most)
			continue;
		most = gain;
		best_slots = slots;
	}
	(void) pick_by_slots(order, nfit, taken, best_slots, seconds);
	pfree(taken);
	pfree(order);
}
