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
 * there.  differences.c says how trends and steps are left out of it.  If contents
 * vary along the file, this is far less than the variance of all pages.
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
 * many with nothing, this is close to the exact Poisson interval.
 *
 * Pages that were not sampled can be unlike all that were.  If the sampled pages are
 * alike, or too few, nothing says how unlike.  Then as many pages as a sample
 * misses by chance (interval.c) can have the least or the most that a page can
 * have.  If they differ, their spread tells what pages are like.  Only a small
 * part of the pages is then assumed to be unlike them (SST_UNLIKE), and at least
 * one, such as the last page of a table or the metapage of an index.  No sample
 * shows whether this holds: of a relation with more pages that are rare and
 * extreme, an interval can miss the true value.
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

#include "stats/differences.h"
#include "stats/interval.h"
#include "stats/variance.h"

/* The variance at a distance is known from so many pairs. */
#define MIN_LAG_PAIRS 5

/* From so many sampled pages that differ, the spread of pages is known. */
#define ENOUGH_PAGES 30

/* Pages are alike if no more than this part of what is possible is between them. */
#define ROUNDING 1e-9

/*
 * A step lies within the ranges of two neighbours that it is between.  At a place
 * u of its range it adds 1 - u of a range with probability u, or takes u away with
 * probability 1 - u.  So the error is above this part with 5 % at most.
 */
#define STEP_ERROR 0.95

/* The distribution of an estimated total */
typedef struct Spread
{
	double		variance;
	double		third;			/* third central moment */
	double		df;				/* degrees of freedom of the variance */
	double		steps2;			/* squares of steps between ranges */
	SstBounds	unlike;			/* what pages unlike the sampled ones add */
	SstBounds	unseen;			/* the same, of sampled pages that are alike */
	SstBounds	all;			/* what all pages that were not read can add */
} Spread;

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
part_variance(const SstSamplePart *part, const SstDifferences *differences,
			  double page_variance)
{
	bool		near_is_known = part->unit_pages == 1 && !part->of_set;
	bool		by_lag = near_is_known &&
		part->nblocks / part->nsampled < SST_MAX_LAG;
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
 * Add what the pages of a part that were not read can change.  A page has between
 * least and most of the form, or what a sampled one has.  A part of the pages can
 * be unlike the sampled ones.
 */
static void
add_unread(const SstLinearForm *form, double least, double most, double unlike,
		   const SstSamplePart *part, const SstDifferences *differences,
		   Spread *spread)
{
	double		N = part->nblocks;
	double		n = part->nsampled;
	double		unseen = Min(sst_unseen_part(n) * N, N - n);
	double		sum = 0;

	unlike = Min(Max(unlike * N, 1), unseen);
	least = Min(least, differences->lowest);
	most = Max(most, differences->highest);
	for (int i = 0; i < part->nunits; i++)
	{
		const SstSampleUnit *unit = &part->units[i];
		double		unread = unit->nblocks - (double) unit->npages;
		double		value = sst_unit_value(form, unit);

		sum += value;
		spread->all.above += unread * (most - value / unit->npages);
		spread->all.below += unread * (value / unit->npages - least);
	}

	spread->unlike.above = hypot(spread->unlike.above, unlike * (most - sum / n));
	spread->unlike.below = hypot(spread->unlike.below, unlike * (sum / n - least));
	if (differences->highest - differences->lowest > ROUNDING * (most - least))
		unseen *= Max(1 - n / ENOUGH_PAGES, 0);
	spread->unseen.above = hypot(spread->unseen.above,
								 unseen * (most - differences->highest));
	spread->unseen.below = hypot(spread->unseen.below,
								 unseen * (differences->lowest - least));
}

/* Add the distribution of a part's estimated total. */
static void
add_part_spread(const SstLinearForm *form, double least, double most, double unlike,
				const SstSamplePart *part, Spread *spread)
{
	double		N = part->nblocks;
	double		n = part->nsampled;
	double		pages = part->unit_pages;
	SstDifferences differences;
	int			m;

	if (n >= N || (part->all_visible && sst_linear_form_is_known(form)))
		return;

	sst_find_differences(form, part, &differences);
	m = differences.m;
	if (differences.sum2 > 0)
	{
		double		sum2 = differences.sum2;
		double		variance = part_variance(part, &differences, pages *
											 sst_difference_variance(&differences));
		double		kurtosis = 2 * m * differences.sum4 / (sum2 * sum2) - 3;
		double		df = Max(Min(2 * m / Max(kurtosis, 1), m), 1);
		double		all = spread->variance + variance;

		/* (-a + 2b - c)^3 has 6 times the third moment of a, b and c */
		if (differences.nsecond > 0)
			spread->third -= pages * pages * differences.second3 /
				(6 * differences.nsecond) *
				N * (N / n) * (N / n) * Max((1 - n / N) * (1 - 2 * n / N), 0);

		spread->df = all * all /
			(variance * variance / df +
			 spread->variance * spread->variance / spread->df);
		spread->variance = all;
	}

	spread->steps2 += differences.steps2;
	add_unread(form, least, most, unlike, part, &differences, spread);
}

/*
 * Return the end of an interval at a distance that comes from the variance, with
 * what else can change the total to that side.
 */
static double
distance_of_end(double distance, double steps, double unlike, double unseen,
				double all)
{
	return Min(Max(hypot(hypot(distance, steps), unlike), unseen), all);
}

/*
 * Return the interval around the total of a form over all pages.  A page has between
 * least and most of it.  That part of the pages can be unlike all sampled ones.
 */
SstBounds
sst_total_interval(const SstLinearForm *form, double least, double most,
				   double unlike, const SstPageSample *sample)
{
	Spread		spread = {0, 0, 1};
	SstBounds	interval;
	double		half = 0;
	double		shift = 0;
	double		steps;

	for (int i = 0; i < sample->nparts; i++)
		add_part_spread(form, least, most, unlike, &sample->parts[i], &spread);

	if (spread.variance != 0)
	{
		double		error = sqrt(spread.variance);

		half = sst_t_quantile(spread.df) * error;
		shift = spread.third / spread.variance * (1 + 2 * SST_Z * SST_Z) / 6;
		shift = Max(Min(shift, half), -half);
	}

	steps = STEP_ERROR * sqrt(spread.steps2);
	interval.below = distance_of_end(half - shift, steps, spread.unlike.below,
									 spread.unseen.below, spread.all.below);
	interval.above = distance_of_end(half + shift, steps, spread.unlike.above,
									 spread.unseen.above, spread.all.above);
	return interval;
}

/*
 * Return the variance of an estimated total, without what pages that were not read
 * can change.  A step counts as any other difference.
 */
double
sst_total_variance(const SstLinearForm *form, const SstPageSample *sample)
{
	Spread		spread = {0, 0, 1};

	for (int i = 0; i < sample->nparts; i++)
		add_part_spread(form, 0, 0, 0, &sample->parts[i], &spread);
	return spread.variance + spread.steps2 / 2;
}
