/*-------------------------------------------------------------------------
 *
 * measure.c
 *	  What a bounded number of a relation's blocks tells of all of it
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/measure.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "run/measure.h"
#include "run/scan.h"

/*
 * Read a sample of nsample blocks of the target, or all if it has no more.
 *
 * False if a limit (NULL for none) ended the scan: then nothing is known but
 * nread, and the report.
 */
bool
sst_measure(const SstTarget *target, BlockNumber nsample, uint32 seed,
			SstLimits *limits, SstMeasurement *measurement)
{
	static const SstEstimate unknown = {NAN, NAN, NAN};
	SstScanPlan plan;
	SstScanResult result;
	SstRebuild	rebuild;

	memset(measurement, 0, sizeof(SstMeasurement));
	measurement->nblocks = target->nblocks;
	measurement->free_share = unknown;
	measurement->dead_share = unknown;
	measurement->rebuilt_blocks = unknown;

	sst_plan_sample(&plan, target, nsample, seed);
	plan.limits = limits;
	sst_rebuild_init(&rebuild, target);
	measurement->obstacle = rebuild.obstacle;
	if (rebuild.obstacle == NULL)
		plan.rebuild = &rebuild;
	sst_scan_run(&plan, target->rel, NULL, &result);

	measurement->nread = result.nvisited;
	measurement->report = result.report;
	if (limits != NULL && limits->reached)
		return false;

	measurement->exact = measurement->nread >= measurement->nblocks;
	measurement->counters = result.counters;
	measurement->meta = result.meta;
	if (result.counters.n[SST_PAGE_BYTES] > 0)
		measurement->free_share.value = 100.0 *
			result.counters.n[SST_FREE_BYTES] / result.counters.n[SST_PAGE_BYTES];

	if (rebuild.obstacle == NULL)
	{
		double		counts[SST_NCOUNTS];

		for (int i = 0; i < SST_NCOUNTS; i++)
			counts[i] = (double) result.counters.n[i] *
				measurement->nblocks / Max(measurement->nread, 1);
		measurement->rebuilt_blocks.value = rebuild.blocks(&rebuild, counts,
														   &result.meta);
	}

	return true;
}
