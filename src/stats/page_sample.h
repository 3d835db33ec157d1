/*-------------------------------------------------------------------------
 *
 * page_sample.h
 *	  What the pages of a sample said, in the order of their blocks
 *
 * The blocks of a part of a relation are cut into as many ranges (strata) as
 * pages are to be read, equal but for one block, and one block of each is drawn.
 * What neighbouring ranges say differs by what is random in the sample, and by
 * what the relation is like there: estimate.c needs the order.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/page_sample.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PAGE_SAMPLE_H
#define SST_PAGE_SAMPLE_H

#include "stats/counters.h"

/* One page of a sample, or several neighbours added up */
typedef struct SstSampleUnit
{
	uint32		npages;
	uint64		nblocks;		/* of the ranges they were drawn from */
	BlockNumber blkno;			/* of the first */
	uint32		n[SST_FIRST_MAP_COUNT];
} SstSampleUnit;

/* Blocks of a relation that have been sampled alike */
typedef struct SstSamplePart
{
	uint64		nblocks;		/* there are */
	uint64		nwanted;		/* ranges, and pages to be read */
	uint64		nsampled;		/* pages read so far */
	bool		of_set;			/* they are not all blocks, and */
	bool		all_visible;	/* the visibility map vouches for all of them */

	int			unit_pages;		/* of a unit that is complete */
	int			nunits;
	int			maxunits;
	SstSampleUnit *units;
} SstSamplePart;

/* The blocks that are not all-visible, and those that are; or all together */
#define SST_MAX_PARTS 2

typedef struct SstPageSample
{
	uint64		nblocks;		/* of the relation */
	uint64		nsampled;
	SstCounters sums;			/* of all pages that were read */
	int			nparts;
	SstSamplePart parts[SST_MAX_PARTS];
} SstPageSample;

extern void sst_sample_part_init(SstSamplePart *part, uint64 nblocks,
								 uint64 nwanted, uint64 nsample);
extern void sst_sample_part_add(SstSamplePart *part, const SstCounters *page,
								BlockNumber blkno, uint64 range_blocks);
extern void sst_page_sample_free(SstPageSample *sample);

/* Was every block of the relation read? */
static inline bool
sst_sample_is_exact(const SstPageSample *sample)
{
	return sample->nsampled >= sample->nblocks;
}

#endif							/* SST_PAGE_SAMPLE_H */
