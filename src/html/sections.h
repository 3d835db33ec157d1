/*-------------------------------------------------------------------------
 *
 * sections.h
 *	  The sections of the page; each appends itself
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/sections.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_SECTIONS_H
#define SST_HTML_SECTIONS_H

#include "lib/stringinfo.h"

#include "html/page_data.h"
#include "stream/stream.h"

extern const char *const sst_html_style;

extern void sst_html_header(StringInfo out, const SstPageData *data);
extern void sst_html_damage(StringInfo out, const SstPageData *data);
extern void sst_html_totals(StringInfo out, const SstPageData *data);
extern void sst_html_map(StringInfo out, const SstPageData *data);
extern void sst_html_plan(StringInfo out, const SstPageData *data);
extern void sst_html_strips(StringInfo out, const SstPageData *data,
							SstIoStats *io_stats);
extern void sst_html_caches(StringInfo out, const SstPageData *data);
extern void sst_html_table(StringInfo out, const SstPageData *data);

#endif							/* SST_HTML_SECTIONS_H */
