/*-------------------------------------------------------------------------
 *
 * page.h
 *	  A report as one page of HTML
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/page.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_PAGE_H
#define SST_HTML_PAGE_H

#include "lib/stringinfo.h"

#include "html/page_data.h"
#include "stream/stream.h"

extern void sst_html_page(StringInfo out, const SstPageData *data,
						  SstIoStats *io_stats);

#endif							/* SST_HTML_PAGE_H */
