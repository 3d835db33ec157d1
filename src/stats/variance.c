/*-------------------------------------------------------------------------
 *
 * variance.c
 *	  How far a total that is estimated from a sample can be off
 *
 * The sample is stratified: one page drawn at random from each of n ranges of a
 * part's N blocks.
 *
 * Totals: Cochran, Sampling Techniques, 3rd ed., (5.1).  With one page from each
 * range the spread within ranges is not seen; that between neighbouring ones,
 * which is never smaller by expectation, takes its place: 5A.12 there, and as
 * successive differences Wolter, Introduction to Variance Estimation, 2nd ed.,
 * (8.2.2).  Where the relation is not alike everywhere, this is far less than
 * the spread of the whole.
 *
 * The correction for a finite population, 1 - n/N, is right if blocks come in
 * random order.  Then neighbours in the sample that are close to each other differ as
 * much as others do.  In a file with a period that fits the ranges they do
 * not, and the correction would be too much.  So it is applied as far as pairs closer
 * than a range, weighted as such pairs are within ranges, bear it out.
 *
 * The normal distribution alone would be wrong where few pages make most of the
 * difference.  So the t distribution has the degrees of freedom that the
 * kurtosis of the differences leaves to the variance (Satterthwaite; the sum of m
 * squared differences of values that have the variance v and the fourth moment w has
 * the mean 2mv and the variance 4mw, so 2m v^2/w; two thirds of n for normal values),
 * and the interval is shifted by the skewness (Johnson, Journal
 * of the American Statistical Association 73, 1978).  For k pages that have
 * something among many that have nothing, this comes close to the exact interval
 * for a Poisson variable.  What no sampled page shows can still be there: see
 * interval.c, which has the intervals for numbers of pages, too.
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

/* Up to what distance, in blocks, pages are compared by it, and of how many pairs */
#define MAX_LAG 8
#define MIN_LAG_PAIRS 5

/* How an estimated total is distributed, as far as the sample shows it */
typedef struct Spread
{
	double		variance;
	double		third;			/* third central moment */
	double		df;				/* degrees of freedom of the variance */
	double		unseen_up;		/* what unseen pages can have more, */
	double		unseen_down;	/* or less, than the mean page */
} Spread;

/* What neighbours in a sample differ by */
typedef struct Differences
{
	int			m;				/* there are */
	double		sum2;			/* of their squares */
	double		sum4;			/* of their fourth powers */
	double		sum3;			/* of the cubes of what they differ by */
	double		lowest;			/* and highest value of a page */
	double		highest;

	/*
	 * Squares, by distance in blocks; weighted, of those within a range's
	 * length
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
 * On pages that the visibility map vouches for, is the count the same for all, and
 * known?
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
 * The differences between units that follow each other, of a form's value for a page.
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
 * The variance of a part's estimated total: that within each range, times the
 * square of the blocks in it.  What a page varies by is given, as all neighbours
 * tell it.
 *
 * Two blocks of a range of M are h apart with the probability 2 (M - h) / M^2.
 * Neighbours in the sample are with h / M^2, as long as h is less than M.  For short
 * ranges, what pages vary by at each distance is known; for longer ones, such
 * neighbours are weighted to be alike.
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
 * Add the spread of a part's estimated total.  No page can have less than least
 * or more than most.
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

/* The interval around a total over all pages */
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
 * The variance of an estimated total, without regard to how pages that were not
 * seen may be.
 */
double
sst_total_variance(const SstLinearForm *form, const SstPageSample *sample)
{
	Spread		spread = {0, 0, 1, 0, 0};

	for (int i = 0; i < sample->nparts; i++)
		add_part_spread(form, 0, 0, &sample->parts[i], &spread);
	return spread.variance;
}
