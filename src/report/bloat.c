/*-------------------------------------------------------------------------
 *
 * bloat.c
 *	  Estimating the bloat of one relation
 *
 * Functions about one relation and reports on many use the same estimate.  It
 * has the same result if the same blocks were read of the relation, and of an
 * index's table.
 *
 * All blocks or a sample of them are read and passed to the model of a
 * rebuild.  Its counts give the size after a rebuild, with an interval.  The
 * entries of dead rows, which an index build leaves out, are not in it:
 * dead_entries.c.  How large a TOAST table becomes, its table tells
 * (toast_estimate.c).
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
#include "catalog/pg_class.h"

#include "relation/shards.h"
#include "report/bloat.h"
#include "report/bloat_estimate.h"
#include "report/dead_entries.h"
#include "report/toast_estimate.h"
#include "run/sampling.h"

/* ----------
 * Row statistics from a table's sample, for the plan of commands
 *
 * The bytes of dead rows are counted, but of the rows that VACUUM must keep only
 * the number.  So their bytes follow from the mean length of a dead row.
 * ----------
 */

/* Estimate how many dead rows VACUUM must keep, and the length of a row. */
static void
estimate_table_rows(const SstPageSample *sample, SstBloatEstimate *estimate)
{
	double		sums[SST_NCOUNTS];
	double		tuples;

	sst_sample_sums(sample, 1, sums);
	tuples = sums[SST_TUPLES] + sums[SST_DEAD_TUPLES];
	estimate->recently_dead_percent = sums[SST_DEAD_TUPLES] > 0 ?
		estimate->dead_percent.value * sums[SST_RECENTLY_DEAD_TUPLES] /
		sums[SST_DEAD_TUPLES] : 0;
	estimate->row_bytes = tuples > 0 ?
		(sums[SST_TUPLE_BYTES] + sums[SST_DEAD_TUPLE_BYTES]) / tuples : 0;
}

/* ----------
 * The estimate
 * ----------
 */

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
	{"entries", SST_TOTAL, SST_REBUILT_ENTRIES, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS};
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
	double		below;
	double		above;

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

	below = above = rebuild->uncertainty * result.value;
	if (rebuild->ends != NULL && !isnan(result.value))
	{
		double		least;
		double		most;

		rebuild->ends(rebuild, sums, meta, &least, &most);
		below = hypot(below, Max(result.value - least, 0));
		above = hypot(above, Max(most - result.value, 0));
	}
	result.low = Max(result.value - hypot(result.value - result.low, below), 0);
	result.high = result.value + hypot(result.high - result.value, above);
	return result;
}

/* Would ANALYZE make a hash index smaller that is rebuilt after it? */
static void
set_analyze_first(const SstRebuild *rebuild, const SstPageSample *sample,
				  SstBloatEstimate *estimate)
{
	double		counts[SST_NCOUNTS];

	if (rebuild->kind != SST_HASH)
		return;

	sst_sample_sums(sample, 1, counts);
	if (!isnan(estimate->kept_percent.value))
		rebuild->scale_entries(rebuild, counts,
							   estimate->kept_percent.value / 100);
	estimate->analyzed_blocks = sst_hash_blocks_if_analyzed(rebuild, counts);
	estimate->analyze_first = !isnan(estimate->analyzed_blocks);
	if (estimate->analyze_first && estimate->note == NULL)
		estimate->note = gettext_noop("the table's row count is overestimated: run ANALYZE before the rebuild, or the index gets more buckets than it needs");
}

/*
 * Predict the size after a rebuild, by the sample and, of an index or a TOAST table,
 * its table.
 */
static void
predict(const SstTarget *target, const SstRebuild *rebuild,
		const SstMeta *meta, const SstPageSample *sample,
		const SstIndexTable *table, SstDeadEntries *dead,
		SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	double		counts[SST_NCOUNTS];
	SstIndexModel model = {target, rebuild, meta, counts};

	estimate->note = rebuild->note;
	if (rebuild->unpredictable)
	{
		/* A BRIN index is small, and its summaries are made anew. */
		if (target->kind == SST_BRIN)
		{
			rebuilt->value = rebuilt->low = rebuilt->high = target->nblocks;
			sst_round_blocks(rebuilt);
		}
		return;
	}

	*rebuilt = estimate_rebuilt(rebuild, meta, sample);
	if (isnan(rebuilt->value))
	{
		rebuilt->low = rebuilt->high = NAN;
		if (estimate->note == NULL)
			estimate->note = gettext_noop("size after a rebuild is not known: no items were read");
		return;
	}
	if (isnan(rebuilt->low))
		rebuilt->low = 0;
	if (isnan(rebuilt->high))
		rebuilt->high = INFINITY;

	if (target->kind == SST_HEAP)
		sst_estimate_toast(target, sample, estimate);
	if (target->rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		sst_predict_toast(target, table, sampling, estimate);
	else
	{
		sst_sample_sums(sample, 1, counts);
		sst_dead_entries_leave_out(dead, &model, sampling, estimate);
	}

	set_analyze_first(rebuild, sample, estimate);
	sst_round_blocks(rebuilt);
}

/*
 * Estimate the bloat of a target, from all of its blocks or a sample.  table is
 * that of an index or a TOAST table, else NULL.
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
	sst_try_toast_compression(target, sampling, &rebuild);
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
		if ((target->kind & SST_TABLE) != 0)
			estimate_table_rows(&sample, estimate);
		if (target->kind == SST_HEAP)
			sst_estimate_kept_items(&sample, estimate);
		sst_rebuild_finish(&rebuild, estimate->exact);
		predict(target, &rebuild, &result.meta, &sample, table, &dead,
				sampling, estimate);
	}
	sst_rebuild_free(&rebuild);
	sst_page_sample_free(&sample);
	sst_dead_entries_end(&dead);

	if (target->distributed)
		estimate->note = SST_SHARDS_REPORT_NOTE;

	return complete;
}
