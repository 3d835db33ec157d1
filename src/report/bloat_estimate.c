/*-------------------------------------------------------------------------
 *
 * bloat_estimate.c
 *	  What a bounded number of a relation's blocks tells of all of it
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/bloat_estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/itup.h"

#include "report/bloat_estimate.h"
#include "run/sampling.h"

/* Free space in pages that are in use, and all of those that are not */
static const SstStatistic free_share =
{"free", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .plus_pages = true};

/* A hash index counts the pages that are not in use as free space already. */
static const SstStatistic hash_free_share =
{"free", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES};

static const SstStatistic dead_tuple_share =
{"dead", SST_RATIO, SST_DEAD_TUPLE_BYTES, SST_PAGE_BYTES};

static const SstStatistic kept_share =
{"kept", SST_RATIO, SST_KEPT_CHAINS, SST_INDEXED_ITEMS};

static const SstStatistic dead_item_share =
{"dead", SST_RATIO, SST_DEAD_ITEMS, SST_LIVE_ITEMS, .plus_y = true};

/* What is needed to know how large a rebuilt relation will be */
typedef struct RebuiltSize
{
	const SstRebuild *rebuild;
	const SstMeta *meta;
} RebuiltSize;

static double
rebuilt_blocks(const void *arg, const double *sums)
{
	const RebuiltSize *size = arg;

	return size->rebuild->blocks(size->rebuild, sums, size->meta);
}

/*
 * The size of a hash index does not follow the number of its entries but in
 * steps.  So the interval must have what it would be for as few, and for as many,
 * as there can be.
 */
static void
widen_by_steps(const RebuiltSize *size, const SstPageSample *sample,
			   SstEstimate *estimate)
{
	static const SstStatistic entries =
	{"entries", SST_TOTAL, SST_REBUILT_ENTRIES, 0, MaxIndexTuplesPerPage};
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
	double		model = rebuild->uncertainty * result.value;

	if (rebuild->kind == SST_HASH && !isnan(result.low))
		widen_by_steps(&size, sample, &result);
	result.low = Max(result.value - hypot(result.value - result.low, model), 0);
	result.high = result.value + hypot(result.high - result.value, model);
	return result;
}

/*
 * Read a sample of nsample blocks of the target, or all if it has no more.
 *
 * False if a limit (NULL for none) ended the scan: then nothing is known but
 * nread, and the report.
 */
bool
sst_estimate_bloat(const SstTarget *target, BlockNumber nsample, uint32 seed,
			SstLimits *limits, SstBloatEstimate *measurement)
{
	static const SstEstimate unknown = {NAN, NAN, NAN};
	SstPageSample sample;
	SstScanResult result;
	SstRebuild	rebuild;
	bool		complete;

	memset(measurement, 0, sizeof(SstBloatEstimate));
	measurement->nblocks = target->nblocks;
	measurement->free_share = unknown;
	measurement->dead_share = unknown;
	measurement->rebuilt_blocks = unknown;
	measurement->kept_share = unknown;

	sst_rebuild_init(&rebuild, target);
	measurement->obstacle = rebuild.obstacle;

	complete = sst_sample_scan(target, nsample, seed,
							   rebuild.obstacle ? NULL : &rebuild, limits,
							   &sample, &result);
	measurement->nread = result.nvisited;
	measurement->io_stats = result.io_stats;
	if (complete)
	{
		const SstStatistic *free = target->kind == SST_HASH ?
			&hash_free_share : &free_share;
		const SstStatistic *dead = (target->kind & SST_TABLE) != 0 ?
			&dead_tuple_share : &dead_item_share;

		measurement->exact = sst_sample_is_exact(&sample);
		measurement->counters = result.counters;
		measurement->meta = result.meta;
		measurement->free_share = sst_estimate(free, &sample);
		measurement->dead_share = sst_estimate(dead, &sample);
		if (target->kind == SST_HEAP)
			measurement->kept_share = sst_estimate(&kept_share, &sample);
		if (rebuild.obstacle == NULL)
			measurement->rebuilt_blocks = estimate_rebuilt(&rebuild,
														   &result.meta,
														   &sample);
		measurement->note = rebuild.note;
	}
	sst_page_sample_free(&sample);

	return complete;
}
