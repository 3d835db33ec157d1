/*-------------------------------------------------------------------------
 *
 * section_table.c
 *	  The table of relations, the most reclaimable first
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/section_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "html/parts.h"
#include "html/sections.h"

/*
 * The most relations that have a row; the fewest, if there are so many; and the share of
 * all reclaimable bytes that more rows have
 */
#define MAX_ROWS 160
#define MIN_ROWS 20
#define MIN_SHARE 0.0005

/* What else there is to know of the relation: at most one sentence */
static void
put_remark(StringInfo out, const SstPageRelation *relation)
{
	const char *remark = relation->note != NULL ? relation->note : relation->reason;

	if (remark == NULL && relation->rebuilt_by == NULL)
		return;

	appendStringInfoString(out, "<br/><small>");
	if (remark != NULL)
		sst_html_text(out, remark);
	else
	{
		appendStringInfoString(out, "rebuilt with ");
		sst_html_text(out, relation->rebuilt_by);
	}
	appendStringInfoString(out, "</small>");
}

static void
put_row(StringInfo out, const SstPageRelation *relation, double scale)
{
	appendStringInfoString(out, "<tr><td>");
	sst_html_relation(out, relation->schema, relation->name, relation->kind,
					  relation->parent);
	put_remark(out, relation);
	appendStringInfoString(out, "</td><td class=\"n\">");
	sst_html_bytes(out, relation->bytes);
	appendStringInfoString(out, "</td><td class=\"w\">");
	sst_html_range(out, relation->reclaimable);
	if (!isnan(relation->reclaimable.value))
		sst_html_bar(out, "", relation->reclaimable, scale);
	appendStringInfoString(out, "</td><td class=\"n\">");
	sst_html_percent(out, relation->bytes > 0 ? 100 * relation->reclaimable.value /
					 relation->bytes : NAN);
	appendStringInfoString(out, "</td><td class=\"n o\">");
	sst_html_percent(out, relation->free_percent);
	appendStringInfoString(out, "</td><td class=\"n o\">");
	sst_html_percent(out, relation->dead_percent);
	appendStringInfo(out, "</td><td class=\"o\">%s</td><td class=\"o\">",
					 relation->skipped ? "not read" : relation->exact ? "exact" : "sample");
	sst_html_text(out, relation->last_vacuum);
	appendStringInfoString(out, "</td></tr>\n");
}

/* The row for all that have none */
static void
put_rest(StringInfo out, const SstPageData *data, int first)
{
	double		bytes = 0;
	double		reclaimable = 0;

	for (int i = first; i < data->nrelations; i++)
	{
		bytes += data->relations[i].bytes;
		if (!isnan(data->relations[i].reclaimable.value))
			reclaimable += data->relations[i].reclaimable.value;
	}
	appendStringInfoString(out, "<tr><td>");
	sst_html_count(out, data->nrelations - first);
	appendStringInfoString(out, " others</td><td class=\"n\">");
	sst_html_bytes(out, bytes);
	appendStringInfoString(out, "</td><td class=\"w\">");
	sst_html_bytes(out, reclaimable);
	appendStringInfoString(out, "</td><td class=\"n\">");
	sst_html_percent(out, bytes > 0 ? 100 * reclaimable / bytes : NAN);
	appendStringInfoString(out, "</td><td class=\"o\"></td><td class=\"o\"></td>"
						   "<td class=\"o\"></td><td class=\"o\"></td></tr>\n");
}

/* How many relations have a row? */
static int
count_rows(const SstPageData *data)
{
	double		least = Max(data->reclaimable.value * MIN_SHARE, 1);
	int			nrows = Min(data->nrelations, MIN_ROWS);

	while (nrows < Min(data->nrelations, MAX_ROWS) &&
		   data->relations[nrows].reclaimable.value >= least)
		nrows++;

	return nrows;
}

/* Add the table. */
void
sst_html_table(StringInfo out, const SstPageData *data)
{
	int			nrows = count_rows(data);
	double		scale = 0;

	for (int i = 0; i < nrows; i++)
	{
		SstRange	range = data->relations[i].reclaimable;

		scale = Max(scale, range.high > range.value ? range.high :
					isnan(range.value) ? 0 : range.value);
	}
	appendStringInfoString(out, "<section>\n<h2>Relation by relation</h2>\n"
						   "<p class=\"note\">The most reclaimable bytes first. The lines with two ends are 95"
						   SST_HTML_SPACE "% intervals.</p>\n<table><thead><tr><th>Relation</th>"
						   "<th class=\"n\">Size</th><th class=\"w\">Reclaimable</th><th class=\"n\">Share</th>"
						   "<th class=\"n o\">Free</th><th class=\"n o\">Dead</th><th class=\"o\">Read</th>"
						   "<th class=\"o\">Last vacuum</th></tr></thead>\n<tbody>\n");
	for (int i = 0; i < nrows; i++)
		put_row(out, &data->relations[i], scale);
	if (nrows < data->nrelations)
		put_rest(out, data, nrows);
	appendStringInfoString(out, "</tbody></table>\n</section>\n");
}
