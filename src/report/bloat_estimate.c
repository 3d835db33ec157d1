/*-------------------------------------------------------------------------
 *
 * bloat_estimate.c
 *	  The contents of an estimate of bloat, and its note
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"

#include "report/bloat_estimate.h"

/* Of what a table's indexes point to, what an index build would find */
static const SstStatistic kept_percent =
{"kept", SST_RATIO, SST_KEPT_CHAINS, SST_INDEXED_ITEMS};
static const SstStatistic indexed_items =
{"indexed", SST_TOTAL, SST_INDEXED_ITEMS, 0, MaxHeapTuplesPerPage};

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
