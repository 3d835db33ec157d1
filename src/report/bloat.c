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
 * entries of dead rows, which an index build leaves out, are not in it.  How large
 * a TOAST table becomes, its table tells (toast_estimate.c).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"

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
 * The note on an estimate, translated, in the current memory context; or NULL.  A sample does
 * not show all corrupt pages.
 */
const char *
sst_bloat_note(const SstBloatEstimate *estimate)
{
	if (estimate->ncorrupt == 0)
		return estimate->note != NULL ? _(estimate->note) : NULL;
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
 * The index entries of dead rows
 *
 * An index cannot tell which of its entries are for rows that are dead and have
 * not been vacuumed.  An index build skips these rows.  An entry has the TID of
 * its row.  So the table tells, in one of these ways:
 *
 * - If the table has no more blocks that are not all-visible than may be read, and than
 *   memory suffices for, these are read first.  The model then leaves each entry of a dead row out.
 * - Otherwise the size is scaled by the fraction of the table's rows that are kept,
 *   which a report knows already, and those blocks or a sample of the table tell else.  Which
 *   entries are those of dead rows is not known then: the ends allow for any.
 * ----------
 */

/* What an estimate has to know of its index's table; all zero for a table, and if no row is dead */
typedef struct DeadEntries
{
	const SstBloatEstimate *table;	/* as many entries are dead as rows of
									 * that; or NULL */
	bool		unknown;		/* nothing tells of dead rows */
	SstBloatEstimate sampled;	/* of the table, if it was not known before */
} DeadEntries;

/*
 * Does the index have a predicate?  RelationGetIndexPredicate() would evaluate
 * its constant parts, which can be functions of the index's owner.
 */
static bool
is_partial(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/* ----------
 * Rows of an index's table that an index build skips
 *
 * A block that is all-visible by the visibility map has no such row, and is not
 * read: an index-only scan relies on the same.
 *
 * The table may change while its index is read.  A row that dies after its
 * block was read counts as kept.  A new row that reuses the TID of a removed
 * dead row counts as dead.  Both concern only a few entries.
 * ----------
 */

/* The visibility map is read if it has at most this part of the blocks to read. */
#define MAP_PART 8

/* The dead rows of more blocks, with up to 100 bytes for each, would take too much memory. */
#define MAX_BLOCKS_WITH_DEAD 65536

/*
 * Read all blocks of the table that are not all-visible, and have the model leave out the TIDs
 * that indexes may have entries with and a build would not.  False if a limit was reached.
 */
static bool
read_dead_rows(const SstTarget *table, const SstBlockSet *visible, SstSampling *sampling,
			   SstRebuild *rebuild)
{
	SstDeadTids *tids;
	SstScanSinks sinks = {.limits = sampling->limits};
	SstScanPlan plan;
	SstScanResult scanned;

	sst_plan_scan(&plan, table, SST_RULES_TOLERANT);
	plan.more_follow = true;
	if (visible != NULL)
		plan.nskipped = visible->nmembers;

	sinks.dead_tids = tids = sst_dead_tids_create(rebuild, sst_plan_nblocks(&plan));
	if (sst_plan_nblocks(&plan) > 0)
	{
		sst_scan_alone(&plan, table->rel, visible, &sinks, &scanned);
		sst_io_stats_merge(sampling->io_stats, &scanned.io_stats);
	}

	if (!sst_within_limits(sampling->limits))
		return false;

	/* Without any, models need not look at each TID. */
	if (tids->ntids > 0)
		rebuild->dead_tids = tids;
	return true;
}

/* ----------
 * The way to know of dead entries
 * ----------
 */

/*
 * With a lower percentage of dead rows among those read, a report does not read the
 * table again.  That is so for most tables, and the interval of that percentage covers
 * the error.
 */
#define FEW_DEAD 0.5

/* The map is not read if the limits do not allow for this part of the blocks. */
#define LEAST_PART 8

/* Do the limits allow so many more blocks, beside those of the index? */
static bool
limits_allow(const SstSampling *sampling, const SstTarget *index, double nblocks)
{
	return sampling->limits == NULL ||
		sampling->limits->bytes_left >=
		(nblocks + Min(sampling->nblocks, index->nblocks)) * BLCKSZ;
}

/*
 * Blocks of the table that may be read to know of all its dead rows.  Where all of
 * table and index is read, no limit is to make a difference.
 */
static BlockNumber
blocks_to_read(const SstBloatEstimate *known, const SstTarget *table,
			   const SstTarget *index, const SstSampling *sampling)
{
	if (known != NULL && known->exact && sampling->nblocks >= index->nblocks)
		return Max(sampling->nblocks, table->nblocks);
	return sampling->nblocks;
}

/*
 * Is what a report knows of the table enough?  Then the table tells of dead entries, if there
 * are any.
 */
static bool
is_known_by_table(DeadEntries *dead, const SstBloatEstimate *known,
				  const SstTarget *index, const SstSampling *sampling)
{
	if (known == NULL)
		return false;
	if (known->exact && !(known->kept_percent.value < 100))
		return true;
	if (known->kept_percent.value > 100 - FEW_DEAD && !is_partial(index->rel) &&
		!(known->exact && sampling->nblocks >= index->nblocks))
	{
		dead->table = known;
		return true;
	}
	return false;
}

/* Of what a table's indexes point to, what an index build would find */
static const SstColumn kept_percent =
{.count = SST_KEPT_CHAINS, .percent_of = SST_INDEXED_ITEMS};
static const SstColumn indexed_items =
{.count = SST_INDEXED_ITEMS, .most = MaxHeapTuplesPerPage};

/*
 * Estimate what a table's indexes keep of what they point to.  Where pruning has left line
 * pointers only, it is not known whether a row was deleted.
 */
static void
estimate_kept_items(const SstPageSample *sample, SstBloatEstimate *estimate)
{
	const double *sums = sample->totals;
	double		dead = sums[SST_DELETED_VERSIONS] + sums[SST_UPDATED_VERSIONS];

	estimate->deleted_percent = dead > 0 ? 100 * sums[SST_DELETED_VERSIONS] / dead : 50;
	estimate->kept_percent = sst_estimate(&kept_percent, sample);
	estimate->indexed_items = sst_estimate(&indexed_items, sample);
}

/* Estimate from a sample of the table what indexes keep of it; false if a limit ended it. */
static bool
sample_table(const SstTarget *table, SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstPageSample sample;
	SstScanResult result;
	bool		complete = sst_sample_scan(table, sampling->nblocks, sampling->seed,
										   NULL, sampling->limits, &sample, &result);

	sst_io_stats_merge(sampling->io_stats, &result.io_stats);
	if (complete)
		estimate_kept_items(&sample, estimate);
	sst_page_sample_free(&sample);

	return complete;
}

/*
 * Read the table, which can be read, for its dead rows, or a sample of it, if it is not known.
 * False if that tells nothing of them.
 */
static bool
find_dead_rows(DeadEntries *dead, const SstBloatEstimate *known, const SstTarget *table,
			   const SstTarget *index, SstSampling *sampling, SstRebuild *rebuild)
{
	SstBlockSet *visible = NULL;
	BlockNumber nothers = table->nblocks;
	BlockNumber most = blocks_to_read(known, table, index, sampling);
	SstCounters counters;
	bool		all_known;

	sst_counters_init(&counters);
	/* Where that fails for the limits, so does the estimate of the index. */
	if (limits_allow(sampling, index, (double) most / LEAST_PART))
		visible = sst_visible_blocks(table, Max(most / MAP_PART, 1), sampling->limits,
									 &counters, sampling->io_stats);
	if (visible != NULL)
		nothers -= visible->nmembers;
	all_known = nothers == 0 ||
		(nothers <= Min(most, MAX_BLOCKS_WITH_DEAD) &&
		 limits_allow(sampling, index, nothers) &&
		 read_dead_rows(table, visible, sampling, rebuild));
	if (visible != NULL)
		pfree(visible);
	if (all_known)
		return true;

	if (known == NULL &&
		limits_allow(sampling, index, Min(sampling->nblocks, table->nblocks)) &&
		sample_table(table, sampling, &dead->sampled))
		known = &dead->sampled;
	if (known == NULL || isnan(known->kept_percent.value))
		return false;
	dead->table = known;

	return true;
}

/*
 * Choose the way to know of an index's dead entries, before the index is read, and
 * have the rebuild do what is needed for it.  table is what is known of its table, or NULL.
 */
static void
dead_entries_begin(DeadEntries *dead, const SstTarget *index,
				   const SstBloatEstimate *table, SstSampling *sampling,
				   SstRebuild *rebuild)
{
	SstTarget	target;

	memset(dead, 0, sizeof(DeadEntries));
	if (!OidIsValid(index->tableoid) || index->kind != SST_INDEX)
		return;
	if (is_known_by_table(dead, table, index, sampling))
		return;

	sst_target_examine(&target, relation_open(index->tableoid, NoLock));
	dead->unknown = target.kind != SST_HEAP || !sst_target_is_readable(&target) ||
		!find_dead_rows(dead, table, &target, index, sampling, rebuild);
	relation_close(target.rel, NoLock);
}

/* ----------
 * The part of an index that is left without them
 * ----------
 */

/* A note is made from this fraction of dead entries on. */
#define NOTEWORTHY 0.01

/* Where rows have several entries, their numbers vary by so much of their mean, or less. */
#define SPREAD_OF_ROWS 0.5

/*
 * ... and a partial index does not tell how many rows it has: one in so many of the table's, or
 * more, is assumed.
 */
#define MOST_OF_PARTIAL 20

static const SstColumn index_entries =
{.count = SST_REBUILT_ENTRIES};

/*
 * Of so many indexed items of the table, those that have one entry each; NaN if they are not
 * known, or have several.
 */
static double
rows_with_entry(const SstTarget *index, double items)
{
	if ((index->am->flags & SST_AM_ENTRY_A_ROW) == 0 || is_partial(index->rel))
		return NAN;

	return items *
		((index->am->flags & SST_AM_NO_NULLS) == 0 ? 1 : sst_entry_fraction(index->rel, NAN));
}

/*
 * The fraction of an index's entries, not counting those marked dead, that an
 * index build makes when the table keeps this percentage of so many indexed items, and
 * the index has so many entries at most; NaN if that is not known.
 */
static double
kept_by_table(const SstTarget *index, const double *counts, double kept_percent,
			  double items, double most_entries)
{
	double		entries = counts[SST_REBUILT_ENTRIES];
	double		dead_entries = counts[SST_REBUILT_DEAD_ENTRIES];
	double		nrows = rows_with_entry(index, items);
	double		fraction;

	if (isnan(kept_percent))
		kept_percent = 0;
	fraction = kept_percent / 100 * (entries + dead_entries) / entries;

	/* Entries of dead rows may have been deleted before the rows. */
	if (!isnan(nrows))
		fraction = Max(fraction, kept_percent / 100 * nrows / Max(most_entries, entries));

	return Min(fraction, 1);
}

/*
 * By what the table keeps: of a partial index, all dead rows may have entries, or none.
 * Where rows have several entries, those of dead rows may be gone already, or they had more of them than others.
 */
static SstEstimate
kept_entries(const DeadEntries *dead, const SstTarget *index,
			 const SstPageSample *sample)
{
	const double *counts = sample->totals;
	SstEstimate percent = dead->table->kept_percent;
	SstEstimate items = dead->table->indexed_items;
	SstEstimate entries = sst_estimate(&index_entries, sample);
	SstEstimate kept = sst_exactly(1);
	double		dead_part;

	if (counts[SST_REBUILT_ENTRIES] == 0)
		return kept;
	kept.value = kept_by_table(index, counts, percent.value, items.value, entries.high);
	if (is_partial(index->rel))
	{
		dead_part = 1 - (isnan(percent.low) ? 0 : percent.low) / 100;
		kept.low = 1 - dead_part * ((index->am->flags & SST_AM_ENTRY_A_ROW) == 0 ? MOST_OF_PARTIAL :
									items.value / counts[SST_REBUILT_ENTRIES]);
		kept.low = Max(kept.low, 0);
		return kept;
	}

	/* The pages that a sample lacks may have many entries. */
	kept.low = kept_by_table(index, counts, percent.low,
							 sst_sample_is_exact(sample) ? items.low : NAN, entries.high);
	kept.high = isnan(percent.high) ? 1 :
		kept_by_table(index, counts, percent.high, items.high, NAN);
	if (isnan(rows_with_entry(index, items.value)))
	{
		kept.low = Max(kept.low - SPREAD_OF_ROWS * sqrt(kept.low * (1 - kept.low)), 0);
		kept.high = 1;
	}
	return kept;
}

/*
 * The fraction of an index's entries that a build makes, of those that the model has not
 * left out.  Tells the model which part of these rows was deleted, and sets the note and the
 * percentage, if the table told it.
 */
static SstEstimate
dead_entries_kept(const DeadEntries *dead, const SstTarget *index,
				  const SstPageSample *sample, SstRebuild *rebuild,
				  SstBloatEstimate *estimate)
{
	SstEstimate kept = sst_exactly(1);

	if (dead->unknown)
		estimate->note = gettext_noop("the number of dead rows of the table is not known; they may have entries in the index");
	if (dead->table == NULL)
		return kept;

	rebuild->deleted_part = dead->table->deleted_percent / 100.0;
	kept = kept_entries(dead, index, sample);
	estimate->kept_percent = sst_scaled(kept, 100);
	if (kept.low < 1 - NOTEWORTHY && is_partial(index->rel))
		estimate->note = gettext_noop("dead rows of the table that are not yet vacuumed may have entries in the partial index");
	else if (kept.value < 1 - NOTEWORTHY && isnan(rows_with_entry(index, dead->table->indexed_items.value)))
		estimate->note = gettext_noop("dead rows of the table that are not yet vacuumed may have entries in the index");
	return kept;
}

/* ----------
 * The estimate
 * ----------
 */

/* Free space in pages that are in use, and all of those that are not */
static const SstColumn free_percent =
{.count = SST_FREE_BYTES, .percent_of = SST_PAGE_BYTES, .plus_pages = true};

/* The same where pages that are reserved are counted as free space already */
static const SstColumn free_percent_reserved =
{.count = SST_FREE_BYTES, .percent_of = SST_PAGE_BYTES};

static const SstColumn dead_tuple_percent =
{.count = SST_DEAD_TUPLE_BYTES, .percent_of = SST_PAGE_BYTES};

static const SstColumn dead_item_percent =
{.count = SST_DEAD_ITEMS, .percent_of = SST_LIVE_ITEMS, .of_sum = true};

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
		SstSampling of_table = *sampling;

		of_table.toast = true;
		sst_target_try_open(&target, sst_toast_owner(toast->relid), InvalidOid, SST_HEAP, false);
		told = sst_target_is_readable(&target) &&
			target.rel->rd_rel->reltoastrelid == toast->relid &&
			sst_estimate_bloat(&target, NULL, &of_table, &sampled) &&
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
		const DeadEntries *dead, SstSampling *sampling,
		SstBloatEstimate *estimate)
{
	SstEstimate blocks;
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	SstEstimate kept = dead_entries_kept(dead, target, sample, rebuild, estimate);

	rebuild->model->predict(rebuild, sample, &kept, &blocks);
	if (!sst_within_limits(sampling->limits))
		return false;
	*rebuilt = blocks;
	if (target->kind == SST_INDEX)
		estimate->indexed_items.value = kept.value * sample->totals[SST_REBUILT_ENTRIES];
	estimate->analyzed_blocks = rebuild->analyzed_blocks;
	estimate->analyze_first = rebuild->analyze_first;
	estimate->passed_pages = rebuild->passed_pages;
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
		sst_estimate_toast(target, sample, sampling->toast, estimate);
	if (target->rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		predict_toast(target, table, sampling, estimate);
	if (estimate->analyze_first && estimate->note == NULL)
		estimate->note = gettext_noop("the table's row count is overestimated: run ANALYZE before the rebuild, or the index gets more buckets than it needs");

	/* The last page of a level or two may be there or not. */
	sst_round_blocks(rebuilt, !rebuild->certain);
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
	SstPause	pause = {sst_limits_go_on, sampling->limits};
	DeadEntries dead;
	bool		complete;

	sst_bloat_estimate_init(estimate, target->nblocks);
	rebuild = sst_rebuild_begin(target->am, target->rel, &pause, &estimate->note);
	if (rebuild != NULL)
	{
		if (target->kind == SST_HEAP && !sampling->toast)
			sst_heap_leave_out_toast(rebuild);
		sst_try_toast_compression(target, sampling, rebuild);
		dead_entries_begin(&dead, target, table, sampling, rebuild);
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
			estimate_kept_items(&sample, estimate);
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
