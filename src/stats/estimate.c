/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  From what a sample of pages says to what the relation is like
 *
 * The sample is a simple random one, without replacement, of n of the N
 * pages; f = n/N.  Nothing here knows where the pages came from.
 *
 * Means and totals: Cochran, Sampling Techniques, 3rd ed., (2.20); ratios:
 * (6.13) there.  Proportions: the score interval of Wilson (Journal of the
 * American Statistical Association 22, 1927), with n / (1 - f) in the place
 * of n, which is what the finite population correction makes of the variance.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "stats/estimate.h"

/* 97.5 % quantile of the normal distribution */
#define Z 1.959963984540054

/* Of how many pages, at least, the spread of a sample says anything */
#define MIN_PAGES 2

/*
 * 97.5 % quantile of Student's t: the expansion in 1/df of Abramowitz and
 * Stegun, 26.7.5, to the second order; good to 0.5 % from 4 degrees on.
 */
static double
t_quantile(double df)
{
	double		z3 = Z * Z * Z;
	double		z5 = z3 * Z * Z;

	return Z + (z3 + Z) / (4 * df) +
		(5 * z5 + 16 * z3 + 3 * Z) / (96 * df * df);
}

/* Add one page, as its own counters, to the sums for a statistic. */
void
sst_moments_add(SstMoments *moments, const SstStatistic *statistic,
				const SstCounters *page)
{
	uint64		y = page->n[statistic->y];
	uint64		x = page->n[statistic->x];

	moments->y += y;
	moments->x += x;
	moments->yy += y * y;
	moments->xx += x * x;
	moments->xy += x * y;
}

void
sst_moments_merge(SstMoments *into, const SstMoments *from)
{
	into->y += from->y;
	into->x += from->x;
	into->yy += from->yy;
	into->xx += from->xx;
	into->xy += from->xy;
}

/*
 * Proportion of hits among n drawn, a fraction f of those there are.
 */
static SstEstimate
proportion(double hits, double n, double f)
{
	SstEstimate result;
	double		p = hits / n;
	double		m = n / (1 - f);
	double		center = (p + Z * Z / (2 * m)) / (1 + Z * Z / m);
	double		half = Z / (1 + Z * Z / m) *
		sqrt(p * (1 - p) / m + Z * Z / (4 * m * m));

	result.value = p;
	result.low = hits == 0 ? 0 : Max(center - half, 0);
	result.high = hits == n ? 1 : Min(center + half, 1);

	return result;
}

static SstEstimate
scaled(SstEstimate estimate, double factor)
{
	estimate.value *= factor;
	estimate.low *= factor;
	estimate.high *= factor;

	return estimate;
}

/* Pages of a class among all N; those seen are certain, either way. */
static SstEstimate
estimate_pages(const SstMoments *sum, double n, double N)
{
	SstEstimate result = scaled(proportion(sum->y, n, n / N), N);

	result.low = Max(result.low, (double) sum->y);
	result.high = Min(result.high, N - (n - sum->y));

	return result;
}

/*
 * When all sampled pages have the same y, their spread says nothing: the
 * interval then is for as many pages as could stay unseen to have nothing, or
 * the most that a page can have.
 */
static SstEstimate
estimate_total(const SstStatistic *statistic, const SstMoments *sum,
			   double n, double N)
{
	SstEstimate result;
	double		mean = sum->y / n;
	double		variance = (sum->yy - n * mean * mean) / (n - 1);
	double		below;
	double		above;

	if (variance <= DBL_EPSILON * mean * mean)
	{
		double		unseen = N * proportion(0, n, n / N).high;

		below = unseen * mean;
		above = unseen * (statistic->most - mean);
	}
	else
		below = above = t_quantile(n - 1) * N *
			sqrt(variance * (1 - n / N) / n);

	result.value = N * mean;
	result.low = Max(result.value - below, (double) sum->y);
	result.high = result.value + above;

	return result;
}

/*
 * Sum of y over sum of x.  When all sampled pages have the same ratio, the
 * interval is for unseen pages that have nothing of y, or all.
 */
static SstEstimate
estimate_ratio(const SstMoments *sum, double n, double N)
{
	SstEstimate result;
	double		ratio = (double) sum->y / sum->x;
	double		residuals = (sum->yy - 2 * ratio * sum->xy +
							 ratio * ratio * sum->xx) / (n - 1);
	double		below;
	double		above;

	if (residuals <= DBL_EPSILON * sum->xx)
	{
		double		unseen = proportion(0, n, n / N).high;

		below = unseen * ratio;
		above = unseen * (1 - ratio);
	}
	else
		below = above = t_quantile(n - 1) * sqrt(residuals * (1 - n / N) / n) /
			(sum->x / n);

	result.value = ratio;
	result.low = Max(ratio - below, 0);
	result.high = Min(ratio + above, 1);

	return result;
}

/*
 * The statistic's estimate from a sample of nsampled of ntotal pages.  If
 * those are all pages, it is the true value and the interval is that point.
 * NaN stands for what cannot be known: a share of nothing, the ends of the
 * interval when the sample is too small to show a spread.
 */
SstEstimate
sst_estimate(const SstStatistic *statistic, const SstMoments *sum,
			 uint64 nsampled, uint64 ntotal)
{
	SstEstimate result = {NAN, NAN, NAN};
	bool		exact = nsampled >= ntotal;
	double		n = nsampled;
	double		N = ntotal;

	switch (statistic->estimator)
	{
		case SST_PAGES:
			if (exact)
				result.value = sum->y;
			else if (nsampled > 0)
				result = estimate_pages(sum, n, N);
			break;
		case SST_TOTAL:
			if (exact)
				result.value = sum->y;
			else if (nsampled >= MIN_PAGES)
				result = estimate_total(statistic, sum, n, N);
			else if (nsampled > 0)
				result.value = N / n * sum->y;
			break;
		case SST_SHARE:
			if (sum->x == 0)
				break;
			if (exact)
				result.value = 100.0 * sum->y / sum->x;
			else
				result = scaled(proportion(sum->y, sum->x, n / N), 100);
			break;
		case SST_RATIO:
		case SST_RATIO_LEFT:
			if (sum->x == 0)
				break;
			if (exact || nsampled < MIN_PAGES)
				result.value = 100.0 * sum->y / sum->x;
			else
				result = scaled(estimate_ratio(sum, n, N), 100);
			if (statistic->estimator == SST_RATIO_LEFT)
			{
				double		high = 100 - result.low;

				result.value = 100 - result.value;
				result.low = 100 - result.high;
				result.high = high;
			}
			break;
	}

	if (exact)
		result.low = result.high = result.value;

	return result;
}
