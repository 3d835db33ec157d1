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
 * IDENTIFICATION
 *	  src/report/pick.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "report/pick.h"

#define SLOTS 1000

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
 * Pick among n commands what gives back most within so many seconds; of two that give back
 * the same in the same time, the first.
 */
void
sst_pick(SstChoice *choices, int n, double seconds)
{
	SstChoice **order = palloc_extended(sizeof(SstChoice *) * (n + 1), MCXT_ALLOC_HUGE);
	double		best[SLOTS + 1] = {0};
	uint8	   *taken;
	double		carry = 0;
	double		total = 0;
	int			nfit = 0;
	int			left = SLOTS;

	for (int i = 0; i < n; i++)
	{
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
	for (int i = nfit - 1; i >= 0; i--)
	{
		if ((taken[(Size) i * ROW_BYTES + left / 8] & 1 << left % 8) == 0)
			continue;
		order[i]->picked = true;
		left -= order[i]->slots;
		total += order[i]->seconds;
	}

	/* What rounding has let in goes out again. */
	for (int i = nfit - 1; i >= 0 && total > seconds; i--)
	{
		if (order[i]->picked)
			total -= order[i]->seconds;
		order[i]->picked = false;
	}
	pfree(taken);
	pfree(order);
}
