/*-------------------------------------------------------------------------
 *
 * report_html.c
 *	  report_html: a report as one page of HTML
 *
 * The page is src/html/report.html, which make has turned into a string, with the
 * document of report_json() in it.  The page's own script draws it.
 *
 * Everything but ASCII is escaped in the document, so the page is the same in every
 * encoding.  So are the characters of markup, which in JSON can only be in strings:
 * no name can end the element that the document is in.  The page's policy allows its
 * script and its style by their hashes, and nothing else to be run or loaded.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "api/api.h"

PG_FUNCTION_INFO_V1(sst_report_html);

static const char page[] = {
#include <report_page.inc>
0};

StaticAssertDecl(sizeof(page) > 1000, "make has read the page");

/* What stands for the policy and for the document in it */
#define POLICY "@POLICY@"
#define DATA "@DATA@"

/* Stands for bytes that are no character */
#define REPLACEMENT 0xFFFD

/* The most bytes of a character in a server's encoding */
#define MAX_CHARACTER 4

/* The document; ERROR if there is no such report. */
static char *
get_json(FunctionCallInfo fcinfo)
{
	Oid			argtypes[] = {INT8OID};
	Oid			funcid = sst_beside_called(fcinfo, "report_json", 1, argtypes);
	FmgrInfo	flinfo;
	Datum		result;

	LOCAL_FCINFO(call, 1);

	fmgr_info(funcid, &flinfo);
	InitFunctionCallInfoData(*call, &flinfo, 1, InvalidOid, NULL, NULL);
	call->args[0] = fcinfo->args[0];
	result = FunctionCallInvoke(call);
	if (!call->isnull)
		return TextDatumGetCString(result);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("stored report %lld does not exist",
					(long long) PG_GETARG_INT64(0)),
			 errhint("The table streamstat.report_runs lists the stored reports.")));
}

/* Add a character of a string in JSON, by its number in Unicode. */
static void
put_character(StringInfo out, uint32 c)
{
	if (c > 0xFFFF)
		appendStringInfo(out, "\\u%04x\\u%04x", 0xD800 + ((c - 0x10000) >> 10),
						 0xDC00 + (c & 0x3FF));
	else if (c >= 0x7F || c == '<' || c == '>' || c == '&')
		appendStringInfo(out, "\\u%04x", c);
	else
		appendStringInfoCharMacro(out, (char) c);
}

/* Add characters in UTF-8.  Bytes that are none are replaced, one by one. */
static void
put_utf8(StringInfo out, const unsigned char *bytes, int nbytes)
{
	int			n;

	for (int i = 0; i < nbytes; i += n)
	{
		n = pg_utf_mblen(bytes + i);
		if (n <= nbytes - i && pg_utf8_islegal(bytes + i, n))
			put_character(out, utf8_to_unicode(bytes + i));
		else
		{
			put_character(out, REPLACEMENT);
			n = 1;
		}
	}
}

/*
 * Add a document in the database's encoding.  Bytes in the encoding SQL_ASCII are taken
 * for UTF-8.
 */
static void
put_json(StringInfo out, const char *json)
{
	int			encoding = GetDatabaseEncoding();
	Oid			proc = encoding == PG_UTF8 || encoding == PG_SQL_ASCII ? InvalidOid :
		FindDefaultConversionProc(encoding, PG_UTF8);
	int			left = strlen(json);

	if (!OidIsValid(proc))
	{
		put_utf8(out, (const unsigned char *) json, left);
		return;
	}

	while (left > 0)
	{
		unsigned char utf8[(MAX_CHARACTER + 1) * MAX_CONVERSION_GROWTH + 1];
		int			n = Min(pg_encoding_mblen(encoding, json), left);

		if (!IS_HIGHBIT_SET(*json))
			put_character(out, (unsigned char) *json);
		else if (pg_do_encoding_conversion_buf(proc, encoding, PG_UTF8,
											   (unsigned char *) unconstify(char *, json), n,
											   utf8, sizeof(utf8), true) == n)
			put_utf8(out, utf8, strlen((char *) utf8));
		else
			put_character(out, REPLACEMENT);
		json += n;
		left -= n;
	}
}

/*
 * Add the source that allows an element of the page, which these strings enclose.  The
 * server computes its hash, because not all that build the library have a program for it.
 */
static void
put_source(StringInfo out, const char *open, const char *close)
{
	const char *from = strstr(page, open) + strlen(open);
	Datum		element = PointerGetDatum(cstring_to_text_with_len(from, strstr(from, close) - from));
	Datum		hash = DirectFunctionCall1(sha256_bytea, element);
	Datum		base64 = DirectFunctionCall2(binary_encode, hash,
											 CStringGetTextDatum("base64"));

	appendStringInfo(out, "'sha256-%s'", TextDatumGetCString(base64));
}

/* Add the page up to what a placeholder stands for; returns what follows that. */
static const char *
put_until(StringInfo out, const char *from, const char *placeholder)
{
	const char *to = strstr(from, placeholder);

	appendBinaryStringInfo(out, from, to - from);
	return to + strlen(placeholder);
}

Datum
sst_report_html(PG_FUNCTION_ARGS)
{
	const char *json = get_json(fcinfo);
	const char *rest = page;
	StringInfoData out;

	initStringInfo(&out);
	rest = put_until(&out, rest, POLICY);
	appendStringInfoString(&out, "default-src 'none'; base-uri 'none'; form-action 'none'; script-src ");
	put_source(&out, "<script>", "</script>");
	appendStringInfoString(&out, "; style-src ");
	put_source(&out, "<style>", "</style>");
	rest = put_until(&out, rest, DATA);
	put_json(&out, json);
	appendStringInfoString(&out, rest);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}
