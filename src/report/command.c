/*-------------------------------------------------------------------------
 *
 * command.c
 *	  Commands that shrink a relation, their locks, and what they change of sizes
 *
 * A command can be run as printed, whatever the names in it: SQL in any
 * client, that of pg_repack in a POSIX shell.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "am/am.h"
#include "compat/compat.h"
#include "report/plan.h"

/* ----------
 * Does an index identify the rows of its table?
 *
 * Only catalogs are read; the table is neither opened nor locked.
 * ----------
 */

static bool
is_not_null(Oid tableoid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(tableoid),
										Int16GetDatum(attnum));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);

	return result;
}

/*
 * Is it a complete unique index on columns that are not null?  An expression has the number 0.
 * pg_repack wants INCLUDE columns not to be null as well (its view repack.primary_keys).
 */
bool
sst_identifies_rows(const SstRelation *index)
{
	HeapTuple	tuple;
	Form_pg_index form;
	bool		result;

	if (!index->unique || !index->valid)
		return false;
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index->relid));
	if (!HeapTupleIsValid(tuple))
		return false;

	form = (Form_pg_index) GETSTRUCT(tuple);
	result = form->indimmediate && heap_attisnull(tuple, Anum_pg_index_indpred, NULL);
	for (int i = 0; i < form->indnatts && result; i++)
		result = is_not_null(form->indrelid, form->indkey.values[i]);
	ReleaseSysCache(tuple);

	return result;
}

/* Does this extension store its reports in the table? */
bool
sst_is_own_table(const SstRelation *table)
{
	return strncmp(table->name, "report_run", strlen("report_run")) == 0 &&
		getExtensionOfObject(RelationRelationId, table->relid) ==
		get_extension_oid("streamstat", true);
}

/* ----------
 * The commands
 * ----------
 */

/*
 * Locks, as LOCK TABLE names them.  REINDEX without CONCURRENTLY locks the index
 * against the planner of each query on the table.
 */
#define BLOCKS_NOBODY "SHARE UPDATE EXCLUSIVE"
#define BLOCKS_ALL "ACCESS EXCLUSIVE"

/* Does the name end so, apart from a number that tells it from others? */
static bool
ends_with(const char *name, const char *ending)
{
	size_t		len = strlen(name);

	while (len > 0 && isdigit((unsigned char) name[len - 1]))
		len--;
	return len >= strlen(ending) &&
		memcmp(name + len - strlen(ending), ending, strlen(ending)) == 0;
}

/*
 * Is it an index that REINDEX CONCURRENTLY has left behind: a new one that was
 * not completed, or an old one that was not dropped?  The documentation of REINDEX
 * says that their names tell ("Rebuilding Indexes Concurrently").
 */
bool
sst_is_left_over(const SstRelation *index)
{
	return !index->valid && !index->building &&
		(ends_with(index->name, "_ccnew") || ends_with(index->name, "_ccold"));
}

/*
 * Is it an index that is of no use, and that REINDEX does not mend, or brings back that
 * somebody has begun to drop?  The build of a unique one mostly fails for duplicate keys, and
 * would do so again.  One that belongs to an index of the partitioned table cannot be dropped.
 */
bool
sst_is_to_be_dropped(const SstRelation *index)
{
	return sst_is_left_over(index) ||
		(!index->valid && !index->building && (index->unique || !index->live) &&
		 !index->partition);
}

static const char *
qualified(const SstRelation *relation)
{
	return quote_qualified_identifier(relation->schema, relation->name);
}

static SstCommand
make_command(const char *string, bool concurrent, int waits)
{
	SstCommand	command = {.text = string, .waits = waits};

	command.lock_mode = concurrent ? BLOCKS_NOBODY : BLOCKS_ALL;
	command.blocks = !concurrent;

	return command;
}

/* Can a command on the relation leave it usable meanwhile? */
static bool
can_be_concurrent(const SstRelation *relation)
{
	return !relation->catalog && !relation->exclusion &&
		relation->persistence != RELPERSISTENCE_TEMP;
}

/*
 * The command that drops or rebuilds an index, without blocking if it can.  REINDEX CONCURRENTLY
 * waits for older snapshots before queries may use the new index (WaitForOlderSnapshots() in
 * commands/indexcmds.c).
 */
SstCommand
sst_index_command(const SstRelation *index, bool drops)
{
	bool		concurrent = can_be_concurrent(index);

	return make_command(psprintf("%s INDEX %s%s", drops ? "DROP" : "REINDEX",
								 concurrent ? "CONCURRENTLY " : "", qualified(index)),
						concurrent,
						SST_WAITS_LOCK | (concurrent && !drops ? SST_WAITS_SNAPSHOT : 0));
}

/*
 * An argument, in quotes if need be, with an escape before each of some characters.  What is
 * not quoted means itself in a shell and in a connection string.
 */
static const char *
quoted(const char *argument, const char *special, const char *escape)
{
	StringInfoData buf;

	if (strspn(argument, "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == strlen(argument))
		return argument;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '\'');
	for (const char *p = argument; *p != '\0'; p++)
	{
		if (strchr(special, *p) != NULL)
			appendStringInfoString(&buf, escape);
		appendStringInfoChar(&buf, *p);
	}
	appendStringInfoChar(&buf, '\'');

	return buf.data;
}

/* An argument for a POSIX shell, where a quote has to stand outside of quotes */
static const char *
shell_quoted(const char *argument)
{
	return quoted(argument, "'", "'\\'");
}

/* pg_repack and pg_squeeze rebuild tables of users, and neither unlogged ones. */
static bool
is_for_tools(const SstRelation *table)
{
	return table->relkind == RELKIND_RELATION && !table->catalog &&
		table->persistence == RELPERSISTENCE_PERMANENT;
}

static SstCommand
tool_command(const char *string, int waits, const char *remark)
{
	SstCommand	command = make_command(string, true, SST_WAITS_LOCK | waits);

	command.lock_mode = "ACCESS SHARE";
	command.by_inserts = true;
	command.skips_invalid = true;
	command.remark = remark;

	return command;
}

/*
 * Its documentation asks for a primary key or a unique index on not null columns.  It takes
 * the name of a database as a value of a connection string, which ends at a space that is not
 * quoted.
 */
static SstCommand
pg_repack_command(const SstRelation *table)
{
	const char *database = quoted(get_database_name(MyDatabaseId), "'\\", "\\");

	return tool_command(psprintf("pg_repack -d %s -t %s",
								 shell_quoted(database), shell_quoted(qualified(table))),
						SST_WAITS_SNAPSHOT,
						_("run it in a shell; it takes an ACCESS EXCLUSIVE lock briefly at its beginning and its end"));
}

/* Its schema is always this one.  Before its version 1.6 the last three had no defaults. */
static SstCommand
pg_squeeze_command(const SstRelation *table)
{
	return tool_command(psprintf("SELECT squeeze.squeeze_table(%s, %s, NULL, NULL, NULL)",
								 quote_literal_cstr(table->schema),
								 quote_literal_cstr(table->name)),
						SST_WAITS_XID,
						_("it takes an ACCESS EXCLUSIVE lock briefly at its end"));
}

/* Can pg_squeeze be used?  Before REPACK came, logical decoding was a setting of the server. */
static bool
has_pg_squeeze(void)
{
#ifndef SST_HAVE_REPACK
	if (!XLogLogicalInfoActive())
		return false;
#endif
	return OidIsValid(get_extension_oid("pg_squeeze", true));
}

/*
 * REPACK (CONCURRENTLY) needs WAL that can be decoded, a slot for that, and an index that
 * identifies rows.
 */
static bool
can_repack_concurrently(const SstRelation *table)
{
#ifdef SST_HAVE_REPACK
	return XLogIsNeeded() && max_repack_replication_slots > 0 && table->identity &&
		table->persistence == RELPERSISTENCE_PERMANENT &&
		can_be_concurrent(table);
#else
	return false;
#endif
}

static SstCommand
server_command(const SstRelation *table)
{
	bool		concurrent = can_repack_concurrently(table);
	SstCommand	command = make_command(NULL, concurrent,
									   SST_WAITS_LOCK | (concurrent ? SST_WAITS_XID : 0));

#ifdef SST_HAVE_REPACK
	command.text = psprintf("REPACK %s%s",
							concurrent ? "(CONCURRENTLY) " : "", qualified(table));
	/* It is refused as long as the table has an index that is not valid. */
	command.skips_invalid = true;
#else
	command.text = psprintf("VACUUM FULL %s", qualified(table));
#endif
	command.by_inserts = concurrent;
	if (concurrent)
		command.remark = _("it takes an ACCESS EXCLUSIVE lock briefly at its end");

	return command;
}

bool
sst_has_pg_repack(void)
{
	return OidIsValid(get_extension_oid("pg_repack", true));
}

/*
 * The command that rebuilds a table with its indexes and its TOAST table.  keyed: pg_repack is
 * there, and one of the indexes identifies the table's rows.
 */
SstCommand
sst_rebuild_table_command(const SstRelation *table, bool keyed)
{
	SstCommand	command;

	if (is_for_tools(table) && keyed)
		return pg_repack_command(table);
	if (is_for_tools(table) && table->identity && has_pg_squeeze())
		return pg_squeeze_command(table);

	command = server_command(table);
	if (command.remark == NULL && !table->catalog && sst_has_pg_repack())
		command.remark = _("pg_repack cannot rebuild it: that requires an ordinary table with a primary key or a unique index on NOT NULL columns");

	return command;
}

/* VACUUM or ANALYZE */
SstCommand
sst_upkeep_command(const char *verb, const SstRelation *table)
{
	return make_command(psprintf("%s %s", verb, qualified(table)), true, SST_WAITS_STRONG);
}

/* ----------
 * Sizes of relations, now and after a rebuild
 * ----------
 */

double
sst_entry_bytes(const SstReportEntry *entry)
{
	return (double) entry->estimate.nblocks * BLCKSZ;
}

/*
 * Bytes that come back of one relation, by the command that is for it.  NaN if that is
 * not known.
 */
SstEstimate
sst_entry_reclaimable(const SstReportEntry *entry)
{
	if (sst_is_to_be_dropped(entry->relation))
		return sst_exactly(sst_entry_bytes(entry));
	return sst_reclaimable_bytes(&entry->estimate);
}

static void
add_gain(const SstReportEntry *entry, SstEstimate rebuilt, SstGain *gain)
{
	double		bytes = sst_entry_bytes(entry);

	gain->nrelations++;
	gain->bytes += bytes;
	if (isnan(rebuilt.value))
	{
		gain->predicted += bytes;
		return;
	}
	gain->predicted += rebuilt.value * BLCKSZ;
	gain->reclaimable.value += bytes - rebuilt.value * BLCKSZ;
	gain->reclaimable.low += bytes - rebuilt.high * BLCKSZ;
	gain->reclaimable.high += bytes - rebuilt.low * BLCKSZ;
}

/*
 * Add what a rebuild of a relation changes.  One that becomes larger counts as
 * well; one of which nothing is known is taken to keep its size.  The ends are
 * added up: the errors of a table and of its indexes have causes in common.
 */
void
sst_add_gain(const SstReportEntry *entry, SstGain *gain)
{
	add_gain(entry, entry->estimate.rebuilt_blocks, gain);
}

/*
 * A TOAST index that a rewrite of its table makes, against the size that REINDEX would
 * give it.  A rewrite inserts the chunks one by one, in the order of the table's rows.
 * Where pages are split, and how full they become, depends on the order of their IDs
 * (_bt_findsplitloc() in access/nbtree/nbtsplitloc.c).  After 24 rewrites on 15, of tables
 * whose rows were updated, shuffled, or clustered either way, with values of 2, 6 and 31
 * chunks, leaf pages were 50 to 98 percent full; a sort fills 90 percent.
 */
#define INSERTED_LEAST 0.92
#define INSERTED 1.2
#define INSERTED_MOST 1.8

/* Index pages for each page of full chunks, where there are none yet */
#define INDEX_PART 0.011

/*
 * The blocks of a TOAST index after a rewrite of its table, which makes only the chunks
 * that the rows need.
 */
static SstEstimate
rewritten_toast_index(const SstReportEntry *entry)
{
	SstEstimate index = entry->estimate.rebuilt_blocks;
	const SstBloatEstimate *toast = &entry->table->estimate;
	SstEstimate chunks = sst_exactly(1);

	/* without the metapage */
	SstEstimate part = {index.value - 1, index.low - 1, index.high - 1};

	if (toast->toast != NULL && !isnan(toast->rebuilt_blocks.value))
	{
		double		all = toast->toast->chunks.blocks.value;

		chunks = toast->rebuilt_blocks;
		part.value = all > 0 ? part.value / all : INDEX_PART;
		part.low = all > 0 ? part.low / all : INDEX_PART;
		part.high = all > 0 ? part.high / all : INDEX_PART;
	}
	return (SstEstimate)
	{
		.value = 1 + ceil(part.value * chunks.value * INSERTED),
			.low = 1 + floor(Max(part.low, 0) * chunks.low * INSERTED_LEAST),
			.high = 1 + ceil(part.high * chunks.high * INSERTED_MOST)
	};
}

/*
 * A rewrite leaves a table's rows closer together, so that differences between TIDs, where
 * an index has them, may take fewer bytes.  Of 35 random GIN indexes on 15, most had the size
 * that REINDEX gives, and three were 5 to 11 percent smaller.  Where rows are many times as close,
 * differences of two or three bytes can become one: with 20 times as close, indexes were up to 57
 * percent smaller.
 */
#define CLOSER_ROWS 0.12
#define CLOSER_POWER -0.3

/* The least part of a size by REINDEX that the index has after a rewrite of this table */
static double
least_part_with_closer_rows(const SstBloatEstimate *table)
{
	double		closer = table->nblocks / Max(table->rebuilt_blocks.low, 1);

	return (1 - CLOSER_ROWS) * (closer > 1 ? pow(closer, CLOSER_POWER) : 1);
}

/* What REINDEX would free of a TOAST index of so many bytes that a rewrite has made */
double
sst_inserted_waste(double bytes)
{
	return bytes - bytes / INSERTED;
}

/*
 * The blocks of a table that takes so many, after bulk inserts into it.  These
 * double the blocks that they extend it by, up to a limit (RelationAddBlocks() in
 * access/heap/hio.c).  Those that the last extension added
 * and did not need stay in the table.
 */
static double
extended_blocks(double blocks)
{
#ifdef SST_HAVE_BULK_EXTENSION
	double		extended = 1;

	if (!(blocks > 0))
		return blocks;
	if (blocks > SST_MAX_EXTENSION)
		return ceil(blocks / SST_MAX_EXTENSION) * SST_MAX_EXTENSION;
	while (extended < blocks)
		extended *= 2;
	return extended;
#else
	return blocks;
#endif
}

/*
 * Add what the rebuild of its table changes of a relation, which can be the table itself.
 * VACUUM FULL and REPACK store the number of rows that they have copied before they build
 * indexes (copy_table_data() in commands/cluster.c), so that a hash index is built as if after
 * ANALYZE.  Commands that insert rows store none, so that the server estimates it.  The upper
 * end stays where many rows may just have no entry in a hash index.
 */
void
sst_add_gain_with_table(const SstReportEntry *entry, bool by_inserts,
						SstGain *gain)
{
	const SstBloatEstimate *estimate = &entry->estimate;
	SstEstimate rebuilt = estimate->rebuilt_blocks;

	if (entry->table != NULL && entry->table->relation->relkind == RELKIND_TOASTVALUE)
		rebuilt = rewritten_toast_index(entry);
	else if (by_inserts && entry->table == NULL)
	{
		rebuilt.value = extended_blocks(rebuilt.value);
		rebuilt.low = extended_blocks(rebuilt.low);
		rebuilt.high = extended_blocks(rebuilt.high);
	}
	else if (sst_index_am(entry->relation->amoid)->flags & SST_AM_TID_DIFFERENCES)
		rebuilt.low = floor(rebuilt.low * least_part_with_closer_rows(&entry->table->estimate));
	else if (!isnan(estimate->analyzed_blocks) && !by_inserts)
	{
		double		less = rebuilt.value - estimate->analyzed_blocks;

		rebuilt.value -= less;
		rebuilt.low = Max(rebuilt.low - less, 0);
		if (estimate->analyze_first)
			rebuilt.high -= less;
	}
	add_gain(entry, rebuilt, gain);
}
