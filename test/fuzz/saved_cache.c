/*-------------------------------------------------------------------------
 *
 * saved_cache.c
 *	  Show arbitrary texts to the reader of saved caches
 *
 * The text is a memory block of its own.  It is parsed as if its checksum was right,
 * and what was read of it must make sense.  If it is accepted, the checksum is made
 * right, in a text of the same lines, which has to be accepted and to mean the same.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "fuzz.h"
#include "warm/warm.h"

#undef snprintf

static void
check_error(const SstSavedCacheError *error)
{
	FUZZ_CHECK(error->code != 0);
	FUZZ_CHECK(error->line >= 0);
	FUZZ_CHECK(error->what != NULL && error->what[0] != '\0');
}

static void
check_relation(const SstSavedRelation *relation, bool by_files)
{
	FUZZ_CHECK(strchr(by_files ? "f" : "rmitx", relation->kind) != NULL);
	if (by_files)
	{
		FUZZ_CHECK(relation->schema == NULL && relation->name == NULL);
		return;
	}
	FUZZ_CHECK(strlen(relation->schema) > 0);
	FUZZ_CHECK(relation->name == relation->schema + strlen(relation->schema) + 1);
	FUZZ_CHECK(strlen(relation->name) > 0);
}

/* What was read before an error makes sense as well, but for the sum. */
static void
check_ranges(const SstSavedCache *saved, bool accepted)
{
	uint64		nblocks = 0;

	for (int64 i = 0; i < saved->nranges; i++)
	{
		const SstWarmRange *range = &saved->ranges[i];

		FUZZ_CHECK(range->fork >= 0 && range->fork < saved->nrelations * SST_SAVED_FORKS);
		FUZZ_CHECK(range->first < range->end);
		nblocks += range->end - range->first;
	}
	FUZZ_CHECK(!accepted || nblocks == saved->nblocks);
}

static void
free_saved(SstSavedCache *saved)
{
	for (int i = 0; i < saved->nrelations; i++)
		free(unconstify(char *, saved->relations[i].schema));
	free(saved->relations);
	free(saved->ranges);
}

static bool
is_white_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A text of the same lines but for the last one, which is the checksum of the others */
static char *
make_checksum_right(const char *text, Size size, Size *length)
{
	const char *line = text;
	const char *line_end;
	const char *text_end = text +size;
	char	   *result = malloc(size + 32);
	char	   *end = result;
	char	   *last = result;
	pg_crc32c	crc;

	for (; line < text_end; line = line_end + 1)
	{
		const char *rest;

		line_end = memchr(line, '\n', text_end - line);
		if (line_end == NULL)
			line_end = text_end;
		rest = line_end;
		while (line < rest && is_white_space(*line))
			line++;
		while (rest > line && is_white_space(rest[-1]))
			rest--;
		if (line == rest)
			continue;
		last = end;
		memcpy(end, line, rest - line);
		end += rest - line;
		*end++ = '\n';
	}
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, result, last - result);
	FIN_CRC32C(crc);
	*length = last - result + snprintf(last, 16, "crc %08x", crc);

	return result;
}

static void
check_same_ranges(const SstSavedCache *a, const SstSavedCache *b)
{
	FUZZ_CHECK(a->nranges == b->nranges);
	for (int64 i = 0; i < a->nranges; i++)
	{
		FUZZ_CHECK(a->ranges[i].fork == b->ranges[i].fork);
		FUZZ_CHECK(a->ranges[i].first == b->ranges[i].first);
		FUZZ_CHECK(a->ranges[i].end == b->ranges[i].end);
	}
}

void
fuzz_saved_cache(const uint8 *data, size_t size)
{
	char	   *text = malloc(size);
	char	   *right;
	Size		length;
	SstSavedCache saved;
	SstSavedCache again;
	SstSavedCacheError error;
	bool		accepted;

	memcpy(text, data, size);
	if (!sst_check_saved_cache(text, size, &error))
		check_error(&error);

	memset(&error, 0, sizeof(error));
	accepted = sst_parse_saved_cache(text, size, 0, &saved, &error);
	for (int i = 0; i < saved.nrelations; i++)
		check_relation(&saved.relations[i], saved.system != 0);
	check_ranges(&saved, accepted);
	if (accepted)
	{
		right = make_checksum_right(text, size, &length);
		FUZZ_CHECK(sst_check_saved_cache(right, length, &error));
		FUZZ_CHECK(sst_parse_saved_cache(right, length, 0, &again, &error));
		check_same_ranges(&saved, &again);
		free_saved(&again);
		free(right);
	}
	else
		check_error(&error);
	free_saved(&saved);
	free(text);
}
