/*-------------------------------------------------------------------------
 *
 * command_plan.c
 *	  The commands that a report advises, one for all that it rebuilds
 *
 * A table is planned with its indexes and its TOAST table.  If the table or
 * its TOAST table has enough reclaimable space, one command rebuilds all of
 * them, with their total gain.  Otherwise each index with enough reclaimable
 * space is rebuilt alone, which leaves the table usable.
 *
 * In an online plan, a command that would block readers or writers of the table
 * does not take its indexes along: these are rebuilt first, and the command
 * follows at the end, with what it gives back besides.
 *
 * A command is advised only if it is certain to reclaim space.  It is withheld
 * if the space would be needed again, or if something else must be done first.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "am/am.h"
#include "am/rebuild.h"
#include "report/plan.h"

/* Set what a command gives back, and the space that new files take meanwhile. */
static void
set_gain(SstPlannedCommand *planned, const SstGain *gain)
{
	planned->nrelations = gain->nrelations;
	planned->bytes = gain->bytes;
	planned->reclaimable.value = Max(gain->reclaimable.value, 0);
	planned->reclaimable.low = Max(gain->reclaimable.low, 0);
	planned->reclaimable.high = Max(gain->reclaimable.high, 0);
	planned->scratch_bytes = planned->bytes_to_write = gain->predicted;
}

/* ----------
 * The input for the plan of commands
 * ----------
 */

/* A table, and what is to be known of it for a decision */
typedef struct SstTableGroup
{
	SstAdvice  *table;
	SstAdvice  *toast;			/* or NULL */
	SstGain		all;
	SstGain		heap;
	SstGain		toasted;		/* with its index */
	double		removable;		/* bytes of dead rows that VACUUM removes */
	double		kept;			/* ... and that it must keep */
	SstEstimate truncated;		/* bytes at the end that VACUUM gives back */
	double		extended;		/* bytes that the next rows will fill */
} SstTableGroup;

static inline bool
is_table(const SstReportEntry *entry)
{
	return entry->relation->relkind != RELKIND_INDEX;
}

static inline bool
has_corrupt_pages(const SstReportEntry *entry)
{
	return entry->estimate.ncorrupt > 0;
}

/*
 * Add a command, in the row of a relation; the report shows the first one there.
 * The caller fills in the rest.
 */
static SstPlannedCommand *
add_command(SstCommandPlan *plan, SstAdvice *advice, SstUrgency urgency)
{
	SstPlannedCommand *planned = palloc0(sizeof(SstPlannedCommand));

	planned->entry = advice->entry;
	planned->urgency = urgency;
	planned->nrelations = 1;
	planned->bytes = sst_entry_bytes(advice->entry);
	plan->commands = lappend(plan->commands, planned);
	if (advice->command == NULL)
		advice->command = planned;

	return planned;
}

/* ----------
 * Reasons, in words that are translated
 * ----------
 */

/* Why a relation that would become smaller has no command; it is compared, too */
static const char space_reused[] =
gettext_noop("no command: new rows and new versions of rows reuse the free space");

/* Of a command that runs ANALYZE */
static const char analyze_reason[] =
gettext_noop("REINDEX sizes a hash index by the table's row count, which is not up to date: run REINDEX after this");

/* As pg_size_pretty() has it */
static const char *
size_pretty(double bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum((int64) bytes)));
}

/* Add to the reason for a command, unless it is NULL. */
static void
add_reason(SstPlannedCommand *planned, const char *reason)
{
	if (reason != NULL)
		planned->reason = psprintf("%s; %s", planned->reason, reason);
}

/* Add what the command does to others before it has its lock. */
static void
add_queue_reason(SstPlannedCommand *planned)
{
	if (planned->command.blocks)
		add_reason(planned, _("while it waits for its lock, later statements on the table wait behind it"));
}

/* Add that a large part of a table is dead rows that the command must keep. */
static void
add_kept_reason(SstPlannedCommand *planned, double kept, const char *holder)
{
	add_reason(planned, psprintf(_("another %s of dead rows cannot be removed yet because of %s"),
								 size_pretty(kept), holder));
}

static const char *
corrupt_pages(const SstBloatEstimate *estimate)
{
	return psprintf(ngettext("%u corrupt page was read, block %u",
							 "%u corrupt pages were read, the first is block %u",
							 estimate->ncorrupt),
					estimate->ncorrupt, estimate->first_corrupt);
}

/* Why a table that a rebuild cannot repair has no command */
static const char *
corrupt_reason(const SstRelation *table, const SstBloatEstimate *estimate)
{
	const char *name = quote_literal_cstr(quote_qualified_identifier(table->schema,
																	 table->name));

	if (table->relkind == RELKIND_MATVIEW)
		return psprintf(_("%s: see streamstat.corrupt_blocks(%s); REFRESH MATERIALIZED VIEW makes it anew"),
						corrupt_pages(estimate), name);
	return psprintf(_("%s: see streamstat.corrupt_blocks(%s); restore the table from a backup; amcheck's verify_heapam and pg_surgery find and remove damaged rows, but only on pages whose header and checksum are right"),
					corrupt_pages(estimate), name);
}

/* ----------
 * Is a command worth it?
 * ----------
 */

/*
 * A command is worth running from here on: so much of what it rebuilds, or so many
 * bytes and less of it
 */
#define WORTH_PERCENT 10
#define WORTH_BYTES (10.0 * 1024 * 1024)
#define WORTH_PERCENT_OF_MANY 5

/* ... but never for less than this */
#define MIN_BYTES (64.0 * 1024)

/* Catalogs below this size grow again soon, and rebuilding them blocks everybody. */
#define MIN_CATALOG_BYTES (10.0 * 1024 * 1024)

/* Is it worth a command to get so much back of so many bytes? */
static bool
is_worth_it(double gain, double bytes)
{
	double		percent = bytes > 0 ? 100 * gain / bytes : 0;

	return gain >= MIN_BYTES &&
		(percent >= WORTH_PERCENT ||
		 (gain >= WORTH_BYTES && percent >= WORTH_PERCENT_OF_MANY));
}

/* Are these bytes of dead rows worth a word, and no command? */
static bool
is_few_dead(double dead, double bytes)
{
	return dead >= MIN_BYTES && dead * 100 >= WORTH_PERCENT_OF_MANY * bytes &&
		!is_worth_it(dead, bytes);
}

static bool
is_small_catalog(const SstRelation *relation, double bytes)
{
	return relation->relid < FirstNormalObjectId && bytes < MIN_CATALOG_BYTES;
}

/* ----------
 * What a decision on a table needs
 * ----------
 */

static void
add_dead_rows(const SstReportEntry *entry, SstTableGroup *group)
{
	const SstBloatEstimate *estimate = &entry->estimate;
	double		percent = sst_entry_bytes(entry) / 100;

	sst_add_estimate(&group->truncated, sst_truncated_bytes(estimate));
	group->extended += (double) estimate->nextended * BLCKSZ;
	if (!(estimate->dead_percent.value > 0))
		return;
	group->kept += percent * estimate->recently_dead_percent;
	if (estimate->dead_percent.low > 0)
		group->removable += percent * Max(estimate->dead_percent.value -
										  estimate->recently_dead_percent, 0);
}

static const SstHolders *
holders(SstCommandPlan *plan)
{
	if (plan->holders == NULL)
		plan->holders = sst_find_holders();
	return plan->holders;
}

/* What keeps the dead rows of a table, in words; NULL if nothing does now */
static const char *
holder_of(SstCommandPlan *plan, const SstTableGroup *group)
{
	return sst_oldest_holder(holders(plan), group->table->entry->relation,
							 plan->report->next_xid);
}

/* Find out what a decision on a table needs. */
static void
examine_table(SstAdvice *table, SstTableGroup *group)
{
	memset(group, 0, sizeof(SstTableGroup));
	group->table = table;
	for (SstAdvice *member = table; member != NULL; member = member->next)
	{
		const SstReportEntry *entry = member->entry;

		sst_add_gain(entry, &group->all);
		if (is_table(entry))
			add_dead_rows(entry, group);
		if (entry->relation->relkind == RELKIND_TOASTVALUE)
			group->toast = member;
		if (member == table)
			sst_add_gain(entry, &group->heap);
		else if (is_table(entry) || entry->table != table->entry)
			sst_add_gain_with_table(entry, false, &group->toasted);
	}
}

/* ----------
 * Planning VACUUM and ANALYZE of a table
 *
 * VACUUM turns dead rows into free space, and gives back only pages without rows at
 * the end of the file.  It is useless while a transaction keeps the rows: then the plan
 * names the transaction.
 * ----------
 */

/* Blocks that ANALYZE reads, and rows that it takes, for each unit of default_statistics_target */
#define ANALYZE_BLOCKS 300

static void
plan_analyze(SstCommandPlan *plan, const SstTableGroup *group)
{
	const SstReportEntry *table = group->table->entry;
	SstPlannedCommand *planned = add_command(plan, group->table, SST_ORDINARY);

	planned->command = sst_upkeep_command("ANALYZE", table->relation);
	planned->bytes_to_read = Min(planned->bytes, (double) ANALYZE_BLOCKS *
								 default_statistics_target * BLCKSZ);
	sst_add_analyze_work(table, planned->bytes_to_read,
						 (double) ANALYZE_BLOCKS * default_statistics_target, &planned->work);
	planned->reason = _(analyze_reason);
}

/* VACUUM may read the table, its TOAST table and their indexes. */
static void
set_vacuum_costs(const SstTableGroup *group, SstPlannedCommand *planned)
{
	planned->nrelations = 0;
	planned->bytes = 0;
	for (SstAdvice *member = group->table; member != NULL; member = member->next)
	{
		planned->nrelations++;
		planned->bytes += sst_entry_bytes(member->entry);
		sst_add_vacuum_work(member->entry, group->removable + group->kept > 0, &planned->work);
	}
	planned->bytes_to_read = planned->bytes;
	planned->bytes_to_write = NAN;
}

/*
 * Plan what makes free space of a table's dead rows, or say what keeps them.  Rows
 * that were kept when the table was read can be removed if nothing keeps them now.
 * analyze: the statistics of the table are to be renewed in any case.
 */
static void
plan_vacuum(SstCommandPlan *plan, const SstTableGroup *group, bool analyze)
{
	const SstRelation *table = group->table->entry->relation;
	double		bytes = group->heap.bytes + group->toasted.bytes;
	double		removable = group->removable;
	double		kept = group->kept;
	const char **withheld = &group->table->withheld;
	bool		truncates = *withheld != space_reused &&
		is_worth_it(group->truncated.value, bytes);
	const char *holder = NULL;
	SstPlannedCommand *planned;

	if (is_few_dead(removable + kept, bytes) && !truncates && *withheld == NULL &&
		!is_small_catalog(table, bytes) &&
		sst_last_vacuum(table->relid) < plan->report->started)
		*withheld = gettext_noop("no command: dead rows take less than 10 percent of the table");
	if (is_small_catalog(table, bytes) ||
		(!is_worth_it(removable + kept, bytes) && !truncates) ||
		sst_last_vacuum(table->relid) >= plan->report->started)
	{
		if (analyze)
			plan_analyze(plan, group);
		return;
	}

	if (kept > 0)
		holder = holder_of(plan, group);
	if (holder == NULL)
	{
		removable += kept;
		kept = 0;
	}
	if (is_worth_it(removable, bytes) || truncates)
	{
		planned = add_command(plan, group->table, SST_ORDINARY);
		planned->command = sst_upkeep_command(analyze ? "VACUUM (ANALYZE)" : "VACUUM", table);
		if (truncates)
		{
			planned->reclaimable = group->truncated;
			if (group->toast != NULL && group->toast->command == NULL)
				group->toast->command = planned;
		}
		planned->reason = planned->reclaimable.value > 0 ?
			psprintf(_("gives back %s at the end of the file, where no rows are to be kept"),
					 size_pretty(planned->reclaimable.value)) :
			psprintf(_("turns %s of dead rows into free space; the file does not shrink"),
					 size_pretty(removable));
		if (holder != NULL)
			add_kept_reason(planned, kept, holder);
		else
			add_reason(planned, sst_late_vacuum_reason(table, true));
		if (analyze)
			add_reason(planned, _(analyze_reason));
		set_vacuum_costs(group, planned);
		return;
	}

	if (holder != NULL)
	{
		planned = add_command(plan, group->table, SST_ORDINARY);
		planned->reason = psprintf(_("VACUUM cannot remove %s of dead rows yet because of %s"),
								   size_pretty(kept), holder);
	}
	if (analyze)
		plan_analyze(plan, group);
}

/* ----------
 * Planning the commands for one table
 * ----------
 */

/* What a table gives back, of all that has to be written for it */
#define WORTH_PERCENT_OF_ALL 1

/*
 * Is what a rebuild gives back enough, and certain?  Otherwise say why it is
 * withheld, if it is.
 */
static bool
is_enough(const SstRelation *relation, const SstGain *gain, const char **why)
{
	if (!is_worth_it(gain->reclaimable.value, gain->bytes))
		return false;
	if (is_small_catalog(relation, gain->bytes))
		*why = gettext_noop("no command: a system catalog of less than 10 MB");
	else if (gain->reclaimable.low <= 0)
		*why = gettext_noop("no command: the reclaimable space is within the margin of error");
	else
		return true;
	return false;
}

/*
 * Temporary files of the build of an index of so many bytes, at most.  Workers sort in
 * files, however little it is.
 */
static double
sort_bytes(const SstReportEntry *index, double predicted)
{
	bool		workers = index->table != NULL &&
		(sst_index_am(index->relation->amoid)->flags & SST_AM_PARALLEL_BUILD) != 0 &&
		sst_may_have_build_workers(index->table->estimate.nblocks);

	return workers || predicted > maintenance_work_mem * 1024.0 ? predicted : 0;
}

/* Add what a command writes to temporary files, and reads again. */
static void
add_sorting(SstPlannedCommand *planned, double bytes)
{
	planned->scratch_bytes += bytes;
	planned->bytes_to_write += bytes;
	planned->bytes_to_read += bytes;
}

/* The scratch space, reading and writing of an index that is built again */
static void
set_index_costs(SstPlannedCommand *planned)
{
	const SstReportEntry *index = planned->entry;
	double		table = index->table ? sst_entry_bytes(index->table) : NAN;

	if (isnan(index->estimate.rebuilt_blocks.value))
		planned->scratch_bytes = planned->bytes_to_write = NAN;

	/* REINDEX CONCURRENTLY reads the table twice, and what it has built. */
	if (planned->command.blocks)
		planned->bytes_to_read = table;
	else
		planned->bytes_to_read = 2 * table + planned->bytes_to_write;
	add_sorting(planned, sort_bytes(index, planned->scratch_bytes));
	sst_add_index_work(index, !planned->command.blocks, &planned->work);
}

/* Why to drop an index that is not valid */
static const char *
drop_reason(const SstRelation *index)
{
	if (sst_is_left_over(index))
		return _("left behind by a REINDEX CONCURRENTLY that did not complete");
	if (!index->live)
		return _("left behind by a DROP INDEX CONCURRENTLY that did not complete");

	return psprintf(_("its build failed, most likely because of duplicate keys, and would fail again; to keep the index, remove the duplicates and then run: %s"),
					sst_index_command(index, false).text);
}

/* An index that is not valid: a part of it is there, and it is of no use. */
static void
plan_invalid_index(SstCommandPlan *plan, SstAdvice *advice)
{
	const SstRelation *index = advice->entry->relation;
	SstPlannedCommand *planned;

	if (index->building)
		return;

	planned = add_command(plan, advice, SST_INVALID);
	if (sst_is_to_be_dropped(index))
	{
		planned->command = sst_index_command(index, true);
		planned->reclaimable = sst_entry_reclaimable(advice->entry);
		planned->reason = drop_reason(index);
		return;
	}
	planned->command = sst_index_command(index, false);
	planned->reclaimable = sst_exactly(NAN);
	planned->reason = index->unique ?
		_("its build failed, most likely because of duplicate keys, which have to be removed first: queries do not use it") :
		_("its build did not complete: queries do not use it");
	add_queue_reason(planned);
	set_index_costs(planned);
}

/* An index whose table is not rebuilt.  Returns whether it needs ANALYZE first. */
static bool
plan_index(SstCommandPlan *plan, const SstTableGroup *group, SstAdvice *advice)
{
	const SstReportEntry *index = advice->entry;
	const SstBloatEstimate *estimate = &index->estimate;
	const SstRelation *table = group->table->entry->relation;
	bool		corrupt = has_corrupt_pages(index);
	SstGain		gain = {0};
	SstPlannedCommand *planned;

	sst_add_gain(index, &gain);
	if (!corrupt && estimate->analyze_first &&
		is_worth_it((estimate->nblocks - estimate->analyzed_blocks) * BLCKSZ,
					gain.bytes) &&
		!is_small_catalog(index->relation, gain.bytes))
	{
		advice->withheld = gettext_noop("no command before ANALYZE of the table: REINDEX sizes the index by the table's row count, which is not up to date");
		return true;
	}
	if (!corrupt && !is_enough(index->relation, &gain, &advice->withheld))
		return false;
	if (!corrupt && sst_index_space_is_reused(index, group->table->entry))
	{
		advice->withheld = space_reused;
		return false;
	}

	planned = add_command(plan, advice, corrupt ? SST_CORRUPT : SST_ORDINARY);
	planned->command = sst_index_command(index->relation, false);
	set_gain(planned, &gain);
	set_index_costs(planned);
	planned->reason = corrupt ?
		psprintf(_("%s; the index can be rebuilt from the table"),
				 corrupt_pages(&index->estimate)) :
		psprintf(_("the index takes %s, and %s after a rebuild"),
				 size_pretty(gain.bytes), size_pretty(gain.predicted));
	if (index->relation->parent != table->relid)
		add_reason(planned, psprintf(_("it is the index of the TOAST table of %s"),
									 quote_qualified_identifier(table->schema, table->name)));
	add_queue_reason(planned);

	return false;
}

/* Is it rebuilt with its table by the command? */
static bool
is_rebuilt_with(const SstRelation *relation, const SstCommand *command)
{
	return relation->valid ||
		(!command->skips_invalid && !relation->building &&
		 !sst_is_to_be_dropped(relation));
}

/* Take from a gain what VACUUM gives back before: more of that is less of this. */
static void
subtract_vacuum(const SstEstimate *before, SstEstimate *gain)
{
	gain->value -= before->value;
	gain->low -= before->high;
	gain->high -= before->low;
}

/*
 * Give the reasons to rebuild a table with its indexes and its TOAST table.  corrupt, invalid and
 * toast_index are indexes that they name, or NULL.
 *
 * An index that is not valid is built without a check that its keys are unique
 * (finish_heap_swap() in commands/cluster.c).
 */
static void
explain_rebuild(SstCommandPlan *plan, const SstTableGroup *group, const SstGain *gain,
				const SstReportEntry *corrupt, const SstRelation *invalid,
				const SstRelation *toast_index, SstPlannedCommand *planned)
{
	const SstRelation *table = group->table->entry->relation;
	const char *holder = NULL;

	planned->reason = psprintf(gain->nrelations == 1 ?
							   _("the table takes %s, and its rows need %s") :
							   _("the table, its indexes and its TOAST table take %s, and %s after a rebuild"),
							   size_pretty(gain->bytes), size_pretty(gain->predicted));
	if (table->relid < FirstNormalObjectId)
		add_reason(planned, _("every session needs this catalog and waits during the rebuild"));
	add_reason(planned, planned->command.remark);
	add_queue_reason(planned);
	if (corrupt != NULL)
		add_reason(planned, psprintf(_("it rebuilds index \"%s\", of which %s"),
									 corrupt->relation->name,
									 corrupt_pages(&corrupt->estimate)));
	if (invalid != NULL)
		add_reason(planned, psprintf(sst_is_to_be_dropped(invalid) ?
									 _("unless the invalid index \"%s\" is dropped before, it is built as well") :
									 _("the invalid index \"%s\" is built as well, and if that fails, so does the command"),
									 invalid->name));
	if (toast_index != NULL)
		add_reason(planned, psprintf(_("it fills the TOAST index row by row, so run this after it: %s"),
									 sst_index_command(toast_index, false).text));
	if (is_worth_it(group->kept, gain->bytes))
		holder = holder_of(plan, group);
	if (holder != NULL)
		add_kept_reason(planned, group->kept, holder);
	else if (is_worth_it(group->heap.reclaimable.value, group->heap.bytes))
		add_reason(planned, sst_late_vacuum_reason(table, false));
}

/*
 * Rebuild a table with its indexes and its TOAST table.  Indexes that have a command by
 * now keep it.
 */
static void
rebuild_table(SstCommandPlan *plan, const SstTableGroup *group, const SstCommand *command)
{
	SstPlannedCommand *planned = add_command(plan, group->table, SST_ORDINARY);
	SstGain		gain = {0};
	double		sorted = 0;
	double		largest = 0;	/* of what is sorted, index by index */
	int			nindexes = 0;
	const SstRelation *toast_index = NULL;
	const SstRelation *invalid = NULL;
	const SstReportEntry *corrupt = NULL;

	for (SstAdvice *member = group->table; member != NULL; member = member->next)
	{
		const SstReportEntry *entry = member->entry;
		const SstRelation *relation = entry->relation;
		SstPlannedCommand *before = member->command;
		double		predicted = gain.predicted;
		double		sort;

		if (!relation->valid && !command->skips_invalid && !relation->building &&
			(invalid == NULL || !sst_is_to_be_dropped(relation)))
			invalid = relation;
		if (!is_rebuilt_with(relation, command))
			continue;
		sst_add_gain_with_table(entry, command->by_inserts, &gain);
		sst_add_table_work(entry, command->by_inserts, &planned->work);
		if (before == NULL)
			member->command = planned;
		else if (member == group->table)
			subtract_vacuum(&before->reclaimable, &gain.reclaimable);
		if (is_table(entry))
			continue;
		if (before != NULL)
			sst_add_known(&gain.reclaimable, sst_scaled(before->reclaimable, -1));
		else if (has_corrupt_pages(entry))
		{
			planned->urgency = SST_CORRUPT;
			corrupt = entry;
		}
		if (entry->table == group->table->entry)
			nindexes++;
		else if (is_worth_it(sst_inserted_waste(gain.predicted - predicted),
							 gain.predicted - predicted))
			toast_index = relation;
		sort = sort_bytes(entry, gain.predicted - predicted);
		sorted += sort;
		largest = Max(largest, sort);
	}

	planned->command = *command;
	set_gain(planned, &gain);
	planned->bytes_to_read = group->heap.bytes + group->toasted.bytes +
		nindexes * group->heap.predicted;
	add_sorting(planned, sorted);
	planned->scratch_bytes += largest - sorted;
	explain_rebuild(plan, group, &gain, corrupt, invalid, toast_index, planned);
}

/* Does the table, or its TOAST table, or do both give back enough? */
static bool
is_table_worth_it(const SstTableGroup *group, const SstCommand *command, const char **why)
{
	const SstReportEntry *entry = group->table->entry;
	const SstRelation *table = entry->relation;
	SstGain		heap = {0};
	SstGain		both;

	sst_add_gain_with_table(entry, command->by_inserts, &heap);
	both = heap;
	if (group->toast != NULL)
	{
		both.bytes += group->toasted.bytes;
		sst_add_estimate(&both.reclaimable, group->toasted.reclaimable);
	}
	if (!is_enough(table, &heap, why) && !is_enough(table, &both, why) &&
		!is_enough(table, &group->toasted, why))
		return false;

	if (both.reclaimable.value * 100 >= WORTH_PERCENT_OF_ALL * group->all.bytes &&
		group->all.reclaimable.value > 0)
		return true;
	*why = gettext_noop("no command: it would reclaim less than 1 percent of what it rewrites");
	return false;
}

/*
 * Is the index corrupt, but not its own table?  A table and its TOAST table have their
 * own indexes.
 */
static bool
is_only_index_corrupt(const SstReportEntry *entry)
{
	return !is_table(entry) && entry->relation->valid && has_corrupt_pages(entry) &&
		!has_corrupt_pages(entry->table);
}

/*
 * What is corrupt in a table, or in its TOAST table, cannot be rebuilt, and neither can the
 * indexes of that.
 */
static void
plan_corrupt_table(SstCommandPlan *plan, const SstTableGroup *group)
{
	for (SstAdvice *member = group->table; member != NULL; member = member->next)
	{
		const SstReportEntry *entry = member->entry;
		SstPlannedCommand *planned;

		if (is_only_index_corrupt(entry))
		{
			plan_index(plan, group, member);
			if (entry->table == group->table->entry)
				add_reason(member->command, _("the build fails if it needs a value from a corrupt page of the TOAST table"));
			continue;
		}
		member->withheld = gettext_noop("no command: the table or its TOAST table is corrupt");
		if (!is_table(entry) || !has_corrupt_pages(entry))
			continue;
		planned = add_command(plan, member, SST_CORRUPT);
		planned->bytes_to_write = NAN;
		planned->reason = corrupt_reason(entry->relation, &entry->estimate);
	}
}

/* Is a rewrite worth it besides VACUUM, and for more than new pages that will be filled? */
static bool
needs_rewrite(const SstTableGroup *group)
{
	double		at_end = group->truncated.value + group->extended;

	return is_worth_it(group->heap.reclaimable.value + group->toasted.reclaimable.value - at_end,
					   group->heap.bytes + group->toasted.bytes - at_end);
}

/* Has the table an index that identifies its rows? */
static bool
has_row_key(const SstTableGroup *group)
{
	for (SstAdvice *member = group->table; member != NULL; member = member->next)
	{
		if (member->entry->table == group->table->entry &&
			sst_identifies_rows(member->entry->relation))
			return true;
	}
	return false;
}

/* Is the table to be rebuilt?  Sets the command, or why there is none. */
static bool
is_to_be_rebuilt(const SstTableGroup *group, SstCommand *command)
{
	const SstRelation *table = group->table->entry->relation;
	const SstBloatEstimate *estimate = &group->table->entry->estimate;
	const char *why = NULL;

	if (!is_worth_it(group->heap.reclaimable.value, group->heap.bytes) &&
		!is_worth_it(group->toasted.reclaimable.value, group->toasted.bytes))
	{
		if (estimate->free_percent.low >= WORTH_PERCENT && sst_has_fillfactor(table->relid))
			group->table->withheld = gettext_noop("no command: the table's fillfactor leaves the free space to updates");
		return false;
	}

	*command = sst_rebuild_table_command(table, sst_has_pg_repack() && has_row_key(group));
	if (is_table_worth_it(group, command, &why))
	{
		if (!sst_space_is_reused(group->table->entry,
								 group->toast ? group->toast->entry : NULL))
			return needs_rewrite(group);
		why = space_reused;
	}
	group->table->withheld = why;
	if (group->toast != NULL && group->toasted.reclaimable.value > 0)
		group->toast->withheld = why;

	return false;
}

/* Plan the commands for a table, its indexes and its TOAST table. */
static void
plan_table(SstCommandPlan *plan, SstAdvice *table)
{
	SstTableGroup group;
	SstCommand	command;
	bool		rebuilt;
	bool		later;			/* rebuilt, but not online */
	bool		analyze = false;

	examine_table(table, &group);
	if (has_corrupt_pages(table->entry) ||
		(group.toast != NULL && has_corrupt_pages(group.toast->entry)))
	{
		plan_corrupt_table(plan, &group);
		return;
	}

	if (sst_is_own_table(table->entry->relation))
		return;
	rebuilt = is_to_be_rebuilt(&group, &command);
	later = rebuilt && plan->online && command.blocks;
	if (rebuilt && !later)
		rebuild_table(plan, &group, &command);
	for (SstAdvice *member = table; member != NULL; member = member->next)
	{
		if (is_table(member->entry) || member->command != NULL)
			continue;
		if (!member->entry->relation->valid)
			plan_invalid_index(plan, member);
		else
			analyze |= plan_index(plan, &group, member);
	}
	if (!rebuilt || later)
		plan_vacuum(plan, &group, analyze);
	if (later)
		rebuild_table(plan, &group, &command);
}

/* ----------
 * The plan
 * ----------
 */

/* Begin the advice on all relations, and list those of each table, in the order of OIDs. */
static SstAdvice *
begin_advice(const SstReport *report)
{
	const SstRelations *list = &report->relations;
	SstAdvice  *advice = palloc_extended(sizeof(SstAdvice) * (list->n + 1),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (int i = list->n - 1; i >= 0; i--)
	{
		const SstRelation *owner = sst_owning_table(list, &list->relation[i]);
		SstAdvice  *table;

		advice[i].entry = &report->entries[i];
		if (owner == NULL || owner == &list->relation[i])
			continue;
		table = &advice[owner - list->relation];
		advice[i].next = table->next;
		table->next = &advice[i];
	}
	return advice;
}

static int
compare_commands(const ListCell *a, const ListCell *b)
{
	const SstPlannedCommand *left = lfirst(a);
	const SstPlannedCommand *right = lfirst(b);
	double		gains[2] = {left->reclaimable.value, right->reclaimable.value};

	if (left->part != right->part)
		return left->part < right->part ? -1 : 1;
	if (left->urgency != right->urgency)
		return left->urgency < right->urgency ? -1 : 1;
	for (int i = 0; i < 2; i++)
	{
		if (isnan(gains[i]))
			gains[i] = 0;
	}
	if (gains[0] != gains[1])
		return gains[0] < gains[1] ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return (left->entry > right->entry) - (left->entry < right->entry);
}

/*
 * Make the plan of a report, in the current memory context.  online: what blocks readers
 * or writers comes last, and is not a reason to leave out what does not.  Catalogs, statistics
 * and the views of transactions are asked; no relation of the report is opened.
 */
static SstCommandPlan *
make_plan(const SstReport *report, bool online)
{
	SstCommandPlan *plan = palloc0(sizeof(SstCommandPlan));
	ListCell   *lc;

	plan->report = report;
	plan->started = report->started;
	plan->online = online;
	plan->advice = begin_advice(report);

	for (int i = 0; i < report->relations.n; i++)
	{
		const SstRelation *relation = &report->relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		if (relation->relkind != RELKIND_INDEX && relation->relkind != RELKIND_TOASTVALUE &&
			!relation->other_temp)
			plan_table(plan, &plan->advice[i]);
	}
	foreach(lc, plan->commands)
	{
		SstPlannedCommand *planned = lfirst(lc);
		const SstCommand *command = &planned->command;
		const SstRelation *relation = planned->entry->relation;

		planned->duration = sst_exactly(NAN);
		if (command->text == NULL)
			continue;
		plan->ncommands++;
		planned->waits_for = sst_waits_for(holders(plan), is_table(planned->entry) ?
										   relation->relid : relation->parent,
										   command->waits);
		if (online && command->blocks)
			planned->part = SST_PART_DOWNTIME;
		else if (planned->waits_for != NULL)
			planned->part = SST_PART_WAITS;
		if (planned->urgency == SST_ORDINARY && planned->reclaimable.value > 0 &&
			RecoveryInProgress())
			add_reason(planned, _("a standby does not know the writes: the plan of the primary leaves this out if new rows reuse the space"));
		planned->duration = sst_duration(report, &planned->work);
	}
	list_sort(plan->commands, compare_commands);
	foreach(lc, plan->commands)
		sst_add_known(&plan->reclaimable, ((SstPlannedCommand *) lfirst(lc))->reclaimable);

	return plan;
}

/* Whose rights decide what plans show, or InvalidOid: those of the current user */
static Oid	plan_role;

/* Make plans with the rights of a role from now on, or of the current user for InvalidOid. */
void
sst_plan_as(Oid role)
{
	plan_role = role;
}

/*
 * The plan of a report, until the next call.  All calls of one statement get the same one,
 * so that the rows of a report, of its plan and of its summary agree.
 */
const SstCommandPlan *
sst_report_plan(const SstReport *report, bool online)
{
	static MemoryContext context;
	static SstCommandPlan *plan;
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	Oid			role = OidIsValid(plan_role) ? plan_role : GetUserId();
	Oid			userid;
	int			sec_context;
	MemoryContext oldcontext;

	if (plan != NULL && plan->started == report->started && plan->statement == statement &&
		plan->user == role && plan->online == online)
		return plan;

	plan = NULL;
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "streamstat plan",
										ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(context);
	oldcontext = MemoryContextSwitchTo(context);
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(role, sec_context | SECURITY_LOCAL_USERID_CHANGE);
	plan = make_plan(report, online);
	SetUserIdAndSecContext(userid, sec_context);
	MemoryContextSwitchTo(oldcontext);
	plan->statement = statement;
	plan->user = role;

	return plan;
}
