/*-------------------------------------------------------------------------
 *
 * test_estimate.c
 *	  Testing arithmetic without a server: what the tests share
 *
 * The program prints a line for each test, in the Test Anything Protocol, and fails
 * when a test does.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "miscadmin.h"
#include "test_estimate.h"

/* The C library's: the server's are in its library. */
#undef printf
#undef vprintf
#undef qsort

const SstColumn test_total = {"total", .count = COUNT_Y, .most = BLCKSZ};
const SstColumn test_pages = {"pages", .count = COUNT_Y, .most = 1};
const SstColumn test_share = {"share", .count = COUNT_Y, .percent_of = COUNT_X, .most = 1};
const SstColumn test_ratio = {"ratio", .count = COUNT_Y, .percent_of = COUNT_X};
const SstColumn test_ratio_left = {"left", .count = COUNT_Y, .percent_of = COUNT_X, .left = true};

static int	ntests = 0;
static int	nfailed = 0;

/* What the code needs of a server */
volatile sig_atomic_t InterruptPending = false;

void
ProcessInterrupts(void)
{
}

void *
palloc(Size size)
{
	void	   *memory = malloc(size);

	if (memory == NULL)
		abort();
	return memory;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void
pg_qsort(void *base, size_t n, size_t size, int (*compare) (const void *, const void *))
{
	qsort(base, n, size, compare);
}

void *
palloc_extended(Size size, int flags)
{
	return palloc0(size);
}

void
pfree(void *memory)
{
	free(memory);
}

void
check(bool is_true, const char *format, ...)
{
	va_list		args;

	ntests++;
	if (!is_true)
		nfailed++;
	printf("%s %d - ", is_true ? "ok" : "not ok", ntests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void
check_near(double value, double expected, double distance, const char *name)
{
	bool		is_near = fabs(value - expected) <= distance;

	check(is_near, "%s", name);
	if (!is_near)
		printf("# is %.10g, expected %.10g\n", value, expected);
}

void
check_ends(SstEstimate estimate, double low, double high, double distance,
		   const char *name)
{
	bool		are_near = fabs(estimate.low - low) <= distance &&
		fabs(estimate.high - high) <= distance;

	check(are_near, "%s", name);
	if (!are_near)
		printf("# is %.10g to %.10g, expected %.10g to %.10g\n",
			   estimate.low, estimate.high, low, high);
}

void
sample_begin(SstPageSample *sample, int nblocks, int nsample)
{
	memset(sample, 0, sizeof(SstPageSample));
	sst_counters_init(&sample->sums);
	sample->nblocks = nblocks;
	sample->nparts = 1;
	sst_sample_part_init(&sample->parts[0], nblocks, nsample, nsample);
}

/* The first block of a range, as src/source has it */
static BlockNumber
range_start(const SstSamplePart *part, uint64 range)
{
	return (BlockNumber) (part->nblocks * range / part->nwanted);
}

void
sample_add(SstPageSample *sample, BlockNumber blkno, const SstCounters *page)
{
	SstSamplePart *part = &sample->parts[0];

	sst_sample_part_add(part, page, blkno,
						range_start(part, part->nsampled + 1) -
						range_start(part, part->nsampled));
	sst_counters_merge(&sample->sums, page);
	sample->nsampled++;
}

void
population_page(const Population *population, BlockNumber blkno,
				SstCounters *page)
{
	sst_counters_init(page);
	page->n[SST_HEAP_PAGES] = 1;	/* no tree */
	page->n[COUNT_Y] = population->y[blkno];
	page->n[COUNT_X] = population->x == NULL ? 1 : population->x[blkno];
}

/* Draw a block of a sample's next range. */
static BlockNumber
draw_block(const SstPageSample *sample)
{
	const SstSamplePart *part = &sample->parts[0];
	BlockNumber start = range_start(part, part->nsampled);
	BlockNumber end = range_start(part, part->nsampled + 1);

	return start + (BlockNumber) (random_unit() * (end - start));
}

void
sample_draw(SstPageSample *sample, const Population *population, int n)
{
	sample_begin(sample, population->nblocks, n);
	for (int i = 0; i < n; i++)
	{
		BlockNumber blkno = draw_block(sample);
		SstCounters page;

		population_page(population, blkno, &page);
		sample_add(sample, blkno, &page);
	}
	sst_page_sample_end(sample, &sample->sums, sample->nsampled);
}

void
sample_draw_pages(SstPageSample *sample, int nblocks, const SstCounters *pages, int n)
{
	sample_begin(sample, nblocks, n);
	for (int i = 0; i < n; i++)
	{
		BlockNumber blkno = draw_block(sample);

		sample_add(sample, blkno, &pages[blkno]);
	}
	sst_page_sample_end(sample, &sample->sums, sample->nsampled);
}

/* SplitMix64: Steele, Lea and Flood, OOPSLA 2014 */
static uint64 random_state;

void
random_start(uint64 seed)
{
	random_state = seed;
}

double
random_unit(void)
{
	uint64		z = (random_state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	z ^= z >> 31;
	return (double) (z >> 11) / (UINT64CONST(1) << 53);
}

int
main(void)
{
	/* What does not end is ended. */
	alarm(300);

	test_known_answers();
	test_coverage();
	test_shapes();
	test_pick();
	printf("1..%d\n", ntests);
	return nfailed != 0;
}
