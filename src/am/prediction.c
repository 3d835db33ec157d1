/*-------------------------------------------------------------------------
 *
 * prediction.c
 *	  From a model's function of counts to a size with ends
 *
 * The errors of the sample, of the fraction of entries that are kept and of the
 * model do not depend on each other.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "am/rebuild.h"

/* The least relative standard deviation of the sizes of entries that is assumed */
#define LEAST_SPREAD 0.1

/*
 * A sample of fewer pages than the first can have fewer than the second with something to
 * rebuild only because of the pages that an index has once, as its metapage and root.
 */
#define FEW_PAGES 10
#define FEW_WITH_ENTRIES 3

/* The model's function, for derivatives */
static double
smooth_blocks(const void *rebuild, const double *sums)
{
	return ((const SstRebuild *) rebuild)->model->blocks(rebuild, sums, false);
}

/*
 * How many blocks does a full page become?  More than one where the fillfactor, or the size of
 * items, leaves more space.
 */
static double
most_blocks(const SstRebuild *rebuild, const SstPageSample *sample)
{
	const double *once = sample->totals;
	double		bytes = once[SST_REBUILT_BYTES] + once[SST_REBUILT_TREE_BYTES];
	double		twice[lengthof(sample->totals)];

	if (bytes == 0)
		return 1;
	for (int i = 0; i < lengthof(twice); i++)
		twice[i] = 2 * once[i];
	return Max(BLCKSZ * (smooth_blocks(rebuild, twice) - smooth_blocks(rebuild, once)) / bytes, 1);
}

/* Does the sample have too few pages with something to rebuild to say what others have? */
static bool
says_nothing(const SstPageSample *sample)
{
	int			n = 0;

	if (sst_sample_is_exact(sample) || sample->nsampled >= FEW_PAGES)
		return false;
	for (int i = 0; i < sample->nparts; i++)
	{
		const SstSamplePart *part = &sample->parts[i];

		for (int j = 0; j < part->nunits; j++)
			n += part->units[j].n[SST_REBUILT_BYTES] + part->units[j].n[SST_REBUILT_ENTRIES] > 0;
	}
	return n < FEW_WITH_ENTRIES;
}

/*
 * Widen the ends to what the relation becomes if all pages that were not read have nothing, or
 * are full, with a page of a level above.
 */
static void
allow_for_any(const SstRebuild *rebuild, const SstPageSample *sample, double most,
			  SstEstimate *result)
{
	double		read[lengthof(sample->totals)];
	double		blocks;

	for (int i = 0; i < lengthof(read); i++)
		read[i] = sample->sums.n[i];
	blocks = rebuild->model->blocks(rebuild, read, true);
	result->low = Min(result->low, blocks);
	result->high = Max(result->high, blocks + (sample->nblocks - sample->nsampled) * most + 1);
}

/* Predict whole blocks, with the ends that follow from the sample. */
SstEstimate
sst_predict_blocks(const SstRebuild *rebuild, const SstPageSample *sample)
{
	double		most = most_blocks(rebuild, sample);
	SstEstimate result = sst_estimate_function(smooth_blocks, rebuild, most, sample);

	/* The ends keep their distance from the value in whole blocks. */
	if (!isnan(result.value))
	{
		double		whole = rebuild->model->blocks(rebuild, sample->totals, true);

		result.low = whole - (result.value - result.low);
		result.high = whole + (result.high - result.value);
		result.value = whole;
	}
	if (says_nothing(sample) && !isnan(result.high))
		allow_for_any(rebuild, sample, most, &result);
	if (isnan(result.low))
		result.low = 0;
	if (isnan(result.high))
		result.high = INFINITY;
	return result;
}

/* Widen an estimate by another error. */
void
sst_widen(SstEstimate *estimate, double below, double above)
{
	double		value = estimate->value;

	estimate->low = Max(value - hypot(value - estimate->low, below), 0);
	estimate->high = value + hypot(estimate->high - value, above);
}

/*
 * When this fraction of n values is left, by how much may their part of the sum differ from
 * the fraction, whichever they are?  No more than that times the coefficient of variation
 * (the Cauchy-Schwarz inequality).
 */
double
sst_most_unlike(double fraction, double n, double sum, double squares)
{
	sum = Max(sum, 1);
	return sqrt(fraction * (1 - fraction) * Max(n * squares / (sum * sum) - 1, 0));
}

/*
 * Scale a prediction for all entries to this fraction of them.  "uncertainty" is what
 * the model adds to the ends for that, as a fraction of the size.
 */
void
sst_leave_out(const SstRebuild *rebuild, const SstPageSample *sample,
			  const SstEstimate *kept, double uncertainty, SstEstimate *result)
{
	const SstModel *model = rebuild->model;
	double		all = smooth_blocks(rebuild, sample->totals);
	double		fractions[] = {kept->value, kept->low, kept->high};
	double		sizes[lengthof(fractions)];
	double		value = result->value;
	double		high = result->high;
	double		below;
	double		above;

	if (kept->low == 1)
		return;
	for (int i = 0; i < lengthof(fractions); i++)
	{
		double		counts[lengthof(sample->totals)];

		memcpy(counts, sample->totals, sizeof(counts));
		if (model->scale != NULL)
			model->scale(rebuild, counts, fractions[i]);
		else
		{
			counts[SST_REBUILT_ENTRIES] *= fractions[i];
			counts[SST_REBUILT_BYTES] *= fractions[i];
			for (int n = SST_OWN; n < SST_OWN_END; n++)
				counts[n] *= fractions[i];
		}
		sizes[i] = Min(smooth_blocks(rebuild, counts) / all, 1);
	}
	sizes[1] = Min(sizes[1], kept->low);

	below = hypot((value - result->low) * sizes[0],
				  value * Max(sizes[0] - sizes[1], 0));
	above = hypot((result->high - value) * sizes[0],
				  value * Max(sizes[2] - sizes[0], 0));
	uncertainty += LEAST_SPREAD * sqrt(kept->value * (1 - kept->value));
	result->value = value * sizes[0];
	result->low = Max(result->value - hypot(below, value * uncertainty), 0);
	result->high = result->value + hypot(above, value * uncertainty);

	/* If all can be left, no error makes up for another one. */
	if (kept->high == 1)
		result->high = Max(result->high, high);
}
