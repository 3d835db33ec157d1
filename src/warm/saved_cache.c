/*-------------------------------------------------------------------------
 *
 * saved_cache.c
 *	  Write what is in buffers as text, and find out what such a text means here
 *
 * To write it, one pass over the buffers finds the blocks, sorted by files.  Then the
 * blocks of each usage count are written, from the highest count to the lowest, until
 * there are as many as wanted.
 *
 * To load it, the relations of the database are listed once, and the saved ones are
 * looked up in that list.  A relation that cannot be loaded has a note, and does not
 * affect the rest.
 *
 * TOAST tables are named by OIDs, which a restored database does not have.  So they
 * and their indexes go by the names of their tables.  Clients convert the text
 * between servers with different encodings, names in it included.  So the checksum
 * is that of the text in UTF-8.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/xlog.h"
#include "catalog/namespace.h"
#include "commands/dbcommands.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "storage/buf_internals.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "relation/relation.h"
#include "warm/warm.h"

/* A line of ranges ends behind so many bytes. */
#define LINE_BYTES 90

/* No line is longer than this, but for names. */
#define MAX_LINE_BYTES 256

/* Listed relations, sorted by what they are saved under */
typedef struct SavedEntry
{
	SstSavedRelation saved;
	const SstRelation *relation;
} SavedEntry;

typedef struct SavedIndex
{
	int			n;
	SavedEntry *entries;
} SavedIndex;

/* A relation with blocks in buffers */
typedef struct CachedRelation
{
	SstSavedRelation saved;
	const SstBufferedBlock *first;
	const SstBufferedBlock *end;
	uint32		usages;			/* a bit for each usage count that there is */
	int			number;			/* in the text, or 0 */
} CachedRelation;

typedef struct Writer
{
	const SstRelations *list;	/* that name relations; NULL if they go by
								 * numbers */
	SavedIndex	by_files;		/* these, if there are any */
	int			nrelations;
	CachedRelation *relations;

	int			nnumbered;
	int64		nblocks;		/* written */
	int64		nblocks_left;	/* that may still be written */
	StringInfoData names;		/* lines of relations */
	StringInfoData ranges;		/* lines of ranges */

	/* The present line of ranges */
	int			line_start;		/* -1 if there is none */
	int			line_fork;
	BlockNumber line_end;		/* end of its last range */
} Writer;

/* ----------
 * Names of relations
 * ----------
 */

/*
 * Set the kind and the name under which a listed relation is saved; they point into
 * the list.  False if there is none: a TOAST table without a table, or an index of a
 * TOAST table that is not in use.
 */
static bool
name_to_save(const SstRelations *list, const SstRelation *relation,
			 SstSavedRelation *name)
{
	bool		is_index = (relation->relkind == RELKIND_INDEX);
	const SstRelation *parent = is_index ?
		sst_find_relation(list, relation->parent) : relation;
	bool		toast = parent != NULL && parent->relkind == RELKIND_TOASTVALUE;
	const SstRelation *named = toast ? sst_owning_table(list, relation) : relation;

	if (named == NULL || (toast && !relation->valid))
		return false;
	name->kind = toast && is_index ? SST_SAVED_TOAST_INDEX : relation->relkind;
	name->schema = named->schema;
	name->name = named->name;
	return true;
}

/* A table may have become a materialized view: kinds are compared without that. */
static char
comparable_kind(char kind)
{
	return kind == RELKIND_MATVIEW ? RELKIND_RELATION : kind;
}

static int
compare_saved(const void *a, const void *b)
{
	const SstSavedRelation *left = &((const SavedEntry *) a)->saved;
	const SstSavedRelation *right = &((const SavedEntry *) b)->saved;
	int			result;

	if (left->kind == SST_SAVED_FILES)
	{
		if (left->number != right->number)
			return left->number < right->number ? -1 : 1;
		return (left->tablespace > right->tablespace) -
			(left->tablespace < right->tablespace);
	}

	result = strcmp(left->name, right->name);
	if (result == 0)
		result = strcmp(left->schema, right->schema);
	return result != 0 ? result :
		comparable_kind(left->kind) - comparable_kind(right->kind);
}

/*
 * Sort the relations of a list by their names or, of those that can be in shared
 * buffers, by their files: temporary ones cannot, though others can have their numbers.
 * The result is allocated in the current memory context, and points into the list.
 */
static void
index_relations(const SstRelations *list, bool by_files, SavedIndex *index)
{
	index->n = 0;
	index->entries = palloc_extended(sizeof(SavedEntry) * (Size) Max(list->n, 1),
									 MCXT_ALLOC_HUGE);
	for (int i = 0; i < list->n; i++)
	{
		SavedEntry *entry = &index->entries[index->n];
		const SstRelation *relation = &list->relation[i];

		CHECK_FOR_INTERRUPTS();
		entry->relation = relation;
		if (!by_files)
			index->n += name_to_save(list, relation, &entry->saved);
		else if (relation->bytes >= 0 && relation->persistence != RELPERSISTENCE_TEMP)
		{
			entry->saved.kind = SST_SAVED_FILES;
			entry->saved.tablespace = relation->files.tablespace;
			entry->saved.number = relation->files.number;
			index->n++;
		}
	}
	qsort(index->entries, index->n, sizeof(SavedEntry), compare_saved);
}

/* Find a relation by what it was saved under, or return NULL. */
static const SstRelation *
find_saved_relation(const SavedIndex *index, const SstSavedRelation *saved)
{
	SavedEntry	key = {.saved = *saved};
	SavedEntry *found = bsearch(&key, index->entries, index->n,
								sizeof(SavedEntry), compare_saved);

	return found != NULL ? found->relation : NULL;
}

/* ----------
 * The checksum
 * ----------
 */

/*
 * Return a text in UTF-8, and set its length.  It may be the text itself: also if the
 * server has no conversion for its encoding.
 */
static const char *
in_utf8(const char *text, int *length)
{
	int			encoding = GetDatabaseEncoding();
	const char *utf8 = text;

	if (encoding != PG_UTF8 && OidIsValid(FindDefaultConversionProc(encoding, PG_UTF8)))
		utf8 = pg_server_to_any(text, *length, PG_UTF8);
	if (utf8 != text)
		*length = strlen(utf8);

	return utf8;
}

/* Append the checksum of a text's lines, each with its line feed. */
static void
append_crc(StringInfo out, const char *lines, int length)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, lines, length);
	FIN_CRC32C(crc);
	appendStringInfo(out, "crc %08x", crc);
}

/* ----------
 * Writing
 * ----------
 */

/* Append a name; what would not survive a copy is replaced, as the header says. */
static void
append_name(StringInfo out, const char *name)
{
	for (; *name != '\0'; name++)
	{
		if (*name == '\\')
			appendStringInfoString(out, "\\\\");
		else if ((unsigned char) *name < ' ' || *name == '\x7f')
			appendStringInfo(out, "\\x%02x", *name);
		else
			appendStringInfoChar(out, *name);
	}
}

/*
 * Is there room for another line, as a text value has less than 1 GB?  If not, ERROR,
 * but the rest, which is used least, is left out of a text with numbers.
 */
static bool
has_room(Writer *writer)
{
	if ((Size) writer->names.len + writer->ranges.len + 8 * NAMEDATALEN +
		4 * MAX_LINE_BYTES <= MaxAllocSize)
		return true;
	if (writer->list != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("saved cache would be larger than 1 GB"),
				 errhint("Use max_bytes to save only the most frequently used blocks.")));
	writer->nblocks_left = 0;
	return false;
}

/* Write the line of a relation. */
static void
number_relation(Writer *writer, CachedRelation *relation)
{
	const SstSavedRelation *saved = &relation->saved;
	StringInfo	out = &writer->names;

	relation->number = ++writer->nnumbered;
	appendStringInfo(out, "%d %c ", relation->number, saved->kind);
	if (saved->kind == SST_SAVED_FILES)
		appendStringInfo(out, "%u/%u", saved->tablespace, saved->number);
	else
		append_name(out, quote_qualified_identifier(saved->schema, saved->name));
	appendStringInfoChar(out, '\n');
}

static void
append_number(StringInfo out, uint32 number)
{
	char		digits[16];

	appendBinaryStringInfo(out, digits, pg_ultoa_n(number, digits));
}

static void
end_line(Writer *writer)
{
	if (writer->line_start >= 0)
		appendStringInfoChar(&writer->ranges, '\n');
	writer->line_start = -1;
}

/*
 * Write a range of a relation, which may be empty, or as much of it as may still be
 * written.
 */
static void
write_range(Writer *writer, CachedRelation *relation,
			const SstBufferedBlock *first, BlockNumber nblocks)
{
	StringInfo	out = &writer->ranges;

	nblocks = Min(nblocks, writer->nblocks_left);
	if (nblocks == 0)
		return;

	if (writer->line_start < 0 || writer->line_fork != first->forknum ||
		out->len - writer->line_start > LINE_BYTES)
	{
		end_line(writer);
		if (!has_room(writer))
			return;
		if (relation->number == 0)
			number_relation(writer, relation);
		writer->line_start = out->len;
		writer->line_fork = first->forknum;
		writer->line_end = 0;
		append_number(out, relation->number);
		appendStringInfoChar(out, ' ');
		appendStringInfoString(out, forkNames[first->forknum]);
	}
	appendStringInfoChar(out, ' ');
	append_number(out, first->blkno - writer->line_end);
	if (nblocks > 1)
	{
		appendStringInfoChar(out, '+');
		append_number(out, nblocks);
	}
	writer->line_end = first->blkno + nblocks;
	writer->nblocks += nblocks;
	writer->nblocks_left -= nblocks;
}

/*
 * Write the blocks of a relation that have this usage count.  One that moved between
 * buffers can be in the list twice; only the first is written.
 */
static void
write_relation(Writer *writer, CachedRelation *relation, int usage)
{
	const SstBufferedBlock *first = NULL;
	BlockNumber nblocks = 0;

	for (const SstBufferedBlock *block = relation->first; block < relation->end; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (block->usage != usage || block->forknum >= SST_SAVED_FORKS ||
			(block > relation->first && block[-1].blkno == block->blkno &&
			 block[-1].forknum == block->forknum))
			continue;
		if (nblocks > 0 && block->forknum == first->forknum &&
			block->blkno == first->blkno + nblocks)
		{
			nblocks++;
			continue;
		}
		write_range(writer, relation, first, nblocks);
		first = block;
		nblocks = 1;
	}
	write_range(writer, relation, first, nblocks);
	end_line(writer);
}

static void
write_usage(Writer *writer, int usage)
{
	bool		begun = false;

	for (int i = 0; i < writer->nrelations && writer->nblocks_left > 0; i++)
	{
		CachedRelation *relation = &writer->relations[i];

		if ((relation->usages & (UINT32_C(1) << usage)) == 0)
			continue;
		if (!begun)
			appendStringInfo(&writer->ranges, "usage %d\n", usage);
		begun = true;
		write_relation(writer, relation, usage);
	}
}

/* Add the relation that sorted blocks begin with.  Returns where its blocks end. */
static const SstBufferedBlock *
add_relation(Writer *writer, const SstBufferedBlock *first, const SstBufferedBlock *end)
{
	CachedRelation relation = {
		.saved = {
			.kind = SST_SAVED_FILES, .tablespace = first->tablespace,
			.number = first->number
		},
		.first = first
	};
	const SstRelation *listed = writer->list == NULL ? NULL :
		find_saved_relation(&writer->by_files, &relation.saved);

	for (; first < end && first->number == relation.first->number &&
		 first->tablespace == relation.first->tablespace; first++)
	{
		CHECK_FOR_INTERRUPTS();
		relation.usages |= UINT32_C(1) << first->usage;
	}
	relation.end = first;
	if (writer->list == NULL ||
		(listed != NULL && name_to_save(writer->list, listed, &relation.saved)))
		*sst_append(writer->relations, writer->nrelations) = relation;

	return first;
}

/*
 * Write the lines about a database, of which these are the sorted blocks, but for the last
 * one.  Its name is quoted, or an OID.
 */
static void
write_lines(Writer *writer, const char *database, const SstBufferedBlock *first,
			const SstBufferedBlock *end, StringInfo out)
{
	pg_time_t	now = (pg_time_t) time(NULL);
	char		saved[64];

	while (first < end)
		first = add_relation(writer, first, end);
	initStringInfo(out);
	initStringInfo(&writer->names);
	initStringInfo(&writer->ranges);
	writer->line_start = -1;
	for (int usage = BM_MAX_USAGE_COUNT; usage >= 0; usage--)
		write_usage(writer, usage);

	pg_strftime(saved, sizeof(saved), "%Y-%m-%d %H:%M:%S UTC", pg_gmtime(&now));
	appendStringInfo(out, SST_SAVED_CACHE_NAME " %d\ndatabase ",
					 SST_SAVED_CACHE_VERSION);
	append_name(out, database);
	if (writer->list == NULL)
		appendStringInfo(out, "\nsystem " UINT64_FORMAT, GetSystemIdentifier());
	appendStringInfo(out, "\nsaved %s\nblock_size %d\nblocks %lld\n", saved,
					 BLCKSZ, (long long) writer->nblocks);
	appendBinaryStringInfo(out, writer->names.data, writer->names.len);
	pfree(writer->names.data);
	appendBinaryStringInfo(out, writer->ranges.data, writer->ranges.len);
	pfree(writer->ranges.data);
	if (writer->relations != NULL)
		pfree(writer->relations);
}

/*
 * Save what shared buffers hold of the current database and of shared catalogs: the
 * blocks of permanent and unlogged tables, materialized views, TOAST tables and
 * indexes with their maps, from the highest usage count to the lowest, as much as
 * max_bytes allows.
 *
 * The text is in the server's encoding, and allocated in the current memory context.
 * Takes no lock on a relation and pins no buffer.
 */
void
sst_save_cache(int64 max_bytes, StringInfo out)
{
	Writer		writer = {.nblocks_left = max_bytes / BLCKSZ};
	SstRelations relations;
	SstBufferedBlocks list;
	const char *utf8;
	int			length;

	sst_list_relations(&relations);
	index_relations(&relations, true, &writer.by_files);
	writer.list = &relations;
	sst_list_buffered_blocks(&list, false);
	write_lines(&writer, quote_identifier(get_database_name(MyDatabaseId)), list.blocks,
				list.blocks + list.n, out);
	pfree(writer.by_files.entries);
	pfree(list.blocks);
	length = out->len;
	utf8 = in_utf8(out->data, &length);
	append_crc(out, utf8, length);
}

/*
 * The same for sorted blocks of one database, by files.  Returns how many blocks that
 * were, without those that have no room in a text.  Needs no database.
 */
uint64
sst_save_cached_files(const SstBufferedBlock *first,
					  const SstBufferedBlock *end, StringInfo out)
{
	Writer		writer = {.nblocks_left = PG_INT64_MAX};
	char		database[16];

	snprintf(database, sizeof(database), "%u", first->database);
	write_lines(&writer, database, first, end, out);
	append_crc(out, out->data, out->len);
	appendStringInfoChar(out, '\n');

	return writer.nblocks;
}

/* ----------
 * Loading
 * ----------
 */

/*
 * Read what sst_save_cache() has written, but for ranges with a lower usage count; ERROR if
 * it is anything else.  The result is allocated in the current memory context.
 */
void
sst_read_saved_cache(const char *text, int length, int min_usage, SstSavedCache *saved)
{
	SstSavedCacheError error;
	int			utf8_length = length;
	const char *utf8 = in_utf8(text, &utf8_length);
	bool		good = sst_check_saved_cache(utf8, utf8_length, &error);

	if (utf8 != text)
		pfree(unconstify(char *, utf8));
	good = good && sst_parse_saved_cache(text, length, min_usage, saved, &error);
	if (good && saved->system == 0)
		return;
	if (good)
	{
		error.code = ERRCODE_FEATURE_NOT_SUPPORTED;
		error.what = gettext_noop("The text has numbers of files instead of names: the cache worker loads it when the server starts.");
	}

	ereport(ERROR,
			(errcode(error.code),
			 errmsg("invalid saved cache"),
			 error.line == 0 ? errdetail("%s", _(error.what)) :
			 errdetail("Line %lld: %s", (long long) error.line, _(error.what)),
			 error.code == ERRCODE_FEATURE_NOT_SUPPORTED ? 0 :
			 errhint("Pass the whole text that cache_save() returned, as printed by psql -XAt.")));
}

/* A relation that is only known by name */
static SstRelation *
missing_relation(const SstSavedRelation *name)
{
	SstRelation *relation = palloc0(sizeof(SstRelation));

	relation->bytes = -1;
	relation->relkind = name->kind == SST_SAVED_TOAST_INDEX ? RELKIND_INDEX : name->kind;
	if (name->kind == RELKIND_TOASTVALUE || name->kind == SST_SAVED_TOAST_INDEX)
	{
		relation->parent_schema = name->schema;
		relation->parent_name = name->name;
	}
	else
	{
		relation->schema = name->schema;
		relation->name = name->name;
	}

	return relation;
}

/*
 * Add a fork of a saved relation, with a note if it cannot be warmed; returns its index.
 * No saved cache has a temporary relation, but anybody can write such a text.
 */
static int
add_fork(SstWarmSet *set, const SstRelations *list,
		 const SavedIndex *index, const SstSavedRelation *name,
		 ForkNumber forknum)
{
	const SstRelation *relation = find_saved_relation(index, name);
	const SstRelation *table;
	const char *note;

	if (relation == NULL)
		return sst_warm_set_add_fork(set, missing_relation(name), forknum, -1,
									 sst_state_note(SST_TARGET_MISSING));

	table = sst_owning_table(list, relation);
	note = sst_warm_refusal(relation);
	if (note == NULL && !sst_may_warm(table != NULL ? table->relid : InvalidOid))
		note = _("permission denied");
	return sst_warm_set_add_fork(set, relation, forknum, note == NULL &&
								 forknum == MAIN_FORKNUM ? relation->bytes : -1, note);
}

/*
 * Make the set of a saved cache's ranges, in their order.  Relations that cannot be loaded
 * have a note.
 *
 * The set is allocated in the current memory context, and has the saved cache's arrays.
 */
void
sst_saved_cache_set(SstSavedCache *saved, SstWarmSet *set)
{
	SstRelations *list = palloc(sizeof(SstRelations));
	SavedIndex	index;
	Size		nforks = (Size) saved->nrelations * SST_SAVED_FORKS;
	int		   *forks = palloc_extended(sizeof(int) * Max(nforks, 1),	/* from 1 on */
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	sst_list_relations(list);
	index_relations(list, saved->system != 0, &index);

	memset(set, 0, sizeof(SstWarmSet));
	set->nranges = saved->nranges;
	set->ranges = saved->ranges;
	for (int64 i = 0; i < set->nranges; i++)
	{
		SstWarmRange *range = &set->ranges[i];
		int		   *fork = &forks[range->fork];

		CHECK_FOR_INTERRUPTS();
		if (*fork == 0)
			*fork = add_fork(set, list, &index,
							 &saved->relations[range->fork / SST_SAVED_FORKS],
							 range->fork % SST_SAVED_FORKS) + 1;
		range->fork = *fork - 1;
	}
	pfree(forks);
	pfree(index.entries);
}

/*
 * After a set was warmed: note how many of its blocks a fork does not have, unless
 * there is another note.
 */
void
sst_note_cut_ranges(SstWarmSet *set)
{
	for (int64 i = 0; i < set->nranges; i++)
	{
		const SstWarmRange *range = &set->ranges[i];
		SstWarmFork *fork = &set->forks[range->fork];

		if (range->end > fork->nblocks)
			fork->ncut += range->end - Max(range->first, fork->nblocks);
	}
	for (int i = 0; i < set->nforks; i++)
	{
		SstWarmFork *fork = &set->forks[i];

		if (fork->ncut > 0 && fork->note == NULL)
			fork->note = psprintf(ngettext("%lld saved block is past the end of the fork",
										   "%lld saved blocks are past the end of the fork",
										   fork->ncut), (long long) fork->ncut);
	}
}
