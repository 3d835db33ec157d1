/*-------------------------------------------------------------------------
 *
 * report_rows.c
 *	  Result rows of a report on many relations
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/report_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "api/report_rows.h"
#include "api/row.h"
#include "report/command_plan.h"

static const char *
measured_name(SstMeasured measured)
{
	switch (measured)
	{
		case SST_EXACT:
			return "exact";
		case SST_SAMPLED:
			return "sampled";
		default:
			return "skipped";
	}
}

/* The note on a relation, translated; or NULL */
static const char *
entry_note(const SstReportEntry *entry)
{
	if (entry->skipped == SST_SKIP_REFUSED)
		return entry->note;
	if (entry->measured != SST_SKIPPED)
		return sst_bloat_note(&entry->estimate);

	switch (entry->skipped)
	{
		case SST_SKIP_LOCKED:
			return _("locked by another session");
		case SST_SKIP_BUDGET:
			return _("not read: byte budget used up");
		case SST_SKIP_TIME:
			return _("not read: time limit reached");
		default:
			return _("not read: the report was canceled");
	}
}

/* The advice on a relation: its command, or where that is, or why it has none */
static void
put_advice(SstRow *row, const SstReport *report, const SstCommandPlan *plan, int i)
{
	const SstPlannedCommand *planned = plan->command_of[i] < 0 ? NULL :
		&plan->commands[plan->command_of[i]];
	const char *command = NULL;
	const char *rebuilt_by = NULL;
	const char *reason = NULL;

	if (planned == NULL)
		reason = sst_withheld_reason(plan->withheld[i]);
	else if (planned->relation == i)
	{
		command = planned->command.text;
		reason = planned->reason;
	}
	else
	{
		const SstRelation *table = &report->relations.relation[planned->relation];

		rebuilt_by = quote_qualified_identifier(table->schema, table->name);
	}
	sst_put_text(row, "command", command);
	sst_put_text(row, "rebuilt_by", rebuilt_by);
	sst_put_text(row, "reason", reason);
}

static void
put_row(SstRow *row, const SstReport *report, const SstCommandPlan *plan, int i)
{
	const SstRelation *relation = &report->relations.relation[i];
	const SstReportEntry *entry = &report->entries[i];

	sst_put_relation(row, relation);
	sst_put_text(row, "access_method", OidIsValid(relation->amoid) ?
				 get_am_name(relation->amoid) : NULL);
	sst_put_timestamptz(row, "last_vacuum", relation->last_vacuum);
	sst_put_count(row, "bytes",
				  relation->bytes < 0 && entry->measured == SST_SKIPPED ?
				  -1 : (int64) sst_entry_bytes(report, i));
	sst_put_estimate(row, "free_percent", entry->estimate.free_percent);
	sst_put_estimate(row, "dead_percent", entry->estimate.dead_percent);
	sst_put_bytes(row, "predicted_bytes",
				  entry->estimate.rebuilt_blocks.value * BLCKSZ);
	sst_put_bytes_estimate(row, "reclaimable_bytes",
						   sst_entry_reclaimable(report, i));
	sst_put_count(row, "corrupt_pages", entry->measured == SST_SKIPPED ? -1 :
				  (int64) entry->estimate.ncorrupt);
	sst_put_datum(row, "is_valid", BOOLOID, BoolGetDatum(relation->valid),
				  relation->relkind != RELKIND_INDEX);
	sst_put_int64(row, "bytes_read", (int64) entry->nread * BLCKSZ);
	sst_put_text(row, "measured", measured_name(entry->measured));
	sst_put_text(row, "note", entry_note(entry));
	put_advice(row, report, plan, i);
	sst_row_store(row);
}

/* A row's place in the order */
typedef struct Place
{
	double		back;			/* -1 if not known */
	int64		bytes;
	int			i;
} Place;

static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->back != right->back)
		return left->back < right->back ? 1 : -1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return left->i - right->i;
}

/* Return the rows of a report, the most reclaimable bytes first; none for NULL. */
void
sst_return_report(FunctionCallInfo fcinfo, const SstReport *report)
{
	SstRow		row;
	SstCommandPlan *plan;
	Place	   *places;
	MemoryContext rowcontext;
	MemoryContext oldcontext;

	sst_rows_begin(&row, fcinfo);
	if (report == NULL)
		return;

	plan = sst_make_plan(report);
	places = MemoryContextAllocHuge(CurrentMemoryContext,
									sizeof(Place) * (report->relations.n + 1));
	for (int i = 0; i < report->relations.n; i++)
	{
		double		back = sst_entry_reclaimable(report, i).value;

		places[i].back = isnan(back) ? -1 : back;
		places[i].bytes = sst_entry_bytes(report, i);
		places[i].i = i;
	}
	qsort(places, report->relations.n, sizeof(Place), compare_places);

	rowcontext = AllocSetContextCreate(CurrentMemoryContext, "streamstat row",
									   ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(rowcontext);
	for (int i = 0; i < report->relations.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_row(&row, report, plan, places[i].i);
		MemoryContextReset(rowcontext);
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(rowcontext);
	pfree(places);
}

static const char *
end_name(SstReportEnd end)
{
	switch (end)
	{
		case SST_REPORT_COMPLETE:
			return "complete";
		case SST_REPORT_BUDGET:
			return "budget";
		case SST_REPORT_TIME:
			return "max_time";
		default:
			return "canceled";
	}
}

/* Sums over the rows of a report */
typedef struct Sums
{
	int64		n[SST_EXACT + 1];	/* relations */
	int64		bytes;
	int64		bytes_skipped;	/* of relations of which nothing is known */
	int64		bytes_left;		/* that no sample had */
	SstEstimate reclaimable;
} Sums;

static void
add_up(const SstReport *report, Sums *sums)
{
	memset(sums, 0, sizeof(Sums));
	for (int i = 0; i < report->relations.n; i++)
	{
		const SstReportEntry *entry = &report->entries[i];
		int64		bytes = sst_entry_bytes(report, i);
		SstEstimate reclaimable = sst_entry_reclaimable(report, i);

		sums->n[entry->measured]++;
		sums->bytes += bytes;
		sums->bytes_left += bytes -
			Min((int64) entry->estimate.nread * BLCKSZ, bytes);
		if (entry->measured == SST_SKIPPED)
			sums->bytes_skipped += bytes;
		if (isnan(reclaimable.value))
			continue;
		sums->reclaimable.value += reclaimable.value;
		sums->reclaimable.low += reclaimable.low;
		sums->reclaimable.high += reclaimable.high;
	}
}

/* The row about a report; null for NULL */
Datum
sst_form_summary(FunctionCallInfo fcinfo, const SstReport *report)
{
	SstRow		row;
	Sums		sums;
	SstCommandPlan *plan;
	SstEstimate planned;

	if (report == NULL)
		PG_RETURN_NULL();

	add_up(report, &sums);
	plan = sst_make_plan(report);
	sst_plan_sum(plan, &planned);
	sst_row_init(&row, fcinfo);
	sst_put_timestamptz(&row, "started", report->started);
	sst_put_int64(&row, "relations", report->relations.n);
	sst_put_int64(&row, "exact_relations", sums.n[SST_EXACT]);
	sst_put_int64(&row, "sampled_relations", sums.n[SST_SAMPLED]);
	sst_put_int64(&row, "skipped_relations", sums.n[SST_SKIPPED]);
	sst_put_int64(&row, "commands", sst_plan_ncommands(plan));
	sst_put_bytes_estimate(&row, "reclaimable_bytes", sums.reclaimable);
	sst_put_bytes_estimate(&row, "planned_bytes", planned);
	sst_put_int64(&row, "bytes_total", sums.bytes);
	sst_put_int64(&row, "bytes_read", report->bytes_read);
	sst_put_int64(&row, "bytes_skipped", sums.bytes_skipped);
	sst_put_int64(&row, "bytes_left", sums.bytes_left);
	sst_put_float8(&row, "elapsed_ms",
				   report->ended_by == SST_REPORT_CANCELED ? NAN :
				   report->elapsed_ms);
	sst_put_text(&row, "ended_by", end_name(report->ended_by));

	return sst_row_datum(&row);
}

/* Return a row for each command of the plan of a report; none for NULL. */
void
sst_return_plan(FunctionCallInfo fcinfo, const SstReport *report)
{
	SstRow		row;
	SstCommandPlan *plan;

	sst_rows_begin(&row, fcinfo);
	if (report == NULL)
		return;

	plan = sst_make_plan(report);
	for (int i = 0; i < plan->ncommands; i++)
	{
		const SstPlannedCommand *planned = &plan->commands[i];
		const SstRelation *relation = &report->relations.relation[planned->relation];
		const SstCommand *command = &planned->command;

		sst_put_int64(&row, "rank", i + 1);
		sst_put_oid(&row, "relid", relation->relid);
		sst_put_text(&row, "schema_name", relation->schema);
		sst_put_text(&row, "relation_name", relation->name);
		sst_put_text(&row, "kind", sst_kind_name(relation));
		sst_put_bytes(&row, "bytes", planned->bytes);
		sst_put_int64(&row, "relations", planned->nrelations);
		sst_put_bytes_estimate(&row, "reclaimable_bytes", planned->reclaimable);
		sst_put_float8(&row, "reclaimable_percent", planned->bytes > 0 ?
					   100 * planned->reclaimable.value / planned->bytes : NAN);
		sst_put_bytes(&row, "scratch_bytes", planned->scratch_bytes);
		sst_put_bytes(&row, "bytes_to_read", planned->bytes_to_read);
		sst_put_bytes(&row, "bytes_to_write", planned->bytes_to_write);
		sst_put_text(&row, "command", command->text);
		sst_put_text(&row, "lock_mode", command->lock_mode);
		sst_put_bool(&row, "blocks_reads", command->blocks_reads);
		sst_put_bool(&row, "blocks_writes", command->blocks_writes);
		sst_put_text(&row, "reason", planned->reason);
		sst_row_store(&row);
	}
}
