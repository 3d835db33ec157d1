/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  What a probe tries, in which order
 *
 * For each pattern and method the depth is doubled until there is no gain; the
 * depth of the present setting is always tried.  Then other sizes are tried at
 * the sufficient depth.  Combinations that the server's own scans use come
 * first, so that a short probe can give advice.
 *
 * The remaining time and bytes are split evenly over the remaining cells.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/schedule.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/qunique.h"

#include "compat/compat.h"
#include "probe/curve.h"
#include "probe/schedule.h"
#include "stream/read_stream.h"

#define MAX_DEPTH 256

/* Doublings in a row that have not paid end a curve. */
#define MAX_FAILURES 2

/* Cells that a curve has, usually, and its longest */
#define CURVE_CELLS 6
#define MAX_SECONDS 2.0

/* Sizes of reads, in kB */
static const int sizes_kb[] = {8, 16, 64, 128, 256, 512, 1024};

/* A step: cells of one pattern and method */
typedef struct Step
{
	SstProbePattern pattern;
	SstProbeMethod method;
	enum
	{
		STEP_ONE,				/* depth 1 */
		STEP_DEPTHS,
		STEP_SIZES
	}			what;
} Step;

static const Step steps[] = {
	/*
	 * Each leaves some blocks in buffers; after random ones, no range is
	 * without.
	 */
	{SST_PROBE_SEQUENTIAL, SST_PROBE_STREAM, STEP_DEPTHS},
	{SST_PROBE_SEQUENTIAL, SST_PROBE_STREAM, STEP_SIZES},
	{SST_PROBE_RANDOM, SST_PROBE_STREAM, STEP_DEPTHS},
	{SST_PROBE_RANDOM, SST_PROBE_ADVICE, STEP_DEPTHS},
	{SST_PROBE_SEQUENTIAL, SST_PROBE_ADVICE, STEP_DEPTHS},
	{SST_PROBE_RANDOM, SST_PROBE_SYNC, STEP_ONE},
	{SST_PROBE_RANDOM, SST_PROBE_URING, STEP_DEPTHS},
	{SST_PROBE_SEQUENTIAL, SST_PROBE_URING, STEP_DEPTHS},
	{SST_PROBE_SEQUENTIAL, SST_PROBE_SYNC, STEP_SIZES},
	{SST_PROBE_SEQUENTIAL, SST_PROBE_ADVICE, STEP_SIZES},
	{SST_PROBE_SEQUENTIAL, SST_PROBE_URING, STEP_SIZES},
	{SST_PROBE_RANDOM, SST_PROBE_ADVICE, STEP_SIZES},
	{SST_PROBE_RANDOM, SST_PROBE_URING, STEP_SIZES}
};

/* A target's share of the limits, and what is still to be tried of it */
typedef struct Schedule
{
	SstProbe   *probe;
	SstProbeTarget *target;
	double		seconds_kept;	/* for other targets */
	int			ncells_later;	/* of later steps */
	int			ncells_now;		/* of the present one */
	bool		ended;			/* a limit is reached */
} Schedule;

static int
compare_depths(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

static int
step_cells(const Step *step)
{
	switch (step->what)
	{
		case STEP_DEPTHS:
			return CURVE_CELLS;
		case STEP_SIZES:
			return lengthof(sizes_kb) - 1;
		default:
			return 1;
	}
}

/* Could the server, or the library, read that way? */
static bool
step_applies(const Step *step)
{
#ifndef SST_HAVE_READ_STREAM
	if (step->method == SST_PROBE_STREAM)
		return false;
#endif
#ifndef SST_USE_LIBURING
	if (step->method == SST_PROBE_URING)
		return false;
#endif
	return true;
}

/* The blocks of each read of a curve of depths */
static int
curve_blocks(const Schedule *schedule, const Step *step)
{
	const SstProbeSettings *settings = &schedule->target->result->settings;

	if (step->pattern == SST_PROBE_RANDOM)
		return 1;
	if (step->method == SST_PROBE_STREAM && settings->io_combine_limit > 0)
		return settings->io_combine_limit;
	return SST_PROBE_SEQUENTIAL_BLOCKS;
}

/* The most blocks that one read can have */
static int
most_blocks(const Schedule *schedule, const Step *step)
{
	const SstProbeSettings *settings = &schedule->target->result->settings;

	if (step->method != SST_PROBE_STREAM)
		return 1024 * 1024 / BLCKSZ;
	if (settings->io_max_combine_limit > 0)
		return settings->io_max_combine_limit;
#ifdef SST_HAVE_READ_STREAM
	return MAX_IO_COMBINE_LIMIT;
#else
	return 1;
#endif
}

/*
 * The depths to try, in order: doubled ones, and those of the present settings.
 * Returns their number.
 */
static int
list_depths(const Schedule *schedule, const Step *step, int *depths)
{
	const SstProbeSettings *settings = &schedule->target->result->settings;
	int			n = 0;

	for (int depth = 1; depth <= MAX_DEPTH; depth *= 2)
		depths[n++] = depth;
	if (step->method == SST_PROBE_STREAM || step->method == SST_PROBE_ADVICE)
	{
		depths[n++] = Max(settings->effective_io_concurrency, 1);
		depths[n++] = Max(settings->maintenance_io_concurrency, 1);
	}
	qsort(depths, n, sizeof(int), compare_depths);

	return (int) qunique(depths, n, sizeof(int), compare_depths);
}

/* Is it the depth of a present setting, which is tried in any case? */
static bool
is_present(const Schedule *schedule, const Step *step, int depth)
{
	const SstProbeSettings *settings = &schedule->target->result->settings;

	return (step->method == SST_PROBE_STREAM || step->method == SST_PROBE_ADVICE) &&
		(depth == Max(settings->effective_io_concurrency, 1) ||
		 depth == Max(settings->maintenance_io_concurrency, 1));
}

/* Try a depth and a size.  The cell, or NULL if it gave no figure. */
static SstProbeCell *
try_cell(Schedule *schedule, const Step *step, int depth, int nblocks)
{
	SstProbe   *probe = schedule->probe;
	SstProbeTarget *target = schedule->target;
	SstProbeResult *result = target->result;
	SstProbeCell cell = {
		.pattern = step->pattern,
		.method = step->method,
		.depth = depth,
		.nblocks = nblocks,
		.deeper_pays = -1
	};
	int			ncells = schedule->ncells_later + Max(schedule->ncells_now, 1);
	double		seconds = sst_seconds_left(&probe->limits) - schedule->seconds_kept;
	int64		bytes = probe->limits.bytes_left - target->bytes_kept;

	schedule->ncells_now--;
	if (schedule->ended || seconds <= 0 || bytes <= 0)
	{
		schedule->ended = true;
		return NULL;
	}
	if (step->method == SST_PROBE_STREAM)
		cell.direct = sst_direct_io();
	else
		cell.direct = target->storage.direct && step->method != SST_PROBE_ADVICE;

	if (!sst_probe_cell(probe, target, &cell, Min(seconds / ncells, MAX_SECONDS),
						bytes / ncells))
		return NULL;
	return &result->cells[result->ncells - 1];
}

/* Double the depth until that no longer pays. */
static void
try_depths(Schedule *schedule, const Step *step)
{
	int			nblocks = curve_blocks(schedule, step);
	int			depths[32];
	int			ndepths = list_depths(schedule, step, depths);
	SstProbeCell *last = NULL;
	double		best = 0;
	int			nfailures = 0;

	for (int i = 0; i < ndepths; i++)
	{
		bool		doubled = (depths[i] & (depths[i] - 1)) == 0;
		SstProbeCell *cell;

		if (nfailures >= MAX_FAILURES && !is_present(schedule, step, depths[i]))
			continue;
		cell = try_cell(schedule, step, depths[i], nblocks);
		if (cell == NULL)
		{
			/* More depth would take more of what was lacking. */
			nfailures = MAX_FAILURES;
			continue;
		}

		if (last != NULL)
			last->deeper_pays = sst_probe_rate(cell) >
				sst_probe_rate(last) * SST_PROBE_GAIN;
		if (sst_probe_rate(cell) > best * SST_PROBE_GAIN)
			nfailures = 0;
		else if (doubled)
			nfailures++;
		best = Max(best, sst_probe_rate(cell));
		last = cell;
	}
}

/* Try other sizes, at the depth that was enough, or else one read at a time. */
static void
try_sizes(Schedule *schedule, const Step *step)
{
	SstProbeCurve curve = {step->pattern, step->method, 0,
	curve_blocks(schedule, step)};
	const SstProbeCell *enough = sst_curve_enough(schedule->target->result, &curve);
	int			depth = enough != NULL ? enough->depth : 1;

	if (enough == NULL && step->method != SST_PROBE_SYNC)
		return;

	for (int i = 0; i < lengthof(sizes_kb) && !schedule->ended; i++)
	{
		int			nblocks = Max(sizes_kb[i] * 1024 / BLCKSZ, 1);

		if ((enough == NULL || nblocks != curve.nblocks) &&
			nblocks <= most_blocks(schedule, step))
			(void) try_cell(schedule, step, depth, nblocks);
	}
}

/*
 * Try all of a target, with its share of the limits: even, among those that are left,
 * this one included.
 */
void
sst_probe_schedule(SstProbe *probe, SstProbeTarget *target, int ntargets_left)
{
	Schedule	schedule = {.probe = probe, .target = target};

	schedule.seconds_kept = sst_seconds_left(&probe->limits) *
		(ntargets_left - 1) / ntargets_left;
	target->bytes_kept = probe->limits.bytes_left / ntargets_left *
		(ntargets_left - 1);
	for (int i = 0; i < lengthof(steps); i++)
		schedule.ncells_later += step_applies(&steps[i]) ? step_cells(&steps[i]) : 0;

	for (int i = 0; i < lengthof(steps) && !schedule.ended; i++)
	{
		if (!step_applies(&steps[i]))
			continue;

		schedule.ncells_now = step_cells(&steps[i]);
		schedule.ncells_later -= schedule.ncells_now;
		if (steps[i].what == STEP_DEPTHS)
			try_depths(&schedule, &steps[i]);
		else if (steps[i].what == STEP_SIZES)
			try_sizes(&schedule, &steps[i]);
		else
			(void) try_cell(&schedule, &steps[i], 1, 1);
	}
	target->result->limited |= schedule.ended;
}
