/*-------------------------------------------------------------------------
 *
 * saved_cache_write.c
 *	  Write the cached blocks of the current database as text
 *
 * One pass over the buffers finds the blocks, sorted by files.  Then the blocks of
 * each usage count are written, from the highest count to the lowest, until there
 * are as many as wanted.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/saved_cache_write.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "storage/buf_internals.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "relation/relations.h"
#include "stream/buffer_pool.h"
#include "warm/saved_cache.h"
#include "warm/saved_cache_names.h"
#include "warm/saved_cache_text.h"
#include "warm/saved_cache_write.h"

/* A line of ranges ends behind so many bytes. */
#define LINE_BYTES 90

/* No line is longer than this, but for names. */
#define MAX_LINE_BYTES 256

/* Buffered blocks of one fork, as part of the list */
typedef struct ForkBlocks
{
	const SstRelation *relation;
	const SstBufferedBlock *first;
	const SstBufferedBlock *end;
	uint32		usages;			/* a bit for each usage count that there is */
} ForkBlocks;

typedef struct Writer
{
	SstRelations relations;
	SstBufferedBlocks list;

	int			nforks;
	int			forks_allocated;
	ForkBlocks *forks;

	int			nnamed;
	int		   *numbers;		/* of relations in the text, or 0 */
	int64		nblocks;		/* written */
	int64		nblocks_left;	/* that may still be written */
	StringInfoData names;		/* lines of relations */
	StringInfoData ranges;		/* lines of ranges */

	/* The present line of ranges */
	const ForkBlocks *line_fork;	/* or NULL */
	int			line_start;
	BlockNumber line_end;		/* end of its last range */
} Writer;

/*
 * What is in buffers
 */

static void
add_fork(Writer *writer, const ForkBlocks *fork)
{
	if (writer->nforks == writer->forks_allocated)
	{
		writer->forks_allocated *= 2;
		writer->forks = repalloc_huge(writer->forks, sizeof(ForkBlocks) *
									  writer->forks_allocated);
	}
	writer->forks[writer->nforks++] = *fork;
}

/* Add the forks of a relation that have blocks in buffers. */
static void
add_forks(Writer *writer, const SstRelation *relation)
{
	const SstBufferedBlock *end = writer->list.blocks + writer->list.n;
	const SstBufferedBlock *block = sst_first_buffered_block(&writer->list, &relation->files,
															 MAIN_FORKNUM);

	for (ForkNumber forknum = MAIN_FORKNUM; forknum <= VISIBILITYMAP_FORKNUM; forknum++)
	{
		ForkBlocks	fork = {.relation = relation, .first = block};

		while (block < end &&
			   sst_compare_files(relation->files.tablespace,
								 relation->files.number, forknum, block) == 0)
			fork.usages |= UINT32_C(1) << (block++)->usage;
		fork.end = block;
		if (fork.first < fork.end)
			add_fork(writer, &fork);
	}
}

/* Temporary relations are in no shared buffers, though their numbers can be. */
static void
find_forks(Writer *writer)
{
	writer->forks_allocated = 64;
	writer->forks = palloc(sizeof(ForkBlocks) * writer->forks_allocated);
	for (int i = 0; i < writer->relations.n; i++)
	{
		const SstRelation *relation = &writer->relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		if (relation->bytes >= 0 &&
			relation->persistence != RELPERSISTENCE_TEMP)
			add_forks(writer, relation);
	}
}

/*
 * Writing
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

/* A text value has less than 1 GB: is there room for another line? */
static void
check_size(const Writer *writer)
{
	if ((Size) writer->names.len + writer->ranges.len + 8 * NAMEDATALEN +
		4 * MAX_LINE_BYTES > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("saved cache would be larger than 1 GB"),
				 errhint("Use max_bytes to save only the most frequently used blocks.")));
}

/* Return the number of a relation in the text; the first time, write its line. */
static int
number_relation(Writer *writer, const SstRelation *relation)
{
	int		   *number = &writer->numbers[relation - writer->relations.relation];

	if (*number == 0)
	{
		SstSavedRelation name;

		if (!sst_name_to_save(&writer->relations, relation, &name))
			return 0;
		*number = ++writer->nnamed;
		check_size(writer);
		appendStringInfo(&writer->names, "%d %c ", *number, name.kind);
		append_name(&writer->names, quote_qualified_identifier(name.schema,
															   name.name));
		appendStringInfoChar(&writer->names, '\n');
	}

	return *number;
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
	if (writer->line_fork != NULL)
		appendStringInfoChar(&writer->ranges, '\n');
	writer->line_fork = NULL;
}

/* Write a range of a fork, or as much of it as may still be written. */
static void
write_range(Writer *writer, const ForkBlocks *fork, BlockNumber first,
			BlockNumber nblocks)
{
	StringInfo	out = &writer->ranges;
	int			number = number_relation(writer, fork->relation);

	nblocks = Min(nblocks, writer->nblocks_left);
	if (number == 0 || nblocks == 0)
		return;

	if (writer->line_fork != fork ||
		out->len - writer->line_start > LINE_BYTES)
	{
		end_line(writer);
		check_size(writer);
		writer->line_fork = fork;
		writer->line_start = out->len;
		writer->line_end = 0;
		append_number(out, number);
		appendStringInfoChar(out, ' ');
		appendStringInfoString(out, forkNames[fork->first->forknum]);
	}
	appendStringInfoChar(out, ' ');
	append_number(out, first - writer->line_end);
	if (nblocks > 1)
	{
		appendStringInfoChar(out, '+');
		append_number(out, nblocks);
	}
	writer->line_end = first + nblocks;
	writer->nblocks += nblocks;
	writer->nblocks_left -= nblocks;
}

/*
 * Write the blocks of a fork that have this usage count.  One that moved between
 * buffers can be in the list twice; only the first is written.
 */
static void
write_fork(Writer *writer, const ForkBlocks *fork, int usage)
{
	BlockNumber first = 0;
	BlockNumber nblocks = 0;

	for (const SstBufferedBlock *block = fork->first; block < fork->end; block++)
	{
		if (block->usage != usage ||
			(block > fork->first && block[-1].blkno == block->blkno))
			continue;
		if (nblocks > 0 && block->blkno == first + nblocks)
			nblocks++;
		else
		{
			if (nblocks > 0)
				write_range(writer, fork, first, nblocks);
			first = block->blkno;
			nblocks = 1;
		}
	}
	if (nblocks > 0)
		write_range(writer, fork, first, nblocks);
}

static void
write_usage(Writer *writer, int usage)
{
	bool		begun = false;

	for (int i = 0; i < writer->nforks && writer->nblocks_left > 0; i++)
	{
		const ForkBlocks *fork = &writer->forks[i];

		CHECK_FOR_INTERRUPTS();
		if ((fork->usages & (UINT32_C(1) << usage)) == 0)
			continue;
		if (!begun)
			appendStringInfo(&writer->ranges, "usage %d\n", usage);
		begun = true;
		write_fork(writer, fork, usage);
		end_line(writer);
	}
}

static void
append_head(StringInfo out, int64 nblocks)
{
	pg_time_t	now = (pg_time_t) time(NULL);
	char		saved[64];

	pg_strftime(saved, sizeof(saved), "%Y-%m-%d %H:%M:%S UTC", pg_gmtime(&now));
	appendStringInfo(out, SST_SAVED_CACHE_NAME " %d\ndatabase ",
					 SST_SAVED_CACHE_VERSION);
	append_name(out, quote_identifier(get_database_name(MyDatabaseId)));
	appendStringInfo(out, "\nsaved %s\nblock_size %d\nblocks %lld\n", saved,
					 BLCKSZ, (long long) nblocks);
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

	sst_list_relations(&writer.relations);
	sst_list_buffered_blocks(&writer.list);
	find_forks(&writer);

	writer.numbers = MemoryContextAllocExtended(CurrentMemoryContext,
												sizeof(int) * (Size) Max(writer.relations.n, 1),
												MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	initStringInfo(&writer.names);
	initStringInfo(&writer.ranges);
	for (int usage = BM_MAX_USAGE_COUNT; usage >= 0; usage--)
		write_usage(&writer, usage);

	initStringInfo(out);
	append_head(out, writer.nblocks);
	appendBinaryStringInfo(out, writer.names.data, writer.names.len);
	pfree(writer.names.data);
	appendBinaryStringInfo(out, writer.ranges.data, writer.ranges.len);
	pfree(writer.ranges.data);
	pfree(writer.list.blocks);
	appendStringInfo(out, "crc %08x", sst_saved_cache_crc(out->data, out->len));
}
