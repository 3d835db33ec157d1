/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Reading samples of a report's relations within its limits
 *
 * Before a sample is read, it is limited to the remaining bytes and time.  The
 * scan has the same limits.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "compat/compat.h"
#include "report/bloat.h"
#include "report/bloat_estimate.h"
#include "report/reader.h"
#include "report/toast_estimate.h"
#include "run/blocking.h"
#include "run/subtransaction.h"

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

typedef enum SstTryOutcome
{
	SST_TRY_ESTIMATED,
	SST_TRY_LOCKED,				/* by another session: nothing was done */
	SST_TRY_LIMITED,			/* a limit ended the scan */
	SST_TRY_REFUSED				/* the note says why */
} SstTryOutcome;

/* An attempt to estimate the bloat of a relation */
typedef struct SstEstimateTry
{
	/* Given; sampling.limits is set by the call */
	Oid			relid;
	SstIndexTable table;		/* of an index or a TOAST table, not locked;
								 * or InvalidOid */
	bool		is_toast;		/* it can do without that */
	SstSampling sampling;
	SstLimits	limits;

	/* Found */
	SstTryOutcome outcome;
	const char *note;			/* for people, translated */
	SstBloatEstimate estimate;
} SstEstimateTry;

/*
 * Lock the table of an index, or that of a TOAST table, without waiting.  A TOAST
 * table can do without; then it is as if it had none.  False if an index's is locked.
 */
static bool
lock_table(SstEstimateTry *attempt)
{
	if (!OidIsValid(attempt->table.relid) ||
		ConditionalLockRelationOid(attempt->table.relid, AccessShareLock))
		return true;

	if (attempt->is_toast)
		attempt->table.relid = InvalidOid;
	return attempt->is_toast;
}

/*
 * Lock and open a relation, an index or a TOAST table after its table, without
 * waiting.  Returns NULL and sets the outcome if that is not possible; then no lock is
 * held.
 */
static Relation
open_unless_locked(SstEstimateTry *attempt)
{
	Relation	rel;
	bool		missing;

	attempt->outcome = SST_TRY_LOCKED;
	if (!lock_table(attempt))
		return NULL;

	rel = sst_target_try_lock(attempt->relid, attempt->is_toast ?
							  InvalidOid : attempt->table.relid, &missing);
	if (missing)
	{
		attempt->outcome = SST_TRY_REFUSED;
		attempt->note = _("dropped meanwhile");
	}
	if (rel == NULL && OidIsValid(attempt->table.relid))
		UnlockRelationOid(attempt->table.relid, AccessShareLock);

	return rel;
}

static void
try_estimate(void *arg)
{
	SstEstimateTry *attempt = arg;
	Relation	rel = open_unless_locked(attempt);
	const SstIndexTable *table = &attempt->table;
	SstTarget	target;

	if (rel == NULL)
		return;

	sst_target_examine(&target, rel);
	if (!sst_target_is_readable(&target))
	{
		attempt->outcome = SST_TRY_REFUSED;
		attempt->note = target.note;
	}
	else if (sst_estimate_bloat(&target, OidIsValid(table->relid) ||
								attempt->is_toast ? table : NULL,
								&attempt->sampling, &attempt->estimate))
		attempt->outcome = SST_TRY_ESTIMATED;
	else
		attempt->outcome = SST_TRY_LIMITED;
	sst_target_close(&target);
	if (OidIsValid(table->relid))
		UnlockRelationOid(table->relid, AccessShareLock);
}

/*
 * Make the attempt, with memory from the given context.  Afterwards no lock is
 * held.  An error that is about the relation becomes the note, in that context;
 * other errors pass.
 */
static void
sst_try_estimate(SstEstimateTry *attempt, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	ErrorData  *error;

	attempt->sampling.limits = &attempt->limits;
	error = sst_contain_errors(try_estimate, attempt);
	MemoryContextSwitchTo(oldcontext);

	if (error == NULL)
		return;
	/* Others wait for a lock that this attempt did not take. */
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking())
		ReThrowError(error);

	attempt->outcome = SST_TRY_REFUSED;
	attempt->note = error->message;
}

/* ----------
 * Samples
 * ----------
 */

/* Seconds that a relation and a block are expected to take before any was read */
#define RELATION_COST 0.001
#define BLOCK_COST 0.00005

/* Begin to read a report's relations, with memory in a context that outlives it. */
void
sst_reader_init(SstReportReader *reader, SstReport *report,
				MemoryContext context)
{
	memset(reader, 0, sizeof(SstReportReader));
	reader->report = report;
	reader->scratch = AllocSetContextCreate(context, "streamstat attempt",
											ALLOCSET_DEFAULT_SIZES);
	reader->deadline = sst_time_after(report->start,
									  report->limits.max_seconds);
	reader->relation_cost = RELATION_COST;
	reader->block_cost = BLOCK_COST;
}

/*
 * Learn what relations and blocks take.  The difference between the time that was
 * expected and the time that it took is divided in proportion.
 */
static void
learn_cost(SstReportReader *reader, uint64 nblocks, double seconds)
{
	double		blocks = nblocks * reader->block_cost;
	double		expected = reader->relation_cost + blocks;
	double		off = 0.3 * Min(Max(seconds / expected, 0.1), 10) - 0.3;

	reader->relation_cost *= 1 + off * reader->relation_cost / expected;
	reader->block_cost *= 1 + off * blocks / expected;
}

/* A limit kept something from being read.  The first one ended the report. */
static void
report_cut(SstReportReader *reader, SstReportEnd limit)
{
	reader->cut_by = limit;
	if (reader->report->limited_by == SST_REPORT_COMPLETE)
		reader->report->limited_by = limit;
}

/* Read no more of a relation, as the limits do not leave the blocks for it. */
void
sst_reader_skip(SstReportReader *reader, SstReportEntry *entry)
{
	entry->settled = true;
	entry->skipped = reader->cut_by == SST_REPORT_BUDGET ? SST_SKIP_BUDGET :
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
	const SstRelation *relation = sst_reported_relation(report, table);
	SstReportEntry *toast = sst_report_entry(report, relation->toastrelid);

	if (toast != NULL && toast->measured != SST_SKIPPED &&
		sst_apply_toast_needs(&table->estimate, &toast->estimate))
		toast->estimate.note = NULL;
}

/* Keep what an attempt found.  What is known from an older sample stays. */
static void
store_result(SstReportReader *reader, SstReportEntry *entry,
			 const SstEstimateTry *attempt)
{
	SstReport  *report = reader->report;

	entry->settled = true;
	switch (attempt->outcome)
	{
		case SST_TRY_ESTIMATED:
			store_estimate(report, entry, &attempt->estimate);
			entry->measured = entry->estimate.exact ? SST_EXACT : SST_SAMPLED;
			entry->skipped = SST_SKIP_NONE;
			entry->settled = entry->estimate.exact;
			if (entry->table != NULL)
				entry->table_nread = entry->table->estimate.nread;
			predict_toast_again(report, entry);
			break;
		case SST_TRY_LOCKED:
			entry->skipped = SST_SKIP_LOCKED;
			if (entry->measured == SST_SKIPPED)
				reader->nlocked++;
			break;
		case SST_TRY_REFUSED:
			entry->skipped = SST_SKIP_REFUSED;
			entry->note = MemoryContextStrdup(report->context, attempt->note);
			break;
		case SST_TRY_LIMITED:
			report_cut(reader, report->limits.budget - report->bytes_read < BLCKSZ ?
					   SST_REPORT_BUDGET : SST_REPORT_TIME);
			sst_reader_skip(reader, entry);
			break;
	}
}

/*
 * Read a sample of nblocks of a relation, if possible, and keep what it shows.
 * Nothing is locked before and after.
 */
void
sst_reader_read(SstReportReader *reader, SstReportEntry *entry, BlockNumber nblocks)
{
	SstReport  *report = reader->report;
	SstEstimateTry *attempt = MemoryContextAllocZero(reader->scratch,
													 sizeof(SstEstimateTry));
	int64		bytes_left = Max(report->limits.budget - report->bytes_read, 0);
	uint64		nread;
	instr_time	start;

	attempt->relid = entry->relid;
	attempt->table.estimate = entry->table ? &entry->table->estimate : NULL;
	attempt->is_toast =
		sst_reported_relation(report, entry)->relkind == RELKIND_TOASTVALUE;

	/* What a table needs of its TOAST table may be known without reading it. */
	if (!attempt->is_toast || entry->table == NULL ||
		!sst_knows_toast_needs(&entry->table->estimate))
		attempt->table.relid = entry->tableoid;
	attempt->sampling.nblocks = nblocks;
	attempt->sampling.seed = report->limits.seed + entry->relid;
	attempt->sampling.io_stats = &report->io_stats;
	attempt->limits.deadline = reader->deadline;
	attempt->limits.bytes_left = bytes_left;
	attempt->limits.max_rate = report->limits.max_rate;

	INSTR_TIME_SET_CURRENT(start);
	sst_try_estimate(attempt, reader->scratch);

	/* After an error, only the limits may know what was read. */
	nread = Max(attempt->estimate.nread,
				(bytes_left - attempt->limits.bytes_left) / BLCKSZ);
	entry->nread += nread;
	report->bytes_read += nread * BLCKSZ;
	if (nread > 0)
		learn_cost(reader, nread, sst_seconds_since(start));

	store_result(reader, entry, attempt);
	MemoryContextReset(reader->scratch);
}

double
sst_reader_seconds_left(const SstReportReader *reader)
{
	return reader->report->limits.max_seconds -
		sst_seconds_since(reader->report->start);
}

/* Blocks that are held back for the relations that were locked */
static uint64
reserved_blocks(const SstReportReader *reader)
{
	return reader->nlocked * reader->blocks_each;
}

/* Blocks that the budget leaves besides those; can be negative */
static int64
blocks_left(const SstReportReader *reader)
{
	const SstReport *report = reader->report;

	return (report->limits.budget - report->bytes_read) / BLCKSZ -
		(int64) reserved_blocks(reader);
}

/* Seconds that are left for blocks of so many relations, less the blocks held back */
static double
seconds_for_blocks(const SstReportReader *reader, int nrelations)
{
	return sst_reader_seconds_left(reader) - nrelations * reader->relation_cost -
		reserved_blocks(reader) * reader->block_cost;
}

/* Seconds that a block takes, also at the rate that is allowed */
static double
seconds_per_block(const SstReportReader *reader)
{
	int64		max_rate = reader->report->limits.max_rate;

	return max_rate > 0 ? Max(reader->block_cost, (double) BLCKSZ / max_rate) :
		reader->block_cost;
}

/*
 * How many of the wanted blocks the limits allow, when blocks for the relations that
 * were locked are held back
 */
uint64
sst_reader_allowed(SstReportReader *reader, uint64 wanted)
{
	int64		left = blocks_left(reader);
	double		seconds = seconds_for_blocks(reader, 1);
	double		block = seconds_per_block(reader);

	if (left < (int64) wanted)
	{
		report_cut(reader, SST_REPORT_BUDGET);
		wanted = Max(left, 0);
	}
	if (seconds < wanted * block)
	{
		report_cut(reader, SST_REPORT_TIME);
		wanted = seconds <= 0 ? 0 : (uint64) (seconds / block);
	}

	return wanted;
}

/* Do the limits leave so many blocks, of so many relations, without a cut? */
bool
sst_reader_leaves(const SstReportReader *reader, int nrelations, uint64 nblocks)
{
	return blocks_left(reader) >= (int64) nblocks &&
		seconds_for_blocks(reader, nrelations) >= nblocks * seconds_per_block(reader);
}
