/*-------------------------------------------------------------------------
 *
 * advise.c
 *	  What the figures of a probe say about settings
 *
 * Two cells are compared by the ratios of their rates in the same rounds.  A
 * difference is proven if the interval of the median ratio is beyond 10
 * percent, and beyond the differences between the two copies of the present
 * value.  What is advised is the smallest value that is proven to be within 10
 * percent of the best one; if it is not clear which one that is, nothing.  So
 * probes that follow each other advise the same or nothing, and none advises
 * what is there.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "probe/figures.h"

/* The chance that a true median lies outside of its interval, at most */
#define OUTSIDE 0.05

static int
compare_figures(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

/*
 * Summarize n figures, which are sorted.
 *
 * Rates of a disk follow no known distribution, and need none: each figure is above the
 * true median with probability 1/2, so this lies between the k-th least and the k-th
 * largest but for twice the chance of fewer than k in n throws of a coin.  The least and
 * the largest of 6 make 97 %, the third ones of 12 make 96 %.
 */
static SstEstimate
summarize(double *figures, int n)
{
	SstEstimate spread = {NAN, NAN, NAN};
	double		exactly = pow(0.5, n);	/* k of n */
	double		fewer = exactly;

	if (n == 0)
		return spread;

	qsort(figures, n, sizeof(double), compare_figures);
	spread.value = (figures[(n - 1) / 2] + figures[n / 2]) / 2;
	for (int k = 1; 2 * fewer <= OUTSIDE; k++)
	{
		spread.low = figures[k - 1];
		spread.high = figures[n - k];
		exactly *= (double) (n - k + 1) / k;
		fewer += exactly;
	}
	return spread;
}

/* The rate of a cell in one round: of both copies, if there are two; 0 for none */
static double
round_rate(const SstProbeCell *cell, int round)
{
	const double *first = &cell->rate[0][round];
	const double *second = &cell->rate[cell->copies - 1][round];

	return *first > 0 && *second > 0 ? (*first + *second) / 2 : 0;
}

/* Reads per second of a cell */
SstEstimate
sst_probe_rate(const SstProbeCell *cell)
{
	double		rates[2 * SST_PROBE_ROUNDS];
	int			n = 0;

	for (int i = 0; i < cell->copies * SST_PROBE_ROUNDS; i++)
	{
		double		rate = cell->rate[i / SST_PROBE_ROUNDS][i % SST_PROBE_ROUNDS];

		if (rate > 0)
			rates[n++] = rate;
	}
	return summarize(rates, n);
}

/* The ratio of a cell's rate to that of another one, in the same round */
SstEstimate
sst_probe_gain(const SstProbeCell *cell, const SstProbeCell *base)
{
	double		ratios[SST_PROBE_ROUNDS];
	int			n = 0;

	for (int round = 0; round < SST_PROBE_ROUNDS; round++)
	{
		if (round_rate(cell, round) > 0 && round_rate(base, round) > 0)
			ratios[n++] = round_rate(cell, round) / round_rate(base, round);
	}
	return summarize(ratios, n);
}

/* The time in ms that so many percent of the reads do not exceed; NaN if not known */
double
sst_probe_latency(const SstProbeCell *cell, double percent)
{
	int			rank = (int) ceil(percent / 100.0 * cell->ntimes);

	if (cell->ntimes == 0)
		return NAN;

	qsort(cell->times, cell->ntimes, sizeof(double), compare_figures);
	return cell->times[Max(rank, 1) - 1];
}

/*
 * How much faster a cell can seem than its equal: the end of the interval of the ratio
 * of its copies that is farther from 1.  NaN if there are too few rounds.
 */
static double
noise(const SstProbeCell *cell)
{
	double		ratios[SST_PROBE_ROUNDS];
	int			n = 0;
	SstEstimate spread;

	for (int round = 0; round < SST_PROBE_ROUNDS; round++)
	{
		if (round_rate(cell, round) > 0)
			ratios[n++] = cell->rate[1][round] / cell->rate[0][round];
	}
	spread = summarize(ratios, n);

	return isnan(spread.low) ? NAN : Max(spread.high, 1 / spread.low);
}

/* Does a cell read as another value of the setting would, which could be advised? */
static bool
is_candidate(const SstProbeCell *cell, const SstProbeSetting *setting, int present_depth)
{
	return cell->pattern == setting->pattern &&
		((cell->is_step && cell->depth < setting->most) || cell->depth == setting->most) &&
		(setting->is_workers ? cell->depth > present_depth :
		 cell->depth != present_depth);
}

/* What the figures of a probe say about a setting */
SstProbeVerdict
sst_probe_judge(const SstProbeResult *result, const SstProbeSetting *setting)
{
	SstProbeVerdict verdict = {.loss_percent = NAN};
	const SstProbeCell *base = &result->cells[setting->base];
	const SstProbeCell *best = base;
	SstEstimate best_gain = {1, 1, 1};

	verdict.enough_rounds = !isnan(noise(base));
	for (int i = 0; i < result->ncells; i++)
	{
		const SstProbeCell *cell = &result->cells[i];
		SstEstimate gain = sst_probe_gain(cell, base);

		if (is_candidate(cell, setting, base->depth) && gain.value > best_gain.value)
		{
			best = cell;
			best_gain = gain;
		}
	}
	verdict.clear = verdict.enough_rounds && best_gain.high < SST_PROBE_MARGIN;
	if (!(best_gain.low >= Max(SST_PROBE_MARGIN, noise(base))))
		return verdict;

	/* Cells of a pattern are in the order of their depth. */
	verdict.loss_percent = 100 * (1 - 1 / best_gain.value);
	for (int i = 0; i < result->ncells && !verdict.clear; i++)
	{
		const SstProbeCell *cell = &result->cells[i];
		SstEstimate share = sst_probe_gain(cell, best);

		if (!is_candidate(cell, setting, base->depth) ||
			share.high < 1 / SST_PROBE_MARGIN)
			continue;
		if (!(share.low >= 1 / SST_PROBE_MARGIN))
			break;
		verdict.depth = cell->depth;
		verdict.clear = true;
	}
	return verdict;
}
