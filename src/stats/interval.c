/*-------------------------------------------------------------------------
 *
 * interval.c
 *	  Intervals that hold with 95 %: for numbers of pages, and what they need
 *
 * Numbers of pages of a kind: the score interval of Wilson (Journal of the American
 * Statistical Association 22, 1927), with the sample size that a simple random
 * sample of the same variance would have in the place of n.  Its coverage is too low
 * where few pages were hit, or all but few (Brown, Cai and DasGupta, Statistical
 * Science 16, 2001): there it is widened to the exact limits.  Of a kind that
 * was not seen there can be 3/n of all pages (Hanley and Lippman-Hand, Journal of the
 * American Medical Association 249, 1983).  All this is for draws that are
 * independent, as those from different ranges are.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/interval.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/interval.h"

/* So many pages are few: exact limits are called for. */
#define FEW_PAGES 16

/* What is said of 95 % of the samples: the probability of the rest */
#define ALPHA 0.05

/*
 * How much of what stratification seems to have gained is believed; and how many
 * more neighbours could as well have differed
 */
#define RELIANCE 0.9
#define UNSEEN_DIFFERENCES 2

/*
 * 97.5 % quantile of Student's t: the expansion in 1/df of Abramowitz and
 * Stegun, 26.7.5, to the third order; good to 3 % from 2 degrees on.
 */
double
sst_t_quantile(double df)
{
	double		z3 = SST_Z * SST_Z * SST_Z;
	double		z5 = z3 * SST_Z * SST_Z;
	double		z7 = z5 * SST_Z * SST_Z;

	return SST_Z + (z3 + SST_Z) / (4 * df) +
		(5 * z5 + 16 * z3 + 3 * SST_Z) / (96 * df * df) +
		(3 * z7 + 19 * z5 + 17 * z3 - 15 * SST_Z) / (384 * df * df * df);
}

/*
 * Of which part of the pages can n drawn ones show nothing?  Of what would still stay
 * unseen in one of twenty samples: for large n, 3/n.
 */
double
sst_unseen_part(double n)
{
	return 1 - pow(ALPHA, 1 / n);
}

/* The probability that at most k of n are hit, each with probability p */
static double
binomial_tail(double k, double n, double p)
{
	double		term = exp(n * log1p(-p));
	double		tail = 0;

	for (double j = 0; j <= k; j++)
	{
		tail += term;
		term *= (n - j) / (j + 1) * p / (1 - p);
	}
	return tail;
}

/* The p for which that is alpha; it falls with p. */
static double
binomial_limit(double k, double n, double alpha)
{
	double		low = 0;
	double		high = 1;

	for (int i = 0; i < 40; i++)
	{
		double		p = (low + high) / 2;

		if (binomial_tail(k, n, p) > alpha)
			low = p;
		else
			high = p;
	}
	return high;
}

/*
 * The exact limits for a share of which k of n drawn are hits, and k is small:
 * outside them, as few (or as many) would be drawn with a probability below
 * 2.5 %, or 5 % where there is no other side.
 */
static void
exact_limits(double k, double n, double *low, double *high)
{
	*low = k == 0 ? 0 : binomial_limit(k - 1, n, 1 - ALPHA / 2);
	*high = k == 0 ? sst_unseen_part(n) : binomial_limit(k, n, ALPHA / 2);
}

/*
 * A number of pages among N, k of n drawn being of the kind.  The value is known,
 * and the variance of the estimated number; 0 if it is not.
 */
SstEstimate
sst_page_interval(double value, double k, double n, double N, double variance)
{
	SstEstimate result = {value, k, N - n + k};
	double		p = value / N;
	double		m = n;
	double		center;
	double		half;
	double		low;
	double		high;

	if (n >= N)
		return result;

	/*
	 * A sample that is clearly as good as a larger one.  That the variance is
	 * small was seen where neighbours differ, of which there would be so many
	 * in any order; when few pages were hit, that is not seen well.
	 */
	if (variance > 0)
	{
		double		differences = 2 * k * (n - k) / n;

		m = p * (1 - p) / variance * N * N;
		m = Max(n, RELIANCE / (1 / m + UNSEEN_DIFFERENCES / (n * differences)));
	}

	center = (p + SST_Z * SST_Z / (2 * m)) / (1 + SST_Z * SST_Z / m);
	half = SST_Z / (1 + SST_Z * SST_Z / m) *
		sqrt(p * (1 - p) / m + SST_Z * SST_Z / (4 * m * m));
	low = center - half;
	high = center + half;

	if (Min(k, n - k) < FEW_PAGES)
	{
		double		exact_low;
		double		exact_high;

		if (k <= n - k)
			exact_limits(rint(k * m / n), m, &exact_low, &exact_high);
		else
		{
			exact_limits(rint((n - k) * m / n), m, &exact_high, &exact_low);
			exact_high = 1 - exact_high;
			exact_low = 1 - exact_low;
		}

		low = k == n ? exact_low : Min(low, exact_low);
		high = k == 0 ? exact_high : Max(high, exact_high);
	}

	/* What was seen is certain. */
	result.low = Min(Max(N * low, k), value);
	result.high = Max(Min(N * high, N - n + k), value);
	return result;
}
