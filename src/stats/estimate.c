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
most_items(const SstColumn *column, const SstPageSample *sample)
{
	double		smallest = INFINITY;
	double		npages = 0;
	double		enough = MIN_SIZES;

	if (column->items != NULL && column->items->lists != 0 &&
		sample->sums.n[column->items->lists] > 0)
		enough = FEW_PAGES;
	for (int i = 0; column->items != NULL && i < sample->nparts; i++)
	{
		for (int j = 0; j < sample->parts[i].nunits; j++)
		{
			const SstSampleUnit *unit = &sample->parts[i].units[j];
			double		size = item_size(column->items, unit);

			if (size > 0)
			{
				smallest = Min(smallest, size);
				npages += unit->npages;
			}
		}
	}

	return npages < enough ? column->most :
		Min(column->most, 1 + floor((BLCKSZ - SizeOfPageHeaderData) / smallest));
}

/* What is added up: the counter and, if they count, the bytes of unused pages; or what it leaves */
static SstLinearForm
numerator(const SstColumn *column)
{
	SstLinearForm form = {0};

	sst_linear_form_add(&form, column->count, column->left ? -1 : 1);
	if (column->left)
		sst_linear_form_add(&form, column->percent_of, 1);
	if (column->plus_pages)
	{
		sst_linear_form_add(&form, SST_NEW_PAGES, BLCKSZ);
		sst_linear_form_add(&form, SST_EMPTY_PAGES, BLCKSZ);
		sst_linear_form_add(&form, SST_DELETED_PAGES, BLCKSZ);
	}
	return form;
}

/* The part of the pages that can be unlike all sampled ones */
static double
unlike_part(const SstPageSample *sample)
{
	return sample->sums.n[SST_HEAP_PAGES] > 0 ? SST_UNLIKE : SST_UNLIKE_IN_TREE(sample->nblocks);
}

/*
 * The estimate of a sum over all pages, or of a function that changes as the form does, to
 * which a page adds at most so much.
 */
static SstEstimate
with_interval(double value, const SstLinearForm *form, double most,
			  const SstPageSample *sample)
{
	SstEstimate result = {value, NAN, NAN};
	SstBounds	interval;

	if (sst_sample_is_exact(sample))
		return sst_exactly(value);
	if (sample->nsampled < MIN_PAGES)
		return result;

	interval = sst_total_interval(form, 0, most, unlike_part(sample), INFINITY, sample);
	result.low = Max(value - interval.below, 0);
	result.high = value + interval.above;
	return result;
}

/* Estimate the sum of a counter, of which there is at least what was seen. */
static SstEstimate
estimate_total(const SstColumn *column, const SstPageSample *sample)
{
	SstLinearForm y = numerator(column);
	SstEstimate result = with_interval(form_total(&y, sample), &y,
									   most_items(column, sample), sample);

	if (result.low < sample->sums.n[column->count])
		result.low = Min(sample->sums.n[column->count], result.value);
	return result;
}

/*
 * The effective number of pages that have the form, of which those with much count more
 * than others: that of Kish, Survey Sampling, 1965.  *most is the most that one has.
 */
static double
effective_pages(const SstLinearForm *form, const SstPageSample *sample, double *most)
{
	double		sum = 0;
	double		squares = 0;

	*most = 0;
	for (int i = 0; i < sample->nparts; i++)
	{
		for (int j = 0; j < sample->parts[i].nunits; j++)
		{
			const SstSampleUnit *unit = &sample->parts[i].units[j];
			double		value = sst_unit_value(form, unit);

			*most = Max(*most, value / unit->npages);
			sum += value;
			squares += value * value;
		}
	}
	return sum * sum / squares;
}

/*
 * Estimate the sum of a counter, or of what it leaves, in percent of the sum of another one,
 * x.  A page has no more of it than of x.  The ends are NaN if too few pages have x.
 */
static SstEstimate
estimate_percent(const SstColumn *column, const SstPageSample *sample)
{
	SstEstimate result = {NAN, NAN, NAN};
	SstLinearForm residual = numerator(column); /* less x times the value */
	SstLinearForm x = {0};
	SstBounds	interval;
	double		whole;
	double		value;
	double		most;
	double		units;
	double		unlike = SST_UNLIKE;

	sst_linear_form_add(&x, column->percent_of, 1);
	if (column->of_sum)
		sst_linear_form_add(&x, column->count, 1);
	whole = Max(form_total(&x, sample), sample->sums.n[column->percent_of]);
	if (whole == 0)
		return result;

	value = form_total(&residual, sample) / whole;
	if (sst_sample_is_exact(sample))
		return sst_exactly(100 * value);
	result.value = 100 * value;
	units = effective_pages(&x, sample, &most);
	if (units < (sample->nsampled < FEW_PAGES ? MIN_PAGES : MIN_RARE_PAGES) - ROUNDING)
		return result;

	for (int i = 0; i < x.nterms; i++)
		sst_linear_form_add(&residual, x.count[i], -value * x.weight[i]);
	if (column->most > most && sample->nsampled < FEW_PAGES)
	{
		most = column->most;
		unlike = unlike_part(sample);
	}
	interval = sst_total_interval(&residual, -value * most, (1 - value) * most, unlike,
								  units, sample);
	result.low = 100 * Max(value - interval.below / whole, 0);
	result.high = 100 * Min(value + interval.above / whole, 1);
	return result;
}

/*
 * Estimate what a column shows.  If all pages were read, the value is exact and both ends of the
 * interval are equal to it.
 *
 * NaN means not known: a percentage of nothing, anything if no page was read, and the
 * ends of the interval if the sample is too small for a variance.
 */
SstEstimate
sst_estimate(const SstColumn *column, const SstPageSample *sample)
{
	if (!sst_sample_is_exact(sample) && sample->nsampled == 0)
		return sst_exactly(NAN);

	return column->percent_of != 0 ? estimate_percent(column, sample) :
		estimate_total(column, sample);
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
	SstLinearForm form = {0};
	double		sums[lengthof(sample->totals)];
	double		value;

	if (!sst_sample_is_exact(sample) && sample->nsampled == 0)
		return sst_exactly(NAN);

	memcpy(sums, sample->totals, sizeof(sums));
	value = function(arg, sums);
	for (int i = 0; i < lengthof(sums) && !sst_sample_is_exact(sample); i++)
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

	return isnan(value) ? sst_exactly(NAN) : with_interval(value, &form, most, sample);
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
