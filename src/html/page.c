/*-------------------------------------------------------------------------
 *
 * page.c
 *	  A report as one page of HTML
 *
 * The page is well-formed XML as well, so that a parser can check it.  It needs no other
 * file and no script, and forbids browsers to load or run any.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/page.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "html/escape.h"
#include "html/page.h"
#include "html/sections.h"

/* Write the page.  What is read for layout strips is added to io_stats. */
void
sst_html_page(StringInfo out, const SstPageData *data, SstIoStats *io_stats)
{
	appendStringInfoString(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
						   "<meta charset=\"utf-8\"/>\n"
						   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
						   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
						   "<meta name=\"generator\" content=\"streamstat " STREAMSTAT_VERSION "\"/>\n"
						   "<title>");
	sst_html_text(out, data->database);
	appendStringInfoString(out, ": reclaimable space, ");
	sst_html_text(out, data->started);
	appendStringInfo(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
					 sst_html_style);

	sst_html_header(out, data);
	sst_html_damage(out, data);
	sst_html_totals(out, data);
	sst_html_map(out, data);
	sst_html_plan(out, data);
	sst_html_strips(out, data, io_stats);
	sst_html_caches(out, data);
	sst_html_table(out, data);

	appendStringInfoString(out, "<footer>streamstat " STREAMSTAT_VERSION
						   ". Bytes are those of main forks; 1 kB is 1,024 bytes.</footer>\n"
						   "</main>\n</body>\n</html>\n");
}
