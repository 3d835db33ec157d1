/*-------------------------------------------------------------------------
 *
 * shapes.c
 *	  How often intervals have the truth, and how wide they are, of tables as there are
 *
 * Each table is sampled 500 times.  The truth must be in 93 % of the intervals, and
 * their mean width must not exceed a multiple of what is needed: the width that
 * a symmetric interval around the estimates needs to have the truth in 95 %.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"

#include "test_estimate.h"

#define SAMPLES 500
#define LEAST 0.93
#define MOST_BLOCKS 4000

/* Tuples of 124 bytes, which take 132 with a line pointer: 61 fill a page. */
#define TUPLE_LENGTH 124
#define TUPLES 61

/* Any width will do: the shape is one that needs none, or hardly any. */
#define ANY_WIDTH 1e9

typedef enum Shape
{
	FRESH,						/* all pages are full */
	NOISE,						/* full, or one tuple less */
	RARE,						/* each 1000th page has dead tuples only */
	RARE_IN_NOISE,
	DELETED,					/* 15 % of the tuples are dead */
	SINGLES,					/* one page of 10 has one dead tuple */
	FEW,						/* 3 % of the tuples are left */
	HALF,						/* 1 % is left of the second half */
	TAIL,						/* the last 5 % of the pages are dead */
	TREND						/* ever fewer tuples are left */
} Shape;

typedef struct Table
{
	const char *name;
	Shape		shape;
	int			N;
	int			n;
	double		live_width;		/* most that is needed, of live tuples */
	double		dead_width;		/* of dead ones; 0 if there are none */
} Table;

static const Table tables[] = {
	{"fresh", FRESH, 2000, 64, ANY_WIDTH, 0},
	{"fresh and tiny", FRESH, 60, 30, ANY_WIDTH, 0},
	{"noise", NOISE, 2000, 64, 1.5, 0},
	{"noise", NOISE, 4000, 500, 2.2, 0},
	{"noise, tiny", NOISE, 150, 64, 3, 0},
	{"rare", RARE, 2000, 64, ANY_WIDTH, ANY_WIDTH},
	{"rare", RARE, 4000, 500, 4, 4},
	{"rare, in noise", RARE_IN_NOISE, 4000, 500, 2, 4},
	{"15 % dead", DELETED, 2000, 64, 1.5, 1.5},
	{"15 % dead", DELETED, 4000, 500, 1.5, 1.5},
	{"single dead tuples", SINGLES, 4000, 500, 2, 4},
	{"few left", FEW, 2000, 64, 1.5, 0},
	{"few left", FEW, 2000, 800, 1.7, 0},
	{"half empty", HALF, 2000, 64, 3, 0},
	{"half empty", HALF, 4000, 500, 3, 0},
	{"tail", TAIL, 2000, 64, 3, 3},
	{"trend", TREND, 2000, 64, 1.5, 0},
	{"trend", TREND, 2000, 800, 1.5, 0},
};

/* Fill a page with so many live tuples, so many dead ones, and free space. */
static void
fill_page(SstCounters *page, int live, int dead)
{
	sst_counters_init(page);
	page->n[SST_HEAP_PAGES] = 1;
	page->n[SST_PAGE_BYTES] = BLCKSZ;
	page->n[SST_TUPLES] = live;
	page->n[SST_TUPLE_BYTES] = live * TUPLE_LENGTH;
	page->n[SST_DEAD_TUPLES] = dead;
	page->n[SST_DEAD_TUPLE_BYTES] = dead * TUPLE_LENGTH;
}

/* The number of so many tuples that stay, each with that probability */
static int
some(int ntuples, double part)
{
	int			n = 0;

	for (int i = 0; i < ntuples; i++)
		n += random_unit() < part;
	return n;
}

static void
make_page(Shape shape, int blkno, double place, SstCounters *page)
{
	bool		rare = blkno % 1000 == 500;
	int			noise = random_unit() < 0.5;
	int			live = TUPLES;
	int			dead = 0;

	switch (shape)
	{
		case FRESH:
			break;
		case NOISE:
			live -= noise;
			break;
		case RARE:
		case RARE_IN_NOISE:
			live -= shape == RARE ? 0 : noise;
			dead = rare ? live : 0;
			live -= dead;
			break;
		case DELETED:
			dead = some(live, 0.15);
			live -= dead;
			break;
		case SINGLES:
			dead = random_unit() < 0.1;
			live -= dead;
			break;
		case FEW:
			live = some(live, 0.03);
			break;
		case HALF:
			live = place < 0.512 ? live : some(live, 0.01);
			break;
		case TAIL:
			dead = place < 0.95 ? 0 : live;
			live -= dead;
			break;
		case TREND:
			live = some(live, 1 - place);
			break;
	}
	fill_page(page, live, dead);
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Check the intervals of a statistic: the truth, and errors and widths that were. */
static void
check_intervals(const Table *table, const char *name, int hits, double *errors,
				double widths, double most_width)
{
	double		part = (double) hits / SAMPLES;
	double		needed;

	/* the C library's, as the test has no other */
	(qsort) (errors, SAMPLES, sizeof(double), compare_doubles);
	needed = 2 * errors[(int) (0.95 * SAMPLES)];

	check(part >= LEAST, "%s, %s, %d of %d blocks: %.1f %%",
		  table->name, name, table->n, table->N, 100 * part);
	check(widths > 0 && widths / SAMPLES <= most_width * needed,
		  "which are %.1f times as wide as needed", widths / SAMPLES / needed);
}

static void
check_table(const Table *table)
{
	static SstCounters pages[MOST_BLOCKS];
	static double errors[2][SAMPLES];
	static const SstColumn statistics[] = {
		{.count = SST_TUPLES, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples},
		{.count = SST_DEAD_TUPLES, .most = MaxHeapTuplesPerPage, .items = &sst_heap_tuples}
	};
	double		truths[2] = {0};
	double		widths[2] = {0};
	int			hits[2] = {0};

	for (int i = 0; i < table->N; i++)
	{
		make_page(table->shape, i, (double) i / table->N, &pages[i]);
		if (i == table->N - 1)
			fill_page(&pages[i], TUPLES / 2, 0);
		for (int s = 0; s < 2; s++)
			truths[s] += pages[i].n[statistics[s].count];
	}

	for (int j = 0; j < SAMPLES; j++)
	{
		SstPageSample sample;

		sample_draw_pages(&sample, table->N, pages, table->n);
		for (int s = 0; s < 2; s++)
		{
			SstEstimate estimate = sst_estimate(&statistics[s], &sample);

			hits[s] += estimate.low <= truths[s] * (1 + 1e-9) &&
				truths[s] <= estimate.high * (1 + 1e-9);
			widths[s] += estimate.high - estimate.low;
			errors[s][j] = fabs(estimate.value - truths[s]);
		}
		sst_page_sample_free(&sample);
	}

	check_intervals(table, "live tuples", hits[0], errors[0], widths[0],
					table->live_width);
	if (table->dead_width > 0)
		check_intervals(table, "dead tuples", hits[1], errors[1], widths[1],
						table->dead_width);
}

/* What is on a page that was not seen is bounded by what fits on it, and one more. */
static void
test_most_items(void)
{
	SstColumn	dead = {.count = SST_DEAD_TUPLES, .most = MaxHeapTuplesPerPage,
	.items = &sst_heap_tuples};
	SstPageSample sample;
	SstCounters page;

	/* 3/n of the pages and one, all of whose tuples are dead */
	sample_begin(&sample, 100000, 1000);
	fill_page(&page, TUPLES, 0);
	for (int i = 0; i < 1000; i++)
		sample_add(&sample, 100 * i, &page);
	sst_page_sample_end(&sample, &sample.sums, sample.nsampled);
	check_near(sst_estimate(&dead, &sample).high,
			   (sst_unseen_part(1000) * 100000 + 1) * (TUPLES + 1), 1, "no more than fit on a page");
	dead.items = NULL;
	check_near(sst_estimate(&dead, &sample).high,
			   (sst_unseen_part(1000) * 100000 + 1) * MaxHeapTuplesPerPage, 1,
			   "of any size, more do");
	sst_page_sample_free(&sample);
}

void
test_shapes(void)
{
	random_start(4);
	test_most_items();
	for (int i = 0; i < lengthof(tables); i++)
		check_table(&tables[i]);
}
