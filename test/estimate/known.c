/*-------------------------------------------------------------------------
 *
 * known.c
 *	  Estimates that are known: published, by hand, or because all was read
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "stats/page_sample.h"
#include "test_estimate.h"

/* The integral of Student's density from t on: a sum over u = 1/x, without its factor */
static double
tail(double t, double df)
{
	int			steps = 200000;
	double		sum = 0;

	for (int i = 0; i < steps; i++)
	{
		double		u = (i + 0.5) / steps / t;

		sum += pow(u, df - 1) * pow(u * u + 1 / df, -(df + 1) / 2);
	}
	return sum / steps / t;
}

static void
test_quantiles(void)
{
	/* Any table of Student's distribution, 97.5 % */
	static const double t[][2] = {{1, 12.7062}, {2, 4.3027}, {3, 3.1824}, {4, 2.7764},
	{5, 2.5706}, {10, 2.2281}, {30, 2.0423}};
	double		before = INFINITY;
	bool		falls = true;

	for (int i = 0; i < lengthof(t); i++)
		check(fabs(sst_t_quantile(t[i][0]) / t[i][1] - 1) < 0.006,
			  "t quantile, %g degrees of freedom", t[i][0]);

	/* Others are in no table: how much of the distribution is beyond them? */
	for (double df = 1.1; df < 5; df += 0.3)
	{
		double		all = 2 * (0.01 + tail(0.01, df));

		check(fabs(tail(sst_t_quantile(df), df) / all / 0.025 - 1) < 0.02,
			  "t quantile, %g degrees of freedom", df);
	}

	for (double df = 1; df < 40; df += 0.01)
	{
		falls = falls && sst_t_quantile(df) < before;
		before = sst_t_quantile(df);
	}
	check(falls, "the more degrees of freedom, the smaller it is");
	check_near(sst_t_quantile(1e9), 1.959964, 1e-6, "t quantile, many degrees of freedom");

	/* Hanley and Lippman-Hand 1983: 3/n; n = 10: 1 - 0.05^0.1 = 0.2589 */
	check_near(sst_unseen_part(10000), 3.0 / 10000, 1e-6, "rule of three");
	check_near(sst_unseen_part(10), 0.2589, 1e-4, "the same of 10");
}

static void
sample_of(SstPageSample *sample, int nblocks, int n, const uint32 *y, const uint32 *x)
{
	sample_begin(sample, nblocks, n);
	for (int i = 0; i < n; i++)
	{
		SstCounters page;

		sst_counters_init(&page);
		page.n[COUNT_Y] = y[i];
		page.n[COUNT_X] = x[i];
		sample_add(sample, i * (nblocks / n) + 1, &page);
	}
	sst_page_sample_end(sample, &sample->sums, sample->nsampled);
}

/*
 * 4 of 12 blocks, one of each three: y is 2, 4, 8, 6, x is 10, 10, 20, 10.
 *
 * y: total 3 * 20 = 60.  Differences 2, 4, -2: s^2 = (4 + 16 + 4) / (2 * 3) = 4;
 * the total's variance N^2 (1 - n/N) s^2 / n = 144 * 2/3 * 4/4 = 96.  Three
 * differences: t = 3.1824, half = 31.18.  Second differences 2, -6: third moment
 * (8 - 216) / (-6 * 2) = 17.33; times N (N/n)^2 (1 - n/N)(1 - 2n/N) = 24: 416.
 * Johnson's shift 416 / 96 * (1 + 2 z^2) / 6 = 6.27: 24.91 below and 37.45 above.
 *
 * Not seen: 12 (1 - 0.05^(1/4)) = 6.3256 blocks.  If a page has no more than 10, they have 2
 * less or more than the least or the most of these: 12.65.  One page that was not read
 * can have 8 less than 8, or 8 more than 2.  sqrt(24.91^2 + 12.65^2) + 8 = 35.94 below; above, the
 * 8 pages that were not read have at most 40 more.  If a page can have 100, they
 * can have 6.3256 * (100 - 8) = 581.96 more, and one of them 98 more:
 * sqrt(37.45^2 + 581.96^2) + 98 = 681.16.
 *
 * y/x: 60 / 150 = 40 %.  Residuals y - 0.4 x: -2, 0, 0, 2; differences 2, 0, 2: s^2 = 8
 * / 6, variance 32, no skewness.  x is as of 50^2 / 700 = 3.571 equal pages: variance 32 * 3.571
 * / 2.571 = 44.44 with 2.571 degrees of freedom, t = 3.505: half 23.36.  If no page has more
 * than 2, the 8 that were not read have 16 more at most.  A page can have x =
 * 20 and y = 0, or y = 20: residuals -8 and 12, 6 less and 10 more than were
 * seen, 37.95 and 63.26 in all; one page 10 less than 2, or 14 more than -2.
 * (sqrt(23.36^2 + 37.95^2) + 10) / 150 = 36.38 %, (sqrt(23.36^2 + 63.26^2) + 14) / 150 = 54.29 %.
 */
static void
test_by_hand(void)
{
	static const uint32 y[] = {2, 4, 8, 6};
	static const uint32 x[] = {10, 10, 20, 10};
	static const uint32 one[] = {1, 1, 1, 1};
	static const uint32 hit[] = {0, 1, 0, 0};
	SstColumn	total = test_total;
	SstPageSample sample;
	SstEstimate estimate;
	SstLinearForm form = {0};
	SstBounds	bounds;

	sample_of(&sample, 12, 4, y, x);
	total.most = 10;
	estimate = sst_estimate(&total, &sample);
	check_near(estimate.value, 60, 1e-9, "total of 4 of 12 blocks");
	check_ends(estimate, 60 - 35.94, 60 + 40, 0.3, "its interval");
	total.most = 100;
	check_ends(sst_estimate(&total, &sample), 60 - 35.94, 60 + 681.16, 0.3,
			   "if a page can have 100");

	estimate = sst_estimate(&test_ratio, &sample);
	check_near(estimate.value, 40, 1e-9, "ratio of 4 of 12 blocks");
	check_ends(estimate, 40 - 36.38, 40 + 54.29, 0.03, "its interval");
	sst_linear_form_add(&form, COUNT_Y, 1);
	sst_linear_form_add(&form, COUNT_X, -0.4);
	bounds = sst_total_interval(&form, -2, 2, SST_UNLIKE, INFINITY, &sample);
	check(fabs(bounds.below - 16) < 1e-9 && fabs(bounds.above - 16) < 1e-9,
		  "no more than the pages that were not read can have");
	estimate = sst_estimate(&test_ratio_left, &sample);
	check_near(estimate.value, 60, 1e-9, "what is left to 100 percent");
	check_ends(estimate, 60 - 54.29, 60 + 36.38, 0.03, "its interval");
	sst_page_sample_free(&sample);

	/*
	 * 1 of 4, exact limits 0.0063 and 0.8059; but 1 to 9 are what there can
	 * be.
	 */
	sample_of(&sample, 12, 4, hit, one);
	estimate = sst_estimate(&test_pages, &sample);
	check_near(estimate.value, 3, 1e-9, "pages, 1 of 4 of 12 blocks");
	check_ends(estimate, 1, 9, 1e-9, "their interval");
	check_ends(sst_estimate(&test_share, &sample), 100.0 / 12, 75, 1e-9,
			   "the same as a share");
	sst_page_sample_free(&sample);
}

/*
 * One page of 8 has more.  7 differences, of whose squares two are 64: sum 128, of
 * fourth powers 8192.  Kurtosis 2 * 7 * 8192 / 128^2 - 3 = 4: 2 * 7 / 4 = 3.5 degrees
 * of freedom, t = 2.94 (3: 3.182, 4: 2.776).
 */
static void
test_one_page(void)
{
	static const uint32 y[] = {20, 20, 20, 28, 20, 20, 20, 20};
	SstPageSample sample;
	SstLinearForm form = {0};
	SstBounds	bounds;

	sample_of(&sample, 8000, 8, y, y);
	sst_linear_form_add(&form, COUNT_Y, 1);
	bounds = sst_total_interval(&form, 19, 28, SST_UNLIKE, INFINITY, &sample);
	check_near((bounds.below + bounds.above) / 2 /
			   (8000 * sqrt(128.0 / 14 / 8)), 2.94, 0.06,
			   "degrees of freedom where one page has all");
	check(bounds.above > 2 * bounds.below, "which is skewed");
	sst_page_sample_free(&sample);
}

static double
twice_y(const void *arg, const double *sums)
{
	return 2 * sums[COUNT_Y];
}

/* A function of the sums that is linear is a total. */
static void
test_function(void)
{
	static const uint32 y[] = {2, 4, 8, 6};
	SstPageSample sample;
	SstColumn	total = test_total;
	SstEstimate once;

	total.most = 10;
	sample_of(&sample, 12, 4, y, y);
	sample.sums.n[SST_HEAP_PAGES] = 1;	/* no tree */
	once = sst_estimate(&total, &sample);
	check_ends(sst_estimate_function(twice_y, NULL, 20, &sample),
			   2 * once.low, 2 * once.high, 1e-6, "twice a total");
	check_near(sst_margin(&once), once.high - once.value, 1e-9, "its margin: to the further end");
	check(once.high - once.value > once.value - once.low, "which is the upper one");
	sst_page_sample_free(&sample);
}

static bool
is_unknown(SstEstimate estimate)
{
	return isnan(estimate.value) && isnan(estimate.low) && isnan(estimate.high);
}

/* By hand: margins shrink with the square root, and 30 % are added. */
static void
test_sizes(void)
{
	SstEstimate unknown = {NAN, NAN, NAN};

	check_near(sst_sample_growth(6, 3, 4), 5.2, 1e-9, "half the margin: 5.2 times the sample");
	check_near(sst_sample_growth(INFINITY, 3, 4), 4, 0, "no margin: by the given factor");
	check(isinf(sst_sample_growth(6, 0, 4)), "a margin of 0 needs all blocks");
	check_near(sst_larger_sample(10000, 100, 5.2), 520, 0, "a larger sample");
	check_near(sst_larger_sample(10000, 101, 1.1), 152, 0, "at least half as much again");
	check_near(sst_larger_sample(1000, 100, 5.0), 500, 0, "half of the blocks");
	check_near(sst_larger_sample(1000, 100, 5.2), 1000, 0, "more than half: all");
	check_near(sst_larger_sample(1000, 100, INFINITY), 1000, 0, "or everything");
	check_near(sst_margin(&unknown), 0, 0, "nothing to estimate has no margin");
}

static void
test_limits(void)
{
	static const uint32 y[] = {2, 4, 8, 6};
	static const uint32 none[] = {0, 0, 0, 0};
	SstPageSample sample;
	SstEstimate estimate;

	sample_of(&sample, 4, 4, y, y);
	estimate = sst_estimate(&test_total, &sample);
	check_near(estimate.value, 20, 0, "all blocks: the sum");
	check_ends(estimate, 20, 20, 0, "and no interval");
	check_ends(sst_estimate(&test_ratio, &sample), 100, 100, 0, "nor of a ratio");
	check_ends(sst_estimate(&test_pages, &sample), 20, 20, 0, "nor of pages");
	check_near(sst_margin(&estimate), 0, 0, "a margin of 0");
	sst_page_sample_free(&sample);

	sample_of(&sample, 12, 4, none, none);
	check(is_unknown(sst_estimate(&test_ratio, &sample)) &&
		  is_unknown(sst_estimate(&test_share, &sample)) &&
		  is_unknown(sst_estimate(&test_ratio_left, &sample)),
		  "a share of nothing is not known");
	sst_page_sample_free(&sample);

	sample_begin(&sample, 12, 4);
	check(is_unknown(sst_estimate(&test_total, &sample)) &&
		  is_unknown(sst_estimate(&test_pages, &sample)),
		  "nothing is known from no page");
	sst_page_sample_free(&sample);

	sample_of(&sample, 12, 1, y, y);
	estimate = sst_estimate(&test_total, &sample);
	check(estimate.value == 24 && isnan(estimate.low) && isnan(estimate.high),
		  "one page: a value, no interval");
	check(isinf(sst_margin(&estimate)), "whose margin is infinite");
	sst_page_sample_free(&sample);

	sample_of(&sample, 0, 0, y, y);
	check_near(sst_estimate(&test_total, &sample).value, 0, 0, "no blocks: 0");
	check(is_unknown(sst_estimate(&test_ratio, &sample)), "no blocks: no ratio");
	sst_page_sample_free(&sample);
}

/*
 * y grows with the block.  Within ranges of N/n blocks it varies little: far less than a
 * sample that is not stratified would be off by, 1.96 N s / sqrt(n).
 */
static void
test_trend(void)
{
	static uint32 y[10000];
	Population	population = {lengthof(y), y};
	SstColumn	total = test_total;
	double		simple = 1.96 * 1e4 * (1e4 / sqrt(12)) / sqrt(100);
	double		truth = 0;
	SstPageSample sample;
	SstEstimate estimate;

	for (int i = 0; i < lengthof(y); i++)
		truth += y[i] = i;
	total.most = lengthof(y);
	random_start(1);
	sample_draw(&sample, &population, 100);
	estimate = sst_estimate(&total, &sample);
	check(estimate.low < truth && truth < estimate.high &&
		  sst_margin(&estimate) < 0.05 * simple,
		  "a trend is not taken for chance");
	sst_page_sample_free(&sample);
}

/* Pages of a part, each with so many dead tuples and free bytes, in turns */
static void
fill_part(SstPageSample *sample, int part, int nblocks, int n, int dead, int free)
{
	SstSamplePart *into = &sample->parts[part];

	sst_sample_part_init(into, nblocks, n, n);
	into->of_set = true;
	for (int i = 0; i < n; i++)
	{
		SstCounters page;

		sst_counters_init(&page);
		page.n[SST_PAGE_BYTES] = BLCKSZ;
		page.n[SST_HEAP_PAGES] = 1;
		page.n[SST_DEAD_TUPLES] = page.n[SST_DEAD_TUPLE_BYTES] = i % 2 * dead;
		page.n[SST_FREE_BYTES] = i % 3 * free;
		page.n[SST_ALL_VISIBLE_PAGES] = part;
		sst_sample_part_add(into, &page, 2 * i + part, nblocks / n);
		sst_counters_merge(&sample->sums, &page);
	}
	sample->nblocks += nblocks;
	sst_page_sample_end(sample, &sample->sums, sample->nsampled + n);
}

/* Where the map vouches for all, nothing is dead: what is read there adds no doubt. */
static void
test_all_visible(void)
{
	static const SstColumn dead = {.count = SST_DEAD_TUPLES, .most = 300};
	static const SstColumn visible = {.count = SST_ALL_VISIBLE_PAGES, .most = 1};
	static const SstColumn percent =
	{.count = SST_DEAD_TUPLE_BYTES, .percent_of = SST_PAGE_BYTES};
	SstPageSample sample = {0};
	SstPageSample alone = {0};
	SstEstimate estimate;
	SstEstimate expected;

	alone.nparts = 1;
	fill_part(&alone, 0, 100, 50, 7, 100);
	expected = sst_estimate(&dead, &alone);
	check(expected.low < 350 && expected.high > 350, "dead tuples: an interval");

	sample.nparts = 2;
	fill_part(&sample, 0, 100, 50, 7, 100);
	fill_part(&sample, 1, 1000, 10, 0, 100);
	sample.parts[1].all_visible = true;
	estimate = sst_estimate(&dead, &sample);
	check_near(estimate.value, expected.value, 1e-9, "of which all-visible pages have none");
	check_ends(estimate, expected.low, expected.high, 1e-9, "and add no doubt");
	estimate = sst_estimate(&visible, &sample);
	check_near(estimate.value, 1000, 1e-9, "all-visible pages are known");
	check(sst_margin(&estimate) < 10, "but for others that may be");
	sst_page_sample_free(&sample);

	memset(&sample, 0, sizeof(sample));
	sample.nparts = 2;
	fill_part(&sample, 0, 50, 50, 7, 100);
	fill_part(&sample, 1, 1000, 10, 0, 100);
	sample.parts[1].all_visible = true;
	check_ends(sst_estimate(&dead, &sample), 175, 175, 1e-9,
			   "all others were read: dead tuples are exact");
	check_ends(sst_estimate(&percent, &sample), 17500.0 / (1050 * 8192),
			   17500.0 / (1050 * 8192), 1e-9, "and their percentage");
	check_ends(sst_estimate(&visible, &sample), 1000, 1000, 1e-9,
			   "and the number of all-visible pages");
	estimate = sst_estimate(&test_total, &sample);
	check(sst_margin(&estimate) > 1000, "free space is not");
	sst_page_sample_free(&sample);
	sst_page_sample_free(&alone);
}

/*
 * More pages than units are kept: neighbours are added up.  The mean of y is 50, its
 * variance (101^2 - 1) / 12 = 850, and N^2 850 / n the variance of the total.
 */
static void
test_many_pages(void)
{
	int			n = 40001;
	int			N = 3 * n;
	uint32	   *y = palloc(N * sizeof(uint32));
	Population	population = {N, y};
	SstColumn	total = test_total;
	SstPageSample sample;
	SstEstimate estimate;
	uint64		pages = 0;
	uint64		blocks = 0;
	double		sum = 0;

	random_start(2);
	for (int i = 0; i < N; i++)
		y[i] = (uint32) (101 * random_unit());
	sample_draw(&sample, &population, n);

	for (int i = 0; i < sample.parts[0].nunits; i++)
	{
		pages += sample.parts[0].units[i].npages;
		blocks += sample.parts[0].units[i].nblocks;
		sum += sample.parts[0].units[i].n[COUNT_Y];
	}
	check(sample.parts[0].nunits <= 10240, "no more units than memory is for");
	check(pages == n && blocks == N && sum == sample.sums.n[COUNT_Y],
		  "no page and no block is lost");

	total.most = 100;
	estimate = sst_estimate(&total, &sample);
	check_near(estimate.value, 3.0 * sum, 1e-6, "the total is that of all pages");
	check(fabs(sst_margin(&estimate) / (1.96 * N * sqrt(850.0 / n)) - 1) < 0.05,
		  "its interval is that of so many pages");
	sst_page_sample_free(&sample);
	pfree(y);
}

void
test_known_answers(void)
{
	test_quantiles();
	test_by_hand();
	test_one_page();
	test_function();
	test_limits();
	test_sizes();
	test_trend();
	test_all_visible();
	test_many_pages();
}
