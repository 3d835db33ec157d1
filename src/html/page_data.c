/*-------------------------------------------------------------------------
 *
 * page_data.c
 *	  The data of a page, from the session's last report or a stored one
 *
 * Everything is read from the extension's functions and tables through SPI,
 * with the caller's rights, so that a page shows nothing that the caller may
 * not see.  Every name is qualified, and the search path excludes users'
 * schemas meanwhile.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/html/page_data.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "html/page_data.h"

/* The source of rows: what stands after FROM, for each of the three */
typedef struct Source
{
	const char *summary;
	const char *relations;
	const char *commands;
} Source;

/* A row that is being read */
typedef struct Reader
{
	HeapTuple	tuple;
	TupleDesc	tupdesc;
	MemoryContext context;		/* for texts */
	int			column;			/* the last one that was read */
} Reader;

static Datum
next_datum(Reader *reader, bool *isnull)
{
	return SPI_getbinval(reader->tuple, reader->tupdesc, ++reader->column,
						 isnull);
}

/* The next column, a number; NaN for null */
static double
next_number(Reader *reader)
{
	bool		isnull;
	Datum		value = next_datum(reader, &isnull);

	return isnull ? NAN : DatumGetFloat8(value);
}

/* A truth; false for null */
static bool
next_bool(Reader *reader)
{
	bool		isnull;
	Datum		value = next_datum(reader, &isnull);

	return !isnull && DatumGetBool(value);
}

/* A text; NULL for null */
static const char *
next_text(Reader *reader)
{
	bool		isnull;
	Datum		value = next_datum(reader, &isnull);
	MemoryContext oldcontext;
	char	   *string;

	if (isnull)
		return NULL;

	oldcontext = MemoryContextSwitchTo(reader->context);
	string = TextDatumGetCString(value);
	MemoryContextSwitchTo(oldcontext);
	return string;
}

static SstRange
next_range(Reader *reader)
{
	SstRange	range;

	range.value = next_number(reader);
	range.low = next_number(reader);
	range.high = next_number(reader);
	return range;
}

/* Columns for these: numbers are read as float8, times as text. */
#define NUMBER(c) "r." c "::pg_catalog.float8"
#define RANGE(c) NUMBER(c) ", " NUMBER(c "_low") ", " NUMBER(c "_high")
#define TIME(c) "pg_catalog.to_char(r." c ", 'YYYY-MM-DD HH24:MI TZ'::pg_catalog.text)"

/* Run a query for all of its rows. */
static void
query(const char *text)
{
	if (SPI_execute(text, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read what the page is to show");
}

/* ----------
 * The run
 * ----------
 */

static void
set_summary(SstPageData *data, Reader *reader)
{
	data->database = next_text(reader);
	data->server = next_text(reader);
	data->note = next_text(reader);
	data->started = next_text(reader);
	data->ended_by = next_text(reader);
	data->nexact = next_number(reader);
	data->nsampled = next_number(reader);
	data->nskipped = next_number(reader);
	data->ncommands = next_number(reader);
	data->reclaimable = next_range(reader);
	data->planned = next_range(reader);
	data->bytes_total = next_number(reader);
	data->bytes_read = next_number(reader);
	data->bytes_skipped = next_number(reader);
	data->bytes_left = next_number(reader);
	data->elapsed_ms = next_number(reader);
}

/* Read the row about the run; ERROR if there is none. */
static void
read_summary(const Source *source, Reader *reader, SstPageData *data)
{
	query(psprintf("SELECT %s, " TIME("started") ", r.ended_by,"
				   NUMBER("exact_relations") "," NUMBER("sampled_relations") ","
				   NUMBER("skipped_relations") "," NUMBER("commands") ","
				   RANGE("reclaimable_bytes") "," RANGE("planned_bytes") ","
				   NUMBER("bytes_total") "," NUMBER("bytes_read") ","
				   NUMBER("bytes_skipped") "," NUMBER("bytes_left") ","
				   NUMBER("elapsed_ms")
				   " FROM %s AND r.started IS NOT NULL",
				   data->stored ? "r.datname::pg_catalog.text, r.server_version, r.note" :
				   "pg_catalog.current_database()::pg_catalog.text,"
				   " pg_catalog.current_setting('server_version'::pg_catalog.text),"
				   " NULL::pg_catalog.text",
				   source->summary));
	if (SPI_processed == 0 && data->stored)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("stored report %lld does not exist",
						(long long) data->run),
				 errhint("The table streamstat.report_runs lists the stored reports.")));
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no report has been made in this session"),
				 errhint("Call run_database_report() first, or pass the number of a stored report.")));

	reader->tuple = SPI_tuptable->vals[0];
	reader->tupdesc = SPI_tuptable->tupdesc;
	reader->column = 0;
	set_summary(data, reader);
	SPI_freetuptable(SPI_tuptable);
}

/* ----------
 * Relations and commands
 * ----------
 */

static void
set_relation(SstPageRelation *relation, Reader *reader)
{
	bool		isnull;
	Datum		relid = next_datum(reader, &isnull);

	relation->relid = isnull ? InvalidOid : DatumGetObjectId(relid);
	relation->schema = next_text(reader);
	relation->name = next_text(reader);
	relation->parent = next_text(reader);
	relation->kind = next_text(reader);
	relation->access_method = next_text(reader);
	relation->last_vacuum = next_text(reader);
	relation->bytes = next_number(reader);
	relation->free_percent = next_number(reader);
	relation->dead_percent = next_number(reader);
	relation->reclaimable = next_range(reader);
	relation->corrupt_pages = next_number(reader);
	relation->invalid = next_bool(reader);
	relation->exact = next_bool(reader);
	relation->skipped = next_bool(reader);
	relation->note = next_text(reader);
	relation->command = next_text(reader);
	relation->rebuilt_by = next_text(reader);
	relation->reason = next_text(reader);
	if (isnan(relation->bytes))
		relation->bytes = 0;
}

/*
 * Read the rows about relations.  What is said of each in words is read only of those
 * that stand in one of the page's tables: the first ones, and those with damage.
 */
static void
read_relations(const Source *source, Reader *reader, SstPageData *data)
{
	SPIParseOpenOptions options = {.cursorOptions = CURSOR_OPT_NO_SCROLL,
	.read_only = true};
	Portal		portal;
	char	   *text;
	int			allocated = 1024;
	const char *words = "CASE WHEN r.place OPERATOR(pg_catalog.<=) 300 OR"
		" r.corrupt_pages OPERATOR(pg_catalog.>) 0 OR r.is_valid IS FALSE THEN";

	data->relations = MemoryContextAllocHuge(reader->context, sizeof(SstPageRelation) * allocated);
	text = psprintf("SELECT r.relid, r.schema_name, r.relation_name, r.parent_name,"
					" r.kind, r.access_method, " TIME("last_vacuum") ","
					NUMBER("bytes") "," NUMBER("free_percent") ","
					NUMBER("dead_percent") "," RANGE("reclaimable_bytes") ","
					NUMBER("corrupt_pages") ", r.is_valid IS FALSE,"
					" r.measured OPERATOR(pg_catalog.=) 'exact'::pg_catalog.text,"
					" r.measured OPERATOR(pg_catalog.=) 'skipped'::pg_catalog.text,"
					" %s r.note END, %s r.command END, %s r.rebuilt_by END, %s r.reason END"
					" FROM (%s) AS r ORDER BY r.place",
					words, words, words, words, source->relations);

	portal = SPI_cursor_parse_open(NULL, text, &options);
	for (;;)
	{
		SPI_cursor_fetch(portal, true, 1000);
		if (SPI_processed == 0)
			break;
		reader->tupdesc = SPI_tuptable->tupdesc;
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (data->nrelations == allocated)
			{
				allocated *= 2;
				data->relations = repalloc_huge(data->relations, sizeof(SstPageRelation) * allocated);
			}
			reader->tuple = SPI_tuptable->vals[i];
			reader->column = 0;
			set_relation(&data->relations[data->nrelations++], reader);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
}

static void
set_command(SstPageCommand *command, Reader *reader)
{
	bool		isnull;

	command->rank = DatumGetInt64(next_datum(reader, &isnull));
	command->schema = next_text(reader);
	command->name = next_text(reader);
	command->kind = next_text(reader);
	command->bytes = next_number(reader);
	command->relations = next_number(reader);
	command->reclaimable = next_range(reader);
	command->scratch_bytes = next_number(reader);
	command->bytes_to_write = next_number(reader);
	command->command = next_text(reader);
	command->lock_mode = next_text(reader);
	command->blocks_reads = next_bool(reader);
	command->blocks_writes = next_bool(reader);
	command->reason = next_text(reader);
}

static void
read_commands(const Source *source, Reader *reader, SstPageData *data)
{
	query(psprintf("SELECT r.rank, r.schema_name, r.relation_name, r.kind,"
				   NUMBER("bytes") "," NUMBER("relations") ","
				   RANGE("reclaimable_bytes") "," NUMBER("scratch_bytes") ","
				   NUMBER("bytes_to_write") ", r.command, r.lock_mode,"
				   " r.blocks_reads, r.blocks_writes, r.reason"
				   " FROM %s ORDER BY r.rank LIMIT %d",
				   source->commands, SST_PAGE_MAX_COMMANDS));
	data->commands = MemoryContextAllocZero(reader->context, sizeof(SstPageCommand) *
											(SPI_processed + 1));
	reader->tupdesc = SPI_tuptable->tupdesc;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		reader->tuple = SPI_tuptable->vals[i];
		reader->column = 0;
		set_command(&data->commands[data->nplanned++], reader);
	}
	SPI_freetuptable(SPI_tuptable);
}

/* ----------
 * Caches
 * ----------
 */

/* What is cached of each table with its indexes and TOAST tables, the sum first */
static const char *const cached_query =
"SELECT f.name, pg_catalog.sum(f.bytes)::pg_catalog.float8,"
" COALESCE(pg_catalog.sum(f.buffered_bytes), 0::pg_catalog.numeric)::pg_catalog.float8,"
" pg_catalog.sum(f.page_cache_bytes)::pg_catalog.float8"
" FROM (SELECT CASE WHEN c.kind OPERATOR(pg_catalog.=) ANY"
" ('{index,toast table}'::pg_catalog.text[]) AND c.parent_name IS NOT NULL"
" THEN c.parent_name ELSE pg_catalog.format('%%I.%%I'::pg_catalog.text,"
" VARIADIC ARRAY[c.schema_name, c.relation_name]) END AS name,"
" c.bytes, c.buffered_bytes, c.page_cache_bytes FROM %s.cache_summary() AS c) AS f"
" GROUP BY GROUPING SETS ((), (f.name))"
" ORDER BY GROUPING(f.name) DESC, 3 DESC, 1";

/* May the caller call the extension's function of this name and arguments? */
static bool
may_call(const char *extension, const char *signature)
{
	bool		isnull;

	query(psprintf("SELECT pg_catalog.has_function_privilege(%s::pg_catalog.text,"
				   " 'EXECUTE'::pg_catalog.text)",
				   quote_literal_cstr(psprintf("%s.%s", extension, signature))));
	return DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
									  1, &isnull));
}

static void
read_caches(const char *extension, Reader *reader, SstPageData *data)
{
	query(psprintf(cached_query, extension));
	data->most_cached = MemoryContextAllocZero(reader->context, sizeof(SstPageCached) *
											   (SST_PAGE_MAX_CACHED + 1));
	reader->tupdesc = SPI_tuptable->tupdesc;
	for (uint64 i = 0; i < SPI_processed && i <= SST_PAGE_MAX_CACHED; i++)
	{
		SstPageCached *cached = i == 0 ? &data->cached :
			&data->most_cached[data->ncached++];

		reader->tuple = SPI_tuptable->vals[i];
		reader->column = 0;
		cached->name = next_text(reader);
		cached->bytes = next_number(reader);
		cached->buffered_bytes = next_number(reader);
		cached->page_cache_bytes = next_number(reader);
	}
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Read all that a page shows of a stored run, or of the session's last report.  The
 * extension's schema is quoted as needed.  ERROR if there is no such report.  Memory is
 * taken from the current context.
 */
void
sst_read_page_data(const char *extension, bool stored, int64 run, SstPageData *data)
{
	Reader		reader = {.context = CurrentMemoryContext};
	Source		source;
	int			nestlevel = NewGUCNestLevel();

	memset(data, 0, sizeof(SstPageData));
	data->stored = stored;
	data->run = run;
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");

	if (stored)
	{
		const char *where = psprintf("WHERE r.run OPERATOR(pg_catalog.=) %lld::pg_catalog.int8",
									 (long long) run);

		source.summary = psprintf("%s.report_runs AS r %s", extension, where);
		source.commands = psprintf("%s.report_run_commands AS r %s", extension, where);
		source.relations = psprintf("SELECT r.*, NULL::pg_catalog.oid AS relid,"
									" r.reclaimable_rank AS place FROM %s.report_run_relations AS r %s",
									extension, where);
	}
	else
	{
		source.summary = psprintf("%s.database_report_summary() AS r WHERE true", extension);
		source.commands = psprintf("%s.last_database_plan() AS r", extension);
		source.relations = psprintf("SELECT r.*, pg_catalog.row_number() OVER () AS place"
									" FROM %s.last_database_report() AS r", extension);
	}
	read_summary(&source, &reader, data);
	read_relations(&source, &reader, data);
	read_commands(&source, &reader, data);
	data->may_read_layouts = may_call(extension, "layout_map(pg_catalog.regclass,int,int)");
	data->caches_known = !stored && may_call(extension, "cache_summary()");
	if (data->caches_known)
		read_caches(extension, &reader, data);

	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	AtEOXact_GUC(true, nestlevel);
}
