/*-------------------------------------------------------------------------
 *
 * gin_build.c
 *	  A model of a GIN index build, from keys and TIDs
 *
 * A build reads the table in the order of blocks, and collects keys with their
 * TIDs until that takes maintenance_work_mem.  Then it inserts them in the
 * entry tree, in the order of keys, and begins the next batch
 * (ginBuildCallback() in gininsert.c).  This code does the same with numbers
 * instead of keys and TIDs.
 *
 * If only a fraction of the keys is known, memory and pages are scaled by the
 * same fraction.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_build.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gin_private.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat/compat.h"
#include "rebuild/gin_build.h"
#include "rebuild/gin_entry_tree.h"

/* ginbulk.c: nodes that are allocated together, and TIDs of a new key */
#define NODES_TOGETHER	2048
#define FIRST_TIDS		5

/* Memory for a TID of a key with many: the array is between half and full. */
#define TREE_TID_MEMORY 9

/* With more trees than this, the average will do. */
#define MOST_TREES 1000

/* What becomes of a key */
typedef struct BuildKey
{
	uint64		last_tid;
	uint32		ntids;			/* in all batches so far */
	uint32		bytes;			/* of differences between these */
	uint32		batch;			/* the last one that has the key */
	uint32		batch_tids;		/* in that */
	uint32		max_tids;		/* that it has memory for */
	uint16		item_bytes;		/* that it takes on a leaf page */
	bool		in_tree;		/* has a posting tree */
	uint32		tree_tids;		/* in its old posting tree, if known */
	uint32		tree_bytes;		/* of differences between them */
} BuildKey;

typedef struct Build
{
	const SstGinSource *source;
	const SstGinKeys *keys;
	BuildKey   *states;
	uint16	   *pivots;
	uint32	   *batch_keys;		/* the keys of this batch */
	uint32		nbatch_keys;
	uint32	   *tree_keys;		/* keys with a posting tree */
	uint32		ntrees;
	uint32		batch;
	double		chunks;			/* memory for keys and lists of this batch */
	BlockNumber first_block;	/* of this batch */
	BlockNumber tree_block;		/* to which there is ... */
	double		tree_memory;	/* ... for TIDs of posting trees */
	SstGinEntryTree tree;
} Build;

/* Memory that the allocator takes for so many bytes (aset.c) */
static double
chunk_bytes(Size size)
{
	Size		chunk = 8;

	if (size > 8192)
		return MAXALIGN(size) + SST_CHUNK_HEADER_BYTES;
	while (chunk < size)
		chunk <<= 1;
	return chunk + SST_CHUNK_HEADER_BYTES;
}

/*
 * Memory for the TIDs of keys with a posting tree, from the first block of this
 * batch to another one.  They are as many in each part of the table.
 */
static double
tree_memory(const Build *build, BlockNumber blkno)
{
	const SstGinSource *source = build->source;
	double		part = ((double) blkno + 1 - build->first_block) / source->nblocks;
	double		memory = 0;

	if (source->trees == NULL || build->ntrees > MOST_TREES)
		return source->tree_tids * TREE_TID_MEMORY * part;

	for (uint32 i = 0; i < build->ntrees; i++)
	{
		double		ntids = build->states[build->tree_keys[i]].tree_tids * part;
		double		max = FIRST_TIDS;

		while (max < ntids)
			max *= 2;
		if (max > FIRST_TIDS)
			memory += chunk_bytes(max * sizeof(ItemPointerData)) -
				chunk_bytes(FIRST_TIDS * sizeof(ItemPointerData));
	}
	return memory / source->keys->fraction;
}

/* Memory that this batch takes, with all keys of the index */
static double
batch_memory(Build *build, BlockNumber blkno)
{
	const SstGinSource *source = build->source;
	double		nodes = ceil(build->nbatch_keys / source->fraction / NODES_TOGETHER);

	if (build->tree_block != blkno)
	{
		build->tree_memory = tree_memory(build, blkno);
		build->tree_block = blkno;
	}
	return nodes * chunk_bytes(sizeof(GinEntryAccumulator) * NODES_TOGETHER) +
		build->chunks / source->fraction + build->tree_memory;
}

/* Add a key to this batch. */
static void
begin_key(Build *build, uint32 key)
{
	BuildKey   *state = &build->states[key];
	int			datum_size = build->keys->keys[key].datum_size;

	state->batch = build->batch;
	state->batch_tids = 0;
	state->max_tids = FIRST_TIDS;
	build->batch_keys[build->nbatch_keys++] = key;
	build->chunks += chunk_bytes(FIRST_TIDS * sizeof(ItemPointerData));
	if (datum_size > 0)
		build->chunks += chunk_bytes(datum_size);
}

/* Add a TID to a key (ginCombineData()). */
static void
add_tid(Build *build, uint32 key, uint64 tid)
{
	BuildKey   *state = &build->states[key];

	if (state->batch != build->batch)
		begin_key(build, key);
	if (state->batch_tids == state->max_tids)
	{
		build->chunks -= chunk_bytes(state->max_tids * sizeof(ItemPointerData));
		state->max_tids *= 2;
		build->chunks += chunk_bytes(state->max_tids * sizeof(ItemPointerData));
	}
	state->batch_tids++;
	if (state->ntids > 0)
		state->bytes += sst_gin_difference_bytes(tid - state->last_tid);
	state->ntids++;
	state->last_tid = tid;
}

/* Keys with a posting tree have TIDs everywhere in the table. */
static void
begin_batch(Build *build, BlockNumber blkno)
{
	build->batch++;
	build->nbatch_keys = 0;
	build->chunks = 0;
	build->first_block = blkno;
	for (uint32 i = 0; i < build->ntrees; i++)
		begin_key(build, build->tree_keys[i]);
	build->tree_block = InvalidBlockNumber;
}

static int
compare_keys(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	return x < y ? -1 : x > y;
}

/* Insert the keys of this batch, which ends with a block. */
static void
end_batch(Build *build, BlockNumber blkno)
{
	double		part = ((double) blkno + 1) / build->source->nblocks;

	CHECK_FOR_INTERRUPTS();
	qsort(build->batch_keys, build->nbatch_keys, sizeof(uint32), compare_keys);
	for (uint32 i = 0; i < build->nbatch_keys; i++)
	{
		uint32		number = build->batch_keys[i];
		const SstGinKey *key = &build->keys->keys[number];
		BuildKey   *state = &build->states[number];
		double		list = state->tree_bytes * Min(part, 1) + state->bytes;
		int			size = key->size;

		list = SST_GIN_LIST_HEADER + SHORTALIGN((uint64) list);
		if (!state->in_tree && sst_gin_fits_in_entry(size, list))
			size = SHORTALIGN(size) + (int) list;
		else
			state->in_tree = true;
		state->item_bytes = SST_GIN_ITEM_BYTES(size);
		sst_gin_tree_insert(&build->tree, number, state->item_bytes);
	}
}

/* Set up what is known of each key. */
static bool
init_keys(Build *build)
{
	const SstGinKeys *keys = build->keys;
	SstGinTrees *trees = build->source->trees;
	int			flags = MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO;

	build->states = MemoryContextAllocExtended(CurrentMemoryContext,
											   keys->nkeys * sizeof(BuildKey), flags);
	build->pivots = MemoryContextAllocExtended(CurrentMemoryContext,
											   keys->nkeys * sizeof(uint16), flags);
	build->batch_keys = MemoryContextAllocExtended(CurrentMemoryContext,
												   keys->nkeys * sizeof(uint32), flags);
	build->tree_keys = MemoryContextAllocExtended(CurrentMemoryContext,
												  keys->nkeys * sizeof(uint32), flags);
	if (build->states == NULL || build->pivots == NULL ||
		build->batch_keys == NULL || build->tree_keys == NULL)
		return false;

	if (trees != NULL)
		trees->nfollowed = 0;
	for (uint32 i = 0; i < keys->nkeys; i++)
	{
		const SstGinKey *key = &keys->keys[i];
		BuildKey   *state = &build->states[i];
		SstGinTids	tids;

		build->pivots[i] = SST_GIN_ITEM_BYTES(key->size);
		if (key->tree == InvalidBlockNumber)
			continue;
		build->tree_keys[build->ntrees++] = i;
		if (trees != NULL && sst_gin_tree_of(trees, key->tree, &tids))
		{
			state->tree_tids = Min(tids.ntids, PG_INT32_MAX);
			state->tree_bytes = Min(sst_gin_list_bytes(&tids), PG_INT32_MAX);
			state->tree_bytes -= Min(state->tree_bytes, SST_GIN_LIST_HEADER);
		}
		else
			state->in_tree = true;
	}
	return true;
}

/* Do the batches.  Ends with the last one. */
static void
do_batches(Build *build, SstGinBuilt *built)
{
	const SstGinSource *source = build->source;
	const SstGinKeys *keys = build->keys;
	BlockNumber blkno = 0;

	begin_batch(build, 0);
	for (uint32 i = 0; i < keys->npairs; i++)
	{
		uint64		pair = keys->pairs[i];
		uint64		tid = SST_GIN_PAIR_TID(pair);

		if (i > 0 && pair == keys->pairs[i - 1])
			continue;
		blkno = (BlockNumber) (tid >> SST_GIN_OFFSET_BITS);
		add_tid(build, SST_GIN_PAIR_KEY(pair), tid);

		/* All of a row's keys are in the same batch. */
		if (i + 1 < keys->npairs &&
			SST_GIN_PAIR_TID(keys->pairs[i + 1]) != tid)
		{
			double		memory = batch_memory(build, blkno);

			built->memory = Max(built->memory, memory);
			if (memory >= source->memory)
			{
				end_batch(build, blkno);
				begin_batch(build, blkno);
			}
		}
	}
	blkno = Max(blkno, source->nblocks - 1);
	built->memory = Max(built->memory, batch_memory(build, blkno));
	end_batch(build, blkno);
	built->nbatches = build->batch;
}

/* Pages of posting trees that come of what was not in an old one */
static double
posting_pages(const BuildKey *state, int key_size)
{
	double		ntids = (double) state->tree_tids + state->ntids;
	double		bytes = (double) state->tree_bytes + state->bytes;
	double		pages;

	if (!state->in_tree || state->ntids == 0)
		return 0;
	pages = sst_gin_posting_pages(ntids, Max(bytes / ntids, 1), true);
	if (state->tree_tids > 0 &&
		!sst_gin_fits_in_entry(key_size,
							   SST_GIN_LIST_HEADER + SHORTALIGN(state->tree_bytes)))
		pages -= sst_gin_posting_pages(state->tree_tids,
									   Max((double) state->tree_bytes /
										   state->tree_tids, 1), true);
	return Max(pages, 0);
}

static void
add_up(const Build *build, SstGinBuilt *built)
{
	for (uint32 i = 0; i < build->keys->nkeys; i++)
	{
		const SstGinKey *key = &build->keys->keys[i];
		const BuildKey *state = &build->states[i];

		built->bytes += state->item_bytes;
		if (key->item_bytes > 0)
			built->indexed_bytes += state->item_bytes;
		if (key->tree == InvalidBlockNumber || state->tree_tids > 0)
			built->posting_pages += posting_pages(state, key->size);
	}
	built->pages = sst_gin_tree_pages(&build->tree);
	built->leaf_pages = build->tree.levels[0].npages;
	built->last_bytes = sst_gin_tree_last_bytes(&build->tree);
}

/*
 * Build an index of the keys, which have been sorted.  False if there is no memory
 * for that.
 */
bool
sst_gin_build(const SstGinSource *source, SstGinBuilt *built)
{
	Build		build = {.source = source, .keys = source->keys};
	bool		done = false;

	memset(built, 0, sizeof(SstGinBuilt));
	if (source->keys->nkeys == 0)
		return false;
	if (init_keys(&build))
	{
		sst_gin_tree_init(&build.tree, build.pivots);
		do_batches(&build, built);
		done = !build.tree.failed;
		if (done)
			add_up(&build, built);
		sst_gin_tree_free(&build.tree);
	}
	if (build.states != NULL)
		pfree(build.states);
	if (build.pivots != NULL)
		pfree(build.pivots);
	if (build.batch_keys != NULL)
		pfree(build.batch_keys);
	if (build.tree_keys != NULL)
		pfree(build.tree_keys);
	return done;
}
