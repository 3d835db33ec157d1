/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  Estimates for a relation from a sample of its pages
 *
 * interval.c has the intervals of totals.  Those of ratios follow from their
 * linearized residuals: Cochran, Sampling Techniques, 3rd ed., (6.4).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "storage/bufpage.h"

#include "stats/estimate.h"

/* Pages needed to estimate a variance */
#define MIN_PAGES 2

/* Fewer pages among many, such as inner pages, do not tell how others of their kind differ. */
#define MIN_RARE_PAGES 5

/* With a probability of 5 %, the next page has smaller items than so many others. */
#define MIN_SIZES 19

/* Fewer pages do not tell what others are like, if items that stand for many may be elsewhere by themselves. */
#define FEW_PAGES 30

/* By which sums of floating point numbers may differ */
#define ROUNDING 1e-6

static double
form_total(const SstLinearForm *form, const SstPageSample *sample)
{
	double		total = 0;

	for (int i = 0; i < form->nterms; i++)
		total += form->weight[i] * sample->totals[form->count[i]];
	return total;
}

/* Tuples of a table, dead or not.  Their own bytes are counted. */
const SstItems sst_heap_tuples = {2, {SST_TUPLES, SST_DEAD_TUPLES}};

/* Items of leaf pages, dead or not */
const SstItems sst_leaf_items =
{4, {SST_LIVE_ITEMS, SST_DEAD_ITEMS, SST_REDIRECT_ITEMS, SST_PLACEHOLDER_ITEMS},
SST_USABLE_BYTES, SST_FREE_BYTES};

/*
 * Return the bytes that an item of a unit takes up on average, with its line
 * pointer; 0 without items.
 */
static double
item_size(const SstItems *items, const SstSampleUnit *unit)
{
	const uint32 *n = unit->n;
	double		nitems = 0;
	double		bytes;

	for (int i = 0; i < items->ncounts; i++)
		nitems += n[items->counts[i]];
	if (nitems == 0)
		return 0;
	if (items == &sst_heap_tuples)
	{
		bytes = (double) n[SST_TUPLE_BYTES] + n[SST_DEAD_TUPLE_BYTES];
		return MAXALIGN((Size) (bytes / nitems)) + sizeof(ItemIdData);
	}

	/* Pages of some kinds have another item, such as a high key. */
	bytes = (double) n[items->usable] - n[items->free];
	return Max(bytes, 0) / (nitems + unit->npages);
}

/*
 * Return the most items that a page can have, if none has smaller ones than the
 * sampled page with the smallest, of which there must be enough; and one more, as
 * some can be a little smaller.
 */
static double
most_items(const SstStatistic *statistic, const SstPageSample *sample)
{
	double		smallest = INFINITY;
	double		npages = 0;
	double		enough = MIN_SIZES;

	if (statistic->items != NULL && statistic->items->lists != 0 &&
		sample->sums.n[statistic->items->lists] > 0)
		enough = FEW_PAGES;
	for (int i = 0; statistic->items != NULL && i < sample->nparts; i++)
	{
		for (int j = 0; j < sample->parts[i].nunits; j++)
		{
			const SstSampleUnit *unit = &sample->parts[i].units[j];
			double		size = item_size(statistic->items, unit);

			if (size > 0)
			{
				smallest = Min(smallest, size);
				npages += unit->npages;
			}
		}
	}

	return npages < enough ? statistic->most :
		Min(statistic->most, 1 + floor((BLCKSZ - SizeOfPageHeaderData) / smallest));
}

/* What is added up: y and, if they count, the bytes of unused pages */
static void
set_numerator(const SstStatistic *statistic, SstLinearForm *y)
{
	memset(y, 0, sizeof(SstLinearForm));
	sst_linear_form_add(y, statistic->y, 1);
	if (statistic->plus_pages)
	{
		sst_linear_form_add(y, SST_NEW_PAGES, BLCKSZ);
		sst_linear_form_add(y, SST_EMPTY_PAGES, BLCKSZ);
		sst_linear_form_add(y, SST_DELETED_PAGES, BLCKSZ);
	}
}

/* The part of the pages that can be unlike all sampled ones */
static double
unlike_part(const SstPageSample *sample)
{
	return sample->sums.n[SST_HEAP_PAGES] > 0 ? SST_UNLIKE : SST_UNLIKE_IN_TREE(sample->nblocks);
}

static SstEstimate
estimate_total(const SstStatistic *statistic, const SstPageSample *sample)
{
	SstLinearForm y;
	SstEstimate result;
	SstBounds	interval;

	set_numerator(statistic, &y);
	interval = sst_total_interval(&y, 0, most_items(statistic, sample),
								  unlike_part(sample), INFINITY, sample);

	result.value = form_total(&y, sample);
	result.low = Max(result.value - interval.below,
					 sample->sums.n[statistic->y]);
	result.low = Min(result.low, result.value);
	result.high = result.value + interval.above;
	return result;
}

/* The ratio of two sums over all pages, as the sample has it */
typedef struct Ratio
{
	SstLinearForm x;			/* denominator */
	double		X;				/* its sum */
	double		Y;				/* sum of the numerator, y */
	double		value;			/* Y / X, NaN or infinite if X is 0 */
	SstLinearForm residual;		/* y - value * x */
} Ratio;

static void
compute_ratio(const SstStatistic *statistic, const SstPageSample *sample,
			  Ratio *ratio)
{
	SstLinearForm x = {0};
	SstLinearForm y;

	set_numerator(statistic, &y);
	sst_linear_form_add(&x, statistic->x, 1);
	if (statistic->plus_y)
		sst_linear_form_add(&x, statistic->y, 1);

	ratio->x = x;
	ratio->X = Max(form_total(&x, sample), sample->sums.n[statistic->x]);
	ratio->Y = form_total(&y, sample);
	ratio->value = ratio->Y / ratio->X;
	ratio->residual = y;
	for (int i = 0; i < x.nterms; i++)
		sst_linear_form_add(&ratio->residual, x.count[i],
							-ratio->value * x.weight[i]);
}

/*
 * Estimate the sum of y over the sum of x, as a fraction.  A page has no more of y
 * than of x.  The ends are NaN if too few pages have x.
 *
 * Pages with much of x count more than others.  Their effective number is that of Kish,
 * Survey Sampling, 1965.
 */
static SstEstimate
estimate_ratio(const SstStatistic *statistic, const Ratio *ratio, const SstPageSample *sample)
{
	SstBounds	interval;
	SstEstimate result;
	double		most = 0;
	double		sum = 0;
	double		squares = 0;
	double		unlike = SST_UNLIKE;
	double		units;

	for (int i = 0; i < sample->nparts; i++)
	{
		for (int j = 0; j < sample->parts[i].nunits; j++)
		{
			const SstSampleUnit *unit = &sample->parts[i].units[j];
			double		x = sst_unit_value(&ratio->x, unit);

			most = Max(most, x / unit->npages);
			sum += x;
			squares += x * x;
		}
	}

	result.value = ratio->value;
	result.low = result.high = NAN;
	units = sum * sum / squares;
	if (units < (sample->nsampled < FEW_PAGES ? MIN_PAGES : MIN_RARE_PAGES) - ROUNDING)
		return result;

	if (statistic->most > most && sample->nsampled < FEW_PAGES)
	{
		most = statistic->most;
		unlike = unlike_part(sample);
	}
	interval = sst_total_interval(&ratio->residual, -ratio->value * most,
								  (1 - ratio->value) * most, unlike, units, sample);
	result.low = Max(ratio->value - interval.below / ratio->X, 0);
	result.high = Min(ratio->value + interval.above / ratio->X, 1);
	return result;
}

/* Is the sample too small for an interval? */
static bool
is_too_small(const SstPageSample *sample)
{
	for (int i = 0; i < sample->nparts; i++)
	{
		if (sample->parts[i].nsampled < Min(MIN_PAGES, sample->parts[i].nblocks))
			return true;
	}
	return false;
}

static bool
is_ratio(const SstStatistic *statistic)
{
	return statistic->estimator == SST_RATIO ||
		statistic->estimator == SST_RATIO_LEFT;
}

/*
 * Estimate a statistic; ratios are in percent.  If all pages were read, the value
 * is exact and both ends of the interval are equal to it.
 *
 * NaN means not known: a ratio with nothing to divide by, anything if no page was
 * read, and the ends of the interval if the sample is too small for a variance.
 */
SstEstimate
sst_estimate(const SstStatistic *statistic, const SstPageSample *sample)
{
	static const SstEstimate unknown = {NAN, NAN, NAN};
	SstEstimate result = unknown;
	Ratio		ratio;
	SstLinearForm y;
	double		value;			/* without an interval; a ratio as a fraction */
	bool		exact = sst_sample_is_exact(sample);

	if (!exact && sample->nsampled == 0)
		return unknown;
	if (is_ratio(statistic))
	{
		compute_ratio(statistic, sample, &ratio);
		if (ratio.X == 0)
			return unknown;
		value = ratio.value;
	}
	else
	{
		set_numerator(statistic, &y);
		value = form_total(&y, sample);
	}

	if (exact)
		result = sst_exactly(value);
	else if (is_too_small(sample))
		result.value = value;
	else if (statistic->estimator == SST_TOTAL)
		result = estimate_total(statistic, sample);
	else
		result = estimate_ratio(statistic, &ratio, sample);

	if (is_ratio(statistic))
		result = sst_scaled(result, 100);
	if (statistic->estimator == SST_RATIO_LEFT)
	{
		double		high = 100 - result.low;

		result.value = 100 - result.value;
		result.low = 100 - result.high;
		result.high = high;
	}
	return result;
}

/*
 * Estimate a function of the sums over all pages, to which no page adds more than
 * most, or than a sampled one.  The interval comes from the function's derivative in each of the sums, the
 * delta method (Wolter 6.2).
 */
SstEstimate
sst_estimate_function(SstFunction function, const void *arg, double most,
					  const SstPageSample *sample)
{
	SstEstimate result = {NAN, NAN, NAN};
	SstLinearForm form = {0};
	SstBounds	interval;
	double		sums[lengthof(sample->totals)];

	if (!sst_sample_is_exact(sample) && sample->nsampled == 0)
		return result;

	memcpy(sums, sample->totals, sizeof(sums));
	result.value = function(arg, sums);
	if (sst_sample_is_exact(sample))
		return sst_exactly(result.value);
	if (is_too_small(sample) || isnan(result.value))
		return result;

	for (int i = 0; i < lengthof(sums); i++)
	{
		double		sum = sums[i];
		double		step = sum / 1000;
		double		change;

		if (step == 0)
			continue;
		sums[i] = sum + step;
		change = function(arg, sums);
		sums[i] = sum - step;
		change -= function(arg, sums);
		sums[i] = sum;
		if (change != 0 && !isnan(change))
			sst_linear_form_add(&form, i, change / (2 * step));
	}

	interval = sst_total_interval(&form, 0, most, unlike_part(sample), INFINITY, sample);
	result.low = Max(result.value - interval.below, 0);
	result.high = result.value + interval.above;
	return result;
}

/*
 * Return the distance from the value to the end of the interval that is further
 * away: 0 if there is nothing to estimate, and infinity if there is no interval.
 */
double
sst_margin(const SstEstimate *estimate)
{
	if (isnan(estimate->value))
		return 0;

	return isnan(estimate->low) || isnan(estimate->high) ? INFINITY :
		Max(estimate->value - estimate->low, estimate->high - estimate->value);
}
