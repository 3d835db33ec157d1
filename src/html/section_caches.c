/*-------------------------------------------------------------------------
 *
 * section_caches.c
 *	  The part of the database that is cached
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/section_caches.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "html/parts.h"
#include "html/sections.h"

static void
put_total(StringInfo out, const char *label, const char *class, double bytes, double scale)
{
	appendStringInfo(out, "<p><span>%s</span>", label);
	sst_html_bar(out, class, sst_plain_number(bytes), scale);
	appendStringInfoString(out, "<span>");
	sst_html_bytes(out, bytes);
	appendStringInfoString(out, "</span></p>\n");
}

/* A cell with bytes, and a bar for the share of the table that they are */
static void
put_cell(StringInfo out, const char *class, double bytes, double all)
{
	appendStringInfoString(out, "<td class=\"w\">");
	sst_html_bytes(out, bytes);
	if (!isnan(bytes) && all > 0)
	{
		appendStringInfoString(out, " <small>");
		sst_html_percent(out, 100 * bytes / all);
		appendStringInfoString(out, "</small>");
	}
	sst_html_bar(out, class, sst_plain_number(bytes), all);
	appendStringInfoString(out, "</td>");
}

static void
put_row(StringInfo out, const SstPageCached *cached)
{
	appendStringInfoString(out, "<tr><td>");
	sst_html_text(out, cached->name);
	appendStringInfoString(out, "</td><td class=\"n o\">");
	sst_html_bytes(out, cached->bytes);
	appendStringInfoString(out, "</td>");
	put_cell(out, "s", cached->buffered_bytes, cached->bytes);
	put_cell(out, "p", cached->page_cache_bytes, cached->bytes);
	appendStringInfoString(out, "</tr>\n");
}

/* Add what is cached now, or why that is not there. */
void
sst_html_caches(StringInfo out, const SstPageData *data)
{
	appendStringInfoString(out, "<section>\n<h2>What is cached</h2>\n");
	if (!data->caches_known)
	{
		appendStringInfo(out, "<p class=\"note\">%s</p>\n</section>\n", data->stored ?
						 "Stored reports do not include what was cached." :
						 "Only members of pg_monitor may see what is cached.");
		return;
	}

	appendStringInfoString(out, "<div class=\"bars\">\n");
	put_total(out, "This database", "g", data->cached.bytes, data->cached.bytes);
	put_total(out, "In shared buffers", "s", data->cached.buffered_bytes, data->cached.bytes);
	put_total(out, "In the page cache", "p", data->cached.page_cache_bytes, data->cached.bytes);
	appendStringInfoString(out, "</div>\n<p class=\"note\">All forks, when the page was made. Shared buffers have ");
	sst_html_bytes(out, (double) NBuffers * BLCKSZ);
	appendStringInfoString(out, " for all databases.</p>\n"
						   "<table><thead><tr><th>Table with its indexes</th><th class=\"n o\">Size</th>"
						   "<th class=\"w\">In shared buffers</th><th class=\"w\">In the page cache</th></tr></thead>\n<tbody>\n");
	for (int i = 0; i < data->ncached; i++)
		put_row(out, &data->most_cached[i]);
	appendStringInfoString(out, "</tbody></table>\n</section>\n");
}
