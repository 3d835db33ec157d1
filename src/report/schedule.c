/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  The next relation of a report to read, and the number of blocks
 *
 * First a small sample is read of every relation, the largest first, so that
 * there is a number for each.  The rest of the limits is spent, step by step,
 * on larger samples where they reduce the uncertainty most for their blocks.
 * Bytes are uncertain if free or dead space is not known to the margin, or if
 * reclaimable space is not known.  A relation that another session has locked
 * is tried again at the end.  Blocks for these are reserved until then.
 *
 * A table is read before its indexes, because their estimates need its dead
 * rows, and before its TOAST table, whose needed size it determines.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat/compat.h"
#include "report/reader.h"
#include "run/progress.h"
#include "stats/page_sample.h"

/* ----------
 * The order in which a report first reads its relations
 * ----------
 */

/*
 * An entry, the number of blocks that decides its place, and the number of relations
 * that it depends on
 */
typedef struct Place
{
	SstReportEntry *entry;
	uint64		nblocks;
	int			depth;
} Place;

/* The largest first, a table before its indexes and TOAST table; then by OID, as entries are */
static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->nblocks != right->nblocks)
		return left->nblocks < right->nblocks ? 1 : -1;
	if (left->depth != right->depth)
		return left->depth - right->depth;
	return (left->entry > right->entry) - (left->entry < right->entry);
}

/*
 * The order in which entries are read.  A table has the place of its largest index or its
 * TOAST table, if that is larger.
 */
static SstReportEntry **
reading_order(const SstReport *report)
{
	int			n = report->relations.n;
	SstReportEntry **order = palloc_extended(sizeof(SstReportEntry *) * (n + 1),
											 MCXT_ALLOC_HUGE);
	Place	   *places = palloc_extended(sizeof(Place) * (n + 1), MCXT_ALLOC_HUGE);

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

/* ----------
 * The schedule
 * ----------
 */

/* Blocks of a relation's first sample */
#define MIN_FIRST_BLOCKS 8
#define MAX_FIRST_BLOCKS 64

/*
 * A sample grows by this factor at most, as the spread that a small one shows is
 * not sure itself.
 */
#define GROWTH 4

/* An interval narrower than this part of the database's bytes is left alone. */
#define NARROW 0.0005

/* One after the other */
typedef enum SchedulePass
{
	PASS_FIRST_SAMPLES,
	PASS_LARGER_SAMPLES,		/* where bytes are uncertain */
	PASS_LOCKED,				/* what was locked before */
	PASS_DONE
} SchedulePass;

/* A relation of which more blocks would tell more */
typedef struct Candidate
{
	SstReportEntry *entry;
	double		growth;			/* of its sample */
	double		gain_width;		/* bytes, if it is a candidate for that */
	double		priority;
} Candidate;

struct SstSchedule
{
	SstReport  *report;
	MemoryContext context;		/* of all this */
	SstReportReader reader;
	SstReportEntry **order;		/* the largest first */
	double		narrow;			/* bytes that an interval may be wide */
	double		growth;			/* of a sample, at most */

	/* The pass, and the entry whose turn it is */
	SchedulePass pass;
	int			next;

	/* Of larger samples; the first in the queue has the highest priority. */
	Candidate  *candidates;
	binaryheap *queue;
};

/* An index has a first block from its build on: without any, it is corrupt. */
static bool
lacks_first_block(const SstRelation *relation)
{
	return relation->relkind == RELKIND_INDEX && relation->valid && !relation->building &&
		sst_index_am(relation->amoid)->kind == SST_INDEX;
}

static void
take_as_empty(SstReportEntry *entry)
{
	static const SstEstimate zero = {0, 0, 0};

	entry->measured = SST_EXACT;
	entry->estimate.exact = true;
	entry->estimate.rebuilt_blocks = zero;
	entry->settled = true;
	if (lacks_first_block(entry->relation))
	{
		entry->estimate.ncorrupt = 1;
		entry->estimate.first_corrupt = 0;
	}

	/* Values of the table's rows may go to an empty TOAST table. */
	if (entry->relation->relkind == RELKIND_TOASTVALUE && entry->table != NULL)
		(void) sst_apply_toast_needs(&entry->table->estimate, &entry->estimate);
}

/* Read the first sample of a relation, if the limits allow it. */
static bool
read_first_sample(SstSchedule *schedule, SstReportEntry *entry)
{
	/* What has no file is opened, for the error. */
	uint64		wanted = entry->relation->bytes < 0 ? 1 :
		sst_first_sample_blocks(entry, schedule->reader.first_blocks);
	uint64		nblocks;

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
			schedule->reader.first_blocks * schedule->reader.block_cost;

		sst_progress_relations(schedule->next);
		if (entry->skipped == SST_SKIP_REFUSED)
			entry->settled = true;
		else if (entry->estimate.nblocks == 0 && entry->relation->bytes >= 0)
			take_as_empty(entry);
		else
		{
			/* Rather a small sample of all than none of some */
			if ((n - schedule->next) * seconds_each >
				sst_reader_seconds_left(&schedule->reader) / 2)
				schedule->reader.first_blocks = MIN_FIRST_BLOCKS;
			sst_read_ahead(&schedule->reader, schedule->next);
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

/*
 * By how many bytes the ends of the interval of reclaimable bytes differ.  What
 * does not become smaller gives none back.
 */
static double
gain_width(const SstReportEntry *entry)
{
	const SstEstimate *rebuilt = &entry->estimate.rebuilt_blocks;
	double		nblocks = entry->estimate.nblocks;

	if (isnan(rebuilt->value))
		return 0;

	return (Min(rebuilt->high, nblocks) - Min(rebuilt->low, nblocks)) * BLCKSZ;
}

/*
 * The entry of which more is to be read, so that an entry's gain is known better.  How
 * much of a TOAST table is needed, its table's rows may tell.
 */
static SstReportEntry *
entry_to_enlarge(SstReportEntry *entry)
{
	SstReportEntry *table = entry->table;

	if (entry->relation->relkind == RELKIND_TOASTVALUE &&
		table != NULL && table->measured == SST_SAMPLED && !table->settled &&
		sst_toast_needs_rows(&table->estimate, &entry->estimate))
		return table;

	return entry;
}

/*
 * Would more blocks of a relation tell more?  Then set by which factor its sample
 * should grow, and the priority: the variance that it takes from the sum of all
 * estimates, for each block.
 */
static bool
is_candidate(const SstSchedule *schedule, SstReportEntry *entry,
			 Candidate *candidate)
{
	const SstBloatEstimate *estimate = &entry->estimate;
	double		margin = schedule->report->limits.margin;
	double		bytes = (double) estimate->nblocks * BLCKSZ;
	double		reached = Max(sst_margin(&estimate->free_percent),
							  sst_margin(&estimate->dead_percent));
	double		width = 0;

	candidate->entry = entry;
	candidate->growth = 1;
	candidate->gain_width = 0;
	if (is_stale(entry, margin))
		width = bytes * 2 * Min(sst_margin(&estimate->kept_percent), 50) / 100;
	else
	{
		if (!entry->settled && reached > margin)
		{
			width = bytes * 2 * Min(reached, 50) / 100;
			candidate->growth = Min(sst_sample_growth(reached, margin, schedule->growth),
									schedule->growth);
		}

		/* Of what is settled itself, a table may tell more. */
		if (!entry->gain_settled && gain_width(entry) > schedule->narrow &&
			(!entry->settled || entry_to_enlarge(entry) != entry))
		{
			candidate->gain_width = gain_width(entry);
			candidate->growth = schedule->growth;
			width = Max(width, candidate->gain_width);
		}
	}
	candidate->priority = width * width /
		Min(Max(estimate->nread, 1) * candidate->growth, Max(estimate->nblocks, 1));

	return width > 0;
}

static int
compare_candidates(Datum a, Datum b, void *arg)
{
	double		left = ((const Candidate *) DatumGetPointer(a))->priority;
	double		right = ((const Candidate *) DatumGetPointer(b))->priority;

	return (left > right) - (left < right);
}

/* Queue all candidates; false if there is none. */
static bool
fill_queue(SstSchedule *schedule)
{
	int			n = schedule->report->relations.n;

	binaryheap_reset(schedule->queue);
	for (int i = 0; i < n; i++)
	{
		if (is_candidate(schedule, schedule->order[i], &schedule->candidates[i]))
			binaryheap_add_unordered(schedule->queue,
									 PointerGetDatum(&schedule->candidates[i]));
	}
	binaryheap_build(schedule->queue);

	return !binaryheap_empty(schedule->queue);
}

/*
 * Read a larger sample of a candidate, and queue it again if that was not enough;
 * false if the limits do not allow it.
 */
static bool
read_candidate(SstSchedule *schedule, Candidate *candidate)
{
	SstReportEntry *entry = candidate->entry;
	double		before = candidate->gain_width;
	SstReportEntry *source = before > 0 ? entry_to_enlarge(entry) : entry;
	bool		stale = is_stale(entry, schedule->report->limits.margin);
	uint64		nread = source->estimate.nread;
	uint64		wanted = stale ? nread :
		sst_larger_sample(source->estimate.nblocks, nread, candidate->growth);
	uint64		nblocks = sst_reader_allowed(&schedule->reader, wanted);

	if (nblocks < wanted && (stale || nblocks < nread * SST_MIN_GROWTH))
	{
		entry->settled = entry->gain_settled = true;
		if (stale)
			entry->table_nread = entry->table->estimate.nread;
		return false;
	}
	sst_reader_read(&schedule->reader, source, nblocks);

	/* What is uncertain is the model, if more blocks do not help. */
	if (before > 0 && gain_width(entry) > 0.9 * before)
		entry->gain_settled = true;
	if (is_candidate(schedule, entry, candidate))
		binaryheap_add(schedule->queue, PointerGetDatum(candidate));

	return true;
}

/*
 * The next larger sample.  A queue that is empty is filled once more: what was read
 * of a table can make its indexes candidates.
 */
static bool
next_larger_sample(SstSchedule *schedule)
{
	while (!binaryheap_empty(schedule->queue))
	{
		Datum		first = binaryheap_remove_first(schedule->queue);

		CHECK_FOR_INTERRUPTS();
		if (read_candidate(schedule, (Candidate *) DatumGetPointer(first)))
			return true;
	}

	return fill_queue(schedule) && next_larger_sample(schedule);
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
 * Begin to read the relations of a report.  The schedule's memory is in the
 * report's context, and survives the end of a transaction.
 */
SstSchedule *
sst_schedule_begin(SstReport *report)
{
	MemoryContext context = AllocSetContextCreate(report->context,
												  "streamstat schedule",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	SstSchedule *schedule = palloc0(sizeof(SstSchedule));
	int			n = report->relations.n;
	int			nonempty = 0;
	int64		nblocks = 0;
	int64		first_blocks;

	schedule->report = report;
	schedule->context = context;
	schedule->order = reading_order(report);
	schedule->candidates = palloc_extended(sizeof(Candidate) * (n + 1), MCXT_ALLOC_HUGE);
	schedule->queue = binaryheap_allocate(n + 1, compare_candidates, NULL);
	sst_reader_init(&schedule->reader, report, schedule->order);
	for (int i = 0; i < n; i++)
	{
		nblocks += report->entries[i].estimate.nblocks;
		if (report->entries[i].estimate.nblocks > 0)
			nonempty++;
	}
	first_blocks = report->limits.budget / BLCKSZ / 4 / Max(nonempty, 1);
	schedule->reader.first_blocks = Min(Max(first_blocks, MIN_FIRST_BLOCKS),
										MAX_FIRST_BLOCKS);

	report->ended_by = SST_REPORT_CANCELED;
	report->limited_by = SST_REPORT_COMPLETE;
	sst_progress_totals(n, Min(report->limits.budget, nblocks * BLCKSZ));
	sst_progress_phase(SST_PHASE_FIRST_SAMPLES);
	MemoryContextSwitchTo(oldcontext);

	return schedule;
}

/*
 * By which factor a sample grows at most.  With a margin of 0 all is read in the end, so
 * steps would only read blocks again, unless the limits leave less than that.
 */
static double
growth_limit(const SstSchedule *schedule)
{
	const SstReport *report = schedule->report;
	uint64		nblocks = 0;
	int			nrelations = 0;

	if (report->limits.margin > 0)
		return GROWTH;
	for (int i = 0; i < report->relations.n; i++)
	{
		if (report->entries[i].measured != SST_SAMPLED)
			continue;
		nblocks += report->entries[i].estimate.nblocks;
		nrelations++;
	}

	return sst_reader_leaves(&schedule->reader, nrelations, nblocks) ? INFINITY : GROWTH;
}

static void
begin_pass(SstSchedule *schedule, SchedulePass pass)
{
	const SstReport *report = schedule->report;

	schedule->pass = pass;
	schedule->next = 0;
	if (pass == PASS_LOCKED)
		sst_progress_phase(SST_PHASE_FINISHING);
	else if (pass == PASS_LARGER_SAMPLES)
	{
		sst_progress_phase(SST_PHASE_MEASURING);
		schedule->growth = growth_limit(schedule);
		schedule->narrow = 0;
		for (int i = 0; i < report->relations.n; i++)
			schedule->narrow += (double) report->entries[i].estimate.nblocks *
				BLCKSZ * NARROW;
	}
}

/* Has all been read of each relation that could be read? */
static bool
all_was_read(const SstReport *report)
{
	for (int i = 0; i < report->relations.n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];

		if (entry->measured == SST_SAMPLED ||
			(entry->measured == SST_SKIPPED &&
			 (entry->skipped == SST_SKIP_BUDGET || entry->skipped == SST_SKIP_TIME)))
			return false;
	}
	return true;
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
		[PASS_LARGER_SAMPLES] = next_larger_sample,
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

	/* A limit that only kept blocks from being read twice has ended nothing. */
	report->ended_by = all_was_read(report) ? SST_REPORT_COMPLETE : report->limited_by;
	report->elapsed_ms = sst_seconds_since(report->start) * 1000;

	return false;
}

/* Free a schedule, at its end or after an error. */
void
sst_schedule_end(SstSchedule *schedule)
{
	MemoryContextDelete(schedule->context);
}
