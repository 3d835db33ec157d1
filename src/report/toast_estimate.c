/*-------------------------------------------------------------------------
 *
 * toast_estimate.c
 *	  The size of a TOAST table, from the needs of its table's rows
 *
 * A TOAST table is rewritten along with its table, from the table's rows: see
 * am/heap/model.c.  So the prediction comes from the table's pages.  If all
 * of these were read, it is exact.
 *
 * Of a sample it is a ratio: pages of the new TOAST table for each byte of the
 * chunks that the sampled rows have now, times the bytes of all chunks.  The
 * TOAST table itself shows these, and its pages differ little from each other.
 * For most tables the ratio is the same on all pages, because all chunks are
 * needed.
 *
 * Versions of a row can share a value, which a rewrite stores once.  Then the
 * rows have more chunks than the TOAST table, and the ratio corrects for that.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heaptoast.h"
#include "catalog/pg_class.h"

#include "report/bloat_estimate.h"

#define UNITS_PER_BLOCK (BLCKSZ / SST_TOAST_UNIT)

/*
 * Error of the space at the ends of pages that no chunk fits into, if it is estimated from
 * a sample of rows: as a fraction of the size, and of the size of one chunk; and where the
 * first page begins and the last one ends, as a fraction of a chunk.  sql/toast shows whether
 * these suffice for few values.
 */
#define PACKING_UNCERTAINTY 0.01
#define CHUNK_UNCERTAINTY 0.25
#define ENDS_UNCERTAINTY 0.2

/* Blocks with values that are compressed, to see how far that is possible */
#define TRIAL_BLOCKS 24

/* If all chunks are needed, a rewrite has at most this part less or more. */
#define MOST_CHUNKS 0.5

/* A rewrite packs chunks worse by up to this part than the free space map did. */
#define FREE_SPACE_MAP_GAIN 0.09

/* The chunks of a TOAST table that are kept */
static const SstColumn kept_chunks =
{.count = SST_TOAST_CHUNKS, .most = UNITS_PER_BLOCK};

/* What chunks take at most on pages, if they are not small, for each of their bytes */
#define WITH_WASTE 1.25

/* Blocks of the new TOAST table */
static double
new_blocks(const void *arg, const double *sums)
{
	return sums[SST_REBUILT_TOAST] / UNITS_PER_BLOCK;
}

/* The same, for each unit of the present chunks */
static double
new_blocks_per_chunk(const void *arg, const double *sums)
{
	return new_blocks(arg, sums) / sums[SST_TOAST_CHUNKS];
}

/* Values whose compression is not known can take so much less or more than was assumed. */
static void
widen(SstEstimate *estimate, double less, double more)
{
	estimate->low = Max(estimate->low - less, 0);
	estimate->high += more;
}

/* Estimate what a table needs of its TOAST table. */
static void
estimate_needs(const SstPageSample *sample, SstBloatEstimate *estimate)
{
	SstToastNeeds *needs;
	const double *sums = sample->totals;
	double		less = WITH_WASTE * sums[SST_REBUILT_TOAST_LESS] / UNITS_PER_BLOCK;
	double		more = WITH_WASTE * sums[SST_REBUILT_TOAST_MORE] / UNITS_PER_BLOCK;

	estimate->toast = palloc0(sizeof(SstToastPart));
	needs = &estimate->toast->needs;
	needs->blocks = sst_estimate_function(new_blocks, NULL, 0, sample);
	widen(&needs->blocks, less, more);
	needs->chunks = sums[SST_TOAST_CHUNKS];
	needs->nseen = (double) sample->sums.n[SST_TOAST_CHUNKS] * SST_TOAST_UNIT /
		TOAST_MAX_CHUNK_SIZE;
	needs->blocks_per_chunk = sst_exactly(NAN);
	if (needs->chunks > 0)
	{
		needs->blocks_per_chunk = sst_estimate_function(new_blocks_per_chunk, NULL, 0, sample);
		widen(&needs->blocks_per_chunk, less / needs->chunks, more / needs->chunks);
	}
}

/*
 * From the sample of a table or TOAST table, which was shown to the model of its
 * rebuild, estimate what sst_apply_toast_needs() will ask for; of a table only with its needs.
 * The ends of the table's own prediction become wider where its rows depend on compression.
 */
void
sst_estimate_toast(const SstTarget *target, const SstPageSample *sample,
				   bool with_needs, SstBloatEstimate *estimate)
{
	const FormData_pg_class *relation = target->rel->rd_rel;

	if (relation->relkind == RELKIND_TOASTVALUE)
	{
		estimate->toast = palloc0(sizeof(SstToastPart));
		estimate->toast->chunks.kept = sst_estimate(&kept_chunks, sample);
		estimate->toast->chunks.blocks = estimate->rebuilt_blocks;
		return;
	}
	if (with_needs && OidIsValid(relation->reltoastrelid))
		estimate_needs(sample, estimate);
	widen(&estimate->rebuilt_blocks, sample->totals[SST_REBUILT_LESS_BYTES] / BLCKSZ,
		  sample->totals[SST_REBUILT_MORE_BYTES] / BLCKSZ);
}

/* Sums of a TOAST table, with ends in any case: its pages have no more chunks. */
static SstEstimate
bounded_chunks(const SstBloatEstimate *toast)
{
	SstEstimate chunks = toast->toast ? toast->toast->chunks.kept : sst_exactly(NAN);

	if (isnan(chunks.value))
		chunks = sst_exactly(0);
	if (isnan(chunks.low))
		chunks.low = 0;
	if (isnan(chunks.high))
		chunks.high = (double) toast->nblocks * UNITS_PER_BLOCK;

	return chunks;
}

/*
 * Round the size of a rebuilt relation to blocks, and its ends to those that hold them, and are
 * so many blocks away at least.
 */
void
sst_round_blocks(SstEstimate *rebuilt, int least)
{
	if (isnan(rebuilt->low))
		rebuilt->low = 0;
	if (isnan(rebuilt->high))
		rebuilt->high = INFINITY;

	rebuilt->value = rint(rebuilt->value);
	rebuilt->low = Max(Min(floor(rebuilt->low), rebuilt->value - least), 0);
	rebuilt->high = Max(ceil(rebuilt->high), rebuilt->value + least);
}

/*
 * The prediction when all rows were read.  Their chunks are counted once for each row
 * that has them; the rewrite stores them once.
 */
static SstEstimate
exact_needs(const SstToastNeeds *needs, const SstEstimate *chunks)
{
	SstEstimate result = needs->blocks;
	double		last_page = ceil(result.value) - result.value;

	result.value += last_page;
	result.high += last_page;

	/* Rounding to units makes a difference of one. */
	if (needs->chunks > chunks->high + 1)
	{
		result.low *= chunks->low / needs->chunks;
		result.value *= chunks->value / needs->chunks;
		if (chunks->low == chunks->high)
			result.high *= chunks->high / needs->chunks;
	}
	return result;
}

/* The prediction from a sample of rows that have chunks */
static SstEstimate
needs_by_ratio(const SstBloatEstimate *table, const SstEstimate *chunks)
{
	const SstToastNeeds *needs = &table->toast->needs;
	const SstEstimate *ratio = &needs->blocks_per_chunk;
	double		ratio_low = isnan(ratio->low) ? 0 : ratio->low;
	double		ratio_high = isnan(ratio->high) ?
		(1 + FREE_SPACE_MAP_GAIN) / UNITS_PER_BLOCK : ratio->high;
	SstEstimate result;
	double		nseen = Max(needs->nseen, 1);
	double		model;

	result.value = ratio->value * chunks->value;
	model = result.value *
		(PACKING_UNCERTAINTY + CHUNK_UNCERTAINTY / sqrt(nseen) + ENDS_UNCERTAINTY / nseen);
	result.low = result.value -
		hypot(hypot((ratio->value - ratio_low) * chunks->value,
					ratio->value * (chunks->value - chunks->low)), model);
	result.high = result.value +
		hypot(hypot((ratio_high - ratio->value) * chunks->value,
					ratio->value * (chunks->high - chunks->value)), model);

	/* Rows that need all of their chunks may be where none was read. */
	if (ratio->value * UNITS_PER_BLOCK < 0.5)
		result.high = Max(result.high, sst_unseen_part(table->nread) * chunks->high /
						  UNITS_PER_BLOCK);
	return result;
}

/* What a table needs of its TOAST table, or NULL if that is not known */
static const SstToastNeeds *
toast_needs(const SstBloatEstimate *table)
{
	return table->toast != NULL && !isnan(table->toast->needs.blocks.value) ?
		&table->toast->needs : NULL;
}

/*
 * Predict the size of a TOAST table again, from its table's estimate.  False
 * if that is not enough; then the prediction has not changed.
 */
bool
sst_apply_toast_needs(const SstBloatEstimate *table, SstBloatEstimate *toast)
{
	const SstToastNeeds *needs = toast_needs(table);
	SstEstimate *rebuilt = &toast->rebuilt_blocks;
	SstEstimate chunks = bounded_chunks(toast);

	if (needs == NULL)
		return false;

	if (table->exact)
		*rebuilt = exact_needs(needs, &chunks);
	else if (needs->chunks > 0 && chunks.value > 0)
	{
		double		part = needs->blocks_per_chunk.value * UNITS_PER_BLOCK;

		/*
		 * If most of what is needed is in the rows now, or most chunks are
		 * not needed, rows can tell more.
		 */
		*rebuilt = needs_by_ratio(table, &chunks);
		if (fabs(part - 1) > MOST_CHUNKS &&
			needs->blocks.high - needs->blocks.low < rebuilt->high - rebuilt->low)
			*rebuilt = needs->blocks;
	}
	else if (chunks.high == 0 || toast->toast == NULL)
		*rebuilt = needs->blocks;
	else
	{
		const SstEstimate *all = &toast->toast->chunks.blocks;

		/* No row with chunks was read: all of them may be needed, or none. */
		rebuilt->value = Max(all->value, needs->blocks.value);
		rebuilt->high = all->high;
		if (!isnan(needs->blocks.high))
			rebuilt->high += needs->blocks.high;
		rebuilt->low = 0;
	}
	sst_round_blocks(rebuilt, 1);

	return true;
}

/* The width of an interval, for a value of 1 */
static double
relative_width(const SstEstimate *estimate)
{
	return isnan(estimate->low) || isnan(estimate->high) ? INFINITY :
		(estimate->high - estimate->low) / Max(estimate->value, 1e-9);
}

/*
 * Would more rows of the table make the prediction of a TOAST table narrower, rather
 * than more of its chunks?
 */
bool
sst_toast_needs_rows(const SstBloatEstimate *table,
					 const SstBloatEstimate *toast)
{
	const SstToastNeeds *needs = toast_needs(table);

	if (needs == NULL || table->exact)
		return false;

	return needs->chunks == 0 || toast->exact || toast->toast == NULL ||
		relative_width(&needs->blocks_per_chunk) >=
		relative_width(&toast->toast->chunks.kept);
}

/*
 * Try on some values in a table's TOAST table how far they can be compressed, if the
 * table's rebuild depends on that.  The lock is not waited for.  These are the same
 * ones each time, so that a function and a report say the same.
 */
void
sst_try_toast_compression(const SstTarget *table, SstSampling *sampling,
						  SstRebuild *rebuild)
{
	Oid			toastoid = table->rel->rd_rel->reltoastrelid;
	SstTarget	toast;

	if (table->kind != SST_HEAP || !OidIsValid(toastoid) ||
		!sst_heap_tries_compression(rebuild))
		return;
	sst_target_try_open(&toast, toastoid, InvalidOid, SST_HEAP, false);
	if (sst_target_is_readable(&toast))
	{
		SstPageSample sample;
		SstScanResult result;
		const char *note;
		SstRebuild *trial = sst_rebuild_begin(toast.am, toast.rel,
											  rebuild->pause, &note);

		sst_heap_try_compression(rebuild, trial);
		(void) sst_sample_scan(&toast, TRIAL_BLOCKS, 0, trial, sampling->limits,
							   &sample, &result);
		sst_rebuild_end(trial);
		sst_io_stats_merge(sampling->io_stats, &result.io_stats);
		sst_page_sample_free(&sample);
	}
	sst_target_close(&toast);
}
