/*-------------------------------------------------------------------------
 *
 * gin_size.c
 *	  The size of a new GIN index
 *
 * If all pages were read, the model builds an index from all keys, or from as
 * many as memory allows.  A sample of pages has some of the keys with all
 * their TIDs, which represent the index; for the pending list, see
 * gin_pending.c.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_size.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/paths.h"
#include "utils/memutils.h"

#include "rebuild/gin_entry_tree.h"
#include "rebuild/gin_model.h"

/* By which part the memory that a build takes may be wrong */
#define MEMORY_MARGIN			0.03
#define MEMORY_MARGIN_SAMPLED	0.25

/* Of so many batches, one more or less does not matter. */
#define MANY_BATCHES 32

/* By which part of the size the model can be wrong, with all keys or some */
#define UNCERTAINTY				0.005
#define UNCERTAINTY_SAMPLED		0.01
#define UNCERTAINTY_OF_BATCHES	0.02
#define UNCERTAINTY_OF_BATCHES_SAMPLED 0.04
#define UNCERTAINTY_OF_ONE_PAGE 0.35
#define UNCERTAINTY_OF_PENDING 0.4

/* Of the part of a page that an entry takes: keys are taken in the order of blocks */
#define UNCERTAINTY_OF_ORDER 0.15

/* All of these together are not more. */
#define MOST_UNCERTAINTY 0.9

/* From this part of the new entries on, the pending list is worth a note. */
#define NOTEWORTHY_PART 0.1

/* Leaf pages that are as good as what is known of them without any */
#define PRIOR_PAGES 4

/* How full batches leave pages at least and at most, about */
#define LEAST_FILL 0.5
#define MOST_FILL 0.75
#define FILL_OF_BATCHES 0.61

/*
 * Memory for a batch.  INFINITY for a build by workers: they sort what they find, so that
 * there are no batches.
 */
static double
build_memory(bool in_parallel)
{
	return in_parallel ? INFINITY : maintenance_work_mem * 1024.0;
}

/* Take over what a build has made of the keys. */
static void
set_size(const SstGinModel *model, const SstGinKeyCounts *counts,
		 const SstGinBuilt *built, SstGinCase which, SstGinSize *size)
{
	double		half = SST_GIN_PAGE_ROOM / 2.0;
	double		pages = Max(built->leaf_pages - 1, 0);
	double		prior;
	double		average = built->bytes / Max(model->keys.nkeys, 1);

	if (model->pages_seen < 1)
		sst_gin_expect_pending(model, counts, built->indexed_bytes, which, size);
	else if (counts->item_bytes > 0)
		size->indexed = built->indexed_bytes / counts->item_bytes;
	if (model->pages_seen == 1 && counts->pending_bytes > 0)
	{
		size->pending = (built->bytes - built->indexed_bytes) /
			counts->pending_bytes;
		size->pending_pages = built->posting_pages / counts->pending_bytes;
	}

	size->bytes = built->bytes;
	size->pages = built->pages;
	size->inner_fill = half;
	prior = half + Min(average, half) / 2;
	if (built->nbatches > 1)
	{
		size->inner_fill = FILL_OF_BATCHES * SST_GIN_PAGE_ROOM;
		prior = which == SST_GIN_LIKELY ? size->inner_fill :
			(which == SST_GIN_LEAST ? MOST_FILL : LEAST_FILL) * SST_GIN_PAGE_ROOM;
	}
	size->fill = Max((built->bytes - built->last_bytes + PRIOR_PAGES * prior) /
					 (pages + PRIOR_PAGES), 1);
	size->last_bytes = Min(Max(built->last_bytes, half), SST_GIN_PAGE_ROOM);
}

/*
 * A sample does not tell when the memory is full, if that depends on what is in the
 * pending list.
 */
static void
widen_fill(const SstGinKeyCounts *counts, const SstGinSize *likely,
		   SstGinCase which, SstGinSize *size)
{
	double		part = Min(2 * sst_gin_pending_part(counts, likely), 1);
	double		least = Min(size->fill, LEAST_FILL * SST_GIN_PAGE_ROOM);
	double		most = Max(size->fill, MOST_FILL * SST_GIN_PAGE_ROOM);

	if (which == SST_GIN_MOST)
		size->fill -= part * (size->fill - least);
	else if (which == SST_GIN_LEAST)
		size->fill += part * (most - size->fill);
}

/* Say what the size depends on. */
static void
set_note(SstRebuild *rebuild, bool batches, double pending)
{
	if (pending >= NOTEWORTHY_PART)
		rebuild->note = gettext_noop("keys in the pending list are estimated from a sample; gin_clean_pending_list() moves them to the tree");
	else if (batches)
		rebuild->note = gettext_noop("a build needs more than maintenance_work_mem; the size is for the current setting");
}

/* Build the index with the memory there is, and with a bit more and less. */
static void
build(SstRebuild *rebuild, SstGinSource *source)
{
	static const double factors[SST_GIN_CASES] = {0, 1, -1};
	SstGinModel *model = rebuild->u.gin.model;
	double		margin = model->pages_seen < 1 ? MEMORY_MARGIN_SAMPLED :
		MEMORY_MARGIN;
	double		memory = source->memory;
	SstGinKeyCounts counts;
	bool		batches = false;
	double		pending = 0;	/* part, of a sample */
	double		part_of_page;	/* that an entry takes */
	SstGinBuilt built[SST_GIN_CASES];

	sst_gin_count_keys(&model->keys, &counts);
	for (int i = 0; i < SST_GIN_CASES; i++)
	{
		source->memory = memory * (1 + factors[i] * margin);
		if (i == SST_GIN_LIKELY ||
			(batches && built[SST_GIN_LIKELY].nbatches <= MANY_BATCHES))
		{
			if (!sst_gin_build(source, &built[i]))
				return;
		}
		else
			built[i] = built[SST_GIN_LIKELY];
		if (i == SST_GIN_LIKELY)
			batches = built[i].nbatches > 1 ||
				built[i].memory * (1 + margin) >= memory;
		set_size(model, &counts, &built[i], i, &model->sizes[i]);
		if (batches && model->pages_seen < 1)
			widen_fill(&counts, &model->sizes[SST_GIN_LIKELY], i,
					   &model->sizes[i]);
	}

	/*
	 * Of few long entries, each page has one more or less.  At least three go
	 * on a page (GinMaxItemSize); those of a damaged page can be longer.
	 */
	part_of_page = Min(built[SST_GIN_LIKELY].bytes /
					   (Max(model->keys.nkeys, 1) * (double) SST_GIN_PAGE_ROOM),
					   1.0 / 3);
	if (model->pages_seen < 1)
	{
		pending = sst_gin_pending_part(&counts, &model->sizes[SST_GIN_LIKELY]);
		rebuild->uncertainty += part_of_page;
	}
	else
		rebuild->uncertainty += UNCERTAINTY_OF_ORDER * part_of_page;
	rebuild->uncertainty += UNCERTAINTY_OF_PENDING * pending;
	set_note(rebuild, batches, pending);
	if (batches)
		rebuild->uncertainty += model->all_keys ? UNCERTAINTY_OF_BATCHES :
			UNCERTAINTY_OF_BATCHES_SAMPLED + UNCERTAINTY_OF_ONE_PAGE /
			sqrt(built[SST_GIN_LIKELY].leaf_pages + 1);
	rebuild->uncertainty = Min(rebuild->uncertainty, MOST_UNCERTAINTY);
}

/* What is assumed without any key */
static void
init_sizes(SstGinModel *model)
{
	for (int i = 0; i < SST_GIN_CASES; i++)
	{
		SstGinSize *size = &model->sizes[i];

		memset(size, 0, sizeof(SstGinSize));
		size->indexed = size->pending = 1;
		size->fill = size->inner_fill = size->last_bytes =
			SST_GIN_PAGE_ROOM / 2.0;
	}
}

/*
 * Pages of new posting trees for a byte of old ones, by the roots that were
 * seen; or NaN
 */
static double
deep_pages(const SstGinModel *model)
{
	double		flat = 0;		/* of the last pages: they are all there is */
	double		ntids;
	double		nleaves;
	double		pages;

	if (model->posting_tids == 0)
		return NAN;
	if (model->last_leaves > model->roots)
		flat = (double) (model->last_leaves - model->roots) / model->last_leaves;
	ntids = model->posting_tids - flat * model->last_tids;
	nleaves = model->posting_leaves - flat * model->last_leaves;
	if (ntids < 1 || nleaves < 1)
		return NAN;
	pages = sst_gin_trees_by_roots(&model->trees, ntids / nleaves,
								   Max((double) model->posting_differences /
									   model->posting_tids, 1));

	return pages * model->posting_tids / Max(model->posting_bytes, 1);
}

void
sst_gin_finish(SstRebuild *rebuild, bool exact)
{
	SstGinModel *model = rebuild->u.gin.model;
	MemoryContext oldcontext = MemoryContextSwitchTo(model->context);
	SstGinSource source = {.keys = &model->keys};

	model->pages_seen = exact || model->nblocks <= model->nseen ? 1 :
		Max(model->nseen, 1) / (double) model->nblocks;
	model->all_keys = exact && model->keys.fraction == 1;
	model->posting_pages = exact ? sst_gin_trees_pages(&model->trees) : NAN;
	model->deep_pages = deep_pages(model);
	init_sizes(model);
	rebuild->uncertainty = model->all_keys ? UNCERTAINTY : UNCERTAINTY_SAMPLED;

	sst_gin_keys_sort(&model->keys);
	source.trees = isnan(model->posting_pages) ? NULL : &model->trees;
	source.fraction = model->keys.fraction * model->pages_seen;
	source.tree_tids = model->posting_tids / model->pages_seen;
	source.nblocks = Min(model->last_block, MaxBlockNumber) + 1;
	source.memory = build_memory(rebuild->u.gin.in_parallel);
	build(rebuild, &source);
	MemoryContextSwitchTo(oldcontext);
}

/* Pages of the entry tree for so many bytes of entries, on all levels */
static double
entry_tree_blocks(const SstGinModel *model, const SstGinSize *size,
				  double bytes, double pivot, bool whole)
{
	double		blocks;
	double		level;

	if (model->all_keys && size->bytes > 0)
		return size->pages * bytes / size->bytes;
	if (bytes <= SST_GIN_PAGE_ROOM)
		return 1;

	/* The last page has what a split has left, and more. */
	level = Max(2, sst_round_up((bytes - size->last_bytes) / size->fill,
								whole) + 1);
	blocks = level;
	while (level > 1)
	{
		double		level_bytes = level * pivot;
		double		most = sst_round_up(level / 2, whole);

		/* A page has two pivots at least, whatever a damaged one says. */
		if (level_bytes <= SST_GIN_PAGE_ROOM)
			level = 1;
		else
			level = Min(Max(2, sst_round_up((level_bytes - SST_GIN_PAGE_ROOM) /
											size->inner_fill, whole) + 1), most);
		blocks += level;
	}

	return blocks;
}

/* Of trees with one page, those that are short become part of their entries. */
static double
short_fraction(const double *counts)
{
	double		trees = counts[SST_REBUILT_TREES];

	return trees > 0 ?
		Max(trees - counts[SST_REBUILT_DEEP_TREES], 0) / trees : 0;
}

/* Pages of posting trees, where they are not known one by one */
static double
posting_tree_blocks(const SstGinModel *model, const double *counts,
					bool whole)
{
	const double page_items = GinDataPageMaxDataSize / sizeof(PostingItem);
	double		trees = counts[SST_REBUILT_TREES];
	double		deep = counts[SST_REBUILT_DEEP_TREES];
	double		blocks = Max(trees - deep - counts[SST_REBUILT_SHORT_TREES] *
							 short_fraction(counts), 0);

	/* A tree without TIDs vanishes. */
	if (counts[SST_REBUILT_TREE_BYTES] <= 0)
		return 0;

	/* A sample may have the roots only, or pages without their root. */
	if (trees > 0)
		deep = Min(deep, trees);
	if (counts[SST_REBUILT_TREE_BYTES] > counts[SST_REBUILT_LAST_BYTES])
		deep = Max(deep, 1);

	/* The last page of a tree is half full. */
	if (deep > 0)
	{
		double		bytes = counts[SST_REBUILT_TREE_BYTES] -
			counts[SST_REBUILT_LAST_BYTES] * short_fraction(counts);
		double		leaves = bytes / SST_GIN_FULL_PAGE + deep / 2;
		double		inner = sst_round_up(leaves / deep / page_items, whole);

		if (isnan(model->deep_pages))
			blocks += leaves + deep * (inner > 1 ? inner + 1 : 1);
		else
			blocks += bytes * model->deep_pages;
	}
	return blocks;
}

static double
blocks_for(const SstGinModel *model, const double *counts,
		   const SstGinSize *size, bool whole)
{
	double		entries = counts[SST_REBUILT_PIVOTS];
	double		bytes = counts[SST_REBUILT_BYTES] * size->indexed +
		counts[SST_REBUILT_PENDING_BYTES] * size->pending;
	double		pivot = 24;
	double		blocks = 1;

	/*
	 * At least three tuples go on a page (GinMaxItemSize); those of a damaged
	 * page can be longer.
	 */
	if (entries > 0)
		pivot = Min(counts[SST_REBUILT_PIVOT_BYTES] / entries,
					SST_GIN_PAGE_ROOM / 3);

	blocks += counts[SST_REBUILT_PENDING_BYTES] * size->pending_pages;
	if (isnan(model->posting_pages))
	{
		bytes += counts[SST_REBUILT_SHORT_BYTES] * short_fraction(counts);
		blocks += posting_tree_blocks(model, counts, whole);
	}
	else if (model->posting_bytes > 0)
		blocks += model->posting_pages *
			counts[SST_REBUILT_TREE_BYTES] / model->posting_bytes;

	return sst_round_up(blocks + entry_tree_blocks(model, size, bytes, pivot, whole),
						whole);
}

double
sst_gin_blocks(const SstRebuild *rebuild, const double *counts,
			   const SstMeta *meta, bool whole)
{
	const SstGinModel *model = rebuild->u.gin.model;

	return blocks_for(model, counts, &model->sizes[SST_GIN_LIKELY], whole);
}

void
sst_gin_ends(const SstRebuild *rebuild, const double *counts,
			 const SstMeta *meta, double *low, double *high)
{
	const SstGinModel *model = rebuild->u.gin.model;

	*low = *high = sst_gin_blocks(rebuild, counts, meta, true);
	for (int i = 0; i < SST_GIN_CASES; i++)
	{
		double		blocks = blocks_for(model, counts, &model->sizes[i], true);

		*low = Min(*low, blocks);
		*high = Max(*high, blocks);
	}
}
