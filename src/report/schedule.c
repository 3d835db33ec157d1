/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  Measuring many relations within limits that hold for all together
 *
 * First a small sample of every relation, the largest first, so that there is
 * a number for each.  Then a larger one of those whose free or dead
 * share is not known to the margin; how large follows from the spread that the
 * first one showed.  Then what is left goes where it is least known how many
 * bytes a rebuild gives back.  A relation that somebody has locked is tried once
 * more at the end; for those a share is held back.
 *
 * Before each measurement the blocks are cut to what is left of bytes and time.
 * The limits are given to the scan as well.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/schedule.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat/catalog.h"
#include "report/try_estimate.h"
#include "run/progress.h"
#include "report/schedule.h"
#include "stats/sizing.h"

/* Blocks of a relation's first sample */
#define MIN_SHARE 8
#define MAX_SHARE 64

/* A relation of so many times that is read as a whole: neighbours are read at once. */
#define WHOLE_SHARES 2

/* Growth when nothing is known of the spread, and in the last pass */
#define GROWTH 4

/* Samples of a relation for the margin, at most */
#define MAX_ROUNDS 4

/* An interval narrower than this part of the database's bytes is left alone. */
#define NARROW 0.001

static const char reason_locked[] =
gettext_noop("locked by another session");
static const char reason_budget[] =
gettext_noop("not read: the budget of bytes was spent");
static const char reason_time[] =
gettext_noop("not read: the time was up");

/* A run in progress */
typedef struct Run
{
	SstReport  *report;
	SstReportEntry **order;		/* the largest first */
	MemoryContext scratch;
	instr_time	deadline;

	/* What one relation and one block take, in seconds, as far as seen */
	double		relation_cost;
	double		block_cost;

	int			nlocked;
	uint64		share;			/* blocks of a first sample */
	SstReportEnd cut_by;		/* what cut the last request for blocks */
} Run;

static double
seconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);

	return INSTR_TIME_GET_DOUBLE(now);
}

/* Keep what a measurement found. */
static void
store_result(SstReportEntry *entry, const SstBloatEstimate *measurement)
{
	entry->method = measurement->exact ? SST_REPORT_EXACT : SST_REPORT_SAMPLED;
	entry->nblocks = measurement->nblocks;
	entry->nsampled = measurement->nread;
	entry->free_share = measurement->free_share;
	entry->dead_share = measurement->dead_share;
	entry->rebuilt_blocks = measurement->rebuilt_blocks;
	entry->obstacle = measurement->obstacle;
	entry->note = measurement->note;
	entry->kept_share = measurement->kept_share;
	entry->ncorrupt = measurement->counters.n[SST_CORRUPT_PAGES];
	entry->first_corrupt = measurement->counters.first_corrupt;
	entry->settled = measurement->exact;
	entry->reason = NULL;
}

/*
 * Learn what relations and blocks take: of the difference between what was
 * expected and what it took, each gets the part that it was thought to have.
 */
static void
learn_cost(Run *run, uint64 nblocks, double seconds)
{
	double		blocks = nblocks * run->block_cost;
	double		expected = run->relation_cost + blocks;
	double		off = 0.3 * Min(Max(seconds / expected, 0.1), 10) - 0.3;

	run->relation_cost *= 1 + off * run->relation_cost / expected;
	run->block_cost *= 1 + off * blocks / expected;
}

/* A limit kept something from being read.  The first one ended the report. */
static void
report_cut(Run *run, SstReportEnd limit)
{
	run->cut_by = limit;
	if (run->report->limited_by == SST_REPORT_COMPLETE)
		run->report->limited_by = limit;
}

static const char *
cut_reason(const Run *run)
{
	return _(run->cut_by == SST_REPORT_BUDGET ? reason_budget : reason_time);
}

/* Read a sample of nblocks of a relation, if that can be; keep what it shows. */
static void
measure(Run *run, SstReportEntry *entry, BlockNumber nblocks)
{
	SstReport  *report = run->report;
	SstEstimateRequest *attempt = MemoryContextAllocZero(run->scratch, sizeof(SstEstimateRequest));
	int64		bytes_left = Max(report->budget - report->bytes_read, 0);
	uint64		nread;
	instr_time	start;

	attempt->relid = entry->relid;
	attempt->tableoid = entry->tableoid;
	attempt->nblocks = nblocks;
	attempt->seed = report->seed + entry->relid;
	attempt->limits.deadline = run->deadline;
	attempt->limits.bytes_left = bytes_left;
	attempt->limits.max_rate = report->max_rate;

	INSTR_TIME_SET_CURRENT(start);
	sst_try_estimate(attempt, run->scratch);
	sst_io_stats_merge(&report->streams, &attempt->measurement.io_stats);

	/* After an error, only the limits may know what was read. */
	nread = Max(attempt->measurement.nread,
				(bytes_left - attempt->limits.bytes_left) / BLCKSZ);
	entry->nread += nread;
	report->bytes_read += nread * BLCKSZ;
	if (nread > 0)
		learn_cost(run, nread, seconds_since(start));

	entry->locked = attempt->locked;
	if (attempt->measured)
		store_result(entry, &attempt->measurement);
	else
	{
		/* What is known from an older sample stays. */
		entry->settled = true;
		if (attempt->locked && entry->method == SST_REPORT_SKIPPED)
		{
			entry->reason = _(reason_locked);
			run->nlocked++;
		}
		else if (attempt->reason != NULL)
			entry->reason = MemoryContextStrdup(report->context, _(attempt->reason));
		else if (attempt->limits.reached)
		{
			report_cut(run, report->budget - report->bytes_read < BLCKSZ ?
					   SST_REPORT_BUDGET : SST_REPORT_TIME);
			if (entry->method == SST_REPORT_SKIPPED)
				entry->reason = cut_reason(run);
		}
	}

	MemoryContextReset(run->scratch);
	if (report->between != NULL)
		report->between();
	CHECK_FOR_INTERRUPTS();
}

static double
seconds_left(const Run *run)
{
	return run->report->max_seconds - seconds_since(run->report->start);
}

/*
 * How many of the wanted blocks do the limits allow, when nreserved are to be
 * held back for others?
 */
static uint64
allowed(Run *run, uint64 wanted, uint64 nreserved)
{
	const SstReport *report = run->report;
	int64		left = (report->budget - report->bytes_read) / BLCKSZ - nreserved;
	double		block = run->block_cost;
	double		seconds = seconds_left(run) - run->relation_cost - nreserved * block;

	if (report->max_rate > 0)
		block = Max(block, (double) BLCKSZ / report->max_rate);
	if (left < (int64) wanted)
	{
		report_cut(run, SST_REPORT_BUDGET);
		wanted = Max(left, 0);
	}
	if (seconds < wanted * block)
	{
		report_cut(run, SST_REPORT_TIME);
		wanted = seconds <= 0 ? 0 : (uint64) (seconds / block);
	}

	return wanted;
}

static void
take_as_empty(SstReportEntry *entry)
{
	static const SstEstimate zero = {0, 0, 0};
	static const SstEstimate unknown = {NAN, NAN, NAN};

	entry->method = SST_REPORT_EXACT;
	entry->free_share = entry->dead_share = unknown;
	entry->rebuilt_blocks = zero;
	entry->settled = true;
}

/* The first sample of a relation */
static void
measure_first(Run *run, SstReportEntry *entry)
{
	/* What has no file takes no block, but a look. */
	uint64		wanted = entry->fileless ? 1 :
		entry->nblocks <= WHOLE_SHARES * run->share ? entry->nblocks : run->share;
	uint64		nblocks = allowed(run, wanted, run->nlocked * run->share);

	if (nblocks > 0)
		measure(run, entry, nblocks);
	else
	{
		entry->settled = true;
		entry->reason = cut_reason(run);
	}
}

static void
first_pass(Run *run)
{
	int			n = run->report->nentries;

	for (int i = 0; i < n; i++)
	{
		SstReportEntry *entry = run->order[i];

		sst_progress_relations(i);
		if (entry->reason != NULL)
			entry->settled = true;
		else if (entry->nblocks == 0 && !entry->fileless)
			take_as_empty(entry);
		else
		{
			/* Rather a small sample of all than none of some */
			if ((n - i) * (run->relation_cost + run->share * run->block_cost) >
				seconds_left(run) / 2)
				run->share = MIN_SHARE;
			measure_first(run, entry);
		}
	}
}

/* Take a larger sample, as far as the limits allow; false if they do not. */
static bool
enlarge(Run *run, SstReportEntry *entry, double factor)
{
	uint64		wanted = sst_larger_sample(entry->nblocks, entry->nsampled,
										   factor);
	uint64		nblocks = allowed(run, wanted, run->nlocked * run->share);

	if (nblocks < wanted && nblocks < entry->nsampled * SST_MIN_GROWTH)
		return false;
	measure(run, entry, nblocks);
	return true;
}

static void
second_pass(Run *run)
{
	double		margin = run->report->margin;

	for (int i = 0; i < run->report->nentries; i++)
	{
		SstReportEntry *entry = run->order[i];

		for (int round = 0; round < MAX_ROUNDS && !entry->settled; round++)
		{
			double		half = Max(sst_margin(&entry->free_share),
								   sst_margin(&entry->dead_share));

			if (half <= margin)
				break;
			if (!enlarge(run, entry, sst_sample_growth(half, margin, GROWTH)))
				break;
		}
	}
}

/*
 * By how many bytes the ends of the interval of those that a rebuild gives back
 * differ.  What does not become smaller gives none back.
 */
static double
gain_width(const SstReportEntry *entry)
{
	const SstEstimate *rebuilt = &entry->rebuilt_blocks;

	if (entry->settled || isnan(rebuilt->value))
		return 0;
	if (isnan(rebuilt->low) || isnan(rebuilt->high))
		return (double) entry->nblocks * BLCKSZ;

	return (Min(rebuilt->high, entry->nblocks) -
			Min(rebuilt->low, entry->nblocks)) * BLCKSZ;
}

static void
last_pass(Run *run)
{
	const SstReport *report = run->report;
	double		narrow = 0;

	for (int i = 0; i < report->nentries; i++)
		narrow += (double) report->entries[i].nblocks * BLCKSZ * NARROW;

	for (;;)
	{
		SstReportEntry *widest = NULL;
		double		width = narrow;
		double		before;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < report->nentries; i++)
		{
			before = gain_width(run->order[i]);
			if (before > width)
			{
				widest = run->order[i];
				width = before;
			}
		}
		if (widest == NULL)
			break;

		/*
		 * Where more blocks do not tell more, the rule is what is not
		 * certain.
		 */
		if (!enlarge(run, widest, GROWTH) || gain_width(widest) > 0.9 * width)
			widest->settled = true;
	}
}

/* Once more, for those that were locked by others. */
static void
try_locked_again(Run *run)
{
	for (int i = 0; i < run->report->nentries && run->nlocked > 0; i++)
	{
		SstReportEntry *entry = run->order[i];

		if (entry->locked && entry->method == SST_REPORT_SKIPPED)
		{
			run->nlocked--;
			measure_first(run, entry);
		}
	}
}

/* The largest first; then by OID, so that the order is one */
static int
compare_entries(const void *a, const void *b)
{
	const SstReportEntry *left = *(SstReportEntry *const *) a;
	const SstReportEntry *right = *(SstReportEntry *const *) b;

	if (left->nblocks != right->nblocks)
		return left->nblocks < right->nblocks ? 1 : -1;
	return (left->relid > right->relid) - (left->relid < right->relid);
}

/*
 * Measure the entries.  Should an error or a cancellation end that, the entries
 * keep what was found until then.
 */
void
sst_report_run(SstReport *report)
{
	Run			run = {.report = report, .relation_cost = 0.001,
	.block_cost = 0.00005};
	int			nonempty = 0;
	int64		nblocks = 0;

	report->ended_by = SST_REPORT_CANCELED;
	report->limited_by = SST_REPORT_COMPLETE;
	run.scratch = AllocSetContextCreate(report->context, "streamstat measurement",
										ALLOCSET_DEFAULT_SIZES);
	run.order = MemoryContextAllocHuge(report->context,
									   sizeof(SstReportEntry *) * (report->nentries + 1));
	for (int i = 0; i < report->nentries; i++)
	{
		static const SstEstimate unknown = {NAN, NAN, NAN};
		SstReportEntry *entry = &report->entries[i];

		run.order[i] = entry;
		entry->free_share = entry->dead_share = entry->rebuilt_blocks = unknown;
		entry->kept_share = unknown;
		entry->first_corrupt = InvalidBlockNumber;
		nblocks += entry->nblocks;
		if (entry->nblocks > 0)
			nonempty++;
	}
	qsort(run.order, report->nentries, sizeof(SstReportEntry *), compare_entries);

	run.deadline = sst_time_after(report->start, report->max_seconds);
	run.share = report->budget / BLCKSZ / 4 / Max(nonempty, 1);
	run.share = Min(Max(run.share, MIN_SHARE), MAX_SHARE);

	sst_progress_totals(report->nentries, Min(report->budget, nblocks * BLCKSZ));
	sst_progress_phase(SST_PHASE_FIRST_SAMPLES);
	PG_TRY();
	{
		first_pass(&run);
		sst_progress_relations(report->nentries);
		sst_progress_phase(SST_PHASE_MEASURING);
		second_pass(&run);
		last_pass(&run);
		sst_progress_phase(SST_PHASE_FINISHING);
		try_locked_again(&run);
	}
	PG_FINALLY();
	{
		/* The report's context stays with the session. */
		MemoryContextDelete(run.scratch);
		pfree(run.order);
	}
	PG_END_TRY();

	report->ended_by = report->limited_by;
	report->elapsed_ms = seconds_since(report->start) * 1000;
}
