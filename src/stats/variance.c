/*-------------------------------------------------------------------------
 *
 * variance.c
 *	  The variance of totals that are estimated from a sample
 *
 * The sample is stratified: one page drawn at random from each of n ranges of a
 * part's N blocks.
 *
 * Totals are estimated as in Cochran, Sampling Techniques, 3rd ed., (5.1).  One page
 * from each range does not show the variance within ranges.  The variance between
 * neighbouring ranges is used instead, whose expectation is never smaller: 5A.12
 * there, and successive differences in Wolter, Introduction to Variance Estimation,
 * 2nd ed., (8.2.2).  If contents vary along the file, this is far less than the
 * variance of all pages.
 *
 * The finite population correction, 1 - n/N, holds if blocks are in random order.
 * Then close neighbours in the sample differ as much as distant ones.  In a file
 * with a period that fits the ranges they differ less, and the correction would be
 * too large.  So it is applied as far as pairs closer than a range confirm it,
 * weighted by how often their distance occurs within ranges.
 *
 * The normal distribution is wrong if few pages have most of the total.  So the
 * interval uses the t distribution, with degrees of freedom by the kurtosis of the
 * differences (Satterthwaite): m squared differences of values with variance v and
 * fourth moment w have a sum of mean 2mv and variance 4mw, so there are 2m v^2/w
 * degrees of freedom.  The skewness shifts the interval (Johnson, Journal of the
 * American Statistical Association 73, 1978).  For k pages with something among
 * many with nothing, this is close to the exact Poisson interval.  interval.c has
 * bounds for what no sampled page shows, and intervals for numbers of pages.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/variance.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/variance.h"

/* Variances by distance: up to this distance in blocks, from so many pairs */
#define MAX_LAG 8
#define MIN_LAG_PAIRS 5

/* The distribution of an estimated total */
typedef struct Spread
{
	double		variance;
	double		third;			/* third central moment */
	double		df;				/* degrees of freedom of the variance */
	double		unseen_up;		/* what unseen pages can add */
	double		unseen_down;	/* or take away */
} Spread;

/* Differences between neighbours in a sample */
typedef struct Differences
{
	int			m;				/* their number */
	double		sum2;			/* of their squares */
	double		sum4;			/* of their fourth powers */
	double		sum3;			/* of cubes of the differences between them */
	double		lowest;			/* value of a page */
	double		highest;

	/*
	 * Sums of squares by distance in blocks, and the weighted sum for pairs
	 * closer than a range
	 */
	double		lag2[MAX_LAG];
	int			nlag[MAX_LAG];
	double		near2;
} Differences;

void
sst_linear_form_add(SstLinearForm *form, SstCount count, double weight)
{
	form->count[form->nterms] = count;
	form->weight[form->nterms] = weight;
	form->nterms++;
}

double
sst_unit_value(const SstLinearForm *form, const SstSampleUnit *unit)
{
	double		value = 0;

	for (int i = 0; i < form->nterms; i++)
		value += form->weight[i] * unit->n[form->count[i]];

	return value;
}

/*
 * Do all pages that are all-visible have the same, known value of the count?
 */
static bool
known_where_visible(SstCount count)
{
	return count == SST_DEAD_TUPLES || count == SST_DEAD_TUPLE_BYTES ||
		count == SST_RECENTLY_DEAD_TUPLES || count == SST_DEAD_ITEMS ||
		count == SST_INSERTING_TUPLES || count == SST_INSERTING_BYTES ||
		count == SST_DELETING_TUPLES || count == SST_ALL_VISIBLE_PAGES ||
		count == SST_HEAP_PAGES || count == SST_PAGE_BYTES;
}

bool
sst_linear_form_is_known(const SstLinearForm *form)
{
	for (int i = 0; i < form->nterms; i++)
	{
		if (!known_where_visible(form->count[i]))
			return false;
	}
	return true;
}

/*
 * Find the differences between successive units, of a form's value per page.
 */
static void
find_differences(const SstLinearForm *form, const SstSamplePart *part,
				 Differences *result)
{
	double		range = (double) part->nblocks / part->nsampled;
	double		value = 0;
	double		difference = 0;

	memset(result, 0, sizeof(Differences));
	result->m = part->nunits - 1;
	for (int i = 0; i < part->nunits; i++)
	{
		const SstSampleUnit *unit = &part->units[i];
		double		last = value;
		double		earlier = difference;
		double		square;
		BlockNumber distance;

		value = sst_unit_value(form, unit) / unit->npages;
		result->lowest = i == 0 ? value : Min(result->lowest, value);
		result->highest = i == 0 ? value : Max(result->highest, value);
		if (i == 0)
			continue;

		difference = value - last;
		square = difference * difference;
		result->sum2 += square;
		result->sum4 += square * square;
		if (i > 1)
			result->sum3 += (difference - earlier) * (difference - earlier) *
				(difference - earlier);

		distance = unit->blkno - unit[-1].blkno;
		if (distance < range)
			result->near2 += square * 2 * (range - distance) / distance;
		if (distance < MAX_LAG)
		{
			result->lag2[distance] += square;
			result->nlag[distance]++;
		}
	}
}

/*
 * Return the variance of a part's estimated total: the variance within each range,
 * times the square of its blocks.  page_variance is the variance of a page, from
 * all neighbours.
 *
 * Two blocks of a range of M are h apart with probability 2 (M - h) / M^2, while
 * neighbours in the sample are with probability h / M^2, for h below M.  For short
 * ranges the variance at each distance is known.  For longer ones, close
 * neighbours are weighted by the ratio of these probabilities.
 */
static double
part_variance(const SstSamplePart *part, const Differences *differences,
			  double page_variance)
{
	bool		near_is_known = part->unit_pages == 1 && !part->of_set;
	bool		by_lag = near_is_known &&
		part->nblocks / part->nsampled < MAX_LAG;
	double		squares = 0;	/* of the blocks of ranges */
	double		left = 0;		/* of these, times those not drawn */
	double		sum = 0;
	double		correction;

	for (int i = 0; i < part->nunits; i++)
	{
		const SstSampleUnit *unit = &part->units[i];
		double		size = (double) unit->nblocks / unit->npages;

		if (unit->nblocks <= unit->npages)
			continue;
		squares += unit->nblocks * size;
		left += unit->nblocks * (size - 1);
		for (int h = 1; by_lag && h < unit->nblocks; h++)
			sum += 2 * (unit->nblocks - h) *
				(differences->nlag[h] < MIN_LAG_PAIRS ? page_variance :
				 differences->lag2[h] / (2 * differences->nlag[h]));
	}

	if (by_lag)
		return Max(sum, left * page_variance);
	if (!near_is_known)
		return squares * page_variance;

	correction = differences->near2 / differences->sum2;
	return squares * page_variance *
		Min(Max(correction, left / squares), 1);
}

/*
 * Add the distribution of a part's estimated total.  A page has between least and
 * most of the form.
 */
static void
add_part_spread(const SstLinearForm *form, double least, double most,
				const SstSamplePart *part, Spread *spread)
{
	double		N = part->nblocks;
	double		n = part->nsampled;
	double		pages = part->unit_pages;
	Differences differences;
	double		unseen;
	int			m;

	if (n >= N || (part->all_visible && sst_linear_form_is_known(form)))
		return;

	find_differences(form, part, &differences);
	m = differences.m;
	if (m > 0 && differences.sum2 > 0)
	{
		double		sum2 = differences.sum2;
		double		variance = part_variance(part, &differences,
											 pages * sum2 / (2 * m));
		double		kurtosis = 2 * m * differences.sum4 / (sum2 * sum2) - 3;
		double		df = Max(Min(2 * m / Max(kurtosis, 1), m), 1);
		double		all = spread->variance + variance;

		/* (-a + 2b - c)^3 has 6 times the third moment of a, b and c */
		if (m > 1)
			spread->third -= pages * pages * differences.sum3 / (6 * (m - 1)) *
				N * (N / n) * (N / n) * Max((1 - n / N) * (1 - 2 * n / N), 0);

		spread->df = all * all /
			(variance * variance / df +
			 spread->variance * spread->variance / spread->df);
		spread->variance = all;
	}

	unseen = Min(sst_unseen_part(n) * N, N - n);
	spread->unseen_up = hypot(spread->unseen_up,
							  unseen * (most - differences.highest));
	spread->unseen_down = hypot(spread->unseen_down,
								unseen * (differences.lowest - least));
}

/* Return the interval around the total of a form over all pages. */
SstBounds
sst_total_interval(const SstLinearForm *form, double least, double most,
				   const SstPageSample *sample)
{
	Spread		spread = {0, 0, 1, 0, 0};
	SstBounds	interval;
	double		half = 0;
	double		shift = 0;

	for (int i = 0; i < sample->nparts; i++)
		add_part_spread(form, least, most, &sample->parts[i], &spread);

	if (spread.variance != 0)
	{
		double		error = sqrt(spread.variance);

		half = sst_t_quantile(spread.df) * error;
		shift = spread.third / spread.variance * (1 + 2 * SST_Z * SST_Z) / 6;
		shift = Max(Min(shift, half), -half);
	}

	interval.below = Max(half - shift, spread.unseen_down);
	interval.above = Max(half + shift, spread.unseen_up);
	return interval;
}

/*
 * Return the variance of an estimated total, without bounds for unseen pages.
 */
double
sst_total_variance(const SstLinearForm *form, const SstPageSample *sample)
{
	Spread		spread = {0, 0, 1, 0, 0};

	for (int i = 0; i < sample->nparts; i++)
		add_part_spread(form, 0, 0, &sample->parts[i], &spread);
	return spread.variance;
}
