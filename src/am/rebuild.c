/*-------------------------------------------------------------------------
 *
 * rebuild.c
 *	  The model for a relation, and what it has to know of an index's table
 *
 * The rows that an index build skips are kept as bits, for each block that has some.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "am/rebuild.h"

/*
 * The fraction of a table's rows that have entries in an index without entries for
 * nulls, according to pg_statistic.  NaN if the index is partial; without statistics, the
 * given one.
 */
double
sst_entry_fraction(Relation index, double without)
{
	int			column = index->rd_index->indkey.values[0];
	Oid			relid = column == 0 ? RelationGetRelid(index) :
		index->rd_index->indrelid;
	HeapTuple	tuple;
	double		result = without;

	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return NAN;

	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
							Int16GetDatum(column == 0 ? 1 : column),
							BoolGetDatum(false));
	if (HeapTupleIsValid(tuple))
	{
		result = 1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
		ReleaseSysCache(tuple);
	}
	return result;
}

/* Do the settings allow workers to build indexes of a table with so many blocks? */
bool
sst_may_have_build_workers(double nblocks)
{
	return max_parallel_workers > 0 && max_parallel_maintenance_workers > 0 &&
		maintenance_work_mem / 2 >= 32 * 1024 && nblocks >= min_parallel_table_scan_size;
}

/*
 * Will workers build an index of an open table with so many blocks?
 * plan_create_index_workers() (optimizer/plan/planner.c) decides, but must not be called,
 * because it evaluates parts of the index's expressions, which are code of its owner.
 */
static SstParallelBuild
built_in_parallel(Relation index, Relation table, BlockNumber nblocks)
{
	int			nworkers = RelationGetParallelWorkers(table, -1);

	if (max_parallel_workers == 0 || max_parallel_maintenance_workers == 0 ||
		index->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		!(nworkers >= 0 ? nworkers > 0 : sst_may_have_build_workers(nblocks)))
		return SST_PARALLEL_NO;
	if (heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return SST_PARALLEL_YES;
	return SST_PARALLEL_PERHAPS;
}

/*
 * Look at an index's table, with a lock on it for the time of this call.  The index is locked.
 * Everybody locks the table before its index, so this must not wait for the lock on the
 * table: false if somebody else has that, and nothing is known.
 */
bool
sst_get_table_facts(Relation index, SstTableFacts *facts)
{
	Oid			tableoid = index->rd_index->indrelid;
	Relation	table;
	BlockNumber nblocks;
	double		allvisfrac;

	memset(facts, 0, sizeof(SstTableFacts));
	if (!ConditionalLockRelationOid(tableoid, AccessShareLock))
		return false;
	table = relation_open(tableoid, NoLock);
	estimate_rel_size(table, NULL, &nblocks, &facts->ntuples, &allvisfrac);
	facts->counted = table->rd_rel->reltuples >= 0;
	facts->parallel = built_in_parallel(index, table, nblocks);
	relation_close(table, AccessShareLock);
	return true;
}

/*
 * Begin to predict the size of a relation, in a memory context of its own in the current
 * one.  NULL if the size cannot be predicted; then the note says why.
 */
SstRebuild *
sst_rebuild_begin(const SstAccessMethod *am, Relation rel, SstPause *pause,
				  const char **note)
{
	SstRebuild *rebuild;
	MemoryContext context;
	MemoryContext oldcontext;

	*note = am->no_model;
	if (am->model == NULL)
		return NULL;

	context = AllocSetContextCreate(CurrentMemoryContext, "streamstat model",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	rebuild = am->model->begin(rel);
	MemoryContextSwitchTo(oldcontext);
	if (rebuild == NULL)
	{
		*note = gettext_noop("size after a rebuild is not known: the table is locked");
		MemoryContextDelete(context);
		return NULL;
	}
	rebuild->model = am->model;
	rebuild->context = context;
	rebuild->pause = pause;
	rebuild->analyzed_blocks = NAN;
	return rebuild;
}

/* Free the state.  NULL is ignored. */
void
sst_rebuild_end(SstRebuild *rebuild)
{
	if (rebuild != NULL)
		MemoryContextDelete(rebuild->context);
}

/* ----------
 * Rows that an index build skips
 * ----------
 */

/* Line pointers of a block: a bit for each that a sound page can have */
typedef struct BlockTids
{
	BlockNumber blkno;
	char		status;			/* for simplehash.h */
	uint64		bits[(MaxHeapTuplesPerPage + 63) / 64];
} BlockTids;

#define SH_PREFIX block_tids
#define SH_ELEMENT_TYPE BlockTids
#define SH_KEY_TYPE BlockNumber
#define SH_KEY blkno
#define SH_HASH_KEY(tb, key) murmurhash32(key)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Can a sound page have such a line pointer? */
static bool
is_possible(OffsetNumber offnum)
{
	return offnum >= FirstOffsetNumber && offnum <= MaxHeapTuplesPerPage;
}

/*
 * Create an empty set for a model, which is freed with that, with memory for so many
 * blocks: growing would take half as much again.
 */
SstDeadTids *
sst_dead_tids_create(const SstRebuild *rebuild, BlockNumber nblocks)
{
	SstDeadTids *set = MemoryContextAllocZero(rebuild->context, sizeof(SstDeadTids));

	set->blocks = block_tids_create(rebuild->context, Max(nblocks, 1), NULL);
	return set;
}

/* Add a line pointer.  One with a number that no sound page has is ignored. */
void
sst_dead_tids_add(SstDeadTids *set, BlockNumber blkno, OffsetNumber offnum)
{
	BlockTids  *block;
	uint64		bit;
	bool		found;

	if (!is_possible(offnum))
		return;
	set->filter[blkno % SST_FILTER_BITS / 64] |= UINT64CONST(1) << blkno % 64;
	block = block_tids_insert(set->blocks, blkno, &found);
	if (!found)
		memset(block->bits, 0, sizeof(block->bits));
	bit = UINT64CONST(1) << (offnum - 1) % 64;
	set->ntids += (block->bits[(offnum - 1) / 64] & bit) == 0;
	block->bits[(offnum - 1) / 64] |= bit;
}

/* sst_dead_tids_contain() for a TID that the filter lets pass */
bool
sst_dead_tids_look_up(const SstDeadTids *set, BlockNumber blkno, OffsetNumber offnum)
{
	const BlockTids *block;

	return is_possible(offnum) && (block = block_tids_lookup(set->blocks, blkno)) != NULL &&
		(block->bits[(offnum - 1) / 64] >> (offnum - 1) % 64 & 1) != 0;
}
