/*-------------------------------------------------------------------------
 *
 * saved_cache_checksum.c
 *	  Verifying the text of a saved cache
 *
 * The checksum assumes one line feed after each line, so that a copy may have
 * other line ends.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_checksum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "warm/saved_cache.h"

static bool
begins_with(const SstSavedLines *lines, const char *word)
{
	Size		length = strlen(word);

	return lines->line_end - lines->line >= (ptrdiff_t) length &&
		memcmp(lines->line, word, length) == 0;
}

/* Is the line that of the checksum? */
static bool
has_checksum(const SstSavedLines *lines, pg_crc32c crc)
{
	char		expected[32];

	snprintf(expected, sizeof(expected), "crc %08x", crc);
	return lines->line_end - lines->line == (ptrdiff_t) strlen(expected) &&
		begins_with(lines, expected);
}

/*
 * Check that a text, in UTF-8, has the checksum that its last line says.  If not,
 * false, and *error says why.
 */
bool
sst_check_saved_cache(const char *bytes, Size length, SstSavedCacheError *error)
{
	SstSavedLines lines;
	SstSavedLines last;
	pg_crc32c	crc;

	memset(error, 0, sizeof(SstSavedCacheError));
	error->code = ERRCODE_INVALID_TEXT_REPRESENTATION;

	sst_saved_lines_init(&lines, bytes, length);
	if (!sst_saved_lines_next(&lines))
	{
		error->what = gettext_noop("The text is empty.");
		return false;
	}
	if (!begins_with(&lines, SST_SAVED_CACHE_NAME " "))
	{
		error->what = gettext_noop("The first line is not that of a saved cache.");
		return false;
	}

	INIT_CRC32C(crc);
	last = lines;
	while (sst_saved_lines_next(&lines))
	{
		CHECK_FOR_INTERRUPTS();
		COMP_CRC32C(crc, last.line, last.line_end - last.line);
		COMP_CRC32C(crc, "\n", 1);
		last = lines;
	}
	FIN_CRC32C(crc);

	if (!begins_with(&last, "crc "))
		error->what = gettext_noop("The last line is not a checksum: the end of the text is missing.");
	else if (!has_checksum(&last, crc))
		error->what = gettext_noop("The checksum is wrong: the text has been changed.");

	return error->what == NULL;
}
