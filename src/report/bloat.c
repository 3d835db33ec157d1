/*-------------------------------------------------------------------------
 *
 * bloat.c
 *	  Estimating the bloat of one relation
 *
 * This is the one estimate of bloat: of a function about one relation and of a
 * report on many.  It says the same in both if the same blocks were read of a
 * relation, and of an index's table.
 *
 * All blocks or a sample of them are read, and shown to the model of a rebuild.
 * Its counts give the size after a rebuild, with the ends of its interval.  The
 * entries of dead rows, which an index build leaves out, are not in it:
 * dead_entries.c.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/bloat.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"

#include "report/bloat.h"
#include "report/dead_entries.h"
#include "run/sampling.h"

/* Free space in pages that are in use, and all of those that are not */
static const SstStatistic free_percent =
{"free", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .plus_pages = true};

/* A hash index counts the pages that are not in use as free space already. */
static const SstStatistic hash_free_percent =
{"free", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES};

static const SstStatistic dead_tuple_percent =
{"dead", SST_RATIO, SST_DEAD_TUPLE_BYTES, SST_PAGE_BYTES};

static const SstStatistic dead_item_percent =
{"dead", SST_RATIO, SST_DEAD_ITEMS, SST_LIVE_ITEMS, .plus_y = true};

/* What is needed to know how large a rebuilt relation will be */
typedef struct RebuiltSize
{
	const SstRebuild *rebuild;
	const SstMeta *meta;
} RebuiltSize;

/* Blocks with fractions, for derivatives */
static double
rebuilt_blocks(const void *arg, const double *sums)
{
	const RebuiltSize *size = arg;

	return size->rebuild->blocks(size->rebuild, sums, size->meta, false);
}

/*
 * The size of a hash index grows in steps, not with each entry.  So the interval
 * must include the sizes for the fewest and for the most entries that there can be.
 */
static void
widen_by_steps(const RebuiltSize *size, const SstPageSample *sample,
			   SstEstimate *estimate)
{
	static const SstStatistic entries =
	{"entries", SST_TOTAL, SST_REBUILT_ENTRIES, 0, MaxIndexTuplesPerPage};
	SstEstimate found = sst_estimate(&entries, sample);
	double		factors[2];

	if (!(found.value > 0))
		return;
	factors[0] = found.low / found.value;
	factors[1] = found.high / found.value;

	for (int i = 0; i < lengthof(factors); i++)
	{
		double		sums[SST_NCOUNTS];
		double		blocks;

		sst_sample_sums(sample, factors[i], sums);
		blocks = rebuilt_blocks(size, sums);
		estimate->low = Min(estimate->low, blocks);
		estimate->high = Max(estimate->high, blocks);
	}
}

static SstEstimate
estimate_rebuilt(const SstRebuild *rebuild, const SstMeta *meta,
				 const SstPageSample *sample)
{
	RebuiltSize size = {rebuild, meta};
	SstEstimate result = sst_estimate_function(rebuilt_blocks, &size, 1,
											   sample);
	double		sums[SST_NCOUNTS];
	double		model;

	if (rebuild->kind == SST_HASH && !isnan(result.low))
		widen_by_steps(&size, sample, &result);

	/* The ends keep their distance from the value in whole blocks. */
	sst_sample_sums(sample, 1, sums);
	if (!isnan(result.value))
	{
		double		whole = rebuild->blocks(rebuild, sums, meta, true);

		result.low += whole - result.value;
		result.high += whole - result.value;
		result.value = whole;
	}

	model = rebuild->uncertainty * result.value;
	result.low = Max(result.value - hypot(result.value - result.low, model), 0);
	result.high = result.value + hypot(result.high - result.value, model);
	return result;
}

/* Predict the size after a rebuild, by the sample and, of an index, its table. */
static void
predict(const SstTarget *target, const SstRebuild *rebuild,
		const SstMeta *meta, const SstPageSample *sample,
		SstDeadEntries *dead, SstSampling *sampling,
		SstBloatEstimate *estimate)
{
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	double		counts[SST_NCOUNTS];
	SstIndexModel model = {target, rebuild, meta, counts};

	estimate->note = rebuild->note;
	if (rebuild->unpredictable)
		return;

	*rebuilt = estimate_rebuilt(rebuild, meta, sample);
	if (isnan(rebuilt->value))
	{
		rebuilt->low = rebuilt->high = NAN;
		if (estimate->note == NULL)
			estimate->note = gettext_noop("no items were read from which to predict the size after a rebuild");
		return;
	}
	if (isnan(rebuilt->low))
		rebuilt->low = 0;
	if (isnan(rebuilt->high))
		rebuilt->high = INFINITY;

	sst_sample_sums(sample, 1, counts);
	sst_dead_entries_leave_out(dead, &model, sampling, estimate);

	/* The last page of a level or two may be there or not. */
	rebuilt->value = rint(rebuilt->value);
	rebuilt->low = Max(Min(rint(rebuilt->low), rebuilt->value - 1), 0);
	rebuilt->high = Max(rint(rebuilt->high), rebuilt->value + 1);
}

/*
 * Estimate the bloat of a target, from all of its blocks or a sample.  table is
 * that of an index, else NULL.
 *
 * Returns false if a limit ended the scan: then only nblocks and nread are set.
 */
bool
sst_estimate_bloat(const SstTarget *target, const SstIndexTable *table,
				   SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstPageSample sample;
	SstScanResult result;
	SstRebuild	rebuild;
	SstDeadEntries dead;
	bool		complete;

	sst_bloat_estimate_init(estimate, target->nblocks);
	sst_rebuild_init(&rebuild, target);
	sst_dead_entries_begin(&dead, target, table, sampling, &rebuild);
	complete = sst_sample_scan(target, sampling->nblocks, sampling->seed,
							   rebuild.unpredictable ? NULL : &rebuild,
							   sampling->limits, &sample, &result);
	estimate->nread = result.nvisited;
	sst_io_stats_merge(sampling->io_stats, &result.io_stats);
	if (complete)
	{
		estimate->exact = sst_sample_is_exact(&sample);
		estimate->ncorrupt = result.counters.n[SST_CORRUPT_PAGES];
		estimate->first_corrupt = result.counters.first_corrupt;
		estimate->free_percent = sst_estimate(target->kind == SST_HASH ?
											  &hash_free_percent : &free_percent,
											  &sample);
		estimate->dead_percent = sst_estimate((target->kind & SST_TABLE) != 0 ?
											  &dead_tuple_percent :
											  &dead_item_percent, &sample);
		if (target->kind == SST_HEAP)
			sst_estimate_kept_items(&sample, estimate);
		predict(target, &rebuild, &result.meta, &sample, &dead, sampling,
				estimate);
	}
	sst_page_sample_free(&sample);
	sst_dead_entries_end(&dead);

	return complete;
}
