/*-------------------------------------------------------------------------
 *
 * dead_entries.c
 *	  Excluding the index entries of dead rows from an estimate
 *
 * An index cannot tell which of its entries are for rows that are dead and have
 * not been vacuumed.  An index build skips these rows.  An entry has the TID of
 * its row.  So the table tells, in one of these ways:
 *
 * - If the table has no more blocks that are not all-visible than may be read,
 *   these are read first.  The model then leaves each entry of a dead row out.
 * - Otherwise some of the entries that were read are looked up in the table, and
 *   the fraction of their bytes that is kept scales the size.
 * - In a report, which knows the table already, neither is done for an index that
 *   has hardly any dead entries, or when the limits do not allow it.  The size is
 *   then scaled by the fraction of the table's rows that are kept, as if dead rows
 *   were like the others.
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
#include "catalog/pg_index.h"

#include "rebuild/btree_fill.h"
#include "report/dead_entries.h"
#include "report/kept_entries.h"

/* Indexes with entries for each row, whose size follows from these */
#define SIZED_BY_ENTRIES (SST_BTREE | SST_HASH | SST_GIN | SST_GIST | \
						  SST_SPGIST)

/* Of those, the ones that have one entry for each row, nulls as well */
#define ONE_ENTRY_A_ROW (SST_BTREE | SST_GIST | SST_SPGIST)

/*
 * Access methods with models that exclude entries by TID; entries of others
 * are looked up.
 */
#define LEAVE_OUT_BY_TID (SST_BTREE | SST_HASH | SST_GIN | SST_GIST | \
						  SST_SPGIST)

/*
 * By which part of the fraction that vanishes the ends are widened: where keys have
 * several entries, which in a GIN index have pages of their own or not, where keys
 * have not, and where rows are assumed to be alike
 */
#define UNCERTAINTY_OF_KEYS 0.15
#define UNCERTAINTY_OF_GIN 0.25
#define UNCERTAINTY 0.02
#define UNCERTAINTY_OF_ROWS 0.2

/*
 * How full the pages of a b-tree are depends on how posting lists fill them.  With fewer
 * TIDs that differs by about half of a list, as experiments have shown.  It does so by all
 * of that from this fraction of dead entries on.
 */
#define UNCERTAINTY_OF_LISTS 0.6
#define MANY_DEAD 0.03

/* Keys matter if so much is left of what their dead entries take. */
#define SHARED_KEYS 0.02

/* A note is made from this fraction of dead entries on. */
#define NOTEWORTHY 0.01

/*
 * With fewer dead rows among those read, in percent, a report looks nothing up.  Most
 * tables are like that, and what has been read of them says how wrong that can be.
 */
#define FEW_DEAD 0.5

/* Fewer look-ups than this say next to nothing. */
#define MIN_LOOKUPS 8

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
blocks_to_read(const SstDeadEntries *dead, const SstTarget *index,
			   const SstSampling *sampling)
{
	const SstBloatEstimate *known = dead->table->estimate;

	if (known != NULL && known->exact && sampling->nblocks >= index->nblocks)
		return Max(sampling->nblocks, dead->rows.table.nblocks);
	return sampling->nblocks;
}

/*
 * Is what is known of the table enough?  Then this sets the way to leave dead
 * entries out.
 */
static bool
is_known_by_table(SstDeadEntries *dead, const SstTarget *index,
				  const SstSampling *sampling)
{
	const SstBloatEstimate *known = dead->table->estimate;

	if (known == NULL)
		return false;
	if (known->exact && !(known->kept_percent.value < 100))
	{
		dead->way = SST_NO_DEAD_ENTRIES;
		return true;
	}
	if (known->kept_percent.value > 100 - FEW_DEAD && !is_partial(index->rel) &&
		!(known->exact && sampling->nblocks >= index->nblocks))
	{
		dead->way = SST_DEAD_BY_TABLE;
		return true;
	}
	return false;
}

/*
 * Choose the way to know of an index's dead entries, before the index is read, and
 * have the rebuild do what is needed for it.  table is NULL, or locked.
 */
void
sst_dead_entries_begin(SstDeadEntries *dead, const SstTarget *index,
					   const SstIndexTable *table, SstSampling *sampling,
					   SstRebuild *rebuild)
{
	SstTableRows *rows = &dead->rows;
	BlockNumber most;

	memset(dead, 0, sizeof(SstDeadEntries));
	dead->table = table;
	if (table == NULL || (index->kind & SIZED_BY_ENTRIES) == 0 ||
		rebuild->unpredictable || is_known_by_table(dead, index, sampling))
		return;

	dead->way = SST_DEAD_UNKNOWN;
	dead->has_rows = true;
	sst_table_rows_begin(rows, table->relid);
	if (!rows->readable)
		return;

	/* Where that fails for the limits, so does the estimate of the index. */
	most = blocks_to_read(dead, index, sampling);
	if (limits_allow(sampling, index, (double) most / MIN_LOOKUPS))
		sst_read_visible_blocks(rows, most, sampling);
	if (rows->nothers == 0)
	{
		dead->way = SST_NO_DEAD_ENTRIES;
		return;
	}
	if (rows->nothers <= most && limits_allow(sampling, index, rows->nothers))
		dead->tids = sst_read_dead_rows(rows, NULL, sampling);

	if (dead->tids != NULL && sst_dead_tids_is_empty(dead->tids))
		dead->way = SST_NO_DEAD_ENTRIES;
	else if (dead->tids != NULL && (index->kind & LEAVE_OUT_BY_TID) != 0)
	{
		dead->way = SST_DEAD_BY_TID;
		rebuild->dead_tids = dead->tids;
	}
	else if (dead->tids != NULL || limits_allow(sampling, index, MIN_LOOKUPS))
	{
		dead->way = SST_DEAD_BY_LOOKUP;
		dead->entries = sst_entry_sample_create(index->kind,
												index->kind == SST_BTREE &&
												rebuild->u.btree.fill.deduplicate,
												Min(sampling->nblocks,
													index->nblocks),
												sampling->seed);
		rebuild->entries = dead->entries;
	}
	else if (table->estimate != NULL)
		dead->way = SST_DEAD_BY_TABLE;
}

void
sst_dead_entries_end(SstDeadEntries *dead)
{
	if (dead->tids != NULL)
		sst_dead_tids_free(dead->tids);
	if (dead->entries != NULL)
		sst_entry_sample_free(dead->entries);
	if (dead->has_rows)
		sst_table_rows_end(&dead->rows);
}

/*
 * The fraction of an index's entries, not counting those marked dead, that an
 * index build makes when the table keeps this percentage of its indexed items.
 */
static double
kept_by_table(const SstIndexModel *model, double indexed_items,
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

	return Min(rebuild->blocks(rebuild, counts, model->meta, false) / blocks, 1);
}

/*
 * By which part of a b-tree's size its posting lists may fill pages otherwise when only
 * this fraction of entries is left
 */
static double
list_uncertainty(const SstIndexModel *model, double kept)
{
	double		keys = model->counts[SST_REBUILT_KEYS];
	double		ntids = model->counts[SST_REBUILT_ENTRIES] / Max(keys, 1);

	if (model->index->kind != SST_BTREE || ntids < 2 ||
		!model->rebuild->u.btree.fill.deduplicate)
		return 0;
	return UNCERTAINTY_OF_LISTS * Min((1 - kept) / MANY_DEAD, 1) *
		Min(ntids * sizeof(ItemPointerData), SST_MAX_POSTING_TUPLE) / BLCKSZ;
}

static void
set_note(SstBloatEstimate *estimate, const char *note)
{
	if (estimate->note == NULL)
		estimate->note = note;
}

static void
set_kept_percent(SstBloatEstimate *estimate, const SstEstimate *kept)
{
	estimate->kept_percent.value = 100 * kept->value;
	estimate->kept_percent.low = 100 * kept->low;
	estimate->kept_percent.high = 100 * kept->high;
}

/*
 * Scale the estimated size.  The errors of the sample, of the fraction and of the
 * model do not depend on each other.
 */
static void
scale_size(const SstEstimate *size, double uncertainty, SstEstimate *rebuilt)
{
	double		value = rebuilt->value;
	double		below = (value - rebuilt->low) * size->value;
	double		above = isinf(rebuilt->high) ? INFINITY :
		(rebuilt->high - value) * size->value;

	below = hypot(below, value * Max(size->value - size->low, 0));
	above = hypot(above, value * Max(size->high - size->value, 0));

	rebuilt->value = value * size->value;
	rebuilt->low = Max(rebuilt->value - hypot(below, value * uncertainty), 0);
	rebuilt->high = rebuilt->value + hypot(above, value * uncertainty);
}

/* Leave dead entries out by what fraction of the table's rows is kept. */
static void
leave_out_by_table(const SstIndexModel *model, const SstBloatEstimate *known,
				   SstBloatEstimate *estimate)
{
	SstEstimate *rebuilt = &estimate->rebuilt_blocks;
	const SstEstimate *percent = &known->kept_percent;
	bool		partial = is_partial(model->index->rel);
	SstEstimate kept;
	SstEstimate size;
	SstEstimate scaled = *rebuilt;

	kept.value = kept_by_table(model, known->indexed_items, percent->value);
	kept.low = isnan(percent->low) ? 0 :
		kept_by_table(model, known->indexed_items, percent->low);
	kept.high = isnan(percent->high) ? 1 :
		kept_by_table(model, known->indexed_items, percent->high);
	set_kept_percent(estimate, &kept);

	size.value = kept_size(model, kept.value);
	size.low = Min(kept_size(model, kept.low), kept.low);
	size.high = kept_size(model, kept.high);
	scale_size(&size, UNCERTAINTY_OF_ROWS * (1 - kept.value) +
			   list_uncertainty(model, kept.value), &scaled);

	/*
	 * Which rows a partial index has entries of is not known.  A row has any
	 * number of entries in a GIN index, so that those of dead rows may be
	 * gone already.
	 */
	if (partial || model->index->kind == SST_GIN)
	{
		scaled.high = rebuilt->high;
		if (partial)
			scaled.value = rebuilt->value;
		if (kept.value < 1 - NOTEWORTHY)
			set_note(estimate, partial ?
					 gettext_noop("dead rows of the table that are not yet vacuumed may have entries in the partial index") :
					 gettext_noop("dead rows of the table that are not yet vacuumed may have entries in the index"));
	}
	*rebuilt = scaled;
}

/*
 * The fraction of the new index's size that is left with the entries that are kept.
 *
 * A key that has several entries may stay, as that of a row that was updated, or go,
 * with rows that were deleted.  As many are assumed to stay as can, and the lower
 * end has none of them.  The other models know that of their own, or have no keys.
 */
static void
size_by_lookup(const SstIndexModel *model, const SstKeptEntries *entries,
			   SstEstimate *size)
{
	const SstEstimate *kept = &entries->kept;
	double		empty = model->index->kind == SST_BTREE ? kept_size(model, 0) : 0;

	*size = *kept;
	if ((model->index->kind & (SST_BTREE | SST_GIN)) == 0)
	{
		size->value = kept_size(model, kept->value);
		size->low = kept_size(model, kept->low);
		size->high = kept_size(model, kept->high);
	}
	else if (kept->value < 1)
	{
		double		keys = entries->keys / (1 - kept->value);

		size->value += keys * (1 - kept->value) * Min(2 * kept->value, 1);
		size->high += keys * (1 - kept->high) * Min(2 * kept->high, 1);

		/*
		 * Some pages do not depend on the entries.  Those of posting trees
		 * do.
		 */
		size->value = empty + (1 - empty) * size->value;
		size->low = empty + (1 - empty) * size->low;
		size->high = empty + (1 - empty) * size->high;
	}

	/*
	 * New versions of rows are in the pending list, and whether the keys of
	 * dead ones are there is not known: take the middle.  Dead ones may have
	 * keys that take more than others.
	 */
	if (model->index->kind == SST_GIN && kept->value < 1 &&
		model->counts[SST_PENDING_ITEMS] > 0)
	{
		size->high = 1;
		size->value = (size->value + 1) / 2;
		size->low = Max(size->low - UNCERTAINTY_OF_GIN * (1 - kept->value), 0);
	}
}

/* Leave dead entries out by looking some of those up that were read. */
static bool
leave_out_by_lookup(SstDeadEntries *dead, const SstIndexModel *model,
					SstSampling *sampling, SstBloatEstimate *estimate)
{
	SstKeptEntries entries;
	SstEstimate size;
	BlockNumber most = sampling->nblocks;
	double		uncertainty = UNCERTAINTY;

	if (dead->entries->nentries == 0)
		return true;
	if (sampling->limits != NULL)
		most = Min(most, sampling->limits->bytes_left / BLCKSZ);
	if ((dead->tids == NULL && most < MIN_LOOKUPS) ||
		!sst_look_up_entries(dead->entries, model->index->nblocks, &dead->rows,
							 dead->tids, most, sampling, &entries))
		return false;

	size_by_lookup(model, &entries, &size);
	if (model->index->kind == SST_GIN)
		uncertainty = UNCERTAINTY_OF_GIN;
	else if (entries.keys > SHARED_KEYS * (1 - entries.kept.value))
		uncertainty = UNCERTAINTY_OF_KEYS;
	scale_size(&size, uncertainty * (1 - entries.kept.value) +
			   list_uncertainty(model, entries.kept.value),
			   &estimate->rebuilt_blocks);
	set_kept_percent(estimate, &entries.kept);
	return true;
}

/*
 * Leave the entries of dead rows out of the estimated size of a rebuilt index,
 * which has all entries in it that the model has not left out.
 */
void
sst_dead_entries_leave_out(SstDeadEntries *dead, const SstIndexModel *model,
						   SstSampling *sampling, SstBloatEstimate *estimate)
{
	const SstBloatEstimate *known = dead->table != NULL ?
		dead->table->estimate : NULL;

	if (dead->way == SST_DEAD_BY_LOOKUP &&
		!leave_out_by_lookup(dead, model, sampling, estimate))
		dead->way = known != NULL ? SST_DEAD_BY_TABLE : SST_DEAD_UNKNOWN;

	if (dead->way == SST_DEAD_BY_TABLE && isnan(known->kept_percent.value))
		dead->way = SST_DEAD_UNKNOWN;
	if (dead->way == SST_DEAD_BY_TABLE)
		leave_out_by_table(model, known, estimate);
	else if (dead->way == SST_DEAD_UNKNOWN)
		set_note(estimate, gettext_noop("the number of dead rows of the table is not known; they may have entries in the index"));
}
