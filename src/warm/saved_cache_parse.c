/*-------------------------------------------------------------------------
 *
 * saved_cache_parse.c
 *	  Read the text of a saved cache
 *
 * It accepts arbitrary bytes, in time and memory proportional to their number,
 * and needs no catalog, so that test/fuzz can run it on any text.  The grammar
 * is regular: each function consumes its part of the rest of the line.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_parse.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "warm/saved_cache.h"

typedef struct Parser
{
	SstSavedLines lines;
	const char *at;				/* rest of the line */
	SstSavedCache *saved;
	int			relations_allocated;
	int64		ranges_allocated;
	int			usage;			/* of the ranges; -1 before the first */
	SstSavedCacheError *error;
} Parser;

void
sst_saved_lines_init(SstSavedLines *lines, const char *bytes, Size length)
{
	memset(lines, 0, sizeof(SstSavedLines));
	lines->next = bytes;
	lines->end = bytes + length;
}

static inline bool
is_white_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Go to the next line that is not empty; false if there is none. */
bool
sst_saved_lines_next(SstSavedLines *lines)
{
	while (lines->next < lines->end)
	{
		const char *feed = memchr(lines->next, '\n', lines->end - lines->next);

		lines->line = lines->next;
		lines->line_end = feed != NULL ? feed : lines->end;
		lines->next = feed != NULL ? feed + 1 : lines->end;
		lines->number++;
		while (lines->line < lines->line_end && is_white_space(*lines->line))
			lines->line++;
		while (lines->line_end > lines->line &&
			   is_white_space(lines->line_end[-1]))
			lines->line_end--;
		if (lines->line < lines->line_end)
			return true;
	}

	return false;
}

static bool
fail(Parser *parser, const char *what)
{
	parser->error->code = ERRCODE_INVALID_TEXT_REPRESENTATION;
	parser->error->line = parser->lines.number;
	parser->error->what = what;
	return false;
}

/*
 * Parts of a line
 */

static bool
next_line(Parser *parser)
{
	CHECK_FOR_INTERRUPTS();
	if (!sst_saved_lines_next(&parser->lines))
		return fail(parser, gettext_noop("The text ends too early."));
	parser->at = parser->lines.line;
	return true;
}

static inline bool
at_end(const Parser *parser)
{
	return parser->at == parser->lines.line_end;
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

	if (parser->lines.line_end - parser->at < (ptrdiff_t) length ||
		memcmp(parser->at, word, length) != 0)
		return false;
	parser->at += length;
	return true;
}

/* Take a decimal number of up to 18 digits. */
static bool
take_number(Parser *parser, int64 max, int64 *number)
{
	const char *first = parser->at;

	*number = 0;
	while (!at_end(parser) && *parser->at >= '0' && *parser->at <= '9')
	{
		if (parser->at - first >= 18)
			return fail(parser, gettext_noop("A number is too large."));
		*number = *number * 10 + (*parser->at++ - '0');
	}
	if (parser->at == first)
		return fail(parser, gettext_noop("A number is missing."));
	if (*number > max)
		return fail(parser, gettext_noop("A number is too large."));
	return true;
}

/* Take a line of a word and a number. */
static bool
take_setting(Parser *parser, const char *word, int64 *number)
{
	if (!next_line(parser))
		return false;
	if (!take_word(parser, word) || !take(parser, ' '))
		return fail(parser, gettext_noop("The line is not the expected one."));
	if (!take_number(parser, PG_INT64_MAX, number))
		return false;
	return at_end(parser) ||
		fail(parser, gettext_noop("There is extra text after the number."));
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
	if (!take(parser, 'x') || parser->lines.line_end - parser->at < 2)
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
	int64		version;
	int64		block_size;

	if (!take_setting(parser, SST_SAVED_CACHE_NAME, &version))
		return false;
	if (version != SST_SAVED_CACHE_VERSION)
	{
		(void) fail(parser, version > SST_SAVED_CACHE_VERSION ?
					gettext_noop("The text was saved by a newer version of streamstat.") :
					gettext_noop("The format version is not valid."));
		parser->error->code = ERRCODE_FEATURE_NOT_SUPPORTED;
		return false;
	}
	if (!next_line(parser))
		return false;
	if (!take_word(parser, "database "))
		return fail(parser, gettext_noop("The line is not the expected one."));
	if (!next_line(parser))
		return false;
	if (!take_word(parser, "saved "))
		return fail(parser, gettext_noop("The line is not the expected one."));
	if (!take_setting(parser, "block_size", &block_size))
		return false;
	if (block_size != BLCKSZ)
	{
		(void) fail(parser, gettext_noop("The server has another block size."));
		parser->error->code = ERRCODE_FEATURE_NOT_SUPPORTED;
		return false;
	}

	return take_setting(parser, "blocks", &parser->saved->nblocks);
}

static void
add_relation(Parser *parser, const SstSavedRelation *relation)
{
	SstSavedCache *saved = parser->saved;

	if (saved->nrelations == parser->relations_allocated)
	{
		parser->relations_allocated *= 2;
		saved->relations = repalloc_huge(saved->relations, sizeof(SstSavedRelation) *
										 (Size) parser->relations_allocated);
	}
	saved->relations[saved->nrelations++] = *relation;
}

/* Take a schema's and a relation's name, each with its zero, into memory for them. */
static bool
take_qualified_name(Parser *parser, char *names)
{
	if (!take(parser, ' ') || !take_name(parser, names) || !take(parser, '.'))
		return fail(parser, gettext_noop("The schema name is missing or not valid."));
	if (!take_name(parser, names + strlen(names) + 1) || !at_end(parser))
		return fail(parser, gettext_noop("The relation name is missing or not valid."));
	return true;
}

/* A relation: number, kind, name.  Numbers are consecutive. */
static bool
parse_relation(Parser *parser)
{
	SstSavedRelation relation;
	int64		number;
	char	   *names;

	if (!take_number(parser, PG_INT32_MAX, &number))
		return false;
	if (number != parser->saved->nrelations + 1)
		return fail(parser, gettext_noop("Relations are not numbered consecutively."));

	if (!take(parser, ' ') || at_end(parser) || *parser->at == '\0' ||
		strchr(SST_SAVED_KINDS, *parser->at) == NULL)
		return fail(parser, gettext_noop("The kind of the relation is missing."));
	relation.kind = *parser->at++;

	/* No name gets longer than it is here. */
	names = palloc(parser->lines.line_end - parser->at + 2);
	if (!take_qualified_name(parser, names))
	{
		pfree(names);
		return false;
	}
	relation.schema = names;
	relation.name = names + strlen(names) + 1;
	add_relation(parser, &relation);
	return true;
}

/* The usage count of the ranges that follow */
static bool
parse_usage(Parser *parser)
{
	int64		usage;

	if (!take_number(parser, PG_UINT8_MAX, &usage))
		return false;
	if (!at_end(parser))
		return fail(parser, gettext_noop("There is extra text after the number."));
	if (parser->usage >= 0 && usage >= parser->usage)
		return fail(parser, gettext_noop("The usage count does not decrease."));
	parser->usage = (int) usage;
	return true;
}

static void
add_range(Parser *parser, const SstSavedRange *range)
{
	SstSavedCache *saved = parser->saved;

	if (saved->nranges == parser->ranges_allocated)
	{
		parser->ranges_allocated *= 2;
		saved->ranges = repalloc_huge(saved->ranges, sizeof(SstSavedRange) *
									  (Size) parser->ranges_allocated);
	}
	saved->ranges[saved->nranges++] = *range;
}

/* Take a fork's name. */
static bool
take_fork(Parser *parser, uint8 *forknum)
{
	if (take_word(parser, "main"))
		*forknum = MAIN_FORKNUM;
	else if (take_word(parser, "fsm"))
		*forknum = FSM_FORKNUM;
	else if (take_word(parser, "vm"))
		*forknum = VISIBILITYMAP_FORKNUM;
	else
		return false;

	return true;
}

/* Ranges of a fork: the relation's number, the fork's name, skip or skip+count ... */
static bool
parse_ranges(Parser *parser, int64 *nblocks)
{
	SstSavedRange range = {.usage = (uint8) parser->usage};
	int64		number;
	int64		position = 0;

	if (!take_number(parser, parser->saved->nrelations, &number))
		return false;
	if (number == 0)
		return fail(parser, gettext_noop("Relations are numbered from 1."));
	range.relation = (int) number - 1;
	if (!take(parser, ' ') || !take_fork(parser, &range.forknum))
		return fail(parser, gettext_noop("The fork is missing."));

	do
	{
		int64		skip;
		int64		count = 1;

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
		add_range(parser, &range);
		*nblocks += count;
	} while (!at_end(parser));

	return true;
}

/* What follows the head, to the line of the checksum, which is the last one */
static bool
parse_lines(Parser *parser)
{
	int64		nblocks = 0;

	for (;;)
	{
		if (!next_line(parser))
			return false;
		if (take_word(parser, "crc "))
			break;
		if (take_word(parser, "usage "))
		{
			if (!parse_usage(parser))
				return false;
		}
		else if (parser->usage < 0)
		{
			if (!parse_relation(parser))
				return false;
		}
		else if (!parse_ranges(parser, &nblocks))
			return false;
	}

	if (nblocks != parser->saved->nblocks)
		return fail(parser, gettext_noop("The number of blocks differs from that in the header."));
	return !sst_saved_lines_next(&parser->lines) ||
		fail(parser, gettext_noop("There is extra text after the checksum."));
}

/*
 * Read a text, whose checksum was checked before.  False if it cannot be loaded:
 * then *error says why.  The result is allocated in the current memory context.
 */
bool
sst_parse_saved_cache(const char *bytes, Size length, SstSavedCache *saved,
					  SstSavedCacheError *error)
{
	Parser		parser = {
		.saved = saved, .relations_allocated = 64, .ranges_allocated = 1024,
		.usage = -1, .error = error
	};

	sst_saved_lines_init(&parser.lines, bytes, length);
	memset(saved, 0, sizeof(SstSavedCache));
	saved->relations = palloc(sizeof(SstSavedRelation) *
							  parser.relations_allocated);
	saved->ranges = palloc(sizeof(SstSavedRange) * parser.ranges_allocated);

	return parse_head(&parser) && parse_lines(&parser);
}
