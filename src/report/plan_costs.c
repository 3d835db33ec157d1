/*-------------------------------------------------------------------------
 *
 * plan_costs.c
 *	  The gain, cost and effects of commands
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/plan_costs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "compat/catalog.h"
#include "report/plan_costs.h"

/* Blocks by which bulk inserts extend a table at most (MAX_BUFFERS_TO_EXTEND_BY) */
#define MAX_EXTENSION 64

double
sst_entry_bytes(const SstReport *report, int i)
{
	return (double) report->entries[i].estimate.nblocks * BLCKSZ;
}

/*
 * Bytes that come back of one relation, by the command that is for it.  NaN if that is
 * not known.
 */
SstEstimate
sst_entry_reclaimable(const SstReport *report, int i)
{
	if (sst_is_to_be_dropped(&report->relations.relation[i]))
	{
		double		bytes = sst_entry_bytes(report, i);

		return (SstEstimate)
		{
			bytes, bytes, bytes
		};
	}
	return sst_reclaimable_bytes(&report->entries[i].estimate);
}

static void
add_gain(double bytes, SstEstimate rebuilt, SstGain *gain)
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
sst_add_gain(const SstReport *report, int i, SstGain *gain)
{
	add_gain(sst_entry_bytes(report, i),
			 report->entries[i].estimate.rebuilt_blocks, gain);
}

/*
 * The same of an index that is rebuilt with its table.  VACUUM FULL and REPACK store the
 * number of rows that they have copied before they build indexes (copy_table_data()
 * in commands/cluster.c), so that a hash index is built as if after ANALYZE.  What
 * inserts rows leaves the server to guess.
 */
void
sst_add_gain_with_table(const SstReport *report, int i, bool by_inserts,
						SstGain *gain)
{
	const SstBloatEstimate *estimate = &report->entries[i].estimate;
	SstEstimate rebuilt = estimate->rebuilt_blocks;

	if (estimate->analyze_first && !by_inserts)
	{
		double		less = rebuilt.value - estimate->analyzed_blocks;

		rebuilt.value -= less;
		rebuilt.low = Max(rebuilt.low - less, 0);
		rebuilt.high -= less;
	}
	add_gain(sst_entry_bytes(report, i), rebuilt, gain);
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
	if (blocks > MAX_EXTENSION)
		return ceil(blocks / MAX_EXTENSION) * MAX_EXTENSION;
	while (extended < blocks)
		extended *= 2;
	return extended;
#else
	return blocks;
#endif
}

/* The same of a table whose rows are inserted into a new one */
void
sst_add_inserted_gain(const SstReport *report, int i, SstGain *gain)
{
	SstEstimate rebuilt = report->entries[i].estimate.rebuilt_blocks;

	rebuilt.value = extended_blocks(rebuilt.value);
	rebuilt.low = extended_blocks(rebuilt.low);
	rebuilt.high = extended_blocks(rebuilt.high);
	add_gain(sst_entry_bytes(report, i), rebuilt, gain);
}

/* Temporary files of an index build that sorts, at most */
double
sst_sort_bytes(double predicted)
{
	return predicted > maintenance_work_mem * 1024.0 ? predicted : 0;
}

/* Set what a command gives back, and the space that new files take meanwhile. */
void
sst_set_gain(SstPlannedCommand *planned, const SstGain *gain)
{
	planned->nrelations = gain->nrelations;
	planned->bytes = gain->bytes;
	planned->reclaimable.value = Max(gain->reclaimable.value, 0);
	planned->reclaimable.low = Max(gain->reclaimable.low, 0);
	planned->reclaimable.high = Max(gain->reclaimable.high, 0);
	planned->scratch_bytes = planned->bytes_to_write = gain->predicted;
}

/* As pg_size_pretty() has it */
const char *
sst_size_pretty(double bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum((int64) bytes)));
}
