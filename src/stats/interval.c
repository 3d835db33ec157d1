/*-------------------------------------------------------------------------
 *
 * interval.c
 *	  95 % confidence intervals for numbers of pages
 *
 * The interval is the score interval of Wilson (Journal of the American Statistical
 * Association 22, 1927).  Instead of n it takes the size that a simple random
 * sample of the same variance would have.  Its coverage is too low if few pages
 * were hits, or all but few (Brown, Cai and DasGupta, Statistical Science 16,
 * 2001); then it is widened to the exact limits.
 *
 * A count of zero still gets an upper bound: about 3/n of the pages (Hanley and
 * Lippman-Hand, Journal of the American Medical Association 249, 1983).
 *
 * All of this assumes independent draws, which those from different ranges are.
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

/* With fewer hits than this the interval is widened to the exact limits. */
#define FEW_PAGES 16

/* The probability that an interval misses the true value */
#define ALPHA 0.05

/*
 * How much of the apparent gain from stratification is used, and how many more
 * differing neighbours are assumed than were seen
 */
#define RELIANCE 0.9
#define UNSEEN_DIFFERENCES 2

/* Below this, the series for few degrees of freedom; at it, both are good to 0.5 % */
#define SMALL_DF 3.5

/*
 * 97.5 % quantile of Student's t for few degrees of freedom, from 1 on.
 *
 * With t = sqrt(df) cot(a) the density of t (Abramowitz and Stegun, 26.7.1) becomes
 * sin(a)^(df - 1) on 0 to pi.  So the integral of that from 0 to the wanted a is ALPHA
 * times the one from 0 to pi/2, which is sqrt(pi) gamma(df/2) / (2 gamma((df + 1)/2)).
 * The former is a^df / df (1 - df (df - 1) / (df + 2) a^2 / 6 + ...), which is solved
 * for a in two steps: exact at 1.
 */
static double
small_t_quantile(double df)
{
	double		whole = sqrt(M_PI) * tgamma(df / 2) / (2 * tgamma((df + 1) / 2));
	double		power = ALPHA * whole * df;
	double		a = pow(power, 1 / df);

	a = pow(power * (1 + df * (df - 1) / (df + 2) * a * a / 6), 1 / df);
	return sqrt(df) / tan(a);
}

/*
 * 97.5 % quantile of Student's t, for 1 degree of freedom or more, which need not be
 * a whole number; good to 0.5 %.  For many, this is the expansion in 1/df of Abramowitz
 * and Stegun, 26.7.5, to the third order.
 */
double
sst_t_quantile(double df)
{
	double		z3 = SST_Z * SST_Z * SST_Z;
	double		z5 = z3 * SST_Z * SST_Z;
	double		z7 = z5 * SST_Z * SST_Z;

	if (df < SMALL_DF)
		return small_t_quantile(df);

	return SST_Z + (z3 + SST_Z) / (4 * df) +
		(5 * z5 + 16 * z3 + 3 * SST_Z) / (96 * df * df) +
		(3 * z7 + 19 * z5 + 17 * z3 - 15 * SST_Z) / (384 * df * df * df);
}

/*
 * Return the largest fraction of the pages that n draws miss with a probability of
 * 5 %: for large n, 3/n.
 */
double
sst_unseen_part(double n)
{
	return 1 - pow(ALPHA, 1 / n);
}

/* The probability of at most k hits in n draws, each with probability p */
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

/* The p for which binomial_tail() is alpha; it decreases with p. */
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
 * Compute the exact limits of a fraction, after k hits in n draws, for small k.
 * Outside of them, as few (or as many) hits have a probability below 2.5 %, or
 * below 5 % if k is 0 and there is only an upper limit.
 */
static void
exact_limits(double k, double n, double *low, double *high)
{
	*low = k == 0 ? 0 : binomial_limit(k - 1, n, 1 - ALPHA / 2);
	*high = k == 0 ? sst_unseen_part(n) : binomial_limit(k, n, ALPHA / 2);
}

/*
 * Return the interval for a number of pages of a kind among N, after k of n sampled
 * pages were of that kind.  value is the estimated number, and variance its
 * variance, or 0 if that is not known.
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
	 * A small variance makes the sample worth a larger simple one.  The
	 * variance comes from neighbours that differ.  In random order there
	 * would be so many of them; with few hits it is not known well.
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

	/* The sampled pages themselves are certain. */
	result.low = Min(Max(N * low, k), value);
	result.high = Max(Min(N * high, N - n + k), value);
	return result;
}
