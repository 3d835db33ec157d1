/*-------------------------------------------------------------------------
 *
 * plan_table.c
 *	  Planning the commands for one table
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
 *	  src/report/plan_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"

#include "report/plan_reasons.h"
#include "report/plan_table.h"
#include "report/plan_vacuum.h"
#include "report/turnover.h"

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
	if (!sst_is_worth_it(gain->reclaimable.value, gain->bytes))
		return false;
	if (sst_is_small_catalog(relation, gain->bytes))
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
	planned->scratch_bytes += sst_sort_bytes(planned->scratch_bytes);
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

	planned = sst_add_command(planner, i, SST_INVALID);
	if (sst_is_to_be_dropped(index))
	{
		planned->command = sst_drop_index_command(index);
		planned->reclaimable = sst_entry_reclaimable(planner->report, i);
		rebuild = sst_rebuild_index_command(index);
		planned->reason = sst_drop_reason(index, &rebuild);
		return;
	}
	planned->command = sst_rebuild_index_command(index);
	planned->reclaimable = (SstEstimate)
	{
		NAN, NAN, NAN
	};
	planned->reason = sst_invalid_reason(index);
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
		sst_is_worth_it((estimate->nblocks - estimate->analyzed_blocks) * BLCKSZ,
						gain->bytes) &&
		!sst_is_small_catalog(index, gain->bytes))
		why = SST_ANALYZE_FIRST;
	else if (*enough && is_index_reused(planner, group, i))
		why = SST_SPACE_REUSED;

	return why;
}

/* An index whose table is not rebuilt.  Returns whether it needs ANALYZE first. */
static bool
plan_index(SstPlanner *planner, SstTableGroup *group, int i)
{
	bool		corrupt = sst_has_corrupt_pages(planner, i);
	SstGain		gain = {0};
	SstPlannedCommand *planned;

	sst_add_gain(planner->report, i, &gain);
	if (!corrupt)
	{
		bool		enough;
		SstWithheld why = why_no_reindex(planner, group, i, &gain, &enough);

		planner->plan->withheld[i] = why;
		if (!enough || why != SST_NOT_WITHHELD)
			return why == SST_ANALYZE_FIRST;
	}

	planned = sst_add_command(planner, i, corrupt ? SST_CORRUPT : SST_ORDINARY);
	planned->command = sst_rebuild_index_command(&planner->relations[i]);
	sst_set_gain(planned, &gain);
	set_index_costs(planner, i, planned);
	planned->reason = sst_reindex_reason(&planner->report->entries[i].estimate,
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
	SstPlannedCommand *planned = sst_add_command(planner, group->table,
												 SST_ORDINARY);
	int			place = planner->plan->command_of[group->table];
	SstGain		gain = {0};
	double		largest = 0;
	int			nindexes = 0;
	const char *holder = NULL;

	for (int i = planner->first[group->table]; i >= 0; i = planner->next[i])
	{
		const SstRelation *member = &planner->relations[i];
		double		predicted = gain.predicted;

		if (!is_rebuilt_with(member, command))
			continue;
		if (i == group->table && command->by_inserts)
			sst_add_inserted_gain(report, i, &gain);
		else
			sst_add_gain_with_table(report, i, command->by_inserts, &gain);
		planner->plan->command_of[i] = place;
		if (member->relkind != RELKIND_INDEX)
			continue;
		if (sst_has_corrupt_pages(planner, i))
			planned->urgency = SST_CORRUPT;
		if (member->parent == table->relid)
			nindexes++;
		largest = Max(largest, gain.predicted - predicted);
	}

	planned->command = *command;
	sst_set_gain(planned, &gain);
	planned->scratch_bytes += sst_sort_bytes(largest);
	planned->bytes_to_read = group->heap.bytes + group->toasted.bytes +
		nindexes * group->heap.predicted;
	planned->reason = sst_rebuild_reason(&gain, command,
										 table->relid < FirstNormalObjectId);
	if (sst_is_worth_it(group->kept, gain.bytes))
		holder = sst_holder_of(planner, group);
	if (holder != NULL)
		planned->reason = sst_add_kept_reason(planned->reason, group->kept, holder);
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
		sst_add_inserted_gain(planner->report, group->table, &heap);
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
		sst_add_gain(planner->report, i, &all);
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
		if (!sst_is_table(&planner->relations[i]) || !sst_has_corrupt_pages(planner, i))
			continue;
		planned = sst_add_command(planner, i, SST_CORRUPT);
		planned->bytes_to_write = NAN;
		planned->reason =
			sst_corrupt_reason(&planner->relations[i],
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

	if (!sst_is_worth_it(group->heap.reclaimable.value, group->heap.bytes) &&
		!sst_is_worth_it(group->toasted.reclaimable.value, group->toasted.bytes))
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
void
sst_plan_table(SstPlanner *planner, int table)
{
	SstTableGroup group;
	bool		rebuilt;
	bool		analyze = false;

	sst_examine_table(planner, table, &group);
	if (sst_has_corrupt_pages(planner, table) ||
		(group.toast >= 0 && sst_has_corrupt_pages(planner, group.toast)))
	{
		plan_corrupt_table(planner, &group);
		return;
	}

	rebuilt = plan_rebuild(planner, &group);
	for (int i = planner->first[table]; i >= 0; i = planner->next[i])
	{
		if (sst_is_table(&planner->relations[i]) ||
			planner->plan->command_of[i] >= 0)
			continue;
		if (!planner->relations[i].valid)
			plan_invalid_index(planner, i);
		else
			analyze |= plan_index(planner, &group, i);
	}
	if (!rebuilt)
		sst_plan_vacuum(planner, &group, analyze);
}
