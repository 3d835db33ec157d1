/*-------------------------------------------------------------------------
 *
 * page_sample.c
 *	  The counters of each sampled page, in the order of blocks, and the size of samples
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/page_sample.h"

/*
 * Units that the parts of a sample keep together, about (4 MB), and that a part needs.  In a
 * larger sample, neighbouring pages are added up: fewer units show the variance well enough.
 */
#define MAX_UNITS 10240
#define MIN_PART_UNITS 1024

/*
 * Begin a part of nblocks blocks, of which nwanted are to be read.  The sample
 * has nsample pages in all.
 */
void
sst_sample_part_init(SstSamplePart *part, uint64 nblocks, uint64 nwanted,
					 uint64 nsample)
{
	memset(part, 0, sizeof(SstSamplePart));
	part->nblocks = nblocks;
	part->nwanted = nwanted;
	part->unit_pages = Max(Min((nsample + MAX_UNITS - 1) / MAX_UNITS,
							   nwanted / MIN_PART_UNITS), 1);
	part->units = palloc((nwanted / part->unit_pages + 1) * sizeof(SstSampleUnit));
}

/* Add the counters of the next page, which was drawn from range_blocks blocks. */
void
sst_sample_part_add(SstSamplePart *part, const SstCounters *page,
					BlockNumber blkno, uint64 range_blocks)
{
	SstSampleUnit *unit;

	if (part->nsampled++ % part->unit_pages == 0)
	{
		unit = &part->units[part->nunits++];
		memset(unit, 0, sizeof(SstSampleUnit));
		unit->blkno = blkno;
	}
	unit = &part->units[part->nunits - 1];
	unit->npages++;
	unit->nblocks += range_blocks;
	for (int c = 0; c < SST_FIRST_MAP_COUNT; c++)
		unit->n[c] += (uint32) page->n[c];
}

/* All pages were added: keep their sums, and estimate the totals over all blocks. */
void
sst_page_sample_end(SstPageSample *sample, const SstCounters *sums, uint64 nsampled)
{
	sample->sums = *sums;
	sample->nsampled = nsampled;
	for (int c = 0; c < SST_FIRST_MAP_COUNT; c++)
		sample->totals[c] = sst_sample_is_exact(sample) ? sums->n[c] : 0;
	if (sst_sample_is_exact(sample))
		return;

	for (int i = 0; i < sample->nparts; i++)
	{
		for (int j = 0; j < sample->parts[i].nunits; j++)
		{
			const SstSampleUnit *unit = &sample->parts[i].units[j];

			for (int c = 0; c < SST_FIRST_MAP_COUNT; c++)
				sample->totals[c] += (double) unit->n[c] * unit->nblocks / unit->npages;
		}
	}
}

void
sst_page_sample_free(SstPageSample *sample)
{
	for (int i = 0; i < sample->nparts; i++)
		pfree(sample->parts[i].units);
	sample->nparts = 0;
}

/* ----------
 * How large the next sample must be
 * ----------
 */

/* How much larger than the formula says, because the spread is an estimate */
#define SAFETY 1.3

/*
 * Return by which factor a sample must grow, so that a margin becomes the wanted
 * one: margins shrink with the square root of the sample.  Without a finite
 * margin the factor is the given one.
 */
double
sst_sample_growth(double margin, double wanted, double unknown)
{
	if (isinf(margin))
		return unknown;

	return wanted > 0 ? SAFETY * (margin / wanted) * (margin / wanted) : INFINITY;
}

/*
 * Return the size of a sample that grows from nsampled of nblocks blocks by the
 * factor, or by SST_MIN_GROWTH if that is more.  When more than half of the blocks
 * are needed it is all of them, because that is as fast.
 */
uint64
sst_larger_sample(uint64 nblocks, uint64 nsampled, double growth)
{
	double		wanted = ceil(nsampled * Max(growth, SST_MIN_GROWTH));

	return wanted > nblocks / 2.0 ? nblocks : (uint64) wanted;
}
