/*-------------------------------------------------------------------------
 *
 * late_vacuum.c
 *	  Do the settings of a table let autovacuum come late?
 *
 * Autovacuum waits for a number of dead rows, by default a fifth of the table and
 * a few more.  The space of so many rows stays free afterwards.  The cumulative
 * statistics show whether that is what happens: as many rows die between two runs
 * as the settings say, or so many are dead now that it is not far from that.  If
 * they show anything else, then the settings are not the cause, or it is not known:
 * one command can delete many rows, workers can be busy, and counts are lost in a
 * crash.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/late_vacuum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "postmaster/autovacuum.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"

#include "compat/compat.h"
#include "report/command.h"
#include "report/late_vacuum.h"
#include "report/turnover.h"

/* Dead rows that are no reason to change a setting, as a part of the rows */
#define LOW_PART 0.05

/* Of fewer rows, it does not matter. */
#define MANY_ROWS 1000

/* A mean over fewer runs says little. */
#define MANY_RUNS 4

/* What the server goes by */
typedef struct Settings
{
	bool		enabled;
	double		rows;
	double		base;			/* rows, besides ... */
	double		scale;			/* ... a part of all rows */
	double		threshold;		/* of both together, in rows */
} Settings;

/*
 * As autovacuum finds them (relation_needs_vacanalyze() in autovacuum.c).  False if the table
 * has too few rows to matter, or is gone.
 */
static bool
get_settings(Oid tableoid, Settings *settings)
{
	StdRdOptions *options = sst_table_options(tableoid, &settings->rows);

	if (settings->rows < MANY_ROWS)
		return false;

	settings->enabled = options == NULL || options->autovacuum.enabled;
	settings->base = options != NULL && options->autovacuum.vacuum_threshold >= 0 ?
		options->autovacuum.vacuum_threshold : autovacuum_vac_thresh;
	settings->scale = options != NULL && options->autovacuum.vacuum_scale_factor >= 0 ?
		options->autovacuum.vacuum_scale_factor : autovacuum_vac_scale;
	settings->threshold = sst_limited_vacuum_threshold(options, settings->base +
													   settings->scale * settings->rows);
	return true;
}

/* The command that lets autovacuum come earlier */
static const char *
earlier(const SstRelation *table, const Settings *settings)
{
	const char *name = quote_qualified_identifier(table->schema, table->name);

	if (settings->scale > LOW_PART)
		return psprintf("ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = %g)", name, LOW_PART);
	return psprintf("ALTER TABLE %s SET (autovacuum_vacuum_threshold = %.0f)", name,
					LOW_PART * settings->rows);
}

/*
 * Why so much of a table can be dead, or free again, and what to change: translated, in the
 * current memory context.  NULL if its settings are not known to be the cause.  dead:
 * it is about rows that are dead now.
 */
const char *
sst_late_vacuum_reason(const SstRelation *table, bool dead)
{
	Oid			relid = table->relid;
	double		rows_dead = sst_table_statistic(pg_stat_get_dead_tuples, relid);
	double		runs = sst_table_statistic(pg_stat_get_autovacuum_count, relid);
	double		died = sst_table_statistic(pg_stat_get_tuples_updated, relid) -
		sst_table_statistic(pg_stat_get_tuples_hot_updated, relid) +
		sst_table_statistic(pg_stat_get_tuples_deleted, relid);
	double		mean = died / (runs + sst_table_statistic(pg_stat_get_vacuum_count, relid) + 1);
	Settings	settings;
	const char *command;

	if (!AutoVacuumingActive() || table->catalog || table->persistence == RELPERSISTENCE_TEMP ||
		!get_settings(relid, &settings))
		return NULL;
	if (!settings.enabled)
		return Max(rows_dead, mean) <= LOW_PART * settings.rows ? NULL :
			psprintf(_("autovacuum is off for this table: ALTER TABLE %s RESET (autovacuum_enabled)"),
					 quote_qualified_identifier(table->schema, table->name));

	if (settings.threshold <= 2 * LOW_PART * settings.rows)
		return NULL;
	command = earlier(table, &settings);
	if (dead && rows_dead > LOW_PART * settings.rows && rows_dead <= settings.threshold)
		return psprintf(_("autovacuum waits for %.0f dead rows, and there are %.0f; it comes earlier after: %s"),
						settings.threshold, rows_dead, command);
	if (runs >= MANY_RUNS && mean >= settings.threshold / 2 && mean <= 2 * settings.threshold)
		return psprintf(_("autovacuum waits for %.0f dead rows, and has run %.0f times, after %.0f on average; it comes earlier after: %s"),
						settings.threshold, runs, mean, command);

	return NULL;
}
