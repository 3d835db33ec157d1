/*-------------------------------------------------------------------------
 *
 * section_plan.c
 *	  The plan: commands to copy, with their gain, cost and locks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/section_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "html/parts.h"
#include "html/sections.h"

/* What waits while the command works */
static const char *
waiting(const SstPageCommand *command)
{
	if (command->blocks_reads)
		return "queries and changes of the table wait";
	if (command->blocks_writes)
		return "changes of the table wait";
	return "queries and changes go on";
}

/* What it takes, in one line */
static void
put_cost(StringInfo out, const SstPageCommand *command)
{
	appendStringInfoString(out, "<p class=\"meta\">");
	if (command->relations > 1)
	{
		appendStringInfoString(out, "For ");
		sst_html_count(out, command->relations);
		appendStringInfoString(out, " relations of ");
	}
	else
		appendStringInfoString(out, "For ");
	sst_html_bytes(out, command->bytes);
	if (command->scratch_bytes > 0)
	{
		appendStringInfoString(out, "; needs ");
		sst_html_bytes(out, command->scratch_bytes);
		appendStringInfoString(out, " of disk until its end");
	}
	if (command->bytes_to_write > 0)
	{
		appendStringInfoString(out, "; writes ");
		sst_html_bytes(out, command->bytes_to_write);
	}
	if (command->lock_mode != NULL)
	{
		appendStringInfoString(out, "; ");
		sst_html_text(out, command->lock_mode);
		appendStringInfo(out, ": %s", waiting(command));
	}
	appendStringInfoString(out, ".</p>\n");
}

static void
put_command(StringInfo out, const SstPageCommand *command, double scale)
{
	appendStringInfoString(out, "<li><div class=\"head\"><h3>");
	sst_html_relation(out, command->schema, command->name, command->kind,
					  NULL);
	appendStringInfoString(out, "</h3>");
	sst_html_bar(out, "", command->reclaimable, scale);
	appendStringInfoString(out, "<span>");
	sst_html_range(out, command->reclaimable);
	appendStringInfoString(out, "</span></div>\n");
	if (command->reason != NULL)
	{
		appendStringInfoString(out, "<p class=\"why\">");
		sst_html_text(out, command->reason);
		appendStringInfoString(out, "</p>\n");
	}
	if (command->command != NULL)
	{
		appendStringInfoString(out, "<pre>");
		sst_html_text(out, command->command);
		appendStringInfoString(out, "</pre>\n");
		put_cost(out, command);
	}
	appendStringInfoString(out, "</li>\n");
}

/* Add all SQL commands as one text to copy. */
static void
put_all(StringInfo out, const SstPageData *data)
{
	appendStringInfoString(out, "<details><summary>All these SQL commands in one</summary>\n<pre>");
	for (int i = 0; i < data->nplanned; i++)
	{
		const char *command = data->commands[i].command;

		if (command == NULL || strncmp(command, "pg_repack", strlen("pg_repack")) == 0)
			continue;
		sst_html_text(out, command);
		appendStringInfoString(out, command[strlen(command) - 1] == ';' ? "\n" : ";\n");
	}
	appendStringInfoString(out, "</pre></details>\n");
}

/* Add the commands in their order. */
void
sst_html_plan(StringInfo out, const SstPageData *data)
{
	double		scale = 0;

	appendStringInfoString(out, "<section>\n<h2>What to do</h2>\n");
	if (data->nplanned == 0)
	{
		appendStringInfoString(out, "<p>Nothing: no command is worth its cost.</p>\n</section>\n");
		return;
	}

	for (int i = 0; i < data->nplanned; i++)
	{
		SstRange	range = data->commands[i].reclaimable;

		scale = Max(scale, range.high > range.value ? range.high : range.value);
	}
	appendStringInfoString(out, "<p class=\"note\">Repairs come first, then the commands that reclaim most. Click a command"
						   " to select it.</p>\n<ol class=\"plan\">\n");
	for (int i = 0; i < data->nplanned; i++)
		put_command(out, &data->commands[i], scale);
	appendStringInfoString(out, "</ol>\n");
	if (data->ncommands > data->nplanned)
	{
		appendStringInfoString(out, "<p class=\"note\">These are the first of ");
		sst_html_count(out, data->ncommands);
		appendStringInfoString(out, " commands; last_database_plan() has all.</p>\n");
	}
	if (data->nplanned > 1)
		put_all(out, data);
	appendStringInfoString(out, "</section>\n");
}
