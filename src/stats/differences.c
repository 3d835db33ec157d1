/*-------------------------------------------------------------------------
 *
 * differences.c
 *	  The variance of pages, from neighbours in a sample
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
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/differences.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/differences.h"

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
 * this part of the other one: else chance would choose the smaller one of the two.
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
	if (distance < SST_MAX_LAG)
	{
		result->lag2[distance] += square;
		result->nlag[distance]++;
	}
}

/* Find the differences between successive units of a part, which has some. */
void
sst_find_differences(const SstLinearForm *form, const SstSamplePart *part,
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
double
sst_difference_variance(const SstDifferences *differences)
{
	double		variance = differences->sum2 / (2 * differences->m);
	double		second;

	if (differences->nsecond < MIN_SECOND)
		return variance;

	second = differences->second2 / (6 * differences->nsecond);
	return second < SECOND_PART * variance ? second : variance;
}
