/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  Estimating the bloat of many relations within common limits
 *
 * First a small sample is read of every relation, the largest first, so that there
 * is a number for each.  Then a larger one is read of those whose free or dead
 * space is not known to the margin.  Its size follows from the spread that the
 * first one showed.  Then what is left of the limits goes where it is least known
 * how many bytes a rebuild gives back.  A relation that another session has locked
 * is tried once more at the end.  Blocks for these are held back until then.
 *
 * A table is read before its indexes, as their estimates need what is known of its
 * dead rows.
 *
 * Before each sample its blocks are cut to what is left of bytes and time.  The
 * limits are given to the scan as well.
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
#include "report/schedule.h"
#include "report/try_estimate.h"
#include "run/progress.h"

/* Blocks of a relation's first sample */
#define MIN_FIRST_BLOCKS 8
#define MAX_FIRST_BLOCKS 64

/* A relation of up to so many first samples is read as a whole. */
#define WHOLE_SAMPLES 2

/* A sample that is no larger than this times the last one is not worth it. */
#define MIN_GROWTH 1.5

/* Growth when nothing is known of the spread, and in the last pass */
#define GROWTH 4

/* Samples of a relation for the margin, at most */
#define MAX_ROUNDS 4

/* An interval narrower than this part of the database's bytes is left alone. */
#define NARROW 0.001

/* A run in progress */
typedef struct Run
{
	SstReport  *report;
	SstReportEntry **order;		/* the largest first */
	MemoryContext scratch;
	instr_time	deadline;

	/* Seconds that one relation and one block take, as learned so far */
	double		relation_cost;
	double		block_cost;

	int			nlocked;
	uint64		first_blocks;	/* of a first sample */
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

/*
 * Learn what relations and blocks take.  The difference between the time that was
 * expected and the time that it took is divided in proportion.
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

/* The limits leave no block for a sample. */
static void
skip_for_limit(Run *run, SstReportEntry *entry)
{
	entry->settled = true;
	entry->skipped = run->cut_by == SST_REPORT_BUDGET ? SST_SKIP_BUDGET :
		SST_SKIP_TIME;
}

/* Keep what an attempt found.  What is known from an older sample stays. */
static void
store_result(Run *run, SstReportEntry *entry, const SstEstimateTry *attempt)
{
	SstReport  *report = run->report;

	entry->settled = true;
	switch (attempt->outcome)
	{
		case SST_TRY_ESTIMATED:
			entry->estimate = attempt->estimate;
			entry->measured = entry->estimate.exact ? SST_EXACT : SST_SAMPLED;
			entry->skipped = SST_SKIP_NONE;
			entry->settled = entry->estimate.exact;
			if (entry->table != NULL)
				entry->table_nread = entry->table->estimate.nread;
			break;
		case SST_TRY_LOCKED:
			entry->skipped = SST_SKIP_LOCKED;
			if (entry->measured == SST_SKIPPED)
				run->nlocked++;
			break;
		case SST_TRY_REFUSED:
			entry->skipped = SST_SKIP_REFUSED;
			entry->note = MemoryContextStrdup(report->context,
											  _(attempt->note));
			break;
		case SST_TRY_LIMITED:
			report_cut(run, report->budget - report->bytes_read < BLCKSZ ?
					   SST_REPORT_BUDGET : SST_REPORT_TIME);
			skip_for_limit(run, entry);
			break;
	}
}

/* Read a sample of nblocks of a relation, if possible, and keep what it shows. */
static void
read_sample(Run *run, SstReportEntry *entry, BlockNumber nblocks)
{
	SstReport  *report = run->report;
	SstEstimateTry *attempt = MemoryContextAllocZero(run->scratch,
													 sizeof(SstEstimateTry));
	int64		bytes_left = Max(report->budget - report->bytes_read, 0);
	uint64		nread;
	instr_time	start;

	attempt->relid = entry->relid;
	attempt->table.relid = entry->tableoid;
	attempt->table.estimate = entry->table ? &entry->table->estimate : NULL;
	attempt->sampling.nblocks = nblocks;
	attempt->sampling.seed = report->seed + entry->relid;
	attempt->limits.deadline = run->deadline;
	attempt->limits.bytes_left = bytes_left;
	attempt->limits.max_rate = report->max_rate;

	INSTR_TIME_SET_CURRENT(start);
	sst_try_estimate(attempt, run->scratch);
	sst_io_stats_merge(&report->io_stats, &attempt->sampling.io_stats);

	/* After an error, only the limits may know what was read. */
	nread = Max(attempt->estimate.nread,
				(bytes_left - attempt->limits.bytes_left) / BLCKSZ);
	entry->nread += nread;
	report->bytes_read += nread * BLCKSZ;
	if (nread > 0)
		learn_cost(run, nread, seconds_since(start));

	store_result(run, entry, attempt);
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

	entry->measured = SST_EXACT;
	entry->estimate.exact = true;
	entry->estimate.rebuilt_blocks = zero;
	entry->settled = true;
}

/* The first sample of a relation */
static void
read_first_sample(Run *run, SstReportEntry *entry)
{
	/* What has no file takes no block, but a look. */
	uint64		wanted = entry->fileless ? 1 :
		entry->estimate.nblocks <= WHOLE_SAMPLES * run->first_blocks ? entry->estimate.nblocks : run->first_blocks;
	uint64		nblocks = allowed(run, wanted, run->nlocked * run->first_blocks);

	if (nblocks > 0)
		read_sample(run, entry, nblocks);
	else
		skip_for_limit(run, entry);
}

static void
first_pass(Run *run)
{
	int			n = run->report->nentries;

	for (int i = 0; i < n; i++)
	{
		SstReportEntry *entry = run->order[i];

		sst_progress_relations(i);
		if (entry->skipped == SST_SKIP_REFUSED)
			entry->settled = true;
		else if (entry->estimate.nblocks == 0 && !entry->fileless)
			take_as_empty(entry);
		else
		{
			/* Rather a small sample of all than none of some */
			if ((n - i) * (run->relation_cost + run->first_blocks * run->block_cost) >
				seconds_left(run) / 2)
				run->first_blocks = MIN_FIRST_BLOCKS;
			read_first_sample(run, entry);
		}
	}
}

/* Half the interval's width: 0 where nothing is to be known */
static double
half_width(const SstEstimate *estimate)
{
	if (isnan(estimate->value))
		return 0;
	if (isnan(estimate->low) || isnan(estimate->high))
		return INFINITY;

	return (estimate->high - estimate->low) / 2;
}

/*
 * The size of a larger sample.  A relation of which more than half is needed is
 * read as a whole.
 */
static uint64
larger_sample(const SstReportEntry *entry, double factor)
{
	double		wanted = ceil(entry->estimate.nread * Max(factor, MIN_GROWTH));

	return wanted > entry->estimate.nblocks / 2.0 ? entry->estimate.nblocks : (uint64) wanted;
}

/* Take a larger sample, as far as the limits allow; false if they do not. */
static bool
enlarge(Run *run, SstReportEntry *entry, double factor)
{
	uint64		wanted = larger_sample(entry, factor);
	uint64		nblocks = allowed(run, wanted, run->nlocked * run->first_blocks);

	if (nblocks < wanted && nblocks < entry->estimate.nread * MIN_GROWTH)
		return false;
	read_sample(run, entry, nblocks);
	return true;
}

/*
 * More has been read of an index's table since the index was, and that can tell
 * better how many of the index's entries are needed.
 */
static bool
is_stale(const SstReportEntry *entry, double margin)
{
	return entry->table != NULL && entry->measured != SST_SKIPPED &&
		entry->table->estimate.nread > entry->table_nread &&
		half_width(&entry->estimate.kept_percent) > margin;
}

static void
second_pass(Run *run)
{
	double		margin = run->report->margin;

	for (int i = 0; i < run->report->nentries; i++)
	{
		SstReportEntry *entry = run->order[i];

		if (entry->settled && is_stale(entry, margin) &&
			allowed(run, entry->estimate.nread,
					run->nlocked * run->first_blocks) == entry->estimate.nread)
			read_sample(run, entry, entry->estimate.nread);

		for (int round = 0; round < MAX_ROUNDS && !entry->settled; round++)
		{
			double		half = Max(half_width(&entry->estimate.free_percent),
								   half_width(&entry->estimate.dead_percent));
			double		factor = GROWTH;

			if (half <= margin)
				break;
			if (!isinf(half))
				factor = margin > 0 ? 1.3 * (half / margin) * (half / margin) : INFINITY;
			if (!enlarge(run, entry, factor))
				break;
		}
	}
}

/*
 * By how many bytes the ends of the interval of reclaimable bytes differ.  What
 * does not become smaller gives none back.
 */
static double
gain_width(const SstReportEntry *entry)
{
	const SstEstimate *rebuilt = &entry->estimate.rebuilt_blocks;
	double		nblocks = entry->estimate.nblocks;

	if (entry->settled || isnan(rebuilt->value))
		return 0;

	return (Min(rebuilt->high, nblocks) - Min(rebuilt->low, nblocks)) * BLCKSZ;
}

static void
last_pass(Run *run)
{
	const SstReport *report = run->report;
	double		narrow = 0;

	for (int i = 0; i < report->nentries; i++)
		narrow += (double) report->entries[i].estimate.nblocks * BLCKSZ * NARROW;

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

		if (entry->skipped == SST_SKIP_LOCKED &&
			entry->measured == SST_SKIPPED)
		{
			run->nlocked--;
			read_first_sample(run, entry);
		}
	}
}

/* An entry, and how many blocks its place in the order is by */
typedef struct Place
{
	SstReportEntry *entry;
	uint64		nblocks;
} Place;

/* The largest first, a table before its indexes; then by OID */
static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;
	bool		left_is_index = OidIsValid(left->entry->tableoid);
	bool		right_is_index = OidIsValid(right->entry->tableoid);

	if (left->nblocks != right->nblocks)
		return left->nblocks < right->nblocks ? 1 : -1;
	if (left_is_index != right_is_index)
		return left_is_index ? 1 : -1;
	return (left->entry->relid > right->entry->relid) -
		(left->entry->relid < right->entry->relid);
}

/*
 * The order in which entries are read, in the given context.  A table has the place
 * of its largest index, if that is larger.
 */
static SstReportEntry **
order_entries(const SstReport *report, MemoryContext context)
{
	int			n = report->nentries;
	SstReportEntry **order = MemoryContextAllocHuge(context,
													sizeof(SstReportEntry *) * (n + 1));
	Place	   *places = MemoryContextAllocHuge(context,
												sizeof(Place) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		places[i].entry = &report->entries[i];
		places[i].nblocks = report->entries[i].estimate.nblocks;
	}
	for (int i = 0; i < n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];

		if (entry->table != NULL)
		{
			Place	   *table = &places[entry->table - report->entries];

			table->nblocks = Max(table->nblocks, entry->estimate.nblocks);
		}
	}
	qsort(places, n, sizeof(Place), compare_places);
	for (int i = 0; i < n; i++)
		order[i] = places[i].entry;
	pfree(places);

	return order;
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
	run.order = order_entries(report, report->context);
	for (int i = 0; i < report->nentries; i++)
	{
		nblocks += report->entries[i].estimate.nblocks;
		if (report->entries[i].estimate.nblocks > 0)
			nonempty++;
	}

	run.deadline = sst_time_after(report->start, report->max_seconds);
	run.first_blocks = report->budget / BLCKSZ / 4 / Max(nonempty, 1);
	run.first_blocks = Min(Max(run.first_blocks, MIN_FIRST_BLOCKS), MAX_FIRST_BLOCKS);

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
