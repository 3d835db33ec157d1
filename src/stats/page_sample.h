/*-------------------------------------------------------------------------
 *
 * page_sample.h
 *	  The counters of each sampled page, in the order of blocks, and the size of samples
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PAGE_SAMPLE_H
#define SST_PAGE_SAMPLE_H

#include "stats/counters.h"

/* One sampled page, or the sum of several neighbours */
typedef struct SstSampleUnit
{
	uint32		npages;
	uint64		nblocks;		/* of the ranges these were drawn from */
	BlockNumber blkno;			/* of the first */
	uint32		n[SST_FIRST_MAP_COUNT];
} SstSampleUnit;

/* Blocks of a relation that are sampled at one rate */
typedef struct SstSamplePart
{
	uint64		nblocks;
	uint64		nwanted;		/* ranges, each with one page to read */
	uint64		nsampled;		/* pages read so far */
	bool		of_set;			/* not all blocks of the relation */
	bool		all_visible;	/* all, by the visibility map */

	int			unit_pages;		/* pages of a complete unit */
	int			nunits;
	SstSampleUnit *units;
} SstSamplePart;

/* Blocks that are not all-visible, and those that are; or one part for all */
#define SST_MAX_PARTS 2

typedef struct SstPageSample
{
	uint64		nblocks;		/* of the relation */
	uint64		nsampled;
	SstCounters sums;			/* over all sampled pages */
	int			nparts;
	SstSamplePart parts[SST_MAX_PARTS];
	double		totals[SST_FIRST_MAP_COUNT];	/* estimated, over all blocks */
} SstPageSample;

extern void sst_sample_part_init(SstSamplePart *part, uint64 nblocks,
								 uint64 nwanted, uint64 nsample);
extern void sst_sample_part_add(SstSamplePart *part, const SstCounters *page,
								BlockNumber blkno, uint64 range_blocks);
extern void sst_page_sample_end(SstPageSample *sample, const SstCounters *sums,
								uint64 nsampled);
extern void sst_page_sample_free(SstPageSample *sample);

/* Was every block of the relation read? */
static inline bool
sst_sample_is_exact(const SstPageSample *sample)
{
	return sample->nsampled >= sample->nblocks;
}

/* A sample that is not this many times larger is not worth another read. */
#define SST_MIN_GROWTH 1.5

extern double sst_sample_growth(double margin, double wanted, double unknown);
extern uint64 sst_larger_sample(uint64 nblocks, uint64 nsampled, double growth);

#endif							/* SST_PAGE_SAMPLE_H */
