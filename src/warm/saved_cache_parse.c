/*-------------------------------------------------------------------------
 *
 * saved_cache_parse.c
 *	  Read what shared buffers held, from a text
 *
 * Lines, for example:
 *
 *		streamstat cache 1
 *		database postgres
 *		saved 2026-11-22 12:55:50 UTC
 *		block_size 8192
 *		blocks 1034
 *		1 r public.orders
 *		2 i public.orders_pkey
 *		3 t public.orders
 *		usage 5
 *		1 main 0+1024 1100 3+2
 *		2 main 0+2
 *		usage 1
 *		3 fsm 0+5
 *		crc 90fe1dd5
 *
 * cache_save() names relations, for numbers of files or OIDs mean nothing elsewhere: r a
 * table or partition, m a materialized view, i an index, t the TOAST table of the
 * named table, x the index of that.  The cache worker is not connected to a database,
 * and knows no names: it gives the database's OID, a line "system" with the system
 * identifier behind it, and f TABLESPACE/FILE for each relation.
 *
 * The hottest blocks come first: "usage" begins those with this usage count.  Each line
 * behind it has blocks of one fork (main, fsm or vm): how many blocks to skip, from the
 * end of the range before or from the first block of the fork, and how many there are
 * if they are more than one.  No line is long.
 *
 * Names are quoted as in SQL.  In quoted names, \\ is a backslash and \xHH a control
 * character.  White space around lines and empty lines mean nothing.  The last line
 * is the CRC-32C of all others in UTF-8, each with one line feed behind it.  First
 * and last line keep their form in later versions.
 *
 * The worker's file has such a text for each database, one behind the other.
 *
 * The reader accepts arbitrary bytes, in time and memory proportional to their number,
 * and needs no catalog, so that test/fuzz can run it on any text.  The grammar
 * is regular: each function consumes its part of the rest of the line.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "warm/warm.h"

typedef struct Parser
{
	const char *next;			/* behind the line */
	const char *end;			/* of the text */
	int64		number;			/* of the line */
	const char *at;				/* rest of it, without white space around it */
	const char *line_end;

	SstSavedCache *saved;
	int			min_usage;
	int			usage;			/* of the ranges; -1 before the first */
	SstSavedCacheError *error;
} Parser;

static inline bool
is_white_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Go to the next line that is not empty; false if there is none. */
static bool
find_line(Parser *parser)
{
	while (parser->next < parser->end)
	{
		const char *feed = memchr(parser->next, '\n', parser->end - parser->next);

		parser->at = parser->next;
		parser->line_end = feed != NULL ? feed : parser->end;
		parser->next = feed != NULL ? feed + 1 : parser->end;
		parser->number++;
		while (parser->at < parser->line_end && is_white_space(*parser->at))
			parser->at++;
		while (parser->line_end > parser->at && is_white_space(parser->line_end[-1]))
			parser->line_end--;
		if (parser->at < parser->line_end)
			return true;
	}

	return false;
}

static bool
fail(Parser *parser, const char *what)
{
	parser->error->code = ERRCODE_INVALID_TEXT_REPRESENTATION;
	parser->error->line = parser->number;
	parser->error->what = what;
	return false;
}

/* For a text that is good, but not for this server */
static bool
fail_unsupported(Parser *parser, const char *what)
{
	(void) fail(parser, what);
	parser->error->code = ERRCODE_FEATURE_NOT_SUPPORTED;
	return false;
}

/*
 * Parts of a line
 */

static bool
next_line(Parser *parser)
{
	CHECK_FOR_INTERRUPTS();
	return find_line(parser) ||
		fail(parser, gettext_noop("The text ends too early."));
}

static inline bool
at_end(const Parser *parser)
{
	return parser->at == parser->line_end;
}

/* Take a character, if it is the next one. */
static inline bool
take(Parser *parser, char c)
{
	if (at_end(parser) || *parser->at != c)
		return false;
	parser->at++;
	return true;
}

/* Take a word, if it is the next one. */
static bool
take_word(Parser *parser, const char *word)
{
	Size		length = strlen(word);

	if (parser->line_end - parser->at < (ptrdiff_t) length ||
		memcmp(parser->at, word, length) != 0)
		return false;
	parser->at += length;
	return true;
}

/* Take a decimal number. */
static bool
take_number(Parser *parser, uint64 max, uint64 *number)
{
	const char *first = parser->at;

	*number = 0;
	while (!at_end(parser) && *parser->at >= '0' && *parser->at <= '9')
	{
		uint64		digit = *parser->at++ - '0';

		if (digit > max || *number > (max - digit) / 10)
			return fail(parser, gettext_noop("A number is too large."));
		*number = *number * 10 + digit;
	}

	return parser->at > first ||
		fail(parser, gettext_noop("A number is missing."));
}

/* Take the number that a line ends in. */
static bool
take_last_number(Parser *parser, uint64 max, uint64 *number)
{
	if (!take_number(parser, max, number))
		return false;
	return at_end(parser) ||
		fail(parser, gettext_noop("There is extra text after the number."));
}

/* Take the next line's word, with the space behind it. */
static bool
expect_line(Parser *parser, const char *word)
{
	if (!next_line(parser))
		return false;
	return take_word(parser, word) ||
		fail(parser, gettext_noop("The line is not the expected one."));
}

static bool
take_setting(Parser *parser, const char *word, uint64 *number)
{
	return expect_line(parser, word) &&
		take_last_number(parser, PG_UINT64_MAX, number);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Take what stands for a character in quoted names, behind its backslash. */
static bool
take_escape(Parser *parser, char *c)
{
	int			high;
	int			low;

	*c = '\\';
	if (take(parser, '\\'))
		return true;
	if (!take(parser, 'x') || parser->line_end - parser->at < 2)
		return false;

	high = hex_digit(parser->at[0]);
	low = hex_digit(parser->at[1]);
	*c = (char) (high * 16 + low);
	parser->at += 2;
	return ((high == 0 || high == 1) && low >= 0 && *c != '\0') ||
		(high == 7 && low == 15);
}

/* Take a name in double quotes, behind the first one.  Its memory is large enough. */
static bool
take_quoted_name(Parser *parser, char *name)
{
	while (!at_end(parser))
	{
		char		c = *parser->at++;

		if (c == '"' && !take(parser, '"'))
		{
			*name = '\0';
			return true;
		}
		if ((unsigned char) c < ' ' || c == '\x7f' ||
			(c == '\\' && !take_escape(parser, &c)))
			return false;
		*name++ = c;
	}

	return false;
}

static bool
take_name(Parser *parser, char *name)
{
	const char *start = name;

	*name = '\0';
	if (take(parser, '"'))
		return take_quoted_name(parser, name) && *start != '\0';

	while (!at_end(parser) &&
		   ((*parser->at >= 'a' && *parser->at <= 'z') || *parser->at == '_' ||
			(*parser->at >= '0' && *parser->at <= '9' && name > start)))
		*name++ = *parser->at++;
	*name = '\0';

	return name > start;
}

/*
 * Kinds of lines
 */

/* The lines before those about relations */
static bool
parse_head(Parser *parser)
{
	SstSavedCache *saved = parser->saved;
	Parser		database;
	uint64		oid = InvalidOid;
	uint64		number;

	if (!take_setting(parser, SST_SAVED_CACHE_NAME " ", &number))
		return false;
	if (number != SST_SAVED_CACHE_VERSION)
		return fail_unsupported(parser, number > SST_SAVED_CACHE_VERSION ?
								gettext_noop("The text was saved by a newer version of streamstat.") :
								gettext_noop("The format version is not valid."));
	if (!expect_line(parser, "database "))
		return false;
	database = *parser;
	if (!next_line(parser))
		return false;
	if (take_word(parser, "system ") &&
		(!take_last_number(parser, PG_UINT64_MAX, &saved->system) ||
		 !take_last_number(&database, PG_UINT32_MAX, &oid) ||
		 !next_line(parser)))
		return false;
	saved->database = (Oid) oid;
	if (!take_word(parser, "saved "))
		return fail(parser, gettext_noop("The line is not the expected one."));

	if (!take_setting(parser, "block_size ", &number))
		return false;
	if (number != BLCKSZ)
		return fail_unsupported(parser, gettext_noop("The server has another block size."));
	return take_setting(parser, "blocks ", &saved->nblocks);
}

/* Take a schema's and a relation's name. */
static bool
take_names(Parser *parser, SstSavedRelation *relation)
{
	/* No name gets longer than it is here. */
	char	   *names = palloc(parser->line_end - parser->at + 2);

	relation->schema = names;
	if (!take_name(parser, names) || !take(parser, '.'))
		return fail(parser, gettext_noop("The schema name is missing or not valid."));
	relation->name = names += strlen(names) + 1;
	return (take_name(parser, names) && at_end(parser)) ||
		fail(parser, gettext_noop("The relation name is missing or not valid."));
}

/* Take the tablespace's and the file's number. */
static bool
take_files(Parser *parser, SstSavedRelation *relation)
{
	uint64		tablespace;
	uint64		number;

	if (!take_number(parser, PG_UINT32_MAX, &tablespace))
		return false;
	if (!take(parser, '/'))
		return fail(parser, gettext_noop("A number is missing."));
	if (!take_last_number(parser, PG_UINT32_MAX, &number))
		return false;
	relation->tablespace = (Oid) tablespace;
	relation->number = (Oid) number;
	return true;
}

/* A relation: number, kind, name or files.  Numbers are consecutive. */
static bool
parse_relation(Parser *parser)
{
	SstSavedCache *saved = parser->saved;
	const char *kinds = saved->system != 0 ? "f" : "rmitx";
	SstSavedRelation relation = {0};
	uint64		number;

	if (!take_number(parser, PG_INT32_MAX, &number))
		return false;
	if (number != (uint64) saved->nrelations + 1)
		return fail(parser, gettext_noop("Relations are not numbered consecutively."));

	if (!take(parser, ' ') || at_end(parser) || *parser->at == '\0' ||
		strchr(kinds, *parser->at) == NULL)
		return fail(parser, gettext_noop("The kind of the relation is missing."));
	relation.kind = *parser->at++;
	if (!take(parser, ' '))
		return fail(parser, gettext_noop("The schema name is missing or not valid."));
	if (!(relation.kind == SST_SAVED_FILES ? take_files(parser, &relation) :
		  take_names(parser, &relation)))
		return false;

	*sst_append(saved->relations, saved->nrelations) = relation;
	return true;
}

/* The usage count of the ranges that follow */
static bool
parse_usage(Parser *parser)
{
	uint64		usage;

	if (!take_last_number(parser, PG_UINT8_MAX, &usage))
		return false;
	if (parser->usage >= 0 && usage >= (uint64) parser->usage)
		return fail(parser, gettext_noop("The usage count does not decrease."));
	parser->usage = (int) usage;
	return true;
}

/* Take a fork's name. */
static bool
take_fork(Parser *parser, int *forknum)
{
	*forknum = MAIN_FORKNUM;
	while (!take_word(parser, forkNames[*forknum]))
	{
		if (++*forknum == SST_SAVED_FORKS)
			return false;
	}

	return true;
}

/* Ranges of a fork: the relation's number, the fork's name, skip or skip+count ... */
static bool
parse_ranges(Parser *parser, uint64 *nblocks)
{
	SstSavedCache *saved = parser->saved;
	SstWarmRange range;
	uint64		number;
	uint64		position = 0;
	int			forknum;

	if (!take_number(parser, saved->nrelations, &number))
		return false;
	if (number == 0)
		return fail(parser, gettext_noop("Relations are numbered from 1."));
	if (!take(parser, ' ') || !take_fork(parser, &forknum))
		return fail(parser, gettext_noop("The fork is missing."));
	range.fork = ((int) number - 1) * SST_SAVED_FORKS + forknum;

	do
	{
		uint64		skip;
		uint64		count = 1;

		if (!take(parser, ' '))
			return fail(parser, gettext_noop("A range is missing."));
		if (!take_number(parser, InvalidBlockNumber, &skip) ||
			(take(parser, '+') &&
			 !take_number(parser, InvalidBlockNumber, &count)))
			return false;
		if (count == 0)
			return fail(parser, gettext_noop("A range is empty."));
		if (position + skip + count > InvalidBlockNumber)
			return fail(parser, gettext_noop("A range ends after the last possible block."));
		range.first = (BlockNumber) (position + skip);
		position += skip + count;
		range.end = (BlockNumber) position;
		if (parser->usage >= parser->min_usage)
			*sst_append(saved->ranges, saved->nranges) = range;
		*nblocks += count;
	} while (!at_end(parser));

	return true;
}

/* What follows the head; the checksum is in the last line. */
static bool
parse_lines(Parser *parser)
{
	uint64		nblocks = 0;

	for (;;)
	{
		bool		good;

		if (!next_line(parser))
			return false;
		if (take_word(parser, "crc "))
			break;
		if (take_word(parser, "usage "))
			good = parse_usage(parser);
		else if (parser->usage < 0)
			good = parse_relation(parser);
		else
			good = parse_ranges(parser, &nblocks);
		if (!good)
			return false;
	}

	if (nblocks != parser->saved->nblocks)
		return fail(parser, gettext_noop("The number of blocks differs from that in the header."));
	return !find_line(parser) ||
		fail(parser, gettext_noop("There is extra text after the checksum."));
}

/*
 * Read a text, whose checksum was checked before, but for ranges with a lower usage count.
 * False if it cannot be loaded: then *error says why.  The result is allocated in the
 * current memory context.
 */
bool
sst_parse_saved_cache(const char *bytes, Size length, int min_usage,
					  SstSavedCache *saved, SstSavedCacheError *error)
{
	Parser		parser = {
		.next = bytes, .end = bytes + length, .saved = saved, .min_usage = min_usage,
		.usage = -1, .error = error
	};

	memset(saved, 0, sizeof(SstSavedCache));

	return parse_head(&parser) && parse_lines(&parser);
}

/*
 * Check that a text, in UTF-8, has the checksum that its last line says.  If not,
 * false, and *error says why.
 */
bool
sst_check_saved_cache(const char *bytes, Size length, SstSavedCacheError *error)
{
	Parser		parser = {.next = bytes, .end = bytes + length, .error = error};
	Parser		last;
	pg_crc32c	crc;
	char		expected[16];

	memset(error, 0, sizeof(SstSavedCacheError));
	error->code = ERRCODE_INVALID_TEXT_REPRESENTATION;

	if (!find_line(&parser))
		error->what = gettext_noop("The text is empty.");
	last = parser;
	if (error->what == NULL && !take_word(&parser, SST_SAVED_CACHE_NAME " "))
		error->what = gettext_noop("The first line is not that of a saved cache.");
	if (error->what != NULL)
		return false;

	INIT_CRC32C(crc);
	for (; find_line(&parser); last = parser)
	{
		CHECK_FOR_INTERRUPTS();
		COMP_CRC32C(crc, last.at, last.line_end - last.at);
		COMP_CRC32C(crc, "\n", 1);
	}
	FIN_CRC32C(crc);

	snprintf(expected, sizeof(expected), "%08x", crc);
	parser = last;
	if (!take_word(&parser, "crc "))
		error->what = gettext_noop("The last line is not a checksum: the end of the text is missing.");
	else if (!take_word(&parser, expected) || !at_end(&parser))
		error->what = gettext_noop("The checksum is wrong: the text has been changed.");

	return error->what == NULL;
}
