/*-------------------------------------------------------------------------
 *
 * prewarm.c
 *	  What reads relations into memory, and what is there: prewarm and its like, cache_save,
 *	  cache_load, cache_summary, cache_map, pg_prewarm
 *
 * prewarm, prewarm_relations, prewarm_schema and prewarm_database differ in the choice
 * and order of tables and indexes.  No relation is opened for them, nor for cache_load:
 * the set is made from catalog rows and file sizes.  pg_prewarm has the arguments and
 * the errors of contrib's.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "api/api.h"
#include "compat/compat.h"
#include "stream/buffered.h"
#include "stream/segment_file.h"
#include "warm/warm.h"

PG_FUNCTION_INFO_V1(sst_prewarm_relation);
PG_FUNCTION_INFO_V1(sst_prewarm_relations);
PG_FUNCTION_INFO_V1(sst_prewarm_schema);
PG_FUNCTION_INFO_V1(sst_prewarm_database);
PG_FUNCTION_INFO_V1(sst_cache_save);
PG_FUNCTION_INFO_V1(sst_cache_load);
PG_FUNCTION_INFO_V1(sst_cache_summary);
PG_FUNCTION_INFO_V1(sst_cache_map);
PG_FUNCTION_INFO_V1(sst_pg_prewarm);

/* How to prewarm, in pg_prewarm's words; the error has contrib's by its rules. */
static SstPrewarmMode
mode_argument(FunctionCallInfo fcinfo, int argno, SstRules rules)
{
	const char *name = sst_text_argument(fcinfo, argno, "prewarm type");

	if (strcmp(name, "prefetch") == 0)
		return SST_PREWARM_PREFETCH;
	if (strcmp(name, "read") == 0)
		return SST_PREWARM_READ;
	if (strcmp(name, "buffer") == 0)
		return SST_PREWARM_BUFFER;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 rules == SST_RULES_CONTRIB ? errmsg("invalid prewarm type") :
			 errmsg("invalid prewarm type: \"%s\"", name),
			 errhint("Valid prewarm types are \"prefetch\", \"read\", and \"buffer\".")));
	return SST_PREWARM_BUFFER;	/* keep compiler quiet */
}

/* ----------
 * Result rows
 * ----------
 */

static const char *const end_names[] = {
	[SST_WARM_COMPLETE] = "complete",
	[SST_WARM_MAX_BYTES] = "max_bytes",
	[SST_WARM_MAX_TIME] = "max_time",
	[SST_WARM_FULL] = "full",
	[SST_WARM_BLOCKING] = "blocking"
};

/* A row about a fork, whose number of blocks can be -1, or about the sum of all */
static void
put_row(SstRow *row, const SstWarmFork *fork, int64 nblocks, const char *ended_by,
		const char *resume_from)
{
	sst_put_bool(row, "is_sum", ended_by != NULL);
	sst_put_relation(row, fork->relation);
	sst_put_text(row, "fork", fork->forknum == InvalidForkNumber ? NULL :
				 forkNames[fork->forknum]);
	sst_put_count(row, "blocks_total", nblocks);
	sst_put_int64(row, "blocks_requested", fork->nwanted);
	sst_put_int64(row, "blocks_cached", fork->ncached);
	sst_put_int64(row, "blocks_read", fork->nread);
	sst_put_float8(row, "elapsed_ms", fork->elapsed_ms);
	sst_put_text(row, "ended_by", ended_by);
	sst_put_text(row, "resume_from", resume_from);
	sst_put_text(row, "note", fork->note);
	sst_row_store(row);
}

/*
 * Return the sum of a set, which has what ended the call and where the next one goes on
 * (NULL for null), and behind it, with details, a row for each fork in the set's order.
 * The sum tells how many forks have a note.
 *
 * A fork can stand for a relation of which nothing can be warmed: its number is
 * InvalidForkNumber then, and its note says why.  Relations that are only known by
 * name have InvalidOid, and '\0' as their kind.
 */
static void
put_warm_rows(FunctionCallInfo fcinfo, const SstWarmSet *set,
			  SstWarmEnd end, const char *resume_from, bool details)
{
	static const SstRelation none = {0};
	SstWarmFork sum = {.relation = &none, .forknum = InvalidForkNumber};
	SstRow		row;
	int64		nblocks = 0;
	int			nnotes = 0;
	MemoryContext oldcontext;

	for (int i = 0; i < set->nforks; i++)
	{
		const SstWarmFork *fork = &set->forks[i];

		CHECK_FOR_INTERRUPTS();
		nblocks += fork->nblocks == InvalidBlockNumber ? 0 : fork->nblocks;
		sum.nwanted += fork->nwanted;
		sum.ncached += fork->ncached;
		sum.nread += fork->nread;
		sum.elapsed_ms += fork->elapsed_ms;
		nnotes += fork->note != NULL;
	}
	if (nnotes > 0)
		sum.note = psprintf(details ? _("rows with a note: %d") :
							_("rows with a note, shown by details => true: %d"), nnotes);

	sst_rows_begin(&row, fcinfo);
	put_row(&row, &sum, nblocks, end_names[end], resume_from);
	if (!details)
		return;

	oldcontext = MemoryContextSwitchTo(row.context);
	for (int i = 0; i < set->nforks; i++)
	{
		const SstWarmFork *fork = &set->forks[i];

		CHECK_FOR_INTERRUPTS();
		put_row(&row, fork, fork->nblocks == InvalidBlockNumber ? -1 :
				(int64) fork->nblocks, NULL, NULL);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* ----------
 * prewarm and its like
 * ----------
 */

/* ERROR if the user may not warm a relation, or it has nothing to warm. */
static void
check_relation(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		return;					/* it is gone, and gets a note */
	if (!sst_may_warm(sst_table_of(relid)))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relkind), name);
	if (relkind != RELKIND_PARTITIONED_TABLE &&
		relkind != RELKIND_PARTITIONED_INDEX)
		sst_refuse_without_storage(name, relkind);
}

static char *
schema_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *name;

	sst_require_argument(fcinfo, argno, "schema");
	name = get_namespace_name(PG_GETARG_OID(argno));
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_SCHEMA),
				 errmsg("schema with OID %u does not exist",
						PG_GETARG_OID(argno))));

	return name;
}

static void
begin_call(SstCall *call, FunctionCallInfo fcinfo)
{
	sst_call_begin(call, fcinfo, SST_PROGRESS_UNKNOWN, SST_PROGRESS_UNKNOWN);
	sst_progress_phase(SST_PHASE_CATALOG);
}

/*
 * Warm relations that are named, or else the tables of a schema, or of the database for
 * NULL, and return the rows.  The arguments from argno on are those that all four have.
 * alone: the function is about one relation, which is checked, and is warmed whole by
 * default, as pg_prewarm does.
 *
 * A call in mode buffer brings in what is used most.  In the other modes a second
 * call has to find the order of the first, as it cannot tell what that has read.
 */
static Datum
warm(FunctionCallInfo fcinfo, int argno, bool alone, const Oid *relids, int n,
	 const char *schema)
{
	SstPrewarmMode mode = mode_argument(fcinfo, argno, SST_RULES_TOLERANT);
	SstLimits	memory;
	SstLimits  *limits = sst_limits_arguments(fcinfo, argno + 1, &memory);
	SstFreeBuffers free_buffers = {0};
	bool		only_free = sst_bool_argument(fcinfo, argno + 4, !alone);
	SstWarmParts parts = {
		.indexes = sst_bool_argument(fcinfo, argno + 5, true),
		.toast = sst_bool_argument(fcinfo, argno + 6, true),
		.maps = sst_bool_argument(fcinfo, argno + 7, true),
		.only_maps = sst_bool_argument(fcinfo, argno + 8, false)
	};
	SstWarmSet	set;
	SstWarmEnd	end;
	SstCall		call;

	if (parts.only_maps && !parts.maps)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only_maps cannot be used without include_maps")));
	if (alone)
		check_relation(relids[0]);
	begin_call(&call, fcinfo);
	sst_warm_set(&set, relids, n, schema, mode == SST_PREWARM_BUFFER, &parts);
	if (!PG_ARGISNULL(argno + 9))
		sst_resume(&set, sst_text_argument(fcinfo, argno + 9, "resume_from"));

	end = sst_warm(&set, mode, limits, only_free ? &free_buffers : NULL,
				   &call.io_stats);
	sst_call_end(&call);

	put_warm_rows(fcinfo, &set, end, end == SST_WARM_COMPLETE ? NULL :
				  sst_resume_text(&set), true);

	return (Datum) 0;
}

Datum
sst_prewarm_relation(PG_FUNCTION_ARGS)
{
	Oid			relid = sst_relation_argument(fcinfo);

	return warm(fcinfo, 1, true, &relid, 1, NULL);
}

Datum
sst_prewarm_relations(PG_FUNCTION_ARGS)
{
	int			n;
	const Oid  *relids = sst_oids_argument(fcinfo, 0, "relations", &n);

	return warm(fcinfo, 1, false, relids, n, NULL);
}

Datum
sst_prewarm_schema(PG_FUNCTION_ARGS)
{
	return warm(fcinfo, 1, false, NULL, 0, schema_argument(fcinfo, 0));
}

Datum
sst_prewarm_database(PG_FUNCTION_ARGS)
{
	return warm(fcinfo, 0, false, NULL, 0, NULL);
}

/* ----------
 * cache_save and cache_load: save shared buffers as text, and load them
 * ----------
 */

Datum
sst_cache_save(PG_FUNCTION_ARGS)
{
	StringInfoData saved;

	sst_save_cache(PG_ARGISNULL(0) ? PG_INT64_MAX :
				   sst_max_bytes_argument(fcinfo, 0), &saved);

	PG_RETURN_TEXT_P(cstring_to_text_with_len(saved.data, saved.len));
}

Datum
sst_cache_load(PG_FUNCTION_ARGS)
{
	SstFreeBuffers free_buffers = {0};
	SstPrewarmMode mode;
	SstLimits	memory;
	SstLimits  *limits;
	bool		only_free = sst_bool_argument(fcinfo, 6, true);
	SstSavedCache saved;
	SstWarmSet	set;
	SstWarmEnd	end;
	SstCall		call;
	text	   *value;
	int			min_usage = PG_ARGISNULL(2) ? 0 : PG_GETARG_INT32(2);

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("saved cache cannot be null")));
	sst_check_range(min_usage, 0, BM_MAX_USAGE_COUNT, "min_usage_count");
	mode = mode_argument(fcinfo, 1, SST_RULES_TOLERANT);
	limits = sst_limits_arguments(fcinfo, 3, &memory);

	begin_call(&call, fcinfo);
	value = PG_GETARG_TEXT_PP(0);
	sst_read_saved_cache(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), min_usage,
						 &saved);
	sst_saved_cache_set(&saved, &set);
	end = sst_warm(&set, mode, limits, only_free ? &free_buffers : NULL,
				   &call.io_stats);
	sst_note_cut_ranges(&set);
	sst_call_end(&call);

	put_warm_rows(fcinfo, &set, end, NULL,
				  sst_bool_argument(fcinfo, 7, false));

	return (Datum) 0;
}

/* ----------
 * cache_summary and cache_map: what of the database's relations is cached
 *
 * No relation is opened or locked: files and buffers are found by the numbers that
 * the catalogs have for them.
 * ----------
 */

/* Bytes in percent of all; NaN where there are none, or they are not known (-1) */
static double
percent_of(int64 bytes, int64 all)
{
	return all > 0 && bytes >= 0 ? 100.0 * bytes / all : NAN;
}

/* A row about a fork, if it has a file */
static void
put_summary(SstRow *row, const SstRelation *relation, ForkNumber forknum,
			SstForkSums *sums)
{
	static const SstForkSum nothing = {{0}};
	bool		local = relation->persistence == RELPERSISTENCE_TEMP;
	const SstForkSum *buffered = sst_find_fork_sum(sums, &relation->files,
												   forknum);
	int64		bytes = forknum == MAIN_FORKNUM ? relation->bytes :
		sst_fork_bytes(&relation->files, forknum);
	int64		page_cache;
	SstSegmentFile file;

	if (bytes < 0)
		return;

	if (buffered == NULL)
		buffered = &nothing;
	sst_segment_file_init_files(&file, &relation->files, forknum);
	page_cache = sst_page_cache_range(&file, 0, (bytes + BLCKSZ - 1) / BLCKSZ);
	sst_segment_file_close(&file);
	sst_put_relation(row, relation);
	sst_put_text(row, "fork", forkNames[forknum]);
	sst_put_int64(row, "bytes", bytes);
	sst_put_count(row, "buffered_bytes", local ? -1 : buffered->nblocks * BLCKSZ);
	sst_put_count(row, "dirty_bytes", local ? -1 : buffered->ndirty * BLCKSZ);
	sst_put_count(row, "pinned_bytes", local ? -1 : buffered->npinned * BLCKSZ);
	sst_put_float8(row, "usage_count", buffered->nblocks == 0 ? NAN :
				   (double) buffered->usage / buffered->nblocks);
	sst_put_float8(row, "buffered_percent", local ? NAN :
				   percent_of(buffered->nblocks * BLCKSZ, bytes));
	sst_put_count(row, "page_cache_bytes", page_cache);
	sst_put_float8(row, "page_cache_percent", percent_of(page_cache, bytes));
	sst_row_store(row);
}

/*
 * Rows for the ranges of adjacent blocks of a fork with the same usage count, from a
 * list of blocks
 */
static void
put_ranges(SstRow *row, const SstRelation *relation, ForkNumber forknum,
		   const SstBufferedBlocks *list)
{
	const SstFiles *files = &relation->files;
	const SstBufferedBlock *first = sst_first_buffered_block(list, files, forknum);
	const SstBufferedBlock *end = first;

	while (end < list->blocks + list->n &&
		   sst_compare_files(files->tablespace, files->number, forknum, end) == 0)
		end++;
	for (const SstBufferedBlock *block = first; block < end; block++)
	{
		const SstBufferedBlock *next = block + 1;

		if (next < end && next->usage == first->usage &&
			next->blkno - block->blkno <= 1)
			continue;

		sst_put_relation(row, relation);
		sst_put_text(row, "fork", forkNames[forknum]);
		sst_put_int64(row, "first_block", first->blkno);
		sst_put_int64(row, "last_block", block->blkno);
		sst_put_float8(row, "usage_count", first->usage);
		sst_row_store(row);
		first = next;
	}
}

Datum
sst_cache_summary(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstRelations relations;
	SstForkSums *sums;

	sst_rows_begin(&row, fcinfo);
	sst_list_relations(&relations);
	sums = sst_sum_buffered_blocks();
	for (int i = 0; i < relations.n; i++)
	{
		const SstRelation *relation = &relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		for (ForkNumber forknum = MAIN_FORKNUM;
			 relation->bytes >= 0 && forknum <= MAX_FORKNUM; forknum++)
			put_summary(&row, relation, forknum, sums);
	}

	return (Datum) 0;
}

Datum
sst_cache_map(PG_FUNCTION_ARGS)
{
	SstRow		row;
	SstRelations relations;
	SstBufferedBlocks list;

	sst_rows_begin(&row, fcinfo);
	sst_list_relations(&relations);
	sst_list_buffered_blocks(&list, false);
	for (int i = 0; i < relations.n; i++)
	{
		const SstRelation *relation = &relations.relation[i];

		CHECK_FOR_INTERRUPTS();
		for (ForkNumber forknum = MAIN_FORKNUM;
			 relation->bytes >= 0 && forknum <= MAX_FORKNUM; forknum++)
			put_ranges(&row, relation, forknum, &list);
	}

	return (Datum) 0;
}

/* ----------
 * pg_prewarm
 * ----------
 */

/* A block number argument, or the default where it is null. */
static int64
block_argument(FunctionCallInfo fcinfo, int argno, const char *what,
			   int64 nblocks, int64 defaultval)
{
	if (PG_ARGISNULL(argno))
		return defaultval;

	sst_check_range(PG_GETARG_INT64(argno), 0, nblocks - 1, what);
	return PG_GETARG_INT64(argno);
}

Datum
sst_pg_prewarm(PG_FUNCTION_ARGS)
{
	SstPrewarmPlan plan = {0};
	Relation	rel;
	Oid			relid;
	Oid			tableoid;		/* locked besides the relation, or InvalidOid */
	AclResult	aclresult;
	int64		nblocks;
	SstCall		call;

	relid = sst_relation_argument(fcinfo);
	plan.mode = mode_argument(fcinfo, 1, SST_RULES_CONTRIB);
	plan.forknum = forkname_to_number(sst_text_argument(fcinfo, 2, "relation fork"));

	/* Who may read a table may prewarm it and its indexes. */
	rel = sst_open_with_table(relid, &tableoid);
	aclresult = pg_class_aclcheck(OidIsValid(tableoid) ? tableoid : relid,
								  GetUserId(), ACL_SELECT);
	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, get_relkind_objtype(rel->rd_rel->relkind),
					   get_rel_name(relid));
	sst_refuse_for_pg_prewarm(rel, plan.forknum);

	nblocks = RelationGetNumberOfBlocksInFork(rel, plan.forknum);
	plan.first = block_argument(fcinfo, 3, "starting block number", nblocks, 0);
	plan.end = block_argument(fcinfo, 4, "ending block number", nblocks, nblocks - 1) + 1;

	sst_call_begin(&call, fcinfo, 1, SST_PROGRESS_UNKNOWN);
	sst_call_set_relation(&call, rel);
	sst_prewarm(&plan, rel, &call.io_stats);
	sst_call_end(&call);

	relation_close(rel, AccessShareLock);
	if (OidIsValid(tableoid))
		UnlockRelationOid(tableoid, AccessShareLock);

	PG_RETURN_INT64(Max((int64) plan.end - plan.first, 0));
}
