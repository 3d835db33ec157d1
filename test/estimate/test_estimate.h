/*-------------------------------------------------------------------------
 *
 * test_estimate.h
 *	  Testing src/stats without a server
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_ESTIMATE_H
#define TEST_ESTIMATE_H

#include "stats/estimate.h"

/* A population: y and x of each block, as counters that the statistics name */
typedef struct Population
{
	int			nblocks;
	const uint32 *y;
	const uint32 *x;			/* or NULL: 1 each */
} Population;

/* What populations have y and x in; neither is known of all-visible pages. */
#define COUNT_Y SST_FREE_BYTES
#define COUNT_X SST_USABLE_BYTES

extern const SstColumn test_total;	/* of COUNT_Y, at most BLCKSZ a page */
extern const SstColumn test_pages;
extern const SstColumn test_share;
extern const SstColumn test_ratio;
extern const SstColumn test_ratio_left;

/* A line of the output, "ok" or "not ok" */
extern void check(bool is_true, const char *format, ...) pg_attribute_printf(2, 3);

/* The same, for a value that is to be within a distance of what is expected */
extern void check_near(double value, double expected, double distance,
					   const char *name);
extern void check_ends(SstEstimate estimate, double low, double high,
					   double distance, const char *name);

/* A sample of a whole relation that is a single part, to which pages are added */
extern void sample_begin(SstPageSample *sample, int nblocks, int nsample);
extern void sample_add(SstPageSample *sample, BlockNumber blkno,
					   const SstCounters *page);

/* The page that the population has there */
extern void population_page(const Population *population, BlockNumber blkno,
							SstCounters *page);

/* Draw n of its blocks, one of each of n ranges, by the test's own generator. */
extern void sample_draw(SstPageSample *sample, const Population *population, int n);

/* The same of a relation whose pages are given */
extern void sample_draw_pages(SstPageSample *sample, int nblocks,
							  const SstCounters *pages, int n);

/* A number between 0 and 1; what follows depends on the seed alone. */
extern double random_unit(void);
extern void random_start(uint64 seed);

extern void test_known_answers(void);
extern void test_coverage(void);
extern void test_shapes(void);
extern void test_pick(void);

#endif							/* TEST_ESTIMATE_H */
