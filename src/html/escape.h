/*-------------------------------------------------------------------------
 *
 * escape.h
 *	  Text and numbers for a page that is valid in every encoding
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/escape.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_HTML_ESCAPE_H
#define SST_HTML_ESCAPE_H

#include "lib/stringinfo.h"

/* What stands for a number that is not known, and between the ends of an interval */
#define SST_HTML_DASH "&#8211;"

/* Between a number and its unit: no line is broken there. */
#define SST_HTML_SPACE "&#160;"

extern void sst_html_text(StringInfo out, const char *text);
extern void sst_html_name(StringInfo out, const char *schema, const char *name);
extern void sst_html_bytes(StringInfo out, double bytes);
extern void sst_html_interval(StringInfo out, double low, double high);
extern bool sst_html_same_bytes(double low, double high);
extern void sst_html_percent(StringInfo out, double percent);
extern void sst_html_count(StringInfo out, double count);
extern void sst_html_place(StringInfo out, double place);

#endif							/* SST_HTML_ESCAPE_H */
