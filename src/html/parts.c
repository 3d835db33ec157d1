/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  Elements that several sections of the page share
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/parts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "html/parts.h"

/* A place on a scale, in percent; what is not known or beyond the ends is at an end. */
static double
place_on(double value, double scale)
{
	if (!(value > 0) || !(scale > 0))
		return 0;
	return Min(100 * value / scale, 100);
}

/*
 * Add a bar with the ends of its interval, if it has one, as an error bar.  The class
 * says what the bar shows; "" is reclaimable bytes.  What the bar says has to stand
 * beside it in digits.
 */
void
sst_html_bar(StringInfo out, const char *class, SstRange range, double scale)
{
	double		low = place_on(range.low, scale);
	double		high = place_on(range.high, scale);

	appendStringInfo(out, "<span class=\"bar%s%s\" aria-hidden=\"true\">",
					 class[0] != '\0' ? " " : "", class);
	appendStringInfoString(out, "<i style=\"width:");
	sst_html_place(out, place_on(range.value, scale));
	appendStringInfoString(out, "%\"></i>");
	if (range.low < range.high)
	{
		appendStringInfoString(out, "<b style=\"left:");
		sst_html_place(out, low);
		appendStringInfoString(out, "%;width:");
		sst_html_place(out, high - low);
		appendStringInfoString(out, "%\"></b>");
	}
	appendStringInfoString(out, "</span>");
}

/* Has the range an interval that is to be written? */
static bool
has_interval(SstRange range)
{
	return range.low < range.high && !sst_html_same_bytes(range.low, range.high);
}

/* Add bytes, and their interval if it is known and has a width. */
void
sst_html_plain_range(StringInfo out, SstRange range)
{
	sst_html_bytes(out, range.value);
	if (has_interval(range))
	{
		appendStringInfoString(out, " (");
		sst_html_interval(out, range.low, range.high);
		appendStringInfoChar(out, ')');
	}
}

/* The same as markup: the number stands out. */
void
sst_html_range(StringInfo out, SstRange range)
{
	sst_html_bytes(out, range.value);
	if (has_interval(range))
	{
		appendStringInfoString(out, " <small>");
		sst_html_interval(out, range.low, range.high);
		appendStringInfoString(out, "</small>");
	}
}

/* The class of colours for a share of reclaimable bytes; NaN: not known */
const char *
sst_html_share_class(double percent)
{
	if (isnan(percent))
		return "cu";
	if (percent < 5)
		return "c0";
	if (percent < 20)
		return "c1";
	if (percent < 40)
		return "c2";
	return percent < 60 ? "c3" : "c4";
}

/*
 * Add a relation's name as markup, with its kind if that is given.  The name of a TOAST
 * table says nothing, so that the table's follows.
 */
void
sst_html_relation(StringInfo out, const char *schema, const char *name,
				  const char *kind, const char *parent)
{
	if (schema != NULL)
	{
		appendStringInfoString(out, "<span class=\"sch\">");
		sst_html_text(out, schema);
		appendStringInfoString(out, ".</span>");
	}
	sst_html_text(out, name != NULL ? name : kind);
	if (kind != NULL && name != NULL)
	{
		appendStringInfoString(out, " <small>");
		sst_html_text(out, kind);
		if (parent != NULL && strcmp(kind, "toast table") == 0)
		{
			appendStringInfoString(out, " of ");
			sst_html_text(out, parent);
		}
		appendStringInfoString(out, "</small>");
	}
}
