/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  Reading the relations of a report: which one is next, and how many blocks
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
 * Before a sample is read, it is limited to the remaining bytes and time.  The
 * scan has the same limits.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/visibilitymapdefs.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "storage/bufpage.h"
#include "utils/memutils.h"

#include "compat/compat.h"
#include "report/report.h"
#include "run/call.h"
#include "stats/page_sample.h"
#include "stream/stream.h"

/* Blocks of a relation's first sample */
#define MIN_FIRST_BLOCKS 8
#define MAX_FIRST_BLOCKS 64

/* A relation of up to so many first samples is read as a whole. */
#define WHOLE_SAMPLES 2

/*
 * A sample grows by this factor at most, as the spread that a small one shows is
 * not sure itself.
 */
#define GROWTH 4

/* An interval narrower than this part of the database's bytes is left alone. */
#define NARROW 0.0005

/* A place in the order of first samples: its entry, and the number of blocks that decides it */
typedef struct Place
{
	SstReportEntry *entry;
	uint64		nblocks;
} Place;

/* A relation of which more blocks would tell more */
typedef struct Candidate
{
	SstReportEntry *entry;
	double		growth;			/* of its sample */
	double		gain_width;		/* bytes, if it is a candidate for that */
	double		priority;
} Candidate;

typedef struct Schedule
{
	SstReport  *report;
	void		(*between) (void);	/* when nothing is locked; or NULL */
	MemoryContext scratch;		/* of an attempt to read a relation */
	Place	   *order;			/* of first samples: the largest first */

	/* Seconds that one relation and one block take, as learned so far */
	double		relation_cost;
	double		block_cost;

	/*
	 * Blocks of a first sample, which are held back for each of the relations
	 * that were locked
	 */
	uint64		first_blocks;
	int			nlocked;

	/*
	 * At most how many are advised ahead, or 0; the places that were advised
	 * last, and the blocks of these
	 */
	int			max_advised;
	int			advised_first;
	int			advised_end;
	uint64		advised_blocks;

	/* Of larger samples; the first in the queue has the highest priority. */
	Candidate  *candidates;
	binaryheap *queue;
	double		narrow;			/* bytes that an interval may be wide */
	double		growth;			/* of a sample, at most */
} Schedule;

/* ----------
 * What the limits leave
 * ----------
 */

/* Seconds that a relation and a block are expected to take before any was read */
#define RELATION_COST 0.001
#define BLOCK_COST 0.00005

/*
 * Learn what relations and blocks take.  The difference between the time that was
 * expected and the time that it took is divided in proportion.
 */
static void
learn_cost(Schedule *schedule, uint64 nblocks, double seconds)
{
	double		blocks = nblocks * schedule->block_cost;
	double		expected = schedule->relation_cost + blocks;
	double		off = 0.3 * Min(Max(seconds / expected, 0.1), 10) - 0.3;

	schedule->relation_cost *= 1 + off * schedule->relation_cost / expected;
	schedule->block_cost *= 1 + off * blocks / expected;
}

/*
 * How many of the wanted blocks, of so many relations, the limits allow, when first samples of
 * the relations that were locked are held back.  If a limit cuts them, this sets which one.
 */
static uint64
allowed_blocks(const Schedule *schedule, int nrelations, uint64 wanted, SstReportEnd *limit)
{
	const SstLimits *limits = &schedule->report->left;
	int64		reserved = (int64) schedule->nlocked * schedule->first_blocks;
	int64		left = limits->bytes_left / BLCKSZ - reserved;
	double		seconds = sst_seconds_left(limits) - nrelations * schedule->relation_cost -
		reserved * schedule->block_cost;
	double		each = limits->max_rate > 0 ?
		Max(schedule->block_cost, (double) BLCKSZ / limits->max_rate) : schedule->block_cost;

	if (left < (int64) wanted)
	{
		*limit = SST_REPORT_BUDGET;
		wanted = Max(left, 0);
	}
	if (seconds < wanted * each)
	{
		*limit = SST_REPORT_TIME;
		wanted = seconds <= 0 ? 0 : (uint64) (seconds / each);
	}

	return wanted;
}

/* Do the limits leave so many blocks, of so many relations, without a cut? */
static bool
limits_leave(const Schedule *schedule, int nrelations, uint64 nblocks)
{
	SstReportEnd limit;

	return allowed_blocks(schedule, nrelations, nblocks, &limit) == nblocks;
}

/* Blocks of an entry's first sample */
static BlockNumber
first_sample_blocks(const Schedule *schedule, const SstReportEntry *entry)
{
	return entry->estimate.nblocks <= WHOLE_SAMPLES * schedule->first_blocks ?
		entry->estimate.nblocks : schedule->first_blocks;
}

/* ----------
 * Estimating the bloat of a relation that may be locked, or damaged
 *
 * It does not wait for locks.  The relation is locked and read in a
 * subtransaction, so that an error becomes a note about that relation, and the
 * caller continues.
 *
 * On a standby a conflict with recovery ends a session that is in a
 * subtransaction.  Such conflicts are normal there.  So no subtransaction begins,
 * and an error ends the whole call.
 * ----------
 */

/* An attempt to estimate the bloat of a relation */
typedef struct Attempt
{
	/* Given */
	const SstReportEntry *entry;
	SstSampling sampling;

	/* Found */
	SstSkipReason skipped;		/* SST_SKIP_TIME: a limit ended the scan */
	const char *note;			/* for people, translated */
	SstBloatEstimate estimate;
} Attempt;

static void
try_estimate(void *arg)
{
	Attempt    *attempt = arg;
	const SstReportEntry *entry = attempt->entry;
	const SstRelation *relation = entry->relation;
	SstTarget	target;

	sst_target_try_open(&target, relation->relid, relation->relkind == RELKIND_INDEX ?
						relation->parent : InvalidOid, SST_INDEX | SST_HEAP, false);
	if (sst_target_is_readable(&target))
		attempt->skipped = sst_estimate_bloat(&target, entry->table ? &entry->table->estimate : NULL,
											  &attempt->sampling, &attempt->estimate) ?
			SST_SKIP_NONE : SST_SKIP_TIME;
	else
		attempt->skipped = target.state == SST_TARGET_LOCKED ? SST_SKIP_LOCKED : SST_SKIP_REFUSED;
	attempt->note = target.state == SST_TARGET_MISSING ? _("dropped meanwhile") : target.note;
	sst_target_close(&target);
}

/* Read no more of a relation, as the limits do not leave the blocks for it. */
static void
skip_entry(Schedule *schedule, SstReportEntry *entry)
{
	entry->settled = true;
	entry->skipped = schedule->report->limited_by == SST_REPORT_BUDGET ? SST_SKIP_BUDGET :
		SST_SKIP_TIME;
}

/* Keep an estimate, with what it points to in the report's context. */
static void
store_estimate(const SstReport *report, SstReportEntry *entry,
			   const SstBloatEstimate *estimate)
{
	SstToastPart *toast = entry->estimate.toast;

	entry->estimate = *estimate;
	if (estimate->toast == NULL)
		return;
	if (toast == NULL)
		toast = MemoryContextAlloc(report->context, sizeof(SstToastPart));
	*toast = *estimate->toast;
	entry->estimate.toast = toast;
}

/* What was read of a table tells how much of its TOAST table is needed. */
static void
predict_toast_again(const SstReport *report, const SstReportEntry *table)
{
	SstReportEntry *toast = sst_report_entry(report, table->relation->toastrelid);

	if (toast != NULL && toast->measured != SST_SKIPPED &&
		sst_apply_toast_needs(&table->estimate, &toast->estimate))
		toast->estimate.note = NULL;
}

/* Keep what an attempt found.  What is known from an older sample stays. */
static void
store_result(Schedule *schedule, SstReportEntry *entry,
			 const Attempt *attempt)
{
	SstReport  *report = schedule->report;
	bool		was_to_be_whole = attempt->sampling.nblocks >= entry->estimate.nblocks;

	entry->settled = true;
	if (entry->table != NULL)
		entry->table_nread = entry->table->estimate.nread;
	entry->skipped = attempt->skipped;
	switch (attempt->skipped)
	{
		case SST_SKIP_NONE:
			store_estimate(report, entry, &attempt->estimate);
			entry->measured = entry->estimate.exact ? SST_EXACT : SST_SAMPLED;

			/* One that grows would never be read as a whole. */
			entry->settled = entry->estimate.exact || was_to_be_whole;
			predict_toast_again(report, entry);
			break;
		case SST_SKIP_LOCKED:
			if (entry->measured == SST_SKIPPED)
				schedule->nlocked++;
			break;
		case SST_SKIP_REFUSED:
			entry->note = MemoryContextStrdup(report->context, attempt->note);
			break;
		default:
			report->limited_by = report->left.bytes_left < BLCKSZ ?
				SST_REPORT_BUDGET : SST_REPORT_TIME;
			skip_entry(schedule, entry);
	}
}

/*
 * Read a sample of nblocks of a relation, if possible, and keep what it shows.
 * Nothing is locked before and after.  An error that is about the relation becomes its note;
 * other errors pass.
 */
static void
read_sample(Schedule *schedule, SstReportEntry *entry, BlockNumber nblocks)
{
	SstReport  *report = schedule->report;
	int64		bytes_left = report->left.bytes_left;
	Attempt		attempt = {
		.entry = entry,
		.sampling = {nblocks, report->limits.seed + entry->relation->relid, true,
		&report->left, &report->io_stats}
	};
	uint64		nread;
	instr_time	start;
	ErrorData  *error;
	MemoryContext oldcontext;

	report->left.reached = false;
	INSTR_TIME_SET_CURRENT(start);
	oldcontext = MemoryContextSwitchTo(schedule->scratch);
	error = sst_contain_errors(try_estimate, &attempt);
	MemoryContextSwitchTo(oldcontext);
	if (error != NULL)
	{
		/* Others wait for the snapshot, which other attempts would keep. */
		if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking())
			ReThrowError(error);
		attempt.skipped = SST_SKIP_REFUSED;
		attempt.note = error->message;
	}

	nread = (bytes_left - report->left.bytes_left) / BLCKSZ;
	entry->nread += nread;
	if (nread > 0)
		learn_cost(schedule, nread, sst_seconds_since(start));

	store_result(schedule, entry, &attempt);
	MemoryContextReset(schedule->scratch);
	if (schedule->between != NULL)
		schedule->between();
}

/* ----------
 * Reading ahead of first samples
 *
 * The stream of a small relation ends before it can look ahead, so each of
 * them would cost at least one round trip to the disk.  But the order of first
 * samples is known, and their blocks follow from the seed and the size.  So
 * this code gives read-ahead advice for the next relations, at most as far ahead as
 * the stream of one large relation looks, and each stream finds its blocks in
 * the page cache.  It locks nothing and opens one file at a time.
 *
 * For a sample that depends on the visibility map, only the map is advised.
 * Such a sample is large enough for its stream to look ahead.
 *
 * Advice goes no further than the limits let the report read.  Advised blocks
 * stay unread only if a relation was locked, dropped or changed in the
 * meantime, if the report is canceled or runs out of time, or if relations in
 * between, which are not advised, took the last blocks of the budget.
 * ----------
 */

/*
 * Catalogs are advised as a whole if they have at most so many blocks together, at
 * most this part of the budget, and no more than one slice of a limited rate.
 */
#define MAX_CATALOG_BLOCKS (64 * 1024 * 1024 / BLCKSZ)
#define CATALOG_PART 8

/* Blocks of a table that one block of its visibility map is for */
#define BLOCKS_PER_MAP_BLOCK \
	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * BITS_PER_BYTE / BITS_PER_HEAPBLOCK)

/* Advise of the first nblocks blocks of a fork. */
static int
advise_whole(SstReport *report, const SstRelation *relation,
			 ForkNumber forknum, BlockNumber nblocks)
{
	SstRangeSource range;

	return sst_advise_blocks(&relation->files, forknum,
							 sst_range_source_init(&range, NULL, 0, nblocks, NULL),
							 &report->io_stats);
}

/*
 * Advise of the blocks that the first sample of an entry reads, nsample of them, and of an
 * index's metapage.  Returns the number of runs.
 */
static int
advise_sample(SstReport *report, const SstReportEntry *entry,
			  BlockNumber nsample)
{
	const SstRelation *relation = entry->relation;
	bool		is_index = relation->relkind == RELKIND_INDEX;
	BlockNumber nblocks = entry->estimate.nblocks;
	BlockNumber map_blocks = nblocks / BLOCKS_PER_MAP_BLOCK + 1;
	SstSampleSource sample;
	int			nruns = -1;

	if (nsample >= nblocks)
		nruns = advise_whole(report, relation, MAIN_FORKNUM, nblocks);
	else if (!is_index && sst_sample_reads_map(nsample, map_blocks))
		nruns = advise_whole(report, relation, VISIBILITYMAP_FORKNUM, map_blocks);
	else if (is_index && (sst_index_am(relation->amoid)->flags & SST_AM_META) != 0)
		(void) advise_whole(report, relation, MAIN_FORKNUM, 1);
	if (nruns < 0 && nsample < nblocks)
		nruns = sst_advise_blocks(&relation->files, MAIN_FORKNUM,
								  sst_sample_source_init(&sample, nblocks, nsample,
														 report->limits.seed + relation->relid,
														 NULL, false),
								  &report->io_stats);
	return Max(nruns, 0);
}

/*
 * Advise of the catalogs that are looked up for each relation in no order that is
 * known, if they are small.  The others were read to list the relations.  They are not
 * counted, as reading catalogs is not.
 */
static void
advise_catalogs(SstReport *report)
{
	static const Oid oids[] = {
		AttributeRelationId, AttributeRelidNumIndexId, ClassOidIndexId,
		IndexRelidIndexId
	};
	SstRelation *catalogs[lengthof(oids)];
	int64		nblocks = 0;

	for (int i = 0; i < lengthof(oids); i++)
	{
		catalogs[i] = sst_find_relation(&report->relations, oids[i]);
		if (catalogs[i] == NULL)
			return;
		nblocks += Max(catalogs[i]->bytes, 0) / BLCKSZ;
	}
	if (nblocks > MAX_CATALOG_BLOCKS ||
		nblocks > report->limits.budget / BLCKSZ / CATALOG_PART ||
		nblocks > sst_rate_blocks(report->limits.max_rate))
		return;

	for (int i = 0; i < lengthof(oids); i++)
		(void) advise_whole(report, catalogs[i], MAIN_FORKNUM,
							Max(catalogs[i]->bytes, 0) / BLCKSZ);
}

/*
 * With direct I/O the page cache is not used, and nothing is advised; nor where the settings
 * turn look-ahead off.
 */
static void
begin_read_ahead(Schedule *schedule)
{
	int			depth = sst_io_depth(InvalidOid);

	if (sst_direct_io() || depth <= 1)
		return;

	schedule->max_advised = depth;
	advise_catalogs(schedule->report);
}

/* Will the entry be read, from files that can be advised? */
static bool
can_advise(const SstReportEntry *entry)
{
	const SstRelation *relation = entry->relation;

	return entry->skipped == SST_SKIP_NONE && relation->bytes >= 0 &&
		entry->estimate.nblocks > 0 &&
		relation->persistence != RELPERSISTENCE_TEMP &&
		sst_io_depth(relation->files.tablespace) > 1;
}

/*
 * Advise of the next relations, of half as much as may be ahead, and no more than the limits
 * leave besides what was advised before.  Returns their blocks.
 */
static uint64
advise_next(Schedule *schedule)
{
	SstReport  *report = schedule->report;
	int			max_advised = schedule->max_advised / 2;
	uint64		most = Min(schedule->max_advised * sst_run_blocks(),
						   sst_rate_blocks(report->limits.max_rate));
	int			end = Min(schedule->advised_end + max_advised, report->relations.n);
	uint64		nblocks = 0;

	for (int nruns = 0; schedule->advised_end < end && nruns < max_advised; schedule->advised_end++)
	{
		SstReportEntry *entry = schedule->order[schedule->advised_end].entry;
		BlockNumber nsample = first_sample_blocks(schedule, entry);
		uint64		ahead;

		/* A stream reads by slices what is more than one. */
		if (!can_advise(entry) || nsample > most)
			continue;
		ahead = schedule->advised_blocks + nblocks + nsample;
		if (ahead > most || (nblocks > 0 && nblocks + nsample > most / 2) ||
			!limits_leave(schedule, schedule->advised_end + 1 - schedule->advised_first, ahead))
			break;
		nruns += advise_sample(report, entry, nsample);
		nblocks += nsample;
	}
	return nblocks;
}

/*
 * Before the first sample of the entry at a place in the order is read, advise the kernel of
 * what comes next.  As the relations that were advised last begin to be read, so many follow.
 */
static void
read_ahead(Schedule *schedule, int place)
{
	if (schedule->max_advised == 0)
		return;

	if (place >= schedule->advised_end)
	{
		schedule->advised_first = schedule->advised_end = place;
		schedule->advised_blocks = 0;
	}
	while (place >= schedule->advised_first)
	{
		int			first = schedule->advised_end;
		uint64		nblocks = advise_next(schedule);

		if (schedule->advised_end == first)
			break;
		schedule->advised_first = first;
		schedule->advised_blocks = nblocks;
	}
}

/* ----------
 * The order in which a report first reads its relations
 * ----------
 */

/* The largest first; then by OID, as entries are */
static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->nblocks != right->nblocks)
		return left->nblocks < right->nblocks ? 1 : -1;
	return (left->entry > right->entry) - (left->entry < right->entry);
}

/*
 * The order in which entries are read.  A table stands before its indexes and its TOAST table,
 * as if it were larger.
 */
static Place *
reading_order(const SstReport *report)
{
	int			n = report->relations.n;
	Place	   *places = palloc_extended(sizeof(Place) * (n + 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
	{
		places[i].entry = &report->entries[i];
		places[i].nblocks = report->entries[i].estimate.nblocks;
	}
	for (int i = 0; i < n; i++)
	{
		uint64		nblocks = report->entries[i].estimate.nblocks;

		for (const SstReportEntry *on = report->entries[i].table; on != NULL; on = on->table)
		{
			Place	   *table = &places[on - report->entries];

			table->nblocks = Max(table->nblocks, ++nblocks);
		}
	}
	qsort(places, n, sizeof(Place), compare_places);

	return places;
}

/* ----------
 * The passes
 * ----------
 */

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
	entry->measured = SST_EXACT;
	entry->estimate.exact = true;
	entry->estimate.rebuilt_blocks = sst_exactly(0);
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
static void
read_first_sample(Schedule *schedule, SstReportEntry *entry)
{
	/* What has no file is opened, for the error. */
	uint64		wanted = entry->relation->bytes < 0 ? 1 :
		first_sample_blocks(schedule, entry);
	uint64		nblocks = allowed_blocks(schedule, 1, wanted, &schedule->report->limited_by);

	if (nblocks == 0)
		skip_entry(schedule, entry);
	else
		read_sample(schedule, entry, nblocks);
}

static void
read_first_samples(Schedule *schedule)
{
	int			n = schedule->report->relations.n;

	for (int place = 0; place < n; place++)
	{
		SstReportEntry *entry = schedule->order[place].entry;
		double		seconds_each = schedule->relation_cost +
			schedule->first_blocks * schedule->block_cost;

		CHECK_FOR_INTERRUPTS();
		sst_progress_relations(place);
		if (entry->skipped == SST_SKIP_REFUSED)
			entry->settled = true;
		else if (entry->estimate.nblocks == 0 && entry->relation->bytes >= 0)
			take_as_empty(entry);
		else
		{
			/* Rather a small sample of all than none of some */
			if ((n - place) * seconds_each > sst_seconds_left(&schedule->report->left) / 2)
				schedule->first_blocks = MIN_FIRST_BLOCKS;
			read_ahead(schedule, place);
			read_first_sample(schedule, entry);
		}
	}
	sst_progress_relations(n);
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

/* By how many bytes the ends of the interval of reclaimable bytes differ */
static double
gain_width(const SstReportEntry *entry)
{
	SstEstimate reclaimable = sst_reclaimable_bytes(&entry->estimate);

	return isnan(reclaimable.value) ? 0 : reclaimable.high - reclaimable.low;
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
is_candidate(const Schedule *schedule, SstReportEntry *entry,
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
fill_queue(Schedule *schedule)
{
	int			n = schedule->report->relations.n;

	binaryheap_reset(schedule->queue);
	for (int i = 0; i < n; i++)
	{
		if (is_candidate(schedule, schedule->order[i].entry, &schedule->candidates[i]))
			binaryheap_add_unordered(schedule->queue,
									 PointerGetDatum(&schedule->candidates[i]));
	}
	binaryheap_build(schedule->queue);

	return !binaryheap_empty(schedule->queue);
}

/*
 * Read a larger sample of a candidate, if the limits allow it, and queue it again if that was
 * not enough.
 */
static void
read_candidate(Schedule *schedule, Candidate *candidate)
{
	SstReportEntry *entry = candidate->entry;
	double		before = candidate->gain_width;
	SstReportEntry *source = before > 0 ? entry_to_enlarge(entry) : entry;
	bool		stale = is_stale(entry, schedule->report->limits.margin);
	uint64		nread = source->estimate.nread;
	uint64		wanted = stale ? nread :
		sst_larger_sample(source->estimate.nblocks, nread, candidate->growth);
	uint64		nblocks = allowed_blocks(schedule, 1, wanted, &schedule->report->limited_by);

	if (nblocks < wanted && (stale || nblocks < nread * SST_MIN_GROWTH))
	{
		entry->settled = entry->gain_settled = true;
		if (stale)
			entry->table_nread = entry->table->estimate.nread;
		return;
	}
	read_sample(schedule, source, nblocks);

	/* What is uncertain is the model, if more blocks do not help. */
	if (before > 0 && gain_width(entry) > 0.9 * before)
		entry->gain_settled = true;
	if (is_candidate(schedule, entry, candidate))
		binaryheap_add(schedule->queue, PointerGetDatum(candidate));
}

/*
 * By which factor a sample grows at most.  With a margin of 0 all is read in the end, so
 * steps would only read blocks again, unless the limits leave less than that.
 */
static double
growth_limit(const Schedule *schedule)
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

	return limits_leave(schedule, nrelations, nblocks) ? INFINITY : GROWTH;
}

/*
 * Where bytes are uncertain.  A queue that is empty is filled once more: what was read of a
 * table can make its indexes candidates.
 */
static void
read_larger_samples(Schedule *schedule)
{
	schedule->growth = growth_limit(schedule);
	while (fill_queue(schedule))
	{
		while (!binaryheap_empty(schedule->queue))
		{
			Datum		first = binaryheap_remove_first(schedule->queue);

			CHECK_FOR_INTERRUPTS();
			read_candidate(schedule, (Candidate *) DatumGetPointer(first));
		}
	}
}

/* Once more, those that were locked by others */
static void
read_locked(Schedule *schedule)
{
	for (int i = 0; i < schedule->report->relations.n && schedule->nlocked > 0; i++)
	{
		SstReportEntry *entry = schedule->order[i].entry;

		CHECK_FOR_INTERRUPTS();
		if (entry->skipped == SST_SKIP_LOCKED &&
			entry->measured == SST_SKIPPED)
		{
			schedule->nlocked--;
			read_first_sample(schedule, entry);
		}
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

/* Set up what all passes need, in the current memory context. */
static void
begin_schedule(Schedule *schedule, SstReport *report, void (*between) (void))
{
	int			n = report->relations.n;
	int			nonempty = 0;
	int64		nblocks = 0;
	int64		first_blocks;

	memset(schedule, 0, sizeof(Schedule));
	schedule->report = report;
	schedule->between = between;
	schedule->scratch = AllocSetContextCreate(CurrentMemoryContext, "streamstat attempt",
											  ALLOCSET_DEFAULT_SIZES);
	schedule->order = reading_order(report);
	schedule->relation_cost = RELATION_COST;
	schedule->block_cost = BLOCK_COST;
	schedule->candidates = palloc_extended(sizeof(Candidate) * (n + 1), MCXT_ALLOC_HUGE);
	schedule->queue = binaryheap_allocate(n + 1, compare_candidates, NULL);
	for (int i = 0; i < n; i++)
	{
		nblocks += report->entries[i].estimate.nblocks;
		if (report->entries[i].estimate.nblocks > 0)
			nonempty++;
	}
	first_blocks = report->limits.budget / BLCKSZ / 4 / Max(nonempty, 1);
	schedule->narrow = (double) nblocks * BLCKSZ * NARROW;
	schedule->first_blocks = Min(Max(first_blocks, MIN_FIRST_BLOCKS), MAX_FIRST_BLOCKS);
	sst_progress_totals(n, Min(report->limits.budget, nblocks * BLCKSZ));
	begin_read_ahead(schedule);
}

/*
 * Read the relations of a report.  "between", if there is one, is called before the first and
 * after each of them, when nothing is locked, and may end the transaction.  After an error,
 * entries keep what was found before.
 */
void
sst_read_report(SstReport *report, void (*between) (void))
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "streamstat schedule",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	Schedule	schedule;

	begin_schedule(&schedule, report, between);
	report->ended_by = SST_REPORT_CANCELED;
	report->limited_by = SST_REPORT_COMPLETE;
	sst_progress_phase(SST_PHASE_FIRST_SAMPLES);
	if (between != NULL)
		between();
	read_first_samples(&schedule);
	sst_progress_phase(SST_PHASE_MEASURING);
	read_larger_samples(&schedule);
	sst_progress_phase(SST_PHASE_FINISHING);
	read_locked(&schedule);

	/* A limit that only kept blocks from being read twice has ended nothing. */
	report->ended_by = all_was_read(report) ? SST_REPORT_COMPLETE : report->limited_by;
	report->elapsed_ms = sst_seconds_since(report->start) * 1000;
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}
