/*-------------------------------------------------------------------------
 *
 * gain.c
 *	  What a rebuild changes of the sizes of relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"

#include "am/am.h"
#include "compat/compat.h"
#include "report/plan.h"

double
sst_entry_bytes(const SstReportEntry *entry)
{
	return (double) entry->estimate.nblocks * BLCKSZ;
}

/*
 * Bytes that come back of one relation, by the command that is for it.  NaN if that is
 * not known.
 */
SstEstimate
sst_entry_reclaimable(const SstReportEntry *entry)
{
	if (sst_is_to_be_dropped(entry->relation))
		return sst_exactly(sst_entry_bytes(entry));
	return sst_reclaimable_bytes(&entry->estimate);
}

/* Is it the index of a TOAST table? */
static bool
is_toast_index(const SstReportEntry *entry)
{
	return entry->relation->relkind == RELKIND_INDEX && entry->table != NULL &&
		entry->table->relation->relkind == RELKIND_TOASTVALUE;
}

static void
add_bytes(double bytes, SstEstimate rebuilt, SstGain *gain)
{
	gain->nrelations++;
	gain->bytes += bytes;
	if (isnan(rebuilt.value))
	{
		gain->predicted += bytes;
		return;
	}
	gain->predicted += rebuilt.value * BLCKSZ;
	gain->reclaimable.value += bytes - rebuilt.value * BLCKSZ;
	gain->reclaimable.low += bytes - rebuilt.high * BLCKSZ;
	gain->reclaimable.high += bytes - rebuilt.low * BLCKSZ;
}

/*
 * Add what a rebuild of a relation changes.  One that becomes larger counts as
 * well; one of which nothing is known is taken to keep its size.  The ends are
 * added up: the errors of a table and of its indexes have causes in common.
 */
void
sst_add_gain(const SstReportEntry *entry, SstGain *gain)
{
	add_bytes(sst_entry_bytes(entry),
			  entry->estimate.rebuilt_blocks, gain);
}

/*
 * A TOAST index that a rewrite of its table makes, against the size that REINDEX would
 * give it.  A rewrite inserts the chunks one by one, in the order of the table's rows.
 * Where pages are split, and how full they become, depends on the order of their IDs
 * (_bt_findsplitloc() in access/nbtree/nbtsplitloc.c).  After 24 rewrites on 15, of tables
 * whose rows were updated, shuffled, or clustered either way, with values of 2, 6 and 31
 * chunks, leaf pages were 50 to 98 percent full; a sort fills 90 percent.
 */
#define INSERTED_LEAST 0.92
#define INSERTED 1.2
#define INSERTED_MOST 1.8

/* Index pages for each page of full chunks, where there are none yet */
#define INDEX_PART 0.011

/*
 * The blocks of a TOAST index after a rewrite of its table, which makes only the chunks
 * that the rows need.
 */
static SstEstimate
rewritten_toast_index(const SstReportEntry *entry)
{
	SstEstimate index = entry->estimate.rebuilt_blocks;
	const SstBloatEstimate *toast = &entry->table->estimate;
	SstEstimate chunks = sst_exactly(1);

	/* without the metapage */
	SstEstimate part = {index.value - 1, index.low - 1, index.high - 1};

	if (toast->toast != NULL && !isnan(toast->rebuilt_blocks.value))
	{
		double		all = toast->toast->chunks.blocks.value;

		chunks = toast->rebuilt_blocks;
		part.value = all > 0 ? part.value / all : INDEX_PART;
		part.low = all > 0 ? part.low / all : INDEX_PART;
		part.high = all > 0 ? part.high / all : INDEX_PART;
	}
	return (SstEstimate)
	{
		.value = 1 + ceil(part.value * chunks.value * INSERTED),
			.low = 1 + floor(Max(part.low, 0) * chunks.low * INSERTED_LEAST),
			.high = 1 + ceil(part.high * chunks.high * INSERTED_MOST)
	};
}

/*
 * A rewrite leaves a table's rows closer together, so that differences between TIDs, where
 * an index has them, may take fewer bytes.  Of 35 random GIN indexes on 15, most had the size
 * that REINDEX gives, and three were 5 to 11 percent smaller.  Where rows are many times as close,
 * differences of two or three bytes can become one: with 20 times as close, indexes were up to 57
 * percent smaller.
 */
#define CLOSER_ROWS 0.12
#define CLOSER_POWER -0.3

/* The least part of a size by REINDEX that the index has after a rewrite of this table */
static double
least_part_with_closer_rows(const SstBloatEstimate *table)
{
	double		closer = table->nblocks / Max(table->rebuilt_blocks.low, 1);

	return (1 - CLOSER_ROWS) * (closer > 1 ? pow(closer, CLOSER_POWER) : 1);
}

/* What REINDEX would free of a TOAST index of so many bytes that a rewrite has made */
double
sst_inserted_waste(double bytes)
{
	return bytes - bytes / INSERTED;
}

/*
 * The blocks of a table that takes so many, after bulk inserts into it.  These
 * double the blocks that they extend it by, up to a limit (RelationAddBlocks() in
 * access/heap/hio.c).  Those that the last extension added
 * and did not need stay in the table.
 */
static double
extended_blocks(double blocks)
{
#ifdef SST_HAVE_BULK_EXTENSION
	double		extended = 1;

	if (!(blocks > 0))
		return blocks;
	if (blocks > SST_MAX_EXTENSION)
		return ceil(blocks / SST_MAX_EXTENSION) * SST_MAX_EXTENSION;
	while (extended < blocks)
		extended *= 2;
	return extended;
#else
	return blocks;
#endif
}

/*
 * Add what the rebuild of its table changes of a relation, which can be the table itself.
 * VACUUM FULL and REPACK store the number of rows that they have copied before they build
 * indexes (copy_table_data() in commands/cluster.c), so that a hash index is built as if after
 * ANALYZE.  Commands that insert rows store none, so that the server estimates it.  The upper
 * end stays where many rows may just have no entry in a hash index.
 */
void
sst_add_gain_with_table(const SstReportEntry *entry, bool by_inserts,
						SstGain *gain)
{
	const SstBloatEstimate *estimate = &entry->estimate;
	SstEstimate rebuilt = estimate->rebuilt_blocks;

	if (is_toast_index(entry))
		rebuilt = rewritten_toast_index(entry);
	else if (by_inserts && entry->table == NULL)
	{
		rebuilt.value = extended_blocks(rebuilt.value);
		rebuilt.low = extended_blocks(rebuilt.low);
		rebuilt.high = extended_blocks(rebuilt.high);
	}
	else if (sst_index_am(entry->relation->amoid)->flags & SST_AM_TID_DIFFERENCES)
		rebuilt.low = floor(rebuilt.low * least_part_with_closer_rows(&entry->table->estimate));
	else if (!isnan(estimate->analyzed_blocks) && !by_inserts)
	{
		double		less = rebuilt.value - estimate->analyzed_blocks;

		rebuilt.value -= less;
		rebuilt.low = Max(rebuilt.low - less, 0);
		if (estimate->analyze_first)
			rebuilt.high -= less;
	}
	add_bytes(sst_entry_bytes(entry), rebuilt, gain);
}
