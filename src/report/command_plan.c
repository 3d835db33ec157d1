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
 * A command is advised only if it is certain to reclaim space.  It is withheld
 * if the space would be needed again, or if something else must be done first.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/command_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "compat/catalog.h"
#include "report/command_plan.h"
#include "report/holder.h"
#include "report/turnover.h"

/* ----------
 * The gain, cost and effects of commands
 * ----------
 */

/* Bytes of some relations, now and after a rebuild */
typedef struct SstGain
{
	int			nrelations;
	double		bytes;
	double		predicted;
	SstEstimate reclaimable;	/* less than 0 where a rebuild makes it larger */
} SstGain;

/* Blocks by which bulk inserts extend a table at most (MAX_BUFFERS_TO_EXTEND_BY) */
#define MAX_EXTENSION 64

double
sst_entry_bytes(const SstReport *report, int i)
{
	return (double) report->entries[i].estimate.nblocks * BLCKSZ;
}

/*
 * Bytes that come back of one relation, by the command that is for it.  NaN if that is
 * not known.
 */
SstEstimate
sst_entry_reclaimable(const SstReport *report, int i)
{
	if (sst_is_to_be_dropped(&report->relations.relation[i]))
	{
		double		bytes = sst_entry_bytes(report, i);

		return (SstEstimate)
		{
			bytes, bytes, bytes
		};
	}
	return sst_reclaimable_bytes(&report->entries[i].estimate);
}

/* Is it the index of a TOAST table? */
static bool
is_toast_index(const SstReport *report, int i)
{
	const SstReportEntry *table = report->entries[i].table;

	return report->relations.relation[i].relkind == RELKIND_INDEX && table != NULL &&
		sst_reported_relation(report, table)->relkind == RELKIND_TOASTVALUE;
}

static void
add_bytes(double bytes, SstEstimate rebuilt, SstGain *gain)
{
	gain->nrelations++;
	gain->bytes += bytes;
	if (isnan(rebuilt.value))
	{
		gain->predicted += bytes;
		return;
	}
	gain->predicted += rebuilt.value * BLCKSZ;
	gain->reclaimable.value += bytes - rebuilt.value * BLCKSZ;
	gain->reclaimable.low += bytes - rebuilt.high * BLCKSZ;
	gain->reclaimable.high += bytes - rebuilt.low * BLCKSZ;
}

/*
 * Add what a rebuild of a relation changes.  One that becomes larger counts as
 * well; one of which nothing is known is taken to keep its size.  The ends are
 * added up: the errors of a table and of its indexes have causes in common.
 */
static void
add_gain(const SstReport *report, int i, SstGain *gain)
{
	add_bytes(sst_entry_bytes(report, i),
			  report->entries[i].estimate.rebuilt_blocks, gain);
}

/*
 * A TOAST index that a rewrite of its table makes, against the size that REINDEX would
 * give it.  A rewrite inserts the chunks one by one, in the order of the table's rows.
 * Where pages are split, and how full they become, depends on the order of their IDs
 * (_bt_findsplitloc() in access/nbtree/nbtsplitloc.c).  After 24 rewrites on 15, of tables
 * whose rows were updated, shuffled, or clustered either way, with values of 2, 6 and 31
 * chunks, leaf pages were 50 to 98 percent full; a sort fills 90 percent.
 */
#define INSERTED_LEAST 0.92
#define INSERTED 1.2
#define INSERTED_MOST 1.8

/* Index pages for each page of full chunks, where there are none yet */
#define INDEX_PART 0.011

/*
 * The blocks of a TOAST index after a rewrite of its table, which makes only the chunks
 * that the rows need.
 */
static SstEstimate
rewritten_toast_index(const SstReport *report, int i)
{
	SstEstimate index = report->entries[i].estimate.rebuilt_blocks;
	const SstBloatEstimate *toast = &report->entries[i].table->estimate;
	SstEstimate chunks = {1, 1, 1};

	/* without the metapage */
	SstEstimate part = {index.value - 1, index.low - 1, index.high - 1};

	if (toast->toast != NULL && !isnan(toast->rebuilt_blocks.value))
	{
		double		all = toast->toast->chunks.blocks.value;

		chunks = toast->rebuilt_blocks;
		part.value = all > 0 ? part.value / all : INDEX_PART;
		part.low = all > 0 ? part.low / all : INDEX_PART;
		part.high = all > 0 ? part.high / all : INDEX_PART;
	}
	return (SstEstimate)
	{
		.value = 1 + ceil(part.value * chunks.value * INSERTED),
			.low = 1 + floor(Max(part.low, 0) * chunks.low * INSERTED_LEAST),
			.high = 1 + ceil(part.high * chunks.high * INSERTED_MOST)
	};
}

/* What REINDEX would free of a TOAST index of so many bytes that a rewrite has made */
static double
inserted_waste(double bytes)
{
	return bytes - bytes / INSERTED;
}

/*
 * Add what the rebuild of its table changes of a relation.  VACUUM FULL and REPACK store the
 * number of rows that they have copied before they build indexes (copy_table_data()
 * in commands/cluster.c), so that a hash index is built as if after ANALYZE.  What
 * inserts rows leaves the server to guess.
 */
static void
add_gain_with_table(const SstReport *report, int i, bool by_inserts,
					SstGain *gain)
{
	const SstBloatEstimate *estimate = &report->entries[i].estimate;
	SstEstimate rebuilt = estimate->rebuilt_blocks;

	if (is_toast_index(report, i))
		rebuilt = rewritten_toast_index(report, i);
	else if (estimate->analyze_first && !by_inserts)
	{
		double		less = rebuilt.value - estimate->analyzed_blocks;

		rebuilt.value -= less;
		rebuilt.low = Max(rebuilt.low - less, 0);
		rebuilt.high -= less;
	}
	add_bytes(sst_entry_bytes(report, i), rebuilt, gain);
}

/*
 * The blocks of a table that takes so many, after bulk inserts into it.  These
 * double the blocks that they extend it by, up to a limit (RelationAddBlocks() in
 * access/heap/hio.c).  Those that the last extension added
 * and did not need stay in the table.
 */
static double
extended_blocks(double blocks)
{
#ifdef SST_HAVE_BULK_EXTENSION
	double		extended = 1;

	if (!(blocks > 0))
		return blocks;
	if (blocks > MAX_EXTENSION)
		return ceil(blocks / MAX_EXTENSION) * MAX_EXTENSION;
	while (extended < blocks)
		extended *= 2;
	return extended;
#else
	return blocks;
#endif
}

/* The same of a table whose rows are inserted into a new one */
static void
add_inserted_gain(const SstReport *report, int i, SstGain *gain)
{
	SstEstimate rebuilt = report->entries[i].estimate.rebuilt_blocks;

	rebuilt.value = extended_blocks(rebuilt.value);
	rebuilt.low = extended_blocks(rebuilt.low);
	rebuilt.high = extended_blocks(rebuilt.high);
	add_bytes(sst_entry_bytes(report, i), rebuilt, gain);
}

/* Temporary files of an index build that sorts, at most */
static double
sort_bytes(double predicted)
{
	return predicted > maintenance_work_mem * 1024.0 ? predicted : 0;
}

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

/* As pg_size_pretty() has it */
static const char *
size_pretty(double bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty,
												   Int64GetDatum((int64) bytes)));
}

/* ----------
 * The reasons for the commands of a plan, in words
 * ----------
 */

/* Why a relation that would become smaller has no command, translated; or NULL */
const char *
sst_withheld_reason(SstWithheld withheld)
{
	switch (withheld)
	{
		case SST_WITHIN_MARGIN:
			return _("no command: the reclaimable space is within the margin of error");
		case SST_LITTLE:
			return _("no command: it would reclaim less than 1 percent of what it rewrites");
		case SST_SPACE_REUSED:
			return _("no command: new rows reuse the free space");
		case SST_SMALL_CATALOG:
			return _("no command: a system catalog of less than 10 MB");
		case SST_TABLE_CORRUPT:
			return _("no command: the table is corrupt");
		case SST_ANALYZE_FIRST:
			return _("no command before ANALYZE of the table: REINDEX sizes the index by the table's row count, which is not up to date");
		default:
			return NULL;
	}
}

/* The reason to rebuild a table with its indexes and its TOAST table */
static const char *
rebuild_reason(const SstGain *gain, const SstCommand *command, bool catalog)
{
	const char *now = size_pretty(gain->bytes);
	const char *then = size_pretty(gain->predicted);
	const char *reason = gain->nrelations == 1 ?
		psprintf(_("the table takes %s, and its rows need %s"), now, then) :
		psprintf(_("the table, its indexes and its TOAST table take %s, and %s after a rebuild"),
				 now, then);

	if (catalog)
		reason = psprintf(_("%s; every session needs this catalog and waits during the rebuild"),
						  reason);
	return command->remark == NULL ? reason :
		psprintf("%s; %s", reason, command->remark);
}

/*
 * Add to a reason that a large part of a table is dead rows that must be kept
 */
static const char *
add_kept_reason(const char *reason, double kept, const char *holder)
{
	return psprintf(_("%s; another %s of dead rows cannot be removed yet because of %s"),
					reason, size_pretty(kept), holder);
}

/* Add to a reason that the command leaves free space in a TOAST index */
static const char *
add_toast_index_reason(const char *reason, const SstRelation *index)
{
	return psprintf(_("%s; it fills the TOAST index row by row, so run this after it: %s"),
					reason, sst_rebuild_index_command(index).text);
}

static const char *
corrupt_pages(const SstBloatEstimate *estimate)
{
	return psprintf(ngettext("%u corrupt page was read, block %u",
							 "%u corrupt pages were read, the first is block %u",
							 estimate->ncorrupt),
					estimate->ncorrupt, estimate->first_corrupt);
}

/* The reason to rebuild an index alone */
static const char *
reindex_reason(const SstBloatEstimate *index, const SstGain *gain)
{
	if (index->ncorrupt > 0)
		return psprintf(_("%s; the index can be rebuilt from the table"),
						corrupt_pages(index));

	return psprintf(_("the index takes %s, and %s after a rebuild"),
					size_pretty(gain->bytes),
					size_pretty(gain->predicted));
}

/* The reason to drop an index that is not valid; rebuild: the alternative */
static const char *
drop_reason(const SstRelation *index, const SstCommand *rebuild)
{
	if (sst_is_left_over(index))
		return _("left behind by a REINDEX CONCURRENTLY that did not complete");

	return psprintf(_("its build failed, most likely because of duplicate keys, and would fail again; to keep the index, remove the duplicates and then run: %s"),
					rebuild->text);
}

/* The reason to rebuild an index that is not valid */
static const char *
invalid_reason(const SstRelation *index)
{
	if (index->unique)
		return _("its build failed, most likely because of duplicate keys, which have to be removed first: queries do not use it");

	return _("its build did not complete: queries do not use it");
}

/* The reason for no command on a table that a rebuild cannot repair */
static const char *
corrupt_reason(const SstRelation *table, const SstBloatEstimate *estimate)
{
	const char *name = quote_literal_cstr(quote_qualified_identifier(table->schema,
																	 table->name));

	return psprintf(_("%s: see streamstat.corrupt_blocks(%s) and amcheck's verify_heapam(%s); restore the table from a backup, or remove the damaged rows with pg_surgery"),
					corrupt_pages(estimate), name, name);
}

/* The reason for VACUUM; kept: bytes of dead rows that it must keep, or 0 */
static const char *
vacuum_reason(double removable, double kept, const char *holder)
{
	const char *reason = psprintf(_("turns %s of dead rows into free space; the file does not shrink"),
								  size_pretty(removable));

	return kept > 0 ? add_kept_reason(reason, kept, holder) : reason;
}

/* The reason for no command where VACUUM would have no effect */
static const char *
kept_reason(double kept, const char *holder)
{
	return psprintf(_("VACUUM cannot remove %s of dead rows yet because of %s"),
					size_pretty(kept), holder);
}

static const char *
analyze_reason(void)
{
	return _("REINDEX sizes a hash index by the table's row count, which is not up to date: run REINDEX after this");
}

/* ----------
 * The input for the plan of commands
 * ----------
 */

typedef struct SstPlanner
{
	const SstReport *report;
	const SstRelation *relations;
	SstCommandPlan *plan;
	SstTools	tools;
	SstHolders *holders;		/* NULL: not asked yet */

	/* The relations of each table, in lists that end with -1 */
	int		   *first;
	int		   *next;
} SstPlanner;

/* A table, and what is to be known of it for a decision */
typedef struct SstTableGroup
{
	int			table;			/* places in the report's list */
	int			toast;			/* or -1 */
	SstGain		heap;
	SstGain		toasted;		/* with its index */
	double		removable;		/* bytes of dead rows that VACUUM removes */
	double		kept;			/* ... and that it must keep */
} SstTableGroup;

static inline bool
is_table(const SstRelation *relation)
{
	return relation->relkind != RELKIND_INDEX;
}

static inline bool
has_corrupt_pages(const SstPlanner *planner, int i)
{
	return planner->report->entries[i].estimate.ncorrupt > 0;
}

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

/*
 * Add a command, in the row of the i-th relation.  The caller fills in the rest.  It is
 * moved by the next one that is added.
 */
static SstPlannedCommand *
add_command(SstPlanner *planner, int i, SstUrgency urgency)
{
	SstCommandPlan *plan = planner->plan;
	SstPlannedCommand *planned;

	if (plan->ncommands == plan->allocated)
	{
		plan->allocated = Max(plan->allocated * 2, 64);
		plan->commands = plan->commands == NULL ?
			palloc(sizeof(SstPlannedCommand) * plan->allocated) :
			repalloc_huge(plan->commands,
						  sizeof(SstPlannedCommand) * plan->allocated);
	}
	plan->command_of[i] = plan->ncommands;
	planned = &plan->commands[plan->ncommands++];
	memset(planned, 0, sizeof(SstPlannedCommand));
	planned->relation = i;
	planned->urgency = urgency;
	planned->nrelations = 1;
	planned->bytes = sst_entry_bytes(planner->report, i);

	return planned;
}

/* Is it worth a command to get so much back of so many bytes? */
static bool
is_worth_it(double gain, double bytes)
{
	double		percent = bytes > 0 ? 100 * gain / bytes : 0;

	return gain >= MIN_BYTES &&
		(percent >= WORTH_PERCENT ||
		 (gain >= WORTH_BYTES && percent >= WORTH_PERCENT_OF_MANY));
}

static bool
is_small_catalog(const SstRelation *relation, double bytes)
{
	return relation->relid < FirstNormalObjectId && bytes < MIN_CATALOG_BYTES;
}

static void
add_dead_rows(const SstPlanner *planner, int i, SstTableGroup *group)
{
	const SstBloatEstimate *estimate = &planner->report->entries[i].estimate;
	double		percent = sst_entry_bytes(planner->report, i) / 100;

	if (!(estimate->dead_percent.value > 0))
		return;
	group->kept += percent * estimate->recently_dead_percent;
	if (estimate->dead_percent.low > 0)
		group->removable += percent * Max(estimate->dead_percent.value -
										  estimate->recently_dead_percent, 0);
}

/* What keeps the dead rows of a table, in words; NULL if nothing does now */
static const char *
holder_of(SstPlanner *planner, const SstTableGroup *group)
{
	if (planner->holders == NULL)
		planner->holders = sst_find_holders();

	return sst_oldest_holder(planner->holders, &planner->relations[group->table],
							 planner->report->next_xid);
}

/* Find out what a decision on a table needs. */
static void
examine_table(const SstPlanner *planner, int table, SstTableGroup *group)
{
	memset(group, 0, sizeof(SstTableGroup));
	group->table = table;
	group->toast = -1;
	for (int i = planner->first[table]; i >= 0; i = planner->next[i])
	{
		const SstRelation *relation = &planner->relations[i];

		if (is_table(relation))
			add_dead_rows(planner, i, group);
		if (relation->relkind == RELKIND_TOASTVALUE)
			group->toast = i;
		if (i == table)
			add_gain(planner->report, i, &group->heap);
		else if (relation->relkind == RELKIND_TOASTVALUE ||
				 relation->parent == planner->relations[table].toastrelid)
			add_gain_with_table(planner->report, i, false, &group->toasted);
	}
}

/* ----------
 * Planning VACUUM and ANALYZE of a table
 *
 * VACUUM turns dead rows into free space, and the file does not shrink.  It is
 * useless while a transaction keeps the rows: then the plan names the
 * transaction.
 * ----------
 */

/* Blocks that ANALYZE reads for each unit of default_statistics_target */
#define ANALYZE_BLOCKS 300

static void
plan_analyze(SstPlanner *planner, const SstTableGroup *group)
{
	SstPlannedCommand *planned = add_command(planner, group->table,
											 SST_ORDINARY);

	planned->command = sst_analyze_command(&planner->relations[group->table]);
	planned->bytes_to_read = Min(planned->bytes, (double) ANALYZE_BLOCKS *
								 default_statistics_target * BLCKSZ);
	planned->reason = analyze_reason();
}

/* VACUUM may read the table, its TOAST table and their indexes. */
static void
set_vacuum_costs(const SstPlanner *planner, const SstTableGroup *group,
				 SstPlannedCommand *planned)
{
	planned->nrelations = 0;
	planned->bytes = 0;
	for (int i = planner->first[group->table]; i >= 0; i = planner->next[i])
	{
		planned->nrelations++;
		planned->bytes += sst_entry_bytes(planner->report, i);
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
plan_vacuum(SstPlanner *planner, const SstTableGroup *group, bool analyze)
{
	const SstRelation *table = &planner->relations[group->table];
	double		bytes = group->heap.bytes + group->toasted.bytes;
	double		removable = group->removable;
	double		kept = group->kept;
	const char *holder = NULL;
	SstPlannedCommand *planned;

	if (is_small_catalog(table, bytes) ||
		!is_worth_it(removable + kept, bytes) ||
		sst_last_vacuum(table->relid) >= planner->report->started)
	{
		if (analyze)
			plan_analyze(planner, group);
		return;
	}

	if (kept > 0)
		holder = holder_of(planner, group);
	if (holder == NULL)
	{
		removable += kept;
		kept = 0;
	}
	if (is_worth_it(removable, bytes))
	{
		planned = add_command(planner, group->table, SST_ORDINARY);
		planned->command = sst_vacuum_command(table, analyze);
		planned->reason = vacuum_reason(removable, kept, holder);
		if (analyze)
			planned->reason = psprintf("%s; %s", planned->reason,
									   analyze_reason());
		set_vacuum_costs(planner, group, planned);
		return;
	}

	if (holder != NULL)
	{
		planned = add_command(planner, group->table, SST_ORDINARY);
		planned->reason = kept_reason(kept, holder);
	}
	if (analyze)
		plan_analyze(planner, group);
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
is_enough(const SstRelation *relation, const SstGain *gain,
		  SstWithheld *why)
{
	if (!is_worth_it(gain->reclaimable.value, gain->bytes))
		return false;
	if (is_small_catalog(relation, gain->bytes))
		*why = SST_SMALL_CATALOG;
	else if (gain->reclaimable.low <= 0)
		*why = SST_WITHIN_MARGIN;
	else
		return true;
	return false;
}

/* The scratch space, reading and writing of an index that is built again */
static void
set_index_costs(const SstPlanner *planner, int i, SstPlannedCommand *planned)
{
	const SstReportEntry *entry = &planner->report->entries[i];
	double		table = entry->table ?
		(double) entry->table->estimate.nblocks * BLCKSZ : NAN;

	if (isnan(entry->estimate.rebuilt_blocks.value))
		planned->scratch_bytes = planned->bytes_to_write = NAN;

	/* REINDEX CONCURRENTLY reads the table twice, and what it has built. */
	if (planned->command.blocks_writes)
		planned->bytes_to_read = table;
	else
		planned->bytes_to_read = 2 * table + planned->bytes_to_write;
	planned->scratch_bytes += sort_bytes(planned->scratch_bytes);
}

/* An index that is not valid: a part of it is there, and it is of no use. */
static void
plan_invalid_index(SstPlanner *planner, int i)
{
	const SstRelation *index = &planner->relations[i];
	SstCommand	rebuild;
	SstPlannedCommand *planned;

	if (index->building)
		return;

	planned = add_command(planner, i, SST_INVALID);
	if (sst_is_to_be_dropped(index))
	{
		planned->command = sst_drop_index_command(index);
		planned->reclaimable = sst_entry_reclaimable(planner->report, i);
		rebuild = sst_rebuild_index_command(index);
		planned->reason = drop_reason(index, &rebuild);
		return;
	}
	planned->command = sst_rebuild_index_command(index);
	planned->reclaimable = (SstEstimate)
	{
		NAN, NAN, NAN
	};
	planned->reason = invalid_reason(index);
	set_index_costs(planner, i, planned);
}

/* Is the free space of the table being used again? */
static bool
is_table_reused(const SstPlanner *planner, const SstTableGroup *group)
{
	const SstReportEntry *entries = planner->report->entries;

	return sst_space_is_reused(planner->relations[group->table].relid,
							   &entries[group->table].estimate,
							   group->toast >= 0 ? &entries[group->toast].estimate : NULL);
}

/* ... or that of one of its indexes? */
static bool
is_index_reused(const SstPlanner *planner, const SstTableGroup *group, int i)
{
	const SstReportEntry *entries = planner->report->entries;

	return sst_index_space_is_reused(planner->relations[i].relid,
									 planner->relations[group->table].relid,
									 &entries[i].estimate,
									 &entries[group->table].estimate);
}

/*
 * Why an index whose table is not rebuilt has no command.  Sets whether its gain would
 * be enough for one.
 */
static SstWithheld
why_no_reindex(const SstPlanner *planner, SstTableGroup *group, int i,
			   const SstGain *gain, bool *enough)
{
	const SstRelation *index = &planner->relations[i];
	const SstBloatEstimate *estimate = &planner->report->entries[i].estimate;
	SstWithheld why = SST_NOT_WITHHELD;

	*enough = is_enough(index, gain, &why);
	if (estimate->analyze_first &&
		is_worth_it((estimate->nblocks - estimate->analyzed_blocks) * BLCKSZ,
					gain->bytes) &&
		!is_small_catalog(index, gain->bytes))
		why = SST_ANALYZE_FIRST;
	else if (*enough && is_index_reused(planner, group, i))
		why = SST_SPACE_REUSED;

	return why;
}

/* An index whose table is not rebuilt.  Returns whether it needs ANALYZE first. */
static bool
plan_index(SstPlanner *planner, SstTableGroup *group, int i)
{
	bool		corrupt = has_corrupt_pages(planner, i);
	SstGain		gain = {0};
	SstPlannedCommand *planned;

	add_gain(planner->report, i, &gain);
	if (!corrupt)
	{
		bool		enough;
		SstWithheld why = why_no_reindex(planner, group, i, &gain, &enough);

		planner->plan->withheld[i] = why;
		if (!enough || why != SST_NOT_WITHHELD)
			return why == SST_ANALYZE_FIRST;
	}

	planned = add_command(planner, i, corrupt ? SST_CORRUPT : SST_ORDINARY);
	planned->command = sst_rebuild_index_command(&planner->relations[i]);
	set_gain(planned, &gain);
	set_index_costs(planner, i, planned);
	planned->reason = reindex_reason(&planner->report->entries[i].estimate,
									 &gain);

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

/* Rebuild a table with its indexes and its TOAST table. */
static void
rebuild_table(SstPlanner *planner, const SstTableGroup *group, const SstCommand *command)
{
	const SstReport *report = planner->report;
	const SstRelation *table = &planner->relations[group->table];
	SstPlannedCommand *planned = add_command(planner, group->table,
											 SST_ORDINARY);
	int			place = planner->plan->command_of[group->table];
	SstGain		gain = {0};
	double		largest = 0;
	int			nindexes = 0;
	int			toast_index = -1;
	const char *holder = NULL;

	for (int i = planner->first[group->table]; i >= 0; i = planner->next[i])
	{
		const SstRelation *member = &planner->relations[i];
		double		predicted = gain.predicted;

		if (!is_rebuilt_with(member, command))
			continue;
		if (i == group->table && command->by_inserts)
			add_inserted_gain(report, i, &gain);
		else
			add_gain_with_table(report, i, command->by_inserts, &gain);
		planner->plan->command_of[i] = place;
		if (member->relkind != RELKIND_INDEX)
			continue;
		if (has_corrupt_pages(planner, i))
			planned->urgency = SST_CORRUPT;
		if (member->parent == table->relid)
			nindexes++;
		else if (is_worth_it(inserted_waste(gain.predicted - predicted),
							 gain.predicted - predicted))
			toast_index = i;
		largest = Max(largest, gain.predicted - predicted);
	}

	planned->command = *command;
	set_gain(planned, &gain);
	planned->scratch_bytes += sort_bytes(largest);
	planned->bytes_to_read = group->heap.bytes + group->toasted.bytes +
		nindexes * group->heap.predicted;
	planned->reason = rebuild_reason(&gain, command,
									 table->relid < FirstNormalObjectId);
	if (toast_index >= 0)
		planned->reason = add_toast_index_reason(planned->reason, &planner->relations[toast_index]);
	if (is_worth_it(group->kept, gain.bytes))
		holder = holder_of(planner, group);
	if (holder != NULL)
		planned->reason = add_kept_reason(planned->reason, group->kept, holder);
}

/* Does the table, or its TOAST table, or do both give back enough? */
static bool
is_table_worth_it(const SstPlanner *planner, const SstTableGroup *group,
				  const SstCommand *command, SstWithheld *why)
{
	const SstRelation *table = &planner->relations[group->table];
	SstGain		heap = {0};
	SstGain		both;
	SstGain		all = {0};

	if (command->by_inserts)
		add_inserted_gain(planner->report, group->table, &heap);
	else
		heap = group->heap;
	both = heap;
	if (group->toast >= 0)
	{
		both.bytes += group->toasted.bytes;
		both.reclaimable.value += group->toasted.reclaimable.value;
		both.reclaimable.low += group->toasted.reclaimable.low;
	}
	if (!is_enough(table, &heap, why) && !is_enough(table, &both, why) &&
		!is_enough(table, &group->toasted, why))
		return false;

	for (int i = planner->first[group->table]; i >= 0; i = planner->next[i])
		add_gain(planner->report, i, &all);
	if (both.reclaimable.value * 100 >= WORTH_PERCENT_OF_ALL * all.bytes)
		return true;
	*why = SST_LITTLE;
	return false;
}

/* What is corrupt in a table cannot be rebuilt, and neither can its indexes. */
static void
plan_corrupt_table(SstPlanner *planner, const SstTableGroup *group)
{
	for (int i = planner->first[group->table]; i >= 0; i = planner->next[i])
	{
		SstPlannedCommand *planned;

		planner->plan->withheld[i] = SST_TABLE_CORRUPT;
		if (!is_table(&planner->relations[i]) || !has_corrupt_pages(planner, i))
			continue;
		planned = add_command(planner, i, SST_CORRUPT);
		planned->bytes_to_write = NAN;
		planned->reason =
			corrupt_reason(&planner->relations[i],
						   &planner->report->entries[i].estimate);
	}
}

/* Rebuild the table if that is worth it; false if not. */
static bool
plan_rebuild(SstPlanner *planner, SstTableGroup *group)
{
	int			table = group->table;
	uint8	   *withheld = planner->plan->withheld;
	SstWithheld why = SST_NOT_WITHHELD;
	SstCommand	command;

	if (!is_worth_it(group->heap.reclaimable.value, group->heap.bytes) &&
		!is_worth_it(group->toasted.reclaimable.value, group->toasted.bytes))
		return false;

	command = sst_rebuild_table_command(&planner->tools,
										&planner->relations[table]);
	if (is_table_worth_it(planner, group, &command, &why))
	{
		if (!is_table_reused(planner, group))
		{
			rebuild_table(planner, group, &command);
			return true;
		}
		why = SST_SPACE_REUSED;
	}
	withheld[table] = why;
	if (group->toast >= 0 && group->toasted.reclaimable.value > 0)
		withheld[group->toast] = why;

	return false;
}

/* Plan the commands for a table, its indexes and its TOAST table. */
static void
plan_table(SstPlanner *planner, int table)
{
	SstTableGroup group;
	bool		rebuilt;
	bool		analyze = false;

	examine_table(planner, table, &group);
	if (has_corrupt_pages(planner, table) ||
		(group.toast >= 0 && has_corrupt_pages(planner, group.toast)))
	{
		plan_corrupt_table(planner, &group);
		return;
	}

	rebuilt = plan_rebuild(planner, &group);
	for (int i = planner->first[table]; i >= 0; i = planner->next[i])
	{
		if (is_table(&planner->relations[i]) ||
			planner->plan->command_of[i] >= 0)
			continue;
		if (!planner->relations[i].valid)
			plan_invalid_index(planner, i);
		else
			analyze |= plan_index(planner, &group, i);
	}
	if (!rebuilt)
		plan_vacuum(planner, &group, analyze);
}

/* ----------
 * The plan
 * ----------
 */

/* Bring the relations of each table into a list, in the order of OIDs. */
static void
group_relations(SstPlanner *planner)
{
	const SstRelations *list = &planner->report->relations;

	for (int i = list->n - 1; i >= 0; i--)
		planner->first[i] = planner->next[i] = -1;
	for (int i = list->n - 1; i >= 0; i--)
	{
		SstRelation *owner = &list->relation[i];
		int			table;

		if (owner->relkind == RELKIND_INDEX)
			owner = sst_find_relation(list, owner->parent);
		if (owner != NULL && owner->relkind == RELKIND_TOASTVALUE)
			owner = sst_find_relation(list, owner->parent);
		if (owner == NULL)
			continue;
		table = owner - list->relation;
		planner->next[i] = planner->first[table];
		planner->first[table] = i;
	}
}

static int
compare_commands(const void *a, const void *b)
{
	const SstPlannedCommand *left = a;
	const SstPlannedCommand *right = b;
	double		gains[2] = {left->reclaimable.value, right->reclaimable.value};

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
	return left->relation - right->relation;
}

/* Put the commands into their order. */
static void
rank_commands(SstCommandPlan *plan, int nrelations)
{
	int		   *by_relation = palloc_extended(sizeof(int) * (nrelations + 1),
											  MCXT_ALLOC_HUGE);

	for (int i = 0; i < nrelations; i++)
	{
		int			place = plan->command_of[i];

		by_relation[i] = place < 0 ? -1 : plan->commands[place].relation;
	}
	if (plan->ncommands > 1)
		qsort(plan->commands, plan->ncommands, sizeof(SstPlannedCommand),
			  compare_commands);
	for (int i = plan->ncommands - 1; i >= 0; i--)
		plan->command_of[plan->commands[i].relation] = i;
	for (int i = 0; i < nrelations; i++)
	{
		if (by_relation[i] >= 0)
			plan->command_of[i] = plan->command_of[by_relation[i]];
	}
	pfree(by_relation);
}

/*
 * Make the plan of a report, in the current memory context.  Catalogs, statistics
 * and the views of transactions are asked; no relation of the report is opened.
 */
SstCommandPlan *
sst_make_plan(const SstReport *report)
{
	int			n = report->relations.n;
	SstPlanner	planner = {report, report->relations.relation};
	SstCommandPlan *plan = palloc0(sizeof(SstCommandPlan));

	plan->command_of = palloc_extended(sizeof(int) * (n + 1), MCXT_ALLOC_HUGE);
	plan->withheld = palloc_extended(n + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	planner.plan = plan;
	planner.first = palloc_extended(sizeof(int) * (n + 1), MCXT_ALLOC_HUGE);
	planner.next = palloc_extended(sizeof(int) * (n + 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
		plan->command_of[i] = -1;
	sst_find_tools(&planner.tools);
	group_relations(&planner);

	for (int i = 0; i < n; i++)
	{
		const SstRelation *relation = &report->relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		if (is_table(relation) && relation->relkind != RELKIND_TOASTVALUE &&
			!relation->other_temp)
			plan_table(&planner, i);
	}
	rank_commands(plan, n);
	pfree(planner.first);
	pfree(planner.next);

	return plan;
}

/* What all commands of a plan give back together */
void
sst_plan_sum(const SstCommandPlan *plan, SstEstimate *reclaimable)
{
	memset(reclaimable, 0, sizeof(SstEstimate));
	for (int i = 0; i < plan->ncommands; i++)
	{
		const SstEstimate *one = &plan->commands[i].reclaimable;

		if (isnan(one->value))
			continue;
		reclaimable->value += one->value;
		reclaimable->low += one->low;
		reclaimable->high += one->high;
	}
}

/* How many commands there are; the rest of the plan says what else is to be done. */
int
sst_plan_ncommands(const SstCommandPlan *plan)
{
	int			n = 0;

	for (int i = 0; i < plan->ncommands; i++)
		n += plan->commands[i].command.text != NULL;

	return n;
}
