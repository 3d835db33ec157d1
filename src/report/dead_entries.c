/*-------------------------------------------------------------------------
 *
 * dead_entries.c
 *	  Excluding the index entries of dead rows from an estimate
 *
 * An index cannot tell which of its entries are for rows that are dead and have
 * not been vacuumed.  An index build skips these rows.  An entry has the TID of
 * its row.  So the table tells, in one of these ways:
 *
 * - If the table has no more blocks that are not all-visible than may be read, and than
 *   memory suffices for, these are read first.  The model then leaves each entry of a dead row out.
 * - Otherwise the size is scaled by the fraction of the table's rows that are kept,
 *   which a report knows already, and a sample of the table tells else.  Which
 *   entries are those of dead rows is not known then: the ends allow for any.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_index.h"

#include "report/bloat_estimate.h"

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

/* The dead rows of more blocks, with up to 70 bytes for each, would take too much memory. */
#define MAX_BLOCKS_WITH_DEAD 65536

/*
 * Read all blocks of the table that are not all-visible.  Returns the TIDs that
 * indexes may have entries with and a build would not, in the current memory context.
 * NULL if a limit was reached.
 */
static SstDeadTids *
read_dead_rows(const SstTarget *table, const SstBlockSet *visible,
			   SstSampling *sampling)
{
	SstDeadTids *result = sst_dead_tids_create();
	SstScanSinks sinks = {.dead_tids = result, .limits = sampling->limits};
	SstScanPlan plan;
	SstScanResult scanned;

	sst_plan_scan(&plan, table, SST_RULES_TOLERANT);
	plan.chains = true;
	if (visible != NULL)
		plan.nskipped = visible->nmembers;

	if (sst_plan_nblocks(&plan) > 0)
	{
		sst_scan_alone(&plan, table->rel, visible, &sinks, &scanned);
		sst_io_stats_merge(sampling->io_stats, &scanned.io_stats);
	}

	return sst_within_limits(sampling->limits) ? result : NULL;
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

/*
 * Does the index have a predicate?  RelationGetIndexPredicate() would evaluate
 * its constant parts, which can be functions of the index's owner.
 */
static bool
is_partial(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

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
is_known_by_table(SstDeadEntries *dead, const SstBloatEstimate *known,
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
static const SstStatistic kept_percent =
{"kept", SST_RATIO, SST_KEPT_CHAINS, SST_INDEXED_ITEMS};
static const SstStatistic indexed_items =
{"indexed", SST_TOTAL, SST_INDEXED_ITEMS, 0, MaxHeapTuplesPerPage};

/*
 * Estimate what a table's indexes keep of what they point to.  Where pruning has left line
 * pointers only, it is not known whether a row was deleted.
 */
void
sst_estimate_kept_items(const SstPageSample *sample, SstBloatEstimate *estimate)
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
		sst_estimate_kept_items(&sample, estimate);
	sst_page_sample_free(&sample);

	return complete;
}

/*
 * Read the table, which can be read, for its dead rows, or a sample of it, if it is not known.
 * False if that tells nothing of them.
 */
static bool
find_dead_rows(SstDeadEntries *dead, const SstBloatEstimate *known, const SstTarget *table,
			   const SstTarget *index, SstSampling *sampling)
{
	SstBlockSet *visible = NULL;
	BlockNumber nothers = table->nblocks;
	BlockNumber most = blocks_to_read(known, table, index, sampling);
	SstCounters counters;

	sst_counters_init(&counters);
	/* Where that fails for the limits, so does the estimate of the index. */
	if (limits_allow(sampling, index, (double) most / LEAST_PART))
		visible = sst_visible_blocks(table, Max(most / MAP_PART, 1), sampling->limits,
									 &counters, sampling->io_stats);
	if (visible != NULL)
		nothers -= visible->nmembers;
	if (nothers > 0 && nothers <= Min(most, MAX_BLOCKS_WITH_DEAD) &&
		limits_allow(sampling, index, nothers))
		dead->tids = read_dead_rows(table, visible, sampling);
	if (visible != NULL)
		pfree(visible);
	if (nothers == 0 || dead->tids != NULL)
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
void
sst_dead_entries_begin(SstDeadEntries *dead, const SstTarget *index,
					   const SstBloatEstimate *table, SstSampling *sampling,
					   SstRebuild *rebuild)
{
	SstTarget	target;

	memset(dead, 0, sizeof(SstDeadEntries));
	if (!OidIsValid(index->tableoid) || index->kind != SST_INDEX)
		return;
	if (is_known_by_table(dead, table, index, sampling))
		return;

	sst_target_examine(&target, relation_open(index->tableoid, NoLock));
	dead->unknown = target.kind != SST_HEAP || !sst_target_is_readable(&target) ||
		!find_dead_rows(dead, table, &target, index, sampling);
	relation_close(target.rel, NoLock);

	/* Without any, models need not look at each TID. */
	if (dead->tids != NULL && !sst_dead_tids_is_empty(dead->tids))
		rebuild->dead_tids = dead->tids;
}

/* ----------
 * The estimate without them
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

static const SstStatistic index_entries =
{"entries", SST_TOTAL, SST_REBUILT_ENTRIES};

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
kept_entries(const SstDeadEntries *dead, const SstTarget *index,
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
SstEstimate
sst_dead_entries_kept(const SstDeadEntries *dead, const SstTarget *index,
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
