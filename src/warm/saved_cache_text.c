/*-------------------------------------------------------------------------
 *
 * saved_cache_text.c
 *	  The text of a saved cache in the server's encoding, and its errors
 *
 * Clients convert the text between servers with different encodings, names in it
 * included.  So the checksum is that of the text in UTF-8.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"

#include "warm/saved_cache_text.h"

/*
 * Return a text in UTF-8, which may be the text itself; as it is, if the server has
 * no conversion for its encoding.
 */
static const char *
in_utf8(const char *text, int length)
{
	int			encoding = GetDatabaseEncoding();

	if (encoding == PG_UTF8 ||
		!OidIsValid(FindDefaultConversionProc(encoding, PG_UTF8)))
		return text;

	return pg_server_to_any(text, length, PG_UTF8);
}

/* The checksum of a text that is all lines, each with its line feed */
pg_crc32c
sst_saved_cache_crc(const char *text, int length)
{
	const char *utf8 = in_utf8(text, length);
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, utf8, utf8 == text ? length : strlen(utf8));
	FIN_CRC32C(crc);
	if (utf8 != text)
		pfree(unconstify(char *, utf8));

	return crc;
}

/* Does the text have the checksum that its last line says? */
static bool
has_checksum(const char *text, int length, SstSavedCacheError *error)
{
	const char *utf8 = in_utf8(text, length);
	bool		result = sst_check_saved_cache(utf8, utf8 == text ? length :
											   strlen(utf8), error);

	if (utf8 != text)
		pfree(unconstify(char *, utf8));
	return result;
}

/*
 * Read what sst_save_cache() has written; ERROR if it is anything else.  The result
 * is allocated in the current memory context.
 */
void
sst_read_saved_cache(const char *text, int length, SstSavedCache *saved)
{
	SstSavedCacheError error;

	if (has_checksum(text, length, &error) &&
		sst_parse_saved_cache(text, length, saved, &error))
		return;

	ereport(ERROR,
			(errcode(error.code),
			 errmsg("invalid saved cache"),
			 error.line == 0 ? errdetail("%s", _(error.what)) :
			 errdetail("Line %lld: %s", (long long) error.line, _(error.what)),
			 error.code == ERRCODE_FEATURE_NOT_SUPPORTED ? 0 :
			 errhint("Pass the whole text that cache_save() returned, as printed by psql -XAt.")));
}
