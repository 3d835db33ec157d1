/*-------------------------------------------------------------------------
 *
 * parts.h
 *	  Elements that several sections of the page share
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/parts.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_PARTS_H
#define SST_HTML_PARTS_H

#include "lib/stringinfo.h"

#include "html/escape.h"
#include "html/page_data.h"

extern void sst_html_bar(StringInfo out, const char *class, SstRange range,
						 double scale);
extern void sst_html_range(StringInfo out, SstRange range);
extern void sst_html_plain_range(StringInfo out, SstRange range);
extern const char *sst_html_share_class(double percent);
extern void sst_html_relation(StringInfo out, const char *schema,
							  const char *name, const char *kind,
							  const char *parent);

/* A number without an interval */
static inline SstRange
sst_plain_number(double value)
{
	SstRange	range = {value, value, value};

	return range;
}

#endif							/* SST_HTML_PARTS_H */
