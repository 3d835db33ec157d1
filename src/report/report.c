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
 * IDENTIFICATION
 *	  src/report/report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "relation/refuse.h"
#include "relation/shards.h"
#include "report/report.h"
#include "run/progress.h"

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

	entry->relid = relation->relid;
	if (relation->relkind == RELKIND_INDEX ||
		relation->relkind == RELKIND_TOASTVALUE)
	{
		entry->tableoid = relation->parent;
		entry->table = sst_report_entry(report, relation->parent);
	}
	sst_bloat_estimate_init(&entry->estimate,
							Max(relation->bytes, 0) / BLCKSZ);
	if (sst_is_distributed(relation->relkind == RELKIND_INDEX ?
						   relation->parent : relation->relid))
		entry->estimate.note = SST_SHARDS_REPORT_NOTE;
	entry->fileless = relation->bytes < 0;
	entry->note = sst_state_note(sst_listed_state(relation));

	/* Whether such a table is empty, its access method knows. */
	if (entry->note == NULL && relation->relkind != RELKIND_INDEX &&
		relation->amoid != HEAP_TABLE_AM_OID)
		entry->note = sst_table_am_note(relation->amoid);
	entry->skipped = entry->note != NULL ? SST_SKIP_REFUSED : SST_SKIP_NONE;
}

/*
 * Make a report that has an entry for each relation, and nothing read.  It takes the
 * place of the session's last one, in memory that lives as long as the session.
 */
SstReport *
sst_create_report(const SstReportLimits *limits)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "streamstat report",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	SstReport  *report = palloc0(sizeof(SstReport));
	SstRelations relations;

	if (last_report != NULL)
		MemoryContextDelete(last_report->context);
	last_report = report;

	report->context = context;
	report->limits = *limits;
	report->started = GetCurrentTimestamp();
	report->next_xid = ReadNextTransactionId();
	INSTR_TIME_SET_CURRENT(report->start);
	sst_io_stats_init(&report->io_stats, sst_usual_io_path());

	sst_progress_phase(SST_PHASE_CATALOG);
	sst_list_relations(&relations);
	report->entries =
		MemoryContextAllocExtended(context, sizeof(SstReportEntry) *
								   (relations.n + 1),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	report->relations = relations;
	for (int i = 0; i < report->relations.n; i++)
		init_entry(report, i);
	MemoryContextSwitchTo(oldcontext);

	return report;
}

/* The session's last report, or NULL if there was none */
const SstReport *
sst_last_report(void)
{
	return last_report;
}
