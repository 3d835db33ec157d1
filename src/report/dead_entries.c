/*-------------------------------------------------------------------------
 *
 * dead_entries.c
 *	  Leaving the index entries of dead rows out of an estimate
 *
 * An index cannot tell which of its entries are for rows that are dead and have
 * not been vacuumed.  An index build skips these rows.  So the table is looked
 * at, too: some of the line pointers that index entries point to lead to no row
 * that an index build would find.  The same fraction of the entries is assumed to
 * vanish.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/dead_entries.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_index.h"

#include "report/dead_entries.h"
#include "run/sampling.h"

/* Indexes with entries for each row, whose size follows from these */
#define SIZED_BY_ENTRIES (SST_BTREE | SST_HASH | SST_GIN | SST_GIST | \
						  SST_SPGIST)

/* Of those, the ones that have one entry for each row, nulls as well */
#define ONE_ENTRY_A_ROW (SST_BTREE | SST_GIST | SST_SPGIST)

/* By which part of the fraction that vanishes the ends are widened */
#define UNCERTAINTY 0.2

/* A note is made from this fraction of dead entries on. */
#define NOTEWORTHY 0.01

/*
 * Does the index have a predicate?  RelationGetIndexPredicate() would evaluate
 * its constant parts, which can be functions of the index's owner.
 */
static bool
is_partial(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

/*
 * Read a sample of an index's table, which is locked, for what indexes keep.
 * Where that is not known, the estimate's kept_percent is NaN, and exact false.
 */
static void
sample_table(Oid relid, SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstTarget	table;
	SstPageSample sample;
	SstScanResult result;

	sst_target_examine(&table, relation_open(relid, NoLock));
	sst_bloat_estimate_init(estimate, table.nblocks);
	if (table.kind == SST_HEAP && sst_target_is_readable(&table))
	{
		if (sst_sample_scan(&table, sampling->nblocks, sampling->seed, NULL,
							sampling->limits, &sample, &result))
		{
			estimate->exact = sst_sample_is_exact(&sample);
			sst_estimate_kept_items(&sample, estimate);
		}
		sst_io_stats_merge(sampling->io_stats, &result.io_stats);
		sst_page_sample_free(&sample);
	}
	relation_close(table.rel, NoLock);
}

/*
 * The fraction of an index's entries, not counting those marked dead, that an
 * index build makes when the table keeps this percentage of its indexed items.
 */
static double
kept_fraction(const SstIndexModel *model, double indexed_items,
			  double kept_percent)
{
	double		entries = model->counts[SST_REBUILT_ENTRIES];
	double		dead_entries = model->counts[SST_REBUILT_DEAD_ENTRIES];
	double		fraction;

	if (entries == 0)
		return 1;
	fraction = kept_percent / 100 * (entries + dead_entries) / entries;

	/* Entries of dead rows may have been deleted before the rows. */
	if (model->index->kind == SST_HASH)
		indexed_items *= model->rebuild->entry_fraction;
	if ((model->index->kind & (ONE_ENTRY_A_ROW | SST_HASH)) != 0 &&
		!is_partial(model->index->rel))
		fraction = Max(fraction, kept_percent / 100 * indexed_items / entries);

	return Min(fraction, 1);
}

/* The fraction of the new index's size that is left with this one of entries */
static double
kept_size(const SstIndexModel *model, double fraction)
{
	const SstRebuild *rebuild = model->rebuild;
	double		counts[SST_NCOUNTS];
	double		blocks;

	if (rebuild->scale_entries == NULL)
		return fraction;

	memcpy(counts, model->counts, sizeof(counts));
	blocks = rebuild->blocks(rebuild, counts, model->meta, false);
	rebuild->scale_entries(rebuild, counts, fraction);

	return rebuild->blocks(rebuild, counts, model->meta, false) / blocks;
}

static void
set_note(SstBloatEstimate *estimate, const char *note)
{
	if (estimate->note == NULL)
		estimate->note = note;
}

/*
 * Leave the entries of dead rows out of the estimated size of a rebuilt index,
 * which has all entries in it.
 */
void
sst_leave_out_dead_entries(const SstIndexModel *model,
						   const SstIndexTable *table,
						   SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	SstBloatEstimate sampled;
	const SstBloatEstimate *known = table->estimate;
	bool		partial = is_partial(model->index->rel);
	SstEstimate kept;
	double		least;
	double		most;

	if ((model->index->kind & SIZED_BY_ENTRIES) == 0)
		return;
	if (known == NULL)
	{
		sample_table(table->relid, sampling, &sampled);
		known = &sampled;
	}
	if (isnan(known->kept_percent.value))
	{
		if (!known->exact)
			set_note(estimate, gettext_noop("dead rows of the table are not known, and may have entries in the index"));
		return;
	}

	kept.value = kept_fraction(model, known->indexed_items,
							   known->kept_percent.value);
	kept.low = isnan(known->kept_percent.low) ? 0 :
		kept_fraction(model, known->indexed_items, known->kept_percent.low);
	kept.high = isnan(known->kept_percent.high) ? 1 :
		kept_fraction(model, known->indexed_items, known->kept_percent.high);

	estimate->kept_percent.value = 100 * kept.value;
	estimate->kept_percent.low = 100 * kept.low;
	estimate->kept_percent.high = 100 * kept.high;

	least = Min(kept_size(model, kept.low), kept.low) *
		(1 - UNCERTAINTY * (1 - kept.low));
	most = kept_size(model, kept.high) * (1 + UNCERTAINTY * (1 - kept.high));
	rebuilt->low *= least;

	/* Which rows a partial index has entries of cannot be known. */
	if (!partial)
	{
		rebuilt->value *= kept_size(model, kept.value);
		if (model->index->kind != SST_GIN)
			rebuilt->high *= Min(most, 1);
	}

	/*
	 * A row has any number of entries in a GIN index.  So those of dead rows
	 * may be gone already.
	 */
	if (kept.value < 1 - NOTEWORTHY)
	{
		if (partial)
			set_note(estimate, gettext_noop("dead rows of the table that are not vacuumed may or may not be in the partial index"));
		else if (model->index->kind == SST_GIN)
			set_note(estimate, gettext_noop("dead rows of the table that are not vacuumed may or may not have entries in the index"));
	}
}
