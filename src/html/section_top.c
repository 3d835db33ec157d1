/*-------------------------------------------------------------------------
 *
 * section_top.c
 *	  The top of the page: what was found, what is damaged, and totals
 *
 * Urgent findings come before all numbers.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/section_top.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "html/parts.h"
#include "html/sections.h"

/* The most damaged relations that are named */
#define MAX_DAMAGED 60

/* How long the report took, in words */
static void
put_duration(StringInfo out, double ms)
{
	if (isnan(ms))
		appendStringInfoString(out, "it was canceled");
	else if (ms < 1000)
		appendStringInfo(out, "in %.0f" SST_HTML_SPACE "ms", ms);
	else if (ms < 120000)
		appendStringInfo(out, "in %.1f" SST_HTML_SPACE "s", ms / 1000);
	else
		appendStringInfo(out, "in %.0f" SST_HTML_SPACE "min", ms / 60000);
}

/* What ended the report, in words; NULL if nothing is to be said of it */
static const char *
end_in_words(const char *ended_by)
{
	if (ended_by == NULL || strcmp(ended_by, "complete") == 0)
		return NULL;
	if (strcmp(ended_by, "budget") == 0)
		return "ended at its byte budget";
	if (strcmp(ended_by, "max_time") == 0)
		return "ended at its time limit";
	return "canceled";
}

static void
put_separator(StringInfo out)
{
	appendStringInfoString(out, " &#183; ");
}

/* One line: server, time, cost */
static void
put_facts(StringInfo out, const SstPageData *data)
{
	const char *end = end_in_words(data->ended_by);

	appendStringInfoString(out, "<p class=\"facts\">");
	if (data->server != NULL)
	{
		appendStringInfoString(out, "PostgreSQL ");
		sst_html_text(out, data->server);
		put_separator(out);
	}
	sst_html_text(out, data->started);
	put_separator(out);
	sst_html_count(out, data->nrelations);
	appendStringInfoString(out, data->nrelations == 1 ? " relation: " : " relations: ");
	sst_html_count(out, data->nexact);
	appendStringInfoString(out, " read as a whole, ");
	sst_html_count(out, data->nsampled);
	appendStringInfoString(out, " in part, ");
	sst_html_count(out, data->nskipped);
	appendStringInfoString(out, " not at all");
	put_separator(out);
	appendStringInfoString(out, "looked at ");
	sst_html_bytes(out, data->bytes_read);
	appendStringInfoChar(out, ' ');
	put_duration(out, data->elapsed_ms);
	if (end != NULL)
	{
		put_separator(out);
		appendStringInfoString(out, end);
	}
	if (data->stored)
		appendStringInfo(out, " &#183; stored run %lld", (long long) data->run);
	appendStringInfoString(out, "</p>\n");
}

/* Add the headline, what it means in two sentences, and where it is from. */
void
sst_html_header(StringInfo out, const SstPageData *data)
{
	appendStringInfoString(out, "<header>\n<p class=\"kicker\">Database ");
	sst_html_text(out, data->database);
	appendStringInfoString(out, "</p>\n<h1>");
	sst_html_bytes(out, data->reclaimable.value);
	appendStringInfoString(out, " of ");
	sst_html_bytes(out, data->bytes_total);
	appendStringInfoString(out, " can be reclaimed</h1>\n<p class=\"lead\">");
	if (data->reclaimable.low < data->reclaimable.high)
	{
		appendStringInfoString(out, "The 95" SST_HTML_SPACE "% intervals of all relations add up to ");
		sst_html_interval(out, data->reclaimable.low, data->reclaimable.high);
		appendStringInfoString(out, ". ");
	}
	if (data->ncommands > 0)
	{
		sst_html_count(out, data->ncommands);
		appendStringInfoString(out, data->ncommands == 1 ? " command reclaims " : " commands reclaim ");
		sst_html_bytes(out, data->planned.value);
		appendStringInfoString(out, " of it; no command for the rest is worth its cost.");
	}
	else
		appendStringInfoString(out, "No command is worth its cost.");
	appendStringInfoString(out, "</p>\n");
	if (data->note != NULL)
	{
		appendStringInfoString(out, "<p class=\"note\">");
		sst_html_text(out, data->note);
		appendStringInfoString(out, "</p>\n");
	}
	put_facts(out, data);
	appendStringInfoString(out, "</header>\n");
}

static bool
is_damaged(const SstPageRelation *relation)
{
	return relation->corrupt_pages > 0 || relation->invalid;
}

static void
put_damaged(StringInfo out, const SstPageRelation *relation)
{
	appendStringInfoString(out, "<li><h3>");
	sst_html_relation(out, relation->schema, relation->name, relation->kind,
					  relation->parent);
	appendStringInfoString(out, "</h3>\n<p>");
	if (relation->corrupt_pages > 0)
	{
		appendStringInfoString(out, "<strong>");
		sst_html_count(out, relation->corrupt_pages);
		appendStringInfo(out, " corrupt page%s</strong> among those that were read: ",
						 relation->corrupt_pages == 1 ? "" : "s");
	}
	if (relation->invalid)
		appendStringInfoString(out, "<strong>The index is not valid:</strong> ");
	sst_html_text(out, relation->reason != NULL ? relation->reason : relation->note);
	appendStringInfoString(out, "</p>\n");
	if (relation->command != NULL)
	{
		appendStringInfoString(out, "<pre>");
		sst_html_text(out, relation->command);
		appendStringInfoString(out, "</pre>\n");
	}
	appendStringInfoString(out, "</li>\n");
}

/* Add the relations that are corrupt or not valid, if there are any. */
void
sst_html_damage(StringInfo out, const SstPageData *data)
{
	int			ncorrupt = 0;
	int			ninvalid = 0;
	int			ndamaged = 0;
	int			nshown = 0;

	for (int i = 0; i < data->nrelations; i++)
	{
		ncorrupt += data->relations[i].corrupt_pages > 0;
		ninvalid += data->relations[i].invalid;
		ndamaged += is_damaged(&data->relations[i]);
	}
	if (ndamaged == 0)
		return;

	appendStringInfoString(out, "<section class=\"alert\">\n<p class=\"kicker\">First</p>\n<h2>");
	if (ncorrupt > 0)
		appendStringInfo(out, ncorrupt == 1 ? "%d relation is corrupt" :
						 "%d relations are corrupt", ncorrupt);
	if (ncorrupt > 0 && ninvalid > 0)
		appendStringInfoString(out, ", ");
	if (ninvalid > 0)
		appendStringInfo(out, ninvalid == 1 ? "%d index is not valid" :
						 "%d indexes are not valid", ninvalid);
	appendStringInfoString(out, "</h2>\n<ul class=\"plan\">\n");

	/* Corrupt ones first */
	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < data->nrelations && nshown < MAX_DAMAGED; i++)
		{
			const SstPageRelation *relation = &data->relations[i];

			if (is_damaged(relation) && (relation->corrupt_pages > 0) == (pass == 0))
			{
				put_damaged(out, relation);
				nshown++;
			}
		}
	}
	appendStringInfoString(out, "</ul>\n");
	if (nshown < ndamaged)
		appendStringInfo(out, "<p class=\"note\">The first %d are shown.</p>\n", nshown);
	appendStringInfoString(out, "</section>\n");
}

/* A bar with its label before and its number behind */
static void
put_total(StringInfo out, const char *label, const char *class, SstRange range,
		  double scale)
{
	appendStringInfo(out, "<p><span>%s</span>", label);
	sst_html_bar(out, class, range, scale);
	appendStringInfoString(out, "<span>");
	sst_html_range(out, range);
	appendStringInfoString(out, "</span></p>\n");
}

/* Add the sums over all relations, on one scale. */
void
sst_html_totals(StringInfo out, const SstPageData *data)
{
	double		all = data->bytes_total;

	appendStringInfoString(out, "<section>\n<h2>In all</h2>\n<div class=\"bars\">\n");
	put_total(out, "All relations", "g", sst_plain_number(all), all);
	put_total(out, "Reclaimable", "", data->reclaimable, all);
	if (data->ncommands > 0)
		put_total(out, "By the plan", "", data->planned, all);
	put_total(out, "Not read", "g", sst_plain_number(data->bytes_left), all);
	if (data->bytes_skipped > 0)
		put_total(out, "Relations not read", "g", sst_plain_number(data->bytes_skipped), all);
	appendStringInfoString(out, "</div>\n<p class=\"note\">The lines with two ends are 95"
						   SST_HTML_SPACE "% intervals. Those of sums add up the ends of all relations, which are"
						   " unlikely to be reached all at once.</p>\n</section>\n");
}
