/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Reading samples of a report's relations within its limits, and ahead of them
 *
 * Before a sample is read, it is limited to the remaining bytes and time.  The
 * scan has the same limits.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "compat/compat.h"
#include "report/reader.h"
#include "run/call.h"
#include "stream/stream.h"

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
typedef struct SstEstimateTry
{
	/* Given */
	Oid			relid;
	SstIndexTable table;		/* of an index or a TOAST table, not locked;
								 * or InvalidOid */
	bool		is_toast;		/* it can do without that */
	SstSampling sampling;
	SstLimits	limits;

	/* Found */
	SstSkipReason skipped;		/* SST_SKIP_TIME: a limit ended the scan */
	const char *note;			/* for people, translated */
	SstBloatEstimate estimate;
} SstEstimateTry;

static void
try_estimate(void *arg)
{
	SstEstimateTry *attempt = arg;
	SstIndexTable *table = &attempt->table;
	SstTarget	target;

	/*
	 * If another session has locked its table, a TOAST table is read as if it
	 * had none.
	 */
	if (attempt->is_toast && OidIsValid(table->relid) &&
		!ConditionalLockRelationOid(table->relid, AccessShareLock))
		table->relid = InvalidOid;
	sst_target_try_lock(&target, attempt->relid, attempt->is_toast ? InvalidOid : table->relid);
	if (attempt->is_toast)
		target.tableoid = table->relid;
	if (sst_target_is_readable(&target))
		attempt->skipped = sst_estimate_bloat(&target, table, &attempt->sampling,
											  &attempt->estimate) ?
			SST_SKIP_NONE : SST_SKIP_TIME;
	else
		attempt->skipped = target.state == SST_TARGET_LOCKED ? SST_SKIP_LOCKED : SST_SKIP_REFUSED;
	attempt->note = target.state == SST_TARGET_MISSING ? _("dropped meanwhile") : target.note;
	sst_target_close(&target);
}

/* ----------
 * Samples
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
learn_cost(SstReportReader *reader, uint64 nblocks, double seconds)
{
	double		blocks = nblocks * reader->block_cost;
	double		expected = reader->relation_cost + blocks;
	double		off = 0.3 * Min(Max(seconds / expected, 0.1), 10) - 0.3;

	reader->relation_cost *= 1 + off * reader->relation_cost / expected;
	reader->block_cost *= 1 + off * blocks / expected;
}

/* Read no more of a relation, as the limits do not leave the blocks for it. */
void
sst_reader_skip(SstReportReader *reader, SstReportEntry *entry)
{
	entry->settled = true;
	entry->skipped = reader->report->limited_by == SST_REPORT_BUDGET ? SST_SKIP_BUDGET :
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
store_result(SstReportReader *reader, SstReportEntry *entry,
			 const SstEstimateTry *attempt)
{
	SstReport  *report = reader->report;
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
				reader->nlocked++;
			break;
		case SST_SKIP_REFUSED:
			entry->note = MemoryContextStrdup(report->context, attempt->note);
			break;
		default:
			report->limited_by = report->limits.budget - report->bytes_read < BLCKSZ ?
				SST_REPORT_BUDGET : SST_REPORT_TIME;
			sst_reader_skip(reader, entry);
	}
}

/*
 * Read a sample of nblocks of a relation, if possible, and keep what it shows.
 * Nothing is locked before and after.  An error that is about the relation becomes its note;
 * other errors pass.
 */
void
sst_reader_read(SstReportReader *reader, SstReportEntry *entry, BlockNumber nblocks)
{
	SstReport  *report = reader->report;
	const SstRelation *relation = entry->relation;
	SstEstimateTry *attempt = MemoryContextAllocZero(reader->scratch,
													 sizeof(SstEstimateTry));
	int64		bytes_left = Max(report->limits.budget - report->bytes_read, 0);
	uint64		nread;
	instr_time	start;
	ErrorData  *error;
	MemoryContext oldcontext;

	attempt->relid = relation->relid;
	attempt->table.estimate = entry->table ? &entry->table->estimate : NULL;
	attempt->is_toast = relation->relkind == RELKIND_TOASTVALUE;

	/* What a table needs of its TOAST table may be known without reading it. */
	if (relation->relkind == RELKIND_INDEX ||
		(attempt->is_toast &&
		 (entry->table == NULL || sst_toast_needs(&entry->table->estimate) == NULL)))
		attempt->table.relid = relation->parent;
	attempt->sampling.nblocks = nblocks;
	attempt->sampling.seed = report->limits.seed + relation->relid;
	attempt->sampling.io_stats = &report->io_stats;
	attempt->sampling.limits = &attempt->limits;
	attempt->limits.deadline = reader->deadline;
	attempt->limits.bytes_left = bytes_left;
	attempt->limits.max_rate = report->limits.max_rate;

	INSTR_TIME_SET_CURRENT(start);
	oldcontext = MemoryContextSwitchTo(reader->scratch);
	error = sst_contain_errors(try_estimate, attempt);
	MemoryContextSwitchTo(oldcontext);
	if (error != NULL)
	{
		/* Others wait for the snapshot, which other attempts would keep. */
		if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking())
			ReThrowError(error);
		attempt->skipped = SST_SKIP_REFUSED;
		attempt->note = error->message;
	}

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
	return reader->nlocked * reader->first_blocks;
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
		reader->report->limited_by = SST_REPORT_BUDGET;
		wanted = Max(left, 0);
	}
	if (seconds < wanted * block)
	{
		reader->report->limited_by = SST_REPORT_TIME;
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
 * Begin to read a report's relations, first samples in the given order, with memory in the
 * current context.  With direct I/O the page cache is not used, and nothing is advised; nor
 * where the settings turn look-ahead off.
 */
void
sst_reader_init(SstReportReader *reader, SstReport *report, SstReportEntry **order)
{
	int			depth = sst_io_depth(InvalidOid);

	memset(reader, 0, sizeof(SstReportReader));
	reader->report = report;
	reader->scratch = AllocSetContextCreate(CurrentMemoryContext, "streamstat attempt",
											ALLOCSET_DEFAULT_SIZES);
	reader->deadline = sst_time_after(report->start,
									  report->limits.max_seconds);
	reader->relation_cost = RELATION_COST;
	reader->block_cost = BLOCK_COST;
	reader->order = order;
	if (sst_direct_io() || depth <= 1)
		return;

	reader->max_advised = depth;
	advise_catalogs(report);
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
advise_next(SstReportReader *reader)
{
	SstReport  *report = reader->report;
	int			max_advised = reader->max_advised / 2;
	uint64		most = Min(reader->max_advised * sst_run_blocks(),
						   sst_rate_blocks(report->limits.max_rate));
	int			end = Min(reader->advised_end + max_advised, report->relations.n);
	uint64		nblocks = 0;

	for (int nruns = 0; reader->advised_end < end && nruns < max_advised; reader->advised_end++)
	{
		SstReportEntry *entry = reader->order[reader->advised_end];
		BlockNumber nsample = sst_first_sample_blocks(entry, reader->first_blocks);
		uint64		ahead;

		/* A stream reads by slices what is more than one. */
		if (!can_advise(entry) || nsample > most)
			continue;
		ahead = reader->advised_blocks + nblocks + nsample;
		if (ahead > most || (nblocks > 0 && nblocks + nsample > most / 2) ||
			!sst_reader_leaves(reader, reader->advised_end + 1 - reader->advised_first, ahead))
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
void
sst_read_ahead(SstReportReader *reader, int place)
{
	if (reader->max_advised == 0)
		return;

	if (place >= reader->advised_end)
	{
		reader->advised_first = reader->advised_end = place;
		reader->advised_blocks = 0;
	}
	while (place >= reader->advised_first)
	{
		int			first = reader->advised_end;
		uint64		nblocks = advise_next(reader);

		if (reader->advised_end == first)
			break;
		reader->advised_first = first;
		reader->advised_blocks = nblocks;
	}
}
