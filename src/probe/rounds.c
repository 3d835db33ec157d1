/*-------------------------------------------------------------------------
 *
 * rounds.c
 *	  What a probe tries of a relation, round by round
 *
 * A disk that others use, or that has a burst allowance, changes its speed
 * from second to second.  So everything is tried once in each round, in an
 * order that is shuffled, and the figures of a round are compared with each
 * other only.  The depth that a setting has now is tried twice: how much its
 * two figures differ is what differences of that size are worth.
 *
 * Rounds go on until it is clear what the figures say about each setting, or a
 * limit is reached; from the first look on only with cells of settings that are
 * not clear.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "nodes/bitmapset.h"
#include "storage/procarray.h"
#include "utils/guc.h"
#include "utils/spccache.h"

#include "probe/figures.h"

/* Deeper settings count as these. */
#define MAX_DEPTH (SST_PROBE_MAX_READS / 2)
#define MAX_SEQUENTIAL_DEPTH 32

/* Coarse steps from 1 up, so that two probes find the same one */
#define STEP 4
#define MAX_RANDOM_STEP 64
#define MAX_SEQUENTIAL_STEP 16

/* Reads that count are a multiple of the depth, and so many at least. */
#define RANDOM_READS 48
#define SEQUENTIAL_READS 7

/* Blocks of a sequential read, unless io_combine_limit is less */
#define SEQUENTIAL_BLOCKS Max(128 * 1024 / BLCKSZ, 1)

/* Beside other sessions a probe takes this share of the time, unless it has a rate. */
#define SHARE_BESIDE_OTHERS 0.05

/* Add the cells of a pattern: the usual depths, and those of present settings. */
static void
add_curve(SstProbe *probe, SstProbeResult *result, SstProbePattern pattern, int nblocks,
		  Bitmapset *depths)
{
	bool		random = (pattern == SST_PROBE_RANDOM);
	int			most = random ? MAX_RANDOM_STEP : MAX_SEQUENTIAL_STEP;
	int			least = random ? RANDOM_READS : SEQUENTIAL_READS;
	Bitmapset  *steps = NULL;
	int			depth = -1;

	for (int step = 1; step <= most; step *= STEP)
		steps = bms_add_member(steps, step);
	depths = bms_add_members(depths, steps);
	while ((depth = bms_next_member(depths, depth)) >= 0)
	{
		SstProbeCell *cell = &result->cells[result->ncells++];

		cell->pattern = pattern;
		cell->depth = depth;
		cell->nblocks = nblocks;
		cell->ncounted = (least + depth - 1) / depth * depth;
		cell->nreads = cell->ncounted + depth;
		cell->copies = 1;
		cell->is_step = bms_is_member(depth, steps);
		cell->needed = true;
		cell->times = MemoryContextAlloc(probe->context, sizeof(double) * SST_PROBE_TIMES);
	}
}

/* How many reads are in flight with a value of a setting, of which so many can be? */
static int
clamp(int value, int most)
{
	return Max(Min(value, most), 1);
}

/* Add a setting, with the cell of its present value. */
static void
add_setting(SstProbeResult *result, const char *name, SstProbePattern pattern,
			int present, int most)
{
	SstProbeSetting *setting = &result->settings[result->nsettings++];

	setting->name = name;
	setting->pattern = pattern;
	setting->present = present;
	setting->most = most;
	for (int i = 0; i < result->ncells; i++)
	{
		SstProbeCell *cell = &result->cells[i];

		if (cell->pattern == pattern && cell->depth == clamp(present, most))
		{
			cell->copies = 2;
			setting->base = i;
		}
	}
}

/* An integer setting in its own unit; 0 if the server does not have it */
static int
int_setting(const char *name)
{
	const char *value = GetConfigOption(name, true, false);

	return value == NULL ? 0 : atoi(value);
}

/*
 * Decide what is tried: the depths of the curves, and those of the present settings.
 * The server has no more in flight than workers that read, where workers do, and VACUUM
 * no more than half of its ring of buffers.
 */
static void
plan_cells(SstProbe *probe, SstProbeResult *result)
{
	const char *method = GetConfigOption("io_method", true, false);
	bool		by_workers = method != NULL && strcmp(method, "worker") == 0;
	bool		vacuum_streams = by_workers ||
		(method != NULL && strcmp(method, "io_uring") == 0);
	SstProbePattern pattern = vacuum_streams ? SST_PROBE_SEQUENTIAL : SST_PROBE_RANDOM;
	const char *name = int_setting("io_workers") > 0 ? "io_workers" : "io_max_workers";
	int			effective = get_tablespace_io_concurrency(result->tablespace);
	int			maintenance = get_tablespace_maintenance_io_concurrency(result->tablespace);
	int			workers = by_workers ? clamp(int_setting(name), MAX_DEPTH) : MAX_DEPTH;
	int			most = workers;
	int			combine_limit = int_setting("io_combine_limit");
	int			nblocks = combine_limit > 0 ?
		Min(combine_limit, SEQUENTIAL_BLOCKS) : SEQUENTIAL_BLOCKS;
	int			ring_kb = int_setting("vacuum_buffer_usage_limit");
	Bitmapset  *random = bms_make_singleton(clamp(effective, workers));
	Bitmapset  *sequential = NULL;

	result->has_io_method = (method != NULL);
	if (vacuum_streams)
		most = Min(workers, MAX_SEQUENTIAL_DEPTH);
	if (vacuum_streams && ring_kb > 0)
		most = clamp(ring_kb / (BLCKSZ / 1024) / 2 / nblocks, most);

	if (by_workers)
		random = bms_add_member(random, workers);
	if (vacuum_streams)
		sequential = bms_make_singleton(clamp(maintenance, most));
	else
		random = bms_add_member(random, clamp(maintenance, most));
	add_curve(probe, result, SST_PROBE_RANDOM, 1, random);
	add_curve(probe, result, SST_PROBE_SEQUENTIAL, nblocks, sequential);

	add_setting(result, "effective_io_concurrency", SST_PROBE_RANDOM, effective, workers);
	add_setting(result, "maintenance_io_concurrency", pattern, maintenance, most);
	if (by_workers)
	{
		add_setting(result, name, SST_PROBE_RANDOM, workers, MAX_DEPTH);
		result->settings[result->nsettings - 1].is_workers = true;
	}
}

/* Mark the cells that more rounds are of use for; false if there are none. */
static bool
look(SstProbeResult *result)
{
	bool		unclear = false;

	for (int i = 0; i < result->ncells; i++)
	{
		SstProbeCell *cell = &result->cells[i];

		cell->needed = false;
		for (int s = 0; s < result->nsettings; s++)
			cell->needed |= result->settings[s].pattern == cell->pattern &&
				!sst_probe_judge(result, &result->settings[s]).clear;
		unclear |= cell->needed;
	}
	return unclear;
}

/* Has another session a snapshot, that is, is it doing something? */
static bool
others_are_active(void)
{
	int			n;

	pfree(GetCurrentVirtualXIDs(InvalidTransactionId, true, true, 0, &n));

	return n > 0;
}

/* Read a cell, after the pause that is owed if the disk is others' as well. */
static bool
run_cell(SstProbeTarget *target, SstProbeCell *cell, double *rate)
{
	SstProbe   *probe = target->probe;
	double		took_ms;

	probe->beside_others |= others_are_active();
	if (!probe->beside_others || probe->throttle.rate > 0)
		probe->owed_seconds = 0;
	if (sst_seconds_left(&probe->limits) - probe->owed_seconds <= target->kept_seconds ||
		!sst_throttle_rest(&probe->throttle, probe->owed_seconds) ||
		!sst_probe_read(target, cell, rate, &took_ms))
		return false;

	probe->owed_seconds = took_ms / 1000 * (1 / SHARE_BESIDE_OTHERS - 1);
	return true;
}

/* Read each cell that is needed, in any order.  False if a limit does not allow more. */
static bool
run_round(SstProbeTarget *target, int round)
{
	SstProbeResult *result = target->result;
	int			runs[2 * SST_MAX_PROBE_CELLS];	/* a cell, and which copy */
	int			n = 0;
	bool		whole = true;

	for (int i = 0; i < result->ncells; i++)
	{
		for (int copy = 0; result->cells[i].needed && copy < result->cells[i].copies; copy++)
			runs[n++] = 2 * i + copy;
	}

	for (; n > 0; n--)
	{
		int			drawn = (int) pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
		int			copy = runs[drawn] % 2;
		SstProbeCell *cell = &result->cells[runs[drawn] / 2];
		int64		bytes = (int64) cell->nreads * cell->nblocks * BLCKSZ;

		runs[drawn] = runs[n - 1];
		if (bytes > target->probe->limits.bytes_left - target->kept_bytes)
			whole = false;
		else if (!run_cell(target, cell, &cell->rate[copy][round]))
			return false;
	}
	return whole;
}

/* Try a target until the figures are clear, with an even share of what is left of the limits. */
void
sst_probe_rounds(SstProbeTarget *target)
{
	const SstLimits *limits = &target->probe->limits;
	double		others = (target->ntargets_left - 1.0) / target->ntargets_left;
	int			next_look = SST_PROBE_LOOK;

	target->kept_seconds = sst_seconds_left(limits) * others;
	target->kept_bytes = (int64) (limits->bytes_left * others);
	plan_cells(target->probe, target->result);
	for (int round = 0; round < SST_PROBE_ROUNDS && !target->result->limited; round++)
	{
		if (round == next_look)
		{
			next_look *= 2;
			if (!look(target->result))
				break;
		}
		target->result->limited = !run_round(target, round);
	}
}
