/*-------------------------------------------------------------------------
 *
 * report.c
 *	  A report: the bloat of all relations of the database
 *
 * The session keeps its last report from its beginning until the next one.  So
 * a canceled report shows what it had found.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "report/report.h"
#include "run/call.h"

/*
 * The session's last report, or NULL.  It is process state because other calls of
 * the session show it, after the transaction that made it, or after its error.
 */
static SstReport *last_report;

/* Find the entry of a relation, or return NULL. */
SstReportEntry *
sst_report_entry(const SstReport *report, Oid relid)
{
	const SstRelation *relation = sst_find_relation(&report->relations, relid);

	return relation == NULL ? NULL :
		&report->entries[relation - report->relations.relation];
}

/* Set up the entry of the i-th relation. */
static void
init_entry(SstReport *report, int i)
{
	const SstRelation *relation = &report->relations.relation[i];
	SstReportEntry *entry = &report->entries[i];

	entry->relation = relation;
	if (relation->relkind == RELKIND_INDEX ||
		relation->relkind == RELKIND_TOASTVALUE)
		entry->table = sst_report_entry(report, relation->parent);
	sst_bloat_estimate_init(&entry->estimate,
							Max(relation->bytes, 0) / BLCKSZ);
	if (sst_is_distributed(relation->relkind == RELKIND_INDEX ?
						   relation->parent : relation->relid))
		entry->estimate.note = SST_SHARDS_REPORT_NOTE;
	entry->note = sst_state_note(sst_listed_state(relation));

	/* Whether such a table is empty, its access method knows. */
	if (entry->note == NULL && relation->relkind != RELKIND_INDEX &&
		relation->amoid != HEAP_TABLE_AM_OID)
		entry->note = sst_table_am_note(relation->amoid);
	entry->skipped = entry->note != NULL ? SST_SKIP_REFUSED : SST_SKIP_NONE;
}

/*
 * List the tables of a scope and what belongs to them.  An index or a TOAST table stands for
 * its table, and a table for its partitions and children.
 */
static void
list_tables(const SstReportScope *scope, SstRelations *list)
{
	List	   *tables = NIL;
	Oid		   *relids;
	ListCell   *lc;

	for (int i = 0; i < scope->ntables; i++)
	{
		Oid			relid = sst_table_of(scope->tables[i]);

		if (get_rel_relkind(relid) != '\0')
			tables = list_concat(tables, find_all_inheritors(relid, NoLock, NULL));
	}
	relids = palloc(sizeof(Oid) * (list_length(tables) + 1));
	foreach(lc, tables)
		relids[foreach_current_index(lc)] = lfirst_oid(lc);
	sst_list_chosen_relations(list, relids, list_length(tables));
	sst_look_up_activity(list);
}

/* Is it a table of one of the schemas? */
static bool
is_in_schemas(const SstReportScope *scope, const SstRelation *table)
{
	for (int i = 0; i < scope->nschemas; i++)
	{
		const char *name = get_namespace_name(scope->schemas[i]);

		if (name != NULL && strcmp(name, table->schema) == 0)
			return true;
	}
	return scope->schemas == NULL;
}

/* Leave out of a list what does not belong to a table of the schemas that is large enough. */
static void
narrow_list(const SstReportScope *scope, SstRelations *list)
{
	int64	   *bytes = palloc_extended(sizeof(int64) * (list->n + 1),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	bool	   *kept = palloc_extended(list->n + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int			n = 0;

	for (int i = 0; i < list->n; i++)
	{
		const SstRelation *table = sst_owning_table(list, &list->relation[i]);

		if (table != NULL)
			bytes[table - list->relation] += Max(list->relation[i].bytes, 0);
	}
	for (int i = 0; i < list->n; i++)
	{
		const SstRelation *table = sst_owning_table(list, &list->relation[i]);

		CHECK_FOR_INTERRUPTS();
		kept[i] = table != NULL &&
			sst_has_pages_to_report(list->relation[i].relkind) &&
			bytes[table - list->relation] >= scope->min_bytes &&
			is_in_schemas(scope, table);
	}
	for (int i = 0; i < list->n; i++)
	{
		if (kept[i])
			list->relation[n++] = list->relation[i];
	}
	list->n = n;
	pfree(bytes);
	pfree(kept);
}

/*
 * Make a report that has an entry for each relation, and nothing read.  It takes the
 * place of the session's last one, in memory that lives as long as the session.
 */
SstReport *
sst_create_report(const SstReportLimits *limits)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "streamstat report",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	SstReport  *report = palloc0(sizeof(SstReport));
	SstRelations relations;

	if (last_report != NULL)
		MemoryContextDelete(last_report->context);
	last_report = NULL;

	report->context = context;
	report->limits = *limits;
	report->started = GetCurrentTimestamp();
	report->next_xid = ReadNextTransactionId();
	INSTR_TIME_SET_CURRENT(report->start);
	report->left.deadline = sst_now() + limits->max_seconds;
	report->left.bytes_left = limits->budget;
	report->left.max_rate = limits->max_rate;
	sst_io_stats_init(&report->io_stats, sst_usual_io_path());

	sst_progress_phase(SST_PHASE_CATALOG);
	if (limits->scope.tables != NULL)
		list_tables(&limits->scope, &relations);
	else
		sst_list_relations(&relations);
	if (limits->scope.tables != NULL || limits->scope.schemas != NULL ||
		limits->scope.min_bytes > 0)
		narrow_list(&limits->scope, &relations);
	report->entries =
		MemoryContextAllocExtended(context, sizeof(SstReportEntry) *
								   (relations.n + 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	report->relations = relations;
	for (int i = 0; i < report->relations.n; i++)
		init_entry(report, i);
	MemoryContextSwitchTo(oldcontext);

	/* From here on, each entry can be shown. */
	MemoryContextSetParent(context, TopMemoryContext);
	last_report = report;

	return report;
}

/* The session's last report, or NULL if there was none */
const SstReport *
sst_last_report(void)
{
	return last_report;
}
