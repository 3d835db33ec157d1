/*-------------------------------------------------------------------------
 *
 * interval.c
 *	  95 % confidence intervals of totals that are estimated from a sample
 *
 * The sample is stratified: one page drawn at random from each of n ranges of a
 * part's N blocks.
 *
 * Totals are estimated as in Cochran, Sampling Techniques, 3rd ed., (5.1).  One page
 * from each range does not show the variance within ranges.  The variance between
 * neighbouring ranges is used instead, whose expectation is never smaller: 5A.12
 * there.  Trends and steps are left out of it, see below.  If contents
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
 * misses by chance can have the least or the most that a page can have.  If they
 * differ, their spread tells what pages are like.  Only a small part of the pages is
 * then assumed to be unlike them (SST_UNLIKE).  No sample shows whether this holds:
 * of a relation with more pages that are rare and extreme, an interval can miss the
 * true value.
 *
 * One page that was not read can always have anything, such as the last page of a
 * table or the metapage of an index.  That is no error by chance, so that it is added
 * to those: most relations have such a page.
 *
 * A count of zero still gets an upper bound: about 3/n of the pages (Hanley and
 * Lippman-Hand, Journal of the American Medical Association 249, 1983).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/interval.h"

/* The probability that an interval misses the true value */
#define ALPHA 0.05

/*
 * 97.5 % quantile of Student's t, for 1 degree of freedom or more, which need not be a
 * whole number; good to 0.2 %.
 *
 * The logarithm of 1 + t^2/df begins with z^2/df (1 + 1/(2 df)), which is the expansion
 * of Abramowitz and Stegun, 26.7.5.  What follows is the power of df that gives the values
 * in their table.
 */
double
sst_t_quantile(double df)
{
	return sqrt(df * expm1(SST_Z * SST_Z / df *
						   (1 + 1 / (2 * df) - 0.175 * pow(df, -2.25))));
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

/* ----------
 * Sums of a page's counters, each with a weight
 * ----------
 */

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

/* Do all pages that are all-visible have the same, known value of the count? */
static bool
count_is_known(SstCount count)
{
	return count == SST_DEAD_TUPLES || count == SST_DEAD_TUPLE_BYTES ||
		count == SST_RECENTLY_DEAD_TUPLES || count == SST_DEAD_ITEMS ||
		count == SST_INSERTING_TUPLES || count == SST_INSERTING_BYTES ||
		count == SST_DELETING_TUPLES || count == SST_ALL_VISIBLE_PAGES ||
		count == SST_HEAP_PAGES || count == SST_PAGE_BYTES;
}

static bool
is_known_where_visible(const SstLinearForm *form)
{
	for (int i = 0; i < form->nterms; i++)
	{
		if (!count_is_known(form->count[i]))
			return false;
	}
	return true;
}

/* ----------
 * The variance of pages, from neighbours in a sample
 *
 * Half the mean square of the differences between neighbours is their variance.
 * Two kinds of order make it too large, and both are common in files.
 *
 * Along a trend, neighbours differ by the trend as well.  A second difference, a -
 * 2b + c, is free of it.  Its mean square is 6 variances without a trend, and no
 * more than that with one (Wolter, Introduction to Variance Estimation, 2nd ed.,
 * 8.2.2).
 *
 * A step is one place where the contents of a file become other contents, such as
 * the end of a range of rows that were deleted.  It is a difference between
 * neighbours that are like their neighbours on either side.  Few pages that are
 * unlike all others make the same large differences, but two each: there and back.
 * Only these say that more such pages can be elsewhere.  Steps are summed up apart.
 * ----------
 */

/* Differences between neighbouring units of a part, of a form's value per page */
typedef struct SstDifferences
{
	double		lowest;			/* value of a page */
	double		highest;
	double		steps2;			/* squares of steps, each times its blocks */

	int			m;				/* the other differences */
	double		sum2;			/* of their squares */
	double		sum4;			/* of their fourth powers */

	int			nsecond;		/* differences between them */
	double		second2;		/* of their squares */
	double		second3;		/* of their cubes */

	double		near2;			/* weighted sum for pairs closer than a range */
} SstDifferences;

/*
 * A step has this part of the sum of all squares at least, and is so many times
 * as large as the differences before and after it.
 */
#define STEP_PART 0.25
#define STEP_RATIO 4

/* Of fewer differences one can be as large by chance. */
#define MIN_DIFFERENCES 16

/*
 * Second differences are used if there are so many, and if their variance is below
 * this part of the other one, and by two standard errors of the logarithm of a variance:
 * else chance would choose the smaller one of the two.
 */
#define MIN_SECOND 8
#define SECOND_PART 0.7

/* Is the difference a step?  sum2 is the sum of the squares of all n. */
static bool
is_step(const double *difference, int i, int n, double sum2)
{
	double		size = fabs(difference[i]);

	return n >= MIN_DIFFERENCES && i > 0 && i < n - 1 &&
		size * size >= STEP_PART * sum2 &&
		size > STEP_RATIO * fabs(difference[i - 1]) &&
		size > STEP_RATIO * fabs(difference[i + 1]);
}

/*
 * Compute the differences between successive units, and return the sum of their
 * squares.
 */
static double
compute_differences(const SstLinearForm *form, const SstSamplePart *part,
					double *difference, SstDifferences *result)
{
	double		sum2 = 0;
	double		last = 0;

	for (int i = 0; i < part->nunits; i++)
	{
		const SstSampleUnit *unit = &part->units[i];
		double		value = sst_unit_value(form, unit) / unit->npages;

		result->lowest = i == 0 ? value : Min(result->lowest, value);
		result->highest = i == 0 ? value : Max(result->highest, value);
		if (i > 0)
		{
			difference[i - 1] = value - last;
			sum2 += difference[i - 1] * difference[i - 1];
		}
		last = value;
	}
	return sum2;
}

/*
 * Return the square of what a step between a unit and the next one changes, if it is
 * in one of the two from end to end.
 */
static double
step_square(const SstSampleUnit *unit, double difference)
{
	double		blocks = Max(unit[0].nblocks, unit[1].nblocks);

	return blocks * difference * blocks * difference;
}

/* Add a difference that is no step, between units so many blocks apart. */
static void
add_difference(SstDifferences *result, double difference, BlockNumber distance,
			   double range)
{
	double		square = difference * difference;

	result->m++;
	result->sum2 += square;
	result->sum4 += square * square;

	if (distance < range)
		result->near2 += square * 2 * (range - distance) / distance;
}

/* Find the differences between successive units of a part, which has some. */
static void
find_differences(const SstLinearForm *form, const SstSamplePart *part,
				 SstDifferences *result)
{
	double		range = (double) part->nblocks / part->nsampled;
	double	   *difference = palloc(part->nunits * sizeof(double));
	int			n = part->nunits - 1;
	double		sum2;
	bool		after_step = true;

	memset(result, 0, sizeof(SstDifferences));
	sum2 = compute_differences(form, part, difference, result);

	for (int i = 0; i < n; i++)
	{
		if (is_step(difference, i, n, sum2))
		{
			result->steps2 += step_square(&part->units[i], difference[i]);
			after_step = true;
			continue;
		}

		add_difference(result, difference[i],
					   part->units[i + 1].blkno - part->units[i].blkno, range);
		if (!after_step)
		{
			double		second = difference[i] - difference[i - 1];

			result->nsecond++;
			result->second2 += second * second;
			result->second3 += second * second * second;
		}
		after_step = false;
	}
	pfree(difference);
}

/* Return the variance of a unit's value per page, by differences that are not all 0. */
static double
difference_variance(const SstDifferences *differences)
{
	double		variance = differences->sum2 / (2 * differences->m);
	double		second;
	double		part;

	if (differences->nsecond < MIN_SECOND)
		return variance;

	second = differences->second2 / (6 * differences->nsecond);
	part = Min(SECOND_PART, exp(-2 * sqrt(2.0 / differences->nsecond)));
	return second < part * variance ? second : variance;
}

/* ----------
 * Totals
 * ----------
 */

/*
 * With fewer sampled pages that differ, the variance of pages is not known; with twice as
 * many it is.
 */
#define ENOUGH_PAGES 30

/* Pages are alike if no more than this part of what is possible is between them. */
#define ROUNDING 1e-9

/* The distribution of an estimated total */
typedef struct Spread
{
	double		variance;
	double		third;			/* third central moment */
	double		df;				/* degrees of freedom of the variance */
	double		steps2;			/* squares of steps between ranges */
	SstBounds	unlike;			/* what pages unlike the sampled ones add */
	SstBounds	one;			/* the same, of one page */
	SstBounds	unseen;			/* the same, of sampled pages that are alike */
	SstBounds	all;			/* what all pages that were not read can add */
} Spread;

/*
 * Return the variance of a part's estimated total: the variance within each range,
 * times the square of its blocks.  page_variance is the variance of a page, from
 * all neighbours.
 *
 * Two blocks of a range of M are h apart with probability 2 (M - h) / M^2, while
 * neighbours in the sample are with probability h / M^2, for h below M.  So close
 * neighbours are weighted by the ratio of these probabilities.
 */
static double
part_variance(const SstSamplePart *part, const SstDifferences *differences,
			  double page_variance)
{
	double		squares = 0;	/* of the blocks of ranges */
	double		left = 0;		/* of these, times those not drawn */

	for (int i = 0; i < part->nunits; i++)
	{
		const SstSampleUnit *unit = &part->units[i];
		double		size = (double) unit->nblocks / unit->npages;

		if (unit->nblocks <= unit->npages)
			continue;
		squares += unit->nblocks * size;
		left += unit->nblocks * (size - 1);
	}

	/*
	 * The distances are not known of units of several pages, nor in a set of
	 * blocks.
	 */
	if (part->unit_pages > 1 || part->of_set)
		return squares * page_variance;

	return squares * page_variance *
		Min(Max(differences->near2 / differences->sum2, left / squares), 1);
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

	unlike = Min(unlike * N, unseen);
	least = Min(least, differences->lowest);
	most = Max(most, differences->highest);
	for (int i = 0; i < part->nunits; i++)
	{
		const SstSampleUnit *unit = &part->units[i];
		double		unread = unit->nblocks - (double) unit->npages;
		double		value = sst_unit_value(form, unit);

		sum += value;
		value /= unit->npages;
		if (unread > 0)
		{
			spread->one.above = Max(spread->one.above, most - value);
			spread->one.below = Max(spread->one.below, value - least);
		}
		spread->all.above += unread * (most - value);
		spread->all.below += unread * (value - least);
	}

	spread->unlike.above = hypot(spread->unlike.above, unlike * (most - sum / n));
	spread->unlike.below = hypot(spread->unlike.below, unlike * (sum / n - least));
	if (differences->highest - differences->lowest > ROUNDING * (most - least))
		unseen *= Max(Min(2 - n / ENOUGH_PAGES, 1), 0);
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

	if (n >= N || (part->all_visible && is_known_where_visible(form)))
		return;

	find_differences(form, part, &differences);
	m = differences.m;
	if (differences.sum2 > 0)
	{
		double		sum2 = differences.sum2;
		double		variance = part_variance(part, &differences, pages *
											 difference_variance(&differences));
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
distance_of_end(double distance, double steps, double unlike, double one,
				double unseen, double all)
{
	return Min(hypot(hypot(distance, steps), Max(unlike, unseen)) + one, all);
}

/*
 * Return the interval around the total of a form over all pages.  A page has between
 * least and most of it.  That part of the pages can be unlike all sampled ones.
 *
 * units is the number of units that the form is about, if they are few among all, else
 * infinite: n such units have n - 1 degrees of freedom, as a value was fitted to them.
 */
SstBounds
sst_total_interval(const SstLinearForm *form, double least, double most,
				   double unlike, double units, const SstPageSample *sample)
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
		double		error = sqrt(spread.variance / (1 - 1 / units));
		double		df = Max(Min(spread.df, units - 1), 1);

		half = sst_t_quantile(df) * error;
		shift = spread.third / spread.variance * (1 + 2 * SST_Z * SST_Z) / 6;
		shift = Max(Min(shift, half), -half);
	}

	/*
	 * A step lies within the ranges of two neighbours: the error is a range
	 * at most.
	 */
	steps = sqrt(spread.steps2);
	interval.below = distance_of_end(half - shift, steps, spread.unlike.below,
									 spread.one.below, spread.unseen.below,
									 spread.all.below);
	interval.above = distance_of_end(half + shift, steps, spread.unlike.above,
									 spread.one.above, spread.unseen.above,
									 spread.all.above);
	return interval;
}
