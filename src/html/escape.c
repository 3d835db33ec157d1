/*-------------------------------------------------------------------------
 *
 * escape.c
 *	  Text and numbers for a page that is valid in every encoding
 *
 * Everything but printable ASCII becomes a numeric character reference.  So
 * the page is ASCII, which all database and client encodings include, and
 * names cannot be mistaken for markup, in text or in attributes in double
 * quotes.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/escape.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"

#include "html/escape.h"

/* Stands for bytes that are no character, and for characters that no page may have */
#define REPLACEMENT 0xFFFD

/* Bytes that are converted at a time, and the most that they become */
#define PIECE 64
#define PIECE_UTF8 (PIECE * MAX_CONVERSION_GROWTH + 1)

/* Add a character by its number in Unicode. */
static void
put_character(StringInfo out, uint32 c)
{
	switch (c)
	{
		case '&':
			appendStringInfoString(out, "&amp;");
			return;
		case '<':
			appendStringInfoString(out, "&lt;");
			return;
		case '>':
			appendStringInfoString(out, "&gt;");
			return;
		case '"':
			appendStringInfoString(out, "&quot;");
			return;
		case '\t':
		case '\n':
		case '\r':
		case '\'':
			appendStringInfo(out, "&#%u;", c);
			return;
	}

	if (c >= 0x20 && c < 0x7F)
		appendStringInfoCharMacro(out, (char) c);
	else if (c < 0xA0 || (c >= 0xD800 && c < 0xE000) || (c & 0xFFFE) == 0xFFFE ||
			 c > 0x10FFFF)
		appendStringInfo(out, "&#x%X;", REPLACEMENT);
	else
		appendStringInfo(out, "&#x%X;", c);
}

/* The number of the UTF-8 character that begins with these bytes, and its length */
static uint32
decode_utf8(const unsigned char *bytes, int nbytes, int *length)
{
	int			n = pg_utf_mblen(bytes);

	if (n > nbytes || !pg_utf8_islegal(bytes, n))
	{
		*length = 1;
		return REPLACEMENT;
	}
	*length = n;
	return utf8_to_unicode(bytes);
}

static void
put_utf8(StringInfo out, const unsigned char *bytes, int nbytes)
{
	int			length;

	for (int i = 0; i < nbytes; i += length)
		put_character(out, decode_utf8(bytes + i, nbytes - i, &length));
}

/*
 * Add text in an encoding that proc converts to UTF-8.  Bytes that it cannot convert
 * are replaced, one by one.
 */
static void
put_converted(StringInfo out, Oid proc, const unsigned char *bytes, int nbytes)
{
	unsigned char utf8[PIECE_UTF8];

	while (nbytes > 0)
	{
		int			done = pg_do_encoding_conversion_buf(proc, GetDatabaseEncoding(),
														 PG_UTF8,
														 unconstify(unsigned char *, bytes),
														 Min(nbytes, PIECE), utf8,
														 sizeof(utf8), true);

		put_utf8(out, utf8, strlen((char *) utf8));

		/*
		 * The piece can have ended within a character: then that is tried
		 * again.
		 */
		if (done == 0)
		{
			put_character(out, REPLACEMENT);
			done = 1;
		}
		bytes += done;
		nbytes -= done;
	}
}

/*
 * Add text that is in the database's encoding, or is to be; NULL adds nothing.  Bytes
 * in the encoding SQL_ASCII are taken for UTF-8.
 */
void
sst_html_text(StringInfo out, const char *text)
{
	int			encoding = GetDatabaseEncoding();
	const unsigned char *bytes = (const unsigned char *) text;
	Oid			proc = InvalidOid;
	const char *c = text;

	if (text == NULL)
		return;

	while (*c != '\0' && !IS_HIGHBIT_SET(*c))
		c++;
	if (*c != '\0' && encoding != PG_UTF8 && encoding != PG_SQL_ASCII)
		proc = FindDefaultConversionProc(encoding, PG_UTF8);

	if (OidIsValid(proc))
		put_converted(out, proc, bytes, strlen(text));
	else
		put_utf8(out, bytes, strlen(text));
}

/* Add a relation's name with its schema; either may be NULL. */
void
sst_html_name(StringInfo out, const char *schema, const char *name)
{
	sst_html_text(out, schema);
	if (schema != NULL && name != NULL)
		appendStringInfoChar(out, '.');
	sst_html_text(out, name);
}

/* The unit for so many bytes, and how many of them that is */
static const char *
unit_of(double bytes, double *number)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
	int			i = 0;

	*number = bytes;
	while (fabs(*number) >= 1000 && i < lengthof(units) - 1)
	{
		*number /= 1024;
		i++;
	}
	return units[i];
}

/* Add a number that has this unit, with three digits. */
static void
put_number(StringInfo out, double number, const char *unit)
{
	double		size = fabs(number);
	int			decimals = size >= 99.95 || strcmp(unit, "bytes") == 0 ? 0 :
		size >= 9.995 ? 1 : 2;

	appendStringInfo(out, "%.*f", decimals, number);
}

/* Add bytes with their unit; a dash for NaN. */
void
sst_html_bytes(StringInfo out, double bytes)
{
	double		number;
	const char *unit;

	if (isnan(bytes))
	{
		appendStringInfoString(out, SST_HTML_DASH);
		return;
	}
	unit = unit_of(bytes, &number);
	put_number(out, number, unit);
	appendStringInfo(out, SST_HTML_SPACE "%s", unit);
}

/* Add an interval of bytes, with one unit if both ends have the same; or a dash. */
void
sst_html_interval(StringInfo out, double low, double high)
{
	double		from;
	double		to;
	const char *unit;

	if (isnan(low) || isnan(high))
	{
		appendStringInfoString(out, SST_HTML_DASH);
		return;
	}
	unit = unit_of(low, &from);
	if (low != high && unit == unit_of(high, &to))
	{
		put_number(out, from, unit);
		appendStringInfoString(out, SST_HTML_DASH);
	}
	else if (low != high)
	{
		sst_html_bytes(out, low);
		appendStringInfoString(out, " to ");
	}
	sst_html_bytes(out, high);
}

/* Do both ends of an interval of bytes look the same in the page? */
bool
sst_html_same_bytes(double low, double high)
{
	StringInfoData a;
	StringInfoData b;
	bool		same;

	initStringInfo(&a);
	initStringInfo(&b);
	sst_html_bytes(&a, low);
	sst_html_bytes(&b, high);
	same = strcmp(a.data, b.data) == 0;
	pfree(a.data);
	pfree(b.data);

	return same;
}

/* Add whole percent, or one digit more where they are few; a dash for NaN. */
void
sst_html_percent(StringInfo out, double percent)
{
	if (isnan(percent))
		appendStringInfoString(out, SST_HTML_DASH);
	else
		appendStringInfo(out, "%.*f" SST_HTML_SPACE "%%",
						 percent != 0 && fabs(percent) < 0.95 ? 1 : 0, percent);
}

/* Add a number of things, in groups of three digits; a dash for NaN. */
void
sst_html_count(StringInfo out, double count)
{
	char		digits[32];
	int			n;

	if (isnan(count))
	{
		appendStringInfoString(out, SST_HTML_DASH);
		return;
	}
	n = snprintf(digits, sizeof(digits), "%.0f", count);
	for (int i = 0; i < n; i++)
	{
		if (i > 0 && (n - i) % 3 == 0)
			appendStringInfoChar(out, ',');
		appendStringInfoChar(out, digits[i]);
	}
}

/* Add a place or a length in percent, for a style: no more digits than it needs. */
void
sst_html_place(StringInfo out, double place)
{
	char		digits[32];
	int			n = snprintf(digits, sizeof(digits), "%.3f", place);

	while (digits[n - 1] == '0')
		n--;
	if (digits[n - 1] == '.')
		n--;
	appendBinaryStringInfo(out, digits, n);
}
