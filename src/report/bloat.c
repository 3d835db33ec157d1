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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"

#include "report/bloat_estimate.h"

/* ----------
 * What an estimate says
 * ----------
 */

/* The estimate of a relation of which only the size is known */
void
sst_bloat_estimate_init(SstBloatEstimate *estimate, uint64 nblocks)
{
	const SstEstimate unknown = sst_exactly(NAN);

	*estimate = (SstBloatEstimate)
	{
		.nblocks = nblocks,
			.free_percent = unknown,
			.dead_percent = unknown,
			.rebuilt_blocks = unknown,
			.analyzed_blocks = NAN,
			.kept_percent = unknown,
			.indexed_items = unknown,
			.first_corrupt = InvalidBlockNumber
	};
}

/*
 * The bytes at the end of a table that VACUUM gives back.  In a sample, which has a block of
 * each stride, one that was not read can be the last that has to stay.
 */
SstEstimate
sst_truncated_bytes(const SstBloatEstimate *estimate)
{
	double		most = (double) estimate->ntruncated * BLCKSZ;
	double		stride = ceil((double) estimate->nblocks / Max(estimate->nread, 1)) * BLCKSZ;

	return (SstEstimate)
	{
		.value = estimate->exact ? most : Max(most - stride, 0),
			.low = estimate->exact ? most : 0,
			.high = most
	};
}

/*
 * The note on corrupt pages, translated.  A sample does not show all of them.
 */
static const char *
corrupt_note(const SstBloatEstimate *estimate)
{
	if (estimate->exact)
		return psprintf(ngettext("%u corrupt page, block %u: see corrupt_blocks()",
								 "%u corrupt pages, the first is block %u: see corrupt_blocks()",
								 estimate->ncorrupt),
						estimate->ncorrupt, estimate->first_corrupt);

	return psprintf(ngettext("%u corrupt page, block %u, in a sample of %llu of %llu blocks: see corrupt_blocks()",
							 "%u corrupt pages, the first is block %u, in a sample of %llu of %llu blocks: see corrupt_blocks()",
							 estimate->ncorrupt),
					estimate->ncorrupt, estimate->first_corrupt,
					(unsigned long long) estimate->nread,
					(unsigned long long) estimate->nblocks);
}

/*
 * The note on an estimate, translated, in the current memory context; or NULL
 */
const char *
sst_bloat_note(const SstBloatEstimate *estimate)
{
	if (estimate->ncorrupt > 0)
		return corrupt_note(estimate);

	return estimate->note != NULL ? _(estimate->note) : NULL;
}

/*
 * Bytes that a rebuild would free.  The value is given even if the present
 * size is within the predicted interval; then the lower end is 0.
 */
SstEstimate
sst_reclaimable_bytes(const SstBloatEstimate *estimate)
{
	const SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	double		nblocks = estimate->nblocks;
	SstEstimate result;

	if (isnan(rebuilt->value))
		return sst_exactly(NAN);

	result.value = Max(nblocks - rebuilt->value, 0) * BLCKSZ;
	result.low = Max(nblocks - rebuilt->high, 0) * BLCKSZ;
	result.high = Max(nblocks - rebuilt->low, 0) * BLCKSZ;

	return result;
}

/* ----------
 * Row statistics from a table's sample, for the plan of commands
 *
 * The bytes of dead rows are counted, but of the rows that VACUUM must keep only
 * the number.  So their bytes follow from the mean length of a dead row.
 * ----------
 */

/*
 * Estimate how many dead rows VACUUM must keep, the length of a row, and how many pages
 * VACUUM reads.
 */
static void
estimate_table_rows(const SstPageSample *sample, SstBloatEstimate *estimate)
{
	const double *sums = sample->totals;
	double		tuples = sums[SST_TUPLES] + sums[SST_DEAD_TUPLES];

	estimate->recently_dead_percent = sums[SST_DEAD_TUPLES] > 0 ?
		estimate->dead_percent.value * sums[SST_RECENTLY_DEAD_TUPLES] /
		sums[SST_DEAD_TUPLES] : 0;
	estimate->row_bytes = tuples > 0 ?
		(sums[SST_TUPLE_BYTES] + sums[SST_DEAD_TUPLE_BYTES]) / tuples : 0;
	estimate->changed_part = sums[SST_HEAP_PAGES] > 0 ?
		1 - sums[SST_ALL_VISIBLE_PAGES] / sums[SST_HEAP_PAGES] : 0;
}

/* VACUUM looks for the end of a table's rows only for more blocks (access/heap/vacuumlazy.c). */
#define MANY_TRUNCATED 1000
#define MANY_TRUNCATED_OF 16

/* Blocks of a sample that tells whether the end of a table is empty */
#define TELLING_SAMPLE 64

/*
 * Has the last block to stay, or the last one before the new pages that a bulk insert left
 * for the next rows?
 */
static bool
is_last_kept(const SstTarget *target, SstSampling *sampling)
{
	SstScanSinks sinks = {.limits = sampling->limits};
	SstScanPlan plan;
	SstScanResult result;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	plan.first = plan.end - Min(plan.end, SST_MAX_EXTENSION + 1);
	sst_scan_alone(&plan, target->rel, NULL, &sinks, &result);
	sst_io_stats_merge(sampling->io_stats, &result.io_stats);

	/* New pages in the middle are taken for some at the end. */
	return result.counters.kept_end > 0 &&
		result.counters.kept_end + result.counters.n[SST_NEW_PAGES] >= plan.end;
}

/*
 * Estimate how many blocks at the end VACUUM gives back.  A sample has a block of each
 * stride, so that it may not have the last block, which tells most: the last ones are read besides.
 * What a bulk insert has left for the next rows is not to be given back.
 */
static void
estimate_truncated(const SstTarget *target, const SstPageSample *sample,
				   const SstCounters *counters, SstSampling *sampling,
				   SstBloatEstimate *estimate)
{
	BlockNumber empty = target->nblocks - counters->kept_end;
	bool		exact = sst_sample_is_exact(sample);
	bool		found = empty > 0 && sst_vacuum_truncates(target->rel) &&
		(empty >= MANY_TRUNCATED || (uint64) empty * MANY_TRUNCATED_OF >= target->nblocks);

	if (exact)
	{
		estimate->nextended = Min(Min(counters->n[SST_NEW_PAGES], SST_MAX_EXTENSION), empty);
		found = found && empty > estimate->nextended;
	}
	else
		found = found && sample->nsampled >= TELLING_SAMPLE &&
			empty > target->nblocks / sample->nsampled && !is_last_kept(target, sampling);
	if (!found)
		return;
	estimate->ntruncated = empty;
	estimate->nextended = 0;
}

/* ----------
 * The estimate
 * ----------
 */

/* Free space in pages that are in use, and all of those that are not */
static const SstStatistic free_percent =
{"free", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .plus_pages = true};

/* The same where pages that are reserved are counted as free space already */
static const SstStatistic free_percent_reserved =
{"free", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES};

static const SstStatistic dead_tuple_percent =
{"dead", SST_RATIO, SST_DEAD_TUPLE_BYTES, SST_PAGE_BYTES};

static const SstStatistic dead_item_percent =
{"dead", SST_RATIO, SST_DEAD_ITEMS, SST_LIVE_ITEMS, .plus_y = true};

/*
 * A rebuild makes the entries of an index's corrupt pages, too, which the model has not seen:
 * as many as the other pages have, or none, or pages full of them.
 */
static void
allow_for_corrupt(const SstPageSample *sample, SstEstimate *rebuilt)
{
	double		ncorrupt = sample->totals[SST_CORRUPT_PAGES];
	double		factor = sample->nblocks / Max(sample->nblocks - ncorrupt, 1);

	rebuilt->value *= factor;
	rebuilt->high = Max(rebuilt->high * factor, rebuilt->high + ncorrupt);
}

/*
 * Predict the size of a TOAST table after the rebuild of its table, by what is known of that or,
 * if that is not enough, by a sample of it.  Its lock is not waited for, as that of the TOAST
 * table is held.
 *
 * Where the table does not tell, the chunks do, as far as they can: at most all of
 * them are needed.
 */
static void
predict_toast(const SstTarget *toast, const SstBloatEstimate *table,
			  SstSampling *sampling, SstBloatEstimate *estimate)
{
	bool		told = table != NULL && sst_apply_toast_needs(table, estimate);

	if (!told)
	{
		SstTarget	target;
		SstBloatEstimate sampled;

		sst_target_try_lock(&target, sst_toast_owner(toast->relid), InvalidOid);
		told = target.kind == SST_HEAP && sst_target_is_readable(&target) &&
			target.rel->rd_rel->reltoastrelid == toast->relid &&
			sst_estimate_bloat(&target, NULL, sampling, &sampled) &&
			sst_apply_toast_needs(&sampled, estimate);
		sst_target_close(&target);
	}
	if (told)
		return;
	estimate->rebuilt_blocks.low = 0;
	if (estimate->note == NULL)
		estimate->note = gettext_noop("the space that the table's rows need in the TOAST table is not known");
}

/*
 * Predict the size after a rebuild, by the sample and, of an index or a TOAST table,
 * its table.  False if the time was over.
 */
static bool
predict(const SstTarget *target, SstRebuild *rebuild,
		const SstPageSample *sample, const SstBloatEstimate *table,
		const SstDeadEntries *dead, SstSampling *sampling,
		SstBloatEstimate *estimate)
{
	SstPrediction prediction = {.analyzed_blocks = NAN};
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	SstEstimate kept = sst_dead_entries_kept(dead, target, sample, rebuild, estimate);

	rebuild->model->predict(rebuild, sample, &kept, &prediction);
	if (!sst_within_limits(sampling->limits))
		return false;
	*rebuilt = prediction.blocks;
	if (target->kind == SST_INDEX)
		estimate->indexed_items.value = kept.value * sample->totals[SST_REBUILT_ENTRIES];
	estimate->analyzed_blocks = prediction.analyzed_blocks;
	estimate->analyze_first = prediction.analyze_first;
	estimate->passed_pages = prediction.passed_pages;
	if (rebuild->note != NULL)
		estimate->note = rebuild->note;
	if (isnan(rebuilt->value))
	{
		rebuilt->low = rebuilt->high = NAN;
		if (rebuild->note == NULL)
			estimate->note = gettext_noop("size after a rebuild is not known: no items were read");
		return true;
	}

	if (target->kind == SST_INDEX)
		allow_for_corrupt(sample, rebuilt);
	if (target->kind == SST_HEAP)
		sst_estimate_toast(target, sample, estimate);
	if (target->rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		predict_toast(target, table, sampling, estimate);
	if (estimate->analyze_first && estimate->note == NULL)
		estimate->note = gettext_noop("the table's row count is overestimated: run ANALYZE before the rebuild, or the index gets more buckets than it needs");

	/* The last page of a level or two may be there or not. */
	sst_round_blocks(rebuilt, !prediction.certain);
	return true;
}

/*
 * Estimate the bloat of a target, from all of its blocks or a sample.  table is what is known of
 * the table of an index, which is locked with it, or of a TOAST table; or NULL.  Where that does
 * not tell how much of the target is needed, the table is read.
 *
 * Returns false if a limit ended the scan: then only nblocks and nread are set.
 */
bool
sst_estimate_bloat(const SstTarget *target, const SstBloatEstimate *table,
				   SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstPageSample sample;
	SstScanResult result;
	SstRebuild *rebuild;
	SstDeadlinePause pause;
	SstDeadEntries dead;
	bool		complete;

	sst_bloat_estimate_init(estimate, target->nblocks);
	rebuild = sst_rebuild_begin(target->am, target->rel,
								sst_pause_init(&pause, sampling->limits),
								&estimate->note);
	if (rebuild != NULL)
	{
		sst_try_toast_compression(target, sampling, rebuild);
		sst_dead_entries_begin(&dead, target, table, sampling, rebuild);
	}
	complete = sst_sample_scan(target, sampling->nblocks, sampling->seed,
							   rebuild, sampling->limits, &sample, &result);
	estimate->nread = result.nvisited;
	sst_io_stats_merge(sampling->io_stats, &result.io_stats);
	if (complete)
	{
		estimate->exact = sst_sample_is_exact(&sample);
		estimate->ncorrupt = result.counters.n[SST_CORRUPT_PAGES];
		estimate->first_corrupt = result.counters.first_corrupt;
		estimate->free_percent = sst_estimate(target->am->flags & SST_AM_RESERVES_PAGES ?
											  &free_percent_reserved : &free_percent,
											  &sample);
		estimate->dead_percent = sst_estimate((target->kind & SST_TABLE) != 0 ?
											  &dead_tuple_percent :
											  &dead_item_percent, &sample);
		if ((target->kind & SST_TABLE) != 0)
		{
			estimate_table_rows(&sample, estimate);
			estimate_truncated(target, &sample, &result.counters, sampling,
							   estimate);
		}
		if (target->kind == SST_HEAP)
			sst_estimate_kept_items(&sample, estimate);
		if (rebuild != NULL)
			complete = predict(target, rebuild, &sample, table, &dead,
							   sampling, estimate);
		else if (target->am->flags & SST_AM_SUMMARIZES)
		{
			/* It is small, and its summaries are made anew. */
			estimate->rebuilt_blocks = sst_exactly(target->nblocks);
			sst_round_blocks(&estimate->rebuilt_blocks, 1);
		}
	}
	sst_page_sample_free(&sample);
	sst_rebuild_end(rebuild);

	if (target->distributed)
		estimate->note = SST_SHARDS_REPORT_NOTE;

	return complete;
}
