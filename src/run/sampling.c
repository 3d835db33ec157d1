/*-------------------------------------------------------------------------
 *
 * sampling.c
 *	  Reading a random sample of a relation's blocks
 *
 * In a table, all-visible blocks are sampled separately: they have no dead
 * tuples, so that the estimate for the other blocks becomes more precise.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "run/scan.h"
#include "stats/page_sample.h"

/* The map is read if the sample is not small, and so many times as large. */
#define MIN_BLOCKS_WITH_MAP 64
#define MIN_BLOCKS_PER_MAP_BLOCK 8

/* A part of the blocks is to show a spread, however small it is. */
#define MIN_PART_SAMPLE 8

/* The initial size of a sample, when a margin is requested */
#define FIRST_SAMPLE 128

/*
 * A sample grows by this factor when its margin is not known, and at most when
 * there is a time limit.
 */
#define MAX_GROWTH 8

/*
 * Does a sample of so many blocks of a table depend on its visibility map, if there is
 * one of so many blocks?
 */
bool
sst_sample_reads_map(BlockNumber nsample, BlockNumber map_blocks)
{
	return nsample >= MIN_BLOCKS_WITH_MAP &&
		nsample / MIN_BLOCKS_PER_MAP_BLOCK >= map_blocks;
}

/*
 * The blocks of a table that are all-visible; NULL if there are none, or the map has more
 * than so many blocks, or a limit was reached.
 */
SstBlockSet *
sst_visible_blocks(const SstTarget *target, BlockNumber most_map_blocks,
				   SstLimits *limits, SstCounters *counters, SstIoStats *io_stats)
{
	SMgrRelation smgr = RelationGetSmgr(target->rel);
	SstBlockSet *visible;

	if (!smgrexists(smgr, VISIBILITYMAP_FORKNUM) ||
		smgrnblocks(smgr, VISIBILITYMAP_FORKNUM) > most_map_blocks)
		return NULL;

	visible = sst_block_set_create(target->nblocks);
	sst_scan_map(target, VISIBILITYMAP_FORKNUM, visible, NULL, limits, counters, io_stats);
	if (visible->nmembers > 0 && sst_within_limits(limits))
		return visible;

	pfree(visible);
	return NULL;
}

/*
 * Divide a sample of nsample blocks into its parts: of those that are all-visible, unless
 * the set of these is NULL, and of the others.
 */
static void
divide_sample(SstPageSample *sample, BlockNumber nsample, const SstBlockSet *visible)
{
	SstSamplePart *parts = sample->parts;
	BlockNumber nblocks = sample->nblocks;
	BlockNumber nvisible = visible == NULL ? 0 : visible->nmembers;
	BlockNumber nothers = nblocks - nvisible;
	BlockNumber others;

	/* The others get what is in proportion, and at least half of the sample. */
	others = (BlockNumber) ((uint64) nsample * nothers / nblocks);
	others = Min(others, nsample - MIN_PART_SAMPLE);
	others = Min(Max(others, nsample / 2), nothers);
	if (nsample - others > nvisible)
		others = nsample - nvisible;

	sample->nparts = visible == NULL ? 1 : 2;
	sst_sample_part_init(&parts[0], nothers, others, nsample);
	if (visible != NULL)
	{
		sst_sample_part_init(&parts[1], nvisible, nsample - others, nsample);
		parts[1].all_visible = true;
	}
}

/* Read the parts of a sample, as far as the limits allow, and add to the result. */
static void
scan_parts(SstScanPlan *plan, const SstTarget *target, SstScanSinks *sinks,
		   SstPageSample *sample, const SstBlockSet *visible, SstScanResult *result)
{
	BlockNumber left = 0;		/* blocks to read of the parts behind */

	for (int i = 0; i < sample->nparts; i++)
		left += sample->parts[i].nwanted;
	for (int i = 0; i < sample->nparts && sst_within_limits(sinks->limits); i++)
	{
		SstSamplePart *part = &sample->parts[i];
		SstScanResult scanned;

		if (part->nwanted == 0)
			continue;
		left -= part->nwanted;
		plan->more_follow = left > 0;
		plan->sample_pages = part->nwanted;
		plan->sample_blocks = part->nblocks;
		plan->members = part->all_visible;
		part->of_set = visible != NULL;
		sinks->sample = part;
		sst_scan_alone(plan, target->rel, visible, sinks, &scanned);
		sst_result_merge(result, &scanned);
	}
}

/*
 * Read a random sample of nsample blocks, or all blocks if there are no more.
 * rebuild and limits can be NULL.  The sample has memory of its own in the current
 * context: sst_page_sample_free().
 *
 * False if a limit ended it: then the sample is of no use, and the result has
 * only what was done for it.
 */
bool
sst_sample_scan(const SstTarget *target, BlockNumber nsample, uint32 seed,
				SstRebuild *rebuild, SstLimits *limits,
				SstPageSample *sample, SstScanResult *result)
{
	SstScanSinks sinks = {.rebuild = rebuild, .limits = limits};
	SstScanPlan plan;

	memset(sample, 0, sizeof(SstPageSample));
	sample->nblocks = target->nblocks;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	plan.chains = true;
	plan.all_items = true;
	plan.seed = seed;

	if (nsample < target->nblocks)
	{
		SstBlockSet *visible = NULL;

		sst_result_init(result, &plan);
		if (target->kind == SST_HEAP && sst_sample_reads_map(nsample, 0))
			visible = sst_visible_blocks(target, nsample / MIN_BLOCKS_PER_MAP_BLOCK, limits,
										 &result->counters, &result->io_stats);

		/* The map may have taken what the last blocks were to take. */
		if (limits != NULL)
			nsample = Min(nsample, Max(limits->bytes_left / BLCKSZ,
									   MIN_BLOCKS_WITH_MAP / 2));

		divide_sample(sample, nsample, visible);
		scan_parts(&plan, target, &sinks, sample, visible, result);
		if (visible != NULL)
			pfree(visible);
	}
	else if (rebuild == NULL && limits == NULL)
		sst_scan_run(&plan, target->rel, NULL, result);
	else
		sst_scan_alone(&plan, target->rel, NULL, &sinks, result);

	sst_page_sample_end(sample, &result->counters, result->nvisited);
	return sst_within_limits(limits);
}

/*
 * How many blocks is there time for, when nblocks took so long?  Not all of it: the
 * next ones can take longer.  And not many times as many, so that something is
 * left if they do.
 */
static double
blocks_in_time(const SstLimits *limits, BlockNumber nblocks, double seconds)
{
	double		left = sst_seconds_left(limits);

	if (isinf(left))
		return MaxBlockNumber;
	return Min(0.8 * left / Max(seconds, 1e-6), MAX_GROWTH) * nblocks;
}

/* The margin of what the sample is mainly for, in its own unit */
static double
main_margin(const SstAccessMethod *am, const SstPageSample *sample)
{
	double		margin = INFINITY;
	uint64		most = 0;

	/* If there are two, it is the one about more bytes. */
	for (int i = 0; i < am->columns.n; i++)
	{
		const SstColumn *column = &am->columns.column[i];

		if (column->main && sample->sums.n[column->percent_of] > most)
		{
			SstEstimate estimate = sst_estimate(column, sample);

			margin = sst_margin(&estimate);
			most = sample->sums.n[column->percent_of];
		}
	}
	return margin;
}

/*
 * Read samples of a target until the interval of its main statistic is as tight
 * as the margin, in percentage points, to both sides.  At most so many blocks are
 * read in all.  Otherwise as sst_sample_scan(); the last sample that was read to
 * its end is returned, and what the others cost is in the result's report.
 */
SstSampleEnd
sst_sample_to_margin(const SstTarget *target, double margin, BlockNumber most,
					 uint32 seed, SstLimits *limits,
					 SstPageSample *sample, SstScanResult *result)
{
	BlockNumber nblocks = target->nblocks;
	BlockNumber nsample = Min(FIRST_SAMPLE, most);
	uint64		nread = 0;
	double		reached;
	double		start = sst_now();

	if (!sst_sample_scan(target, nsample, seed, NULL, limits, sample, result))
	{
		sst_page_sample_free(sample);
		sample->nsampled = 0;
		return nblocks == 0 ? SST_SAMPLE_ALL : SST_SAMPLE_LIMITS;
	}

	for (;;)
	{
		SstPageSample larger;
		SstScanResult scanned;
		double		in_time;

		nread += sample->nsampled;
		if (sst_sample_is_exact(sample))
			return SST_SAMPLE_ALL;
		reached = main_margin(target->am, sample);
		if (reached <= margin)
			return SST_SAMPLE_MARGIN;

		nsample = (BlockNumber)
			sst_larger_sample(nblocks, nsample,
							  sst_sample_growth(reached, margin, MAX_GROWTH));
		if (nsample > most - nread)
		{
			/* A sample that is hardly larger would be no better. */
			if (most - nread <= sample->nsampled)
				return SST_SAMPLE_BLOCKS;
			nsample = most - nread;
		}
		in_time = blocks_in_time(limits, sample->nsampled, sst_now() - start);
		if (nsample > in_time)
		{
			if (in_time < sample->nsampled * SST_MIN_GROWTH)
				return SST_SAMPLE_LIMITS;
			nsample = (BlockNumber) in_time;
		}

		start = sst_now();
		if (!sst_sample_scan(target, nsample, ++seed, NULL, limits, &larger,
							 &scanned))
		{
			sst_page_sample_free(&larger);
			return SST_SAMPLE_LIMITS;
		}
		sst_io_stats_merge(&scanned.io_stats, &result->io_stats);
		sst_page_sample_free(sample);
		*sample = larger;
		*result = scanned;
	}
}
