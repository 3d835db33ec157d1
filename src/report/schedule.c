/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  Which relation of a report to read next, and how many blocks of it
 *
 * First a small sample is read of every relation, the largest first, so that there
 * is a number for each.  Then a larger one is read of those whose free or dead
 * space is not known to the margin.  Its size follows from the spread that the
 * first one showed.  Then what is left of the limits goes where it is least known
 * how many bytes a rebuild gives back.  A relation that another session has locked
 * is tried once more at the end.  Blocks for these are held back until then.
 *
 * A table is read before its indexes, as their estimates need what is known of its
 * dead rows; and before its TOAST table, of which it tells what is needed.
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

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "report/reader.h"
#include "report/schedule.h"
#include "report/toast_estimate.h"
#include "run/progress.h"
#include "stats/sizing.h"

/* Blocks of a relation's first sample */
#define MIN_FIRST_BLOCKS 8
#define MAX_FIRST_BLOCKS 64

/* A relation of up to so many first samples is read as a whole. */
#define WHOLE_SAMPLES 2

/* Growth when nothing is known of the spread, and in the last pass */
#define GROWTH 4

/* Samples of a relation for the margin, at most */
#define MAX_ROUNDS 4

/* An interval narrower than this part of the database's bytes is left alone. */
#define NARROW 0.001

/* One after the other */
typedef enum SchedulePass
{
	PASS_FIRST_SAMPLES,
	PASS_MARGIN,				/* what is not known to the margin */
	PASS_GAIN,					/* where reclaimable bytes are least known */
	PASS_LOCKED,				/* what was locked before */
	PASS_DONE
} SchedulePass;

struct SstSchedule
{
	SstReport  *report;
	MemoryContext context;		/* of all this */
	SstReportReader reader;
	SstReportEntry **order;		/* the largest first */
	uint64		first_blocks;	/* of a first sample */
	double		narrow;			/* in the pass for gains: bytes */

	/* The pass, and the entry whose turn it is */
	SchedulePass pass;
	int			next;
	int			nsamples;		/* of this entry, in this pass */
};

/* There are to be so many blocks in a first sample. */
static void
set_first_blocks(SstSchedule *schedule, uint64 nblocks)
{
	schedule->first_blocks = nblocks;
	schedule->reader.blocks_each = nblocks;
}

static void
take_as_empty(const SstReport *report, SstReportEntry *entry)
{
	static const SstEstimate zero = {0, 0, 0};

	entry->measured = SST_EXACT;
	entry->estimate.exact = true;
	entry->estimate.rebuilt_blocks = zero;
	entry->settled = true;

	/* Values of the table's rows may go to an empty TOAST table. */
	if (sst_reported_relation(report, entry)->relkind == RELKIND_TOASTVALUE &&
		entry->table != NULL)
		(void) sst_apply_toast_needs(&entry->table->estimate, &entry->estimate);
}

/* Read the first sample of a relation; false if the limits do not allow it. */
static bool
read_first_sample(SstSchedule *schedule, SstReportEntry *entry)
{
	uint64		wanted = schedule->first_blocks;
	uint64		nblocks;

	/* What has no file is opened, for the error. */
	if (entry->fileless)
		wanted = 1;
	else if (entry->estimate.nblocks <= WHOLE_SAMPLES * wanted)
		wanted = entry->estimate.nblocks;

	nblocks = sst_reader_allowed(&schedule->reader, wanted);
	if (nblocks == 0)
	{
		sst_reader_skip(&schedule->reader, entry);
		return false;
	}
	sst_reader_read(&schedule->reader, entry, nblocks);
	return true;
}

/*
 * The first samples, up to the next that is read; false if there is none.  The other
 * passes work alike.
 */
static bool
next_first_sample(SstSchedule *schedule)
{
	int			n = schedule->report->relations.n;

	while (schedule->next < n)
	{
		SstReportEntry *entry = schedule->order[schedule->next];
		double		seconds_each = schedule->reader.relation_cost +
			schedule->first_blocks * schedule->reader.block_cost;

		sst_progress_relations(schedule->next);
		if (entry->skipped == SST_SKIP_REFUSED)
			entry->settled = true;
		else if (entry->estimate.nblocks == 0 && !entry->fileless)
			take_as_empty(schedule->report, entry);
		else
		{
			/* Rather a small sample of all than none of some */
			if ((n - schedule->next) * seconds_each >
				sst_reader_seconds_left(&schedule->reader) / 2)
				set_first_blocks(schedule, MIN_FIRST_BLOCKS);
			if (read_first_sample(schedule, entry))
			{
				schedule->next++;
				return true;
			}
		}
		schedule->next++;
	}
	sst_progress_relations(n);

	return false;
}

/* Take a larger sample, as far as the limits allow; false if they do not. */
static bool
enlarge(SstSchedule *schedule, SstReportEntry *entry, double factor)
{
	uint64		wanted = sst_larger_sample(entry->estimate.nblocks,
										   entry->estimate.nread, factor);
	uint64		nblocks = sst_reader_allowed(&schedule->reader, wanted);

	if (nblocks < wanted && nblocks < entry->estimate.nread * SST_MIN_GROWTH)
		return false;
	sst_reader_read(&schedule->reader, entry, nblocks);
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
		sst_margin(&entry->estimate.kept_percent) > margin;
}

/* Read what the margin asks for of an entry; false if it is nothing more. */
static bool
read_for_margin(SstSchedule *schedule, SstReportEntry *entry)
{
	double		margin = schedule->report->limits.margin;
	uint64		nread = entry->estimate.nread;
	double		half;

	if (entry->settled)
	{
		if (!is_stale(entry, margin) || schedule->nsamples++ > 0 ||
			sst_reader_allowed(&schedule->reader, nread) < nread)
			return false;
		sst_reader_read(&schedule->reader, entry, nread);
		return true;
	}

	half = Max(sst_margin(&entry->estimate.free_percent),
			   sst_margin(&entry->estimate.dead_percent));
	if (half <= margin || schedule->nsamples++ >= MAX_ROUNDS)
		return false;

	return enlarge(schedule, entry, sst_sample_growth(half, margin, GROWTH));
}

static bool
next_for_margin(SstSchedule *schedule)
{
	while (schedule->next < schedule->report->relations.n)
	{
		if (read_for_margin(schedule, schedule->order[schedule->next]))
			return true;
		schedule->next++;
		schedule->nsamples = 0;
	}
	return false;
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

/*
 * The entry of which more is to be read, so that an entry's gain is known better.  How
 * much of a TOAST table is needed, its table's rows may tell.
 */
static SstReportEntry *
entry_to_enlarge(const SstReport *report, SstReportEntry *entry)
{
	SstReportEntry *table = sst_report_entry(report, entry->tableoid);

	if (sst_reported_relation(report, entry)->relkind == RELKIND_TOASTVALUE &&
		table != NULL && table->measured == SST_SAMPLED &&
		sst_toast_needs_rows(&table->estimate, &entry->estimate))
		return table;

	return entry;
}

static bool
next_for_gain(SstSchedule *schedule)
{
	for (;;)
	{
		SstReportEntry *widest = NULL;
		double		width = schedule->narrow;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < schedule->report->relations.n; i++)
		{
			double		gain = gain_width(schedule->order[i]);

			if (gain > width)
			{
				widest = schedule->order[i];
				width = gain;
			}
		}
		if (widest == NULL)
			return false;

		if (enlarge(schedule, entry_to_enlarge(schedule->report, widest), GROWTH))
		{
			/* What is uncertain is the model, if more blocks do not help. */
			if (gain_width(widest) > 0.9 * width)
				widest->settled = true;
			return true;
		}
		widest->settled = true;
	}
}

/* Once more, those that were locked by others */
static bool
next_locked(SstSchedule *schedule)
{
	while (schedule->next < schedule->report->relations.n &&
		   schedule->reader.nlocked > 0)
	{
		SstReportEntry *entry = schedule->order[schedule->next++];

		if (entry->skipped == SST_SKIP_LOCKED &&
			entry->measured == SST_SKIPPED)
		{
			schedule->reader.nlocked--;
			if (read_first_sample(schedule, entry))
				return true;
		}
	}
	return false;
}

/*
 * An entry, how many blocks its place in the order is by, and how many it depends on
 */
typedef struct Place
{
	SstReportEntry *entry;
	uint64		nblocks;
	int			depth;
} Place;

/* The largest first, a table before its indexes and TOAST table; then by OID */
static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->nblocks != right->nblocks)
		return left->nblocks < right->nblocks ? 1 : -1;
	if (left->depth != right->depth)
		return left->depth - right->depth;
	return (left->entry->relid > right->entry->relid) -
		(left->entry->relid < right->entry->relid);
}

/*
 * The order in which entries are read, in the given context.  A table has the place
 * of its largest index or its TOAST table, if that is larger.
 */
static SstReportEntry **
order_entries(const SstReport *report, MemoryContext context)
{
	int			n = report->relations.n;
	SstReportEntry **order = MemoryContextAllocHuge(context,
													sizeof(SstReportEntry *) * (n + 1));
	Place	   *places = MemoryContextAllocHuge(context,
												sizeof(Place) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		places[i].entry = &report->entries[i];
		places[i].nblocks = report->entries[i].estimate.nblocks;
		places[i].depth = 0;
	}
	for (int i = 0; i < n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];

		for (const SstReportEntry *on = entry->table; on != NULL; on = on->table)
		{
			Place	   *table = &places[on - report->entries];

			table->nblocks = Max(table->nblocks, entry->estimate.nblocks);
			places[i].depth++;
		}
	}
	qsort(places, n, sizeof(Place), compare_places);
	for (int i = 0; i < n; i++)
		order[i] = places[i].entry;
	pfree(places);

	return order;
}

/*
 * Begin to read the relations of a report.  The schedule's memory is in the
 * report's context, and survives the end of a transaction.
 */
SstSchedule *
sst_schedule_begin(SstReport *report)
{
	MemoryContext context = AllocSetContextCreate(report->context,
												  "streamstat schedule",
												  ALLOCSET_DEFAULT_SIZES);
	SstSchedule *schedule = MemoryContextAllocZero(context,
												   sizeof(SstSchedule));
	int			nonempty = 0;
	int64		nblocks = 0;
	int64		first_blocks;

	schedule->report = report;
	schedule->context = context;
	schedule->order = order_entries(report, context);
	sst_reader_init(&schedule->reader, report, context);
	for (int i = 0; i < report->relations.n; i++)
	{
		nblocks += report->entries[i].estimate.nblocks;
		if (report->entries[i].estimate.nblocks > 0)
			nonempty++;
	}
	first_blocks = report->limits.budget / BLCKSZ / 4 / Max(nonempty, 1);
	set_first_blocks(schedule, Min(Max(first_blocks, MIN_FIRST_BLOCKS),
								   MAX_FIRST_BLOCKS));

	report->ended_by = SST_REPORT_CANCELED;
	report->limited_by = SST_REPORT_COMPLETE;
	sst_progress_totals(report->relations.n,
						Min(report->limits.budget, nblocks * BLCKSZ));
	sst_progress_phase(SST_PHASE_FIRST_SAMPLES);

	return schedule;
}

static void
begin_pass(SstSchedule *schedule, SchedulePass pass)
{
	const SstReport *report = schedule->report;

	schedule->pass = pass;
	schedule->next = 0;
	schedule->nsamples = 0;
	if (pass == PASS_MARGIN)
		sst_progress_phase(SST_PHASE_MEASURING);
	else if (pass == PASS_LOCKED)
		sst_progress_phase(SST_PHASE_FINISHING);
	else if (pass == PASS_GAIN)
	{
		schedule->narrow = 0;
		for (int i = 0; i < report->relations.n; i++)
			schedule->narrow += (double) report->entries[i].estimate.nblocks *
				BLCKSZ * NARROW;
	}
}

/*
 * Read one sample of one relation, or find that no more is to be read: then false.
 * In between nothing is locked, and the caller can end the transaction.  After an
 * error, entries keep what was found before.
 */
bool
sst_schedule_next(SstSchedule *schedule)
{
	static bool (*const next[]) (SstSchedule *schedule) = {
		[PASS_FIRST_SAMPLES] = next_first_sample,
		[PASS_MARGIN] = next_for_margin,
		[PASS_GAIN] = next_for_gain,
		[PASS_LOCKED] = next_locked
	};
	SstReport  *report = schedule->report;

	CHECK_FOR_INTERRUPTS();
	while (schedule->pass != PASS_DONE)
	{
		if (next[schedule->pass] (schedule))
			return true;
		begin_pass(schedule, schedule->pass + 1);
	}
	report->ended_by = report->limited_by;
	report->elapsed_ms = sst_seconds_since(report->start) * 1000;

	return false;
}

/* Free a schedule, at its end or after an error. */
void
sst_schedule_end(SstSchedule *schedule)
{
	MemoryContextDelete(schedule->context);
}
