/*-------------------------------------------------------------------------
 *
 * upper_pages.c
 *	  The inner pages of b-trees, found without reading leaves
 *
 * The metapage names the root.  The downlinks of the pages of a level are the
 * blocks of the level below, down to level 1.  So the pages of levels 0 and 1
 * are never read.
 *
 * All trees are descended together, one level at a time.  Before the pages of
 * a level are examined, sst_warm() has read those of all trees into the page
 * cache.  So a thousand small trees take as many round trips to the disk as
 * one.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/upper_pages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "executor/instrument.h"
#include "lib/qunique.h"
#include "miscadmin.h"

#include "compat/shared_blocks.h"
#include "stream/file_reader.h"
#include "stream/segment_file.h"
#include "visit/visit.h"
#include "warm/locked_relations.h"
#include "warm/upper_pages.h"

/* No tree is as high; see visit/btree.c. */
#define MAX_LEVEL 64

typedef struct BlockList
{
	uint64		n;
	uint64		allocated;
	BlockNumber *blknos;
} BlockList;

/* A b-tree on the way down */
typedef struct Tree
{
	int			fork;			/* index into the forks of the set */
	bool		at_metapage;	/* the metapage is next to be looked at */
	uint32		level;			/* otherwise the pages of this level */
	BlockList	next;			/* pages to look at next, ascending */
	BlockList	found;			/* pages to warm */
} Tree;

/* A visit to the pages of a tree that are next */
typedef struct Visit
{
	const Tree *tree;
	BlockNumber nblocks;
	SstSegmentFile file;
	SstIoStats *io_stats;
	PageData   *page;			/* a copy */
	uint32		level_below;
	BlockList	below;			/* what the downlinks point to */
} Visit;

/* ----------
 * Lists of blocks
 * ----------
 */

static void
add_block(BlockList *list, BlockNumber blkno)
{
	if (list->n == list->allocated)
	{
		list->allocated = Max(list->allocated * 2, 8);
		if (list->blknos == NULL)
			list->blknos = palloc(sizeof(BlockNumber) * list->allocated);
		else
			list->blknos = repalloc_huge(list->blknos, sizeof(BlockNumber) *
										 list->allocated);
	}
	list->blknos[list->n++] = blkno;
}

static int
compare_blocks(const void *a, const void *b)
{
	BlockNumber left = *(const BlockNumber *) a;
	BlockNumber right = *(const BlockNumber *) b;

	return (left > right) - (left < right);
}

/* Let the blocks of a list ascend, each once. */
static void
put_in_order(BlockList *list)
{
	qsort(list->blknos, list->n, sizeof(BlockNumber), compare_blocks);
	list->n = qunique(list->blknos, list->n, sizeof(BlockNumber),
					  compare_blocks);
}

static void
free_list(BlockList *list)
{
	if (list->blknos != NULL)
		pfree(list->blknos);
	memset(list, 0, sizeof(BlockList));
}

/* ----------
 * Pages
 * ----------
 */

/*
 * Copy a page: from its buffer if there is one, else from the file.  The copy can be
 * out of date.  False if the page cannot be read, or would be refused.  If only the
 * storage manager can read it, a page that cannot be read is its error.
 */
static bool
copy_page(Visit *visit, BlockNumber blkno)
{
	SstFileRead read = {
		.offset = (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
		.buffer = (char *) visit->page,
		.length = BLCKSZ
	};

	visit->io_stats->blocks_requested++;
	sst_io_stats_returned(visit->io_stats, 1, 1);
	if (sst_copy_buffered(&visit->file.files, MAIN_FORKNUM, blkno, visit->page))
	{
		visit->io_stats->blocks_hit++;
		return true;
	}

	visit->io_stats->blocks_read++;
	visit->io_stats->blocks_private++;
	if (!visit->file.plain && blkno < visit->nblocks)
	{
		sst_read_stored_block(&visit->file.files, MAIN_FORKNUM, blkno,
							  (char *) visit->page);
		read.done = BLCKSZ;
	}
	else if ((read.fd = sst_segment_file_open(&visit->file, blkno)) >= 0)
	{
		int64		ns = sst_file_read_now(&read, visit->io_stats);

		sst_io_stats_page_cache(visit->io_stats, sst_read_was_cached(1, ns));
	}
	pgBufferUsage.shared_blks_read++;
	return read.done == BLCKSZ && sst_page_verified(visit->page, blkno);
}

static inline void
add_below(Visit *visit, BlockNumber blkno)
{
	if (blkno != BTREE_METAPAGE && blkno < visit->nblocks)
		add_block(&visit->below, blkno);
}

static void
add_root(Visit *visit)
{
	const BTMetaPageData *meta = BTPageGetMeta((Page) visit->page);

	if (meta->btm_magic == BTREE_MAGIC && meta->btm_level <= MAX_LEVEL)
	{
		visit->level_below = meta->btm_level;
		add_below(visit, meta->btm_root);
	}
}

/* Add what the downlinks of a page point to. */
static void
add_downlinks(Visit *visit)
{
	const PageData *page = visit->page;
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	OffsetNumber last = PageGetMaxOffsetNumber((Page) page);

	for (OffsetNumber offnum = P_FIRSTDATAKEY(opaque); offnum <= last; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		IndexTupleData tuple;

		if (ItemIdGetOffset(item) > BLCKSZ - sizeof(IndexTupleData))
			continue;

		/* On a damaged page it may not be aligned. */
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(IndexTupleData));
		add_below(visit, BTreeTupleGetDownLink(&tuple));
	}
}

/*
 * Look at the copy of a page.  One that makes no sense, or is not what is expected in
 * its place, adds nothing.
 */
static void
look_at_page(Visit *visit)
{
	const Tree *tree = visit->tree;
	const BTPageOpaqueData *opaque;

	if (!sst_page_is_sound(visit->page, sizeof(BTPageOpaqueData)))
		return;

	opaque = BTPageGetOpaque((Page) visit->page);
	if (tree->at_metapage)
	{
		if (P_ISMETA(opaque))
			add_root(visit);
	}
	else if (!P_ISMETA(opaque) && !P_ISLEAF(opaque) && !P_IGNORE(opaque) &&
			 opaque->btpo_level == tree->level)
		add_downlinks(visit);
}

/* ----------
 * Trees
 * ----------
 */

/*
 * Look at the pages of a tree that are next, and take for the next ones what their
 * downlinks point to, as far as these are inner pages.
 */
static void
step_down(Tree *tree, BlockNumber nblocks, const SstFiles *files,
		  PageData *page, SstIoStats *io_stats)
{
	Visit		visit = {.tree = tree, .nblocks = nblocks, .io_stats = io_stats,
	.page = page};

	if (!tree->at_metapage)
		visit.level_below = tree->level - 1;
	sst_segment_file_init_files(&visit.file, files, MAIN_FORKNUM);
	for (uint64 i = 0; i < tree->next.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (copy_page(&visit, tree->next.blknos[i]))
			look_at_page(&visit);
	}
	sst_segment_file_close(&visit.file);

	put_in_order(&visit.below);
	for (uint64 i = 0; i < visit.below.n; i++)
		add_block(&tree->found, visit.below.blknos[i]);

	free_list(&tree->next);
	tree->at_metapage = false;
	tree->level = visit.level_below;
	if (tree->level > 1)
		tree->next = visit.below;
	else
		free_list(&visit.below);
}

/* Go one level down in each tree.  What cannot be locked gets a note in the set. */
static void
step_down_all(Tree *trees, int ntrees, const SstWarmSet *copy, SstWarmSet *set,
			  SstIoStats *io_stats)
{
	PageData   *page = sst_palloc_blocks(1);
	SstLockedRelations locked;

	sst_locked_relations_init(&locked, 1);
	for (int i = 0; i < ntrees; i++)
	{
		Tree	   *tree = &trees[i];
		SstWarmFork *fork = &set->forks[tree->fork];
		SstLockedRelation *relation;

		if (tree->next.n == 0)
			continue;
		fork->note = copy->forks[tree->fork].entered ? NULL :
			copy->forks[tree->fork].note;
		relation = fork->note != NULL ? NULL :
			sst_lock_next_relation(&locked, fork->relation->relid, &fork->note);
		if (relation == NULL)
		{
			tree->next.n = 0;
			continue;
		}
		step_down(tree, copy->forks[tree->fork].nblocks, &relation->files, page,
				  io_stats);
		sst_unlock_all_relations(&locked);
	}
	pfree(locked.relations);
	sst_pfree_blocks(page);
}

/* Begin with the metapages of the b-trees in the set. */
static Tree *
list_trees(const SstWarmSet *set, int *ntrees)
{
	Tree	   *trees = palloc_extended(sizeof(Tree) * Max(set->nforks, 1),
										MCXT_ALLOC_HUGE);

	*ntrees = 0;
	for (int i = 0; i < set->nforks; i++)
	{
		const SstWarmFork *fork = &set->forks[i];

		if (fork->note == NULL && fork->forknum == MAIN_FORKNUM &&
			fork->relation->relkind == RELKIND_INDEX &&
			fork->relation->amoid == BTREE_AM_OID &&
			fork->relation->persistence != RELPERSISTENCE_TEMP &&
			sst_listed_state(fork->relation) <= SST_TARGET_INVALID)
		{
			Tree	   *tree = &trees[(*ntrees)++];

			memset(tree, 0, sizeof(Tree));
			tree->fork = i;
			tree->at_metapage = true;
			add_block(&tree->next, BTREE_METAPAGE);
			add_block(&tree->found, BTREE_METAPAGE);
		}
	}

	return trees;
}

/* Add the blocks of a list to the ranges of a set, which has room for them. */
static void
add_ranges(SstWarmSet *set, int fork, const BlockList *list)
{
	for (uint64 i = 0; i < list->n; i++)
	{
		SstWarmRange *range = &set->ranges[set->nranges];

		if (i > 0 && list->blknos[i] == range[-1].end)
			range[-1].end++;
		else
		{
			range->fork = fork;
			range->first = list->blknos[i];
			range->end = list->blknos[i] + 1;
			set->nranges++;
		}
	}
}

/*
 * Read the pages that are next of all trees into the page cache, by one queue.  The
 * forks are the caller's copy: what they say of it is not for the user.  False if no
 * tree has any, or the time is over.
 */
static bool
bring_in(Tree *trees, int ntrees, SstWarmSet *copy,
		 const SstWarmOptions *options, SstIoStats *io_stats)
{
	SstWarmOptions own = {.mode = SST_PREWARM_READ};
	SstLimits	limits;
	int64		n = 0;
	SstWarmEnd	end;

	for (int i = 0; i < ntrees; i++)
		n += trees[i].next.n;
	if (n == 0)
		return false;

	/* The bytes are counted when the pages are warmed. */
	if (options->limits != NULL)
	{
		limits = *options->limits;
		limits.bytes_left = PG_INT64_MAX;
		own.limits = &limits;
	}

	copy->nranges = 0;
	copy->ranges = palloc_extended(sizeof(SstWarmRange) * n, MCXT_ALLOC_HUGE);
	for (int i = 0; i < ntrees; i++)
		add_ranges(copy, trees[i].fork, &trees[i].next);
	end = sst_warm(copy, &own, io_stats);
	pfree(copy->ranges);

	return end == SST_WARM_COMPLETE;
}

/* Add what was found to the set. */
static void
add_found(SstWarmSet *set, Tree *trees, int ntrees)
{
	int64		n = set->nranges;

	for (int i = 0; i < ntrees; i++)
		n += trees[i].found.n;
	if (n == 0)
		return;

	set->ranges = set->ranges == NULL ?
		palloc_extended(sizeof(SstWarmRange) * n, MCXT_ALLOC_HUGE) :
		repalloc_huge(set->ranges, sizeof(SstWarmRange) * n);
	for (int i = 0; i < ntrees; i++)
	{
		put_in_order(&trees[i].found);
		if (set->forks[trees[i].fork].note == NULL)
			add_ranges(set, trees[i].fork, &trees[i].found);
		free_list(&trees[i].found);
		free_list(&trees[i].next);
	}
}

/*
 * Add to a set the ranges of the metapage, the root and the inner pages of each b-tree
 * that has its main fork in the set, in the order of the forks.  Left out are forks
 * with a note, temporary indexes and those that cannot be read; one that is locked or
 * gone gets a note.  The ranges are allocated in the current memory context, or are
 * reallocated.
 *
 * To find them, the pages above level 1 are read, within the time and the rate of the
 * options' limits; what time does not suffice for is left out.  No lock is waited
 * for; none is held afterwards, and nothing is pinned.  What is below a page that
 * cannot be read or is damaged is left out, and so is a downlink that points beyond
 * the end of the index.
 */
void
sst_add_upper_pages(SstWarmSet *set, const SstWarmOptions *options,
					SstIoStats *io_stats)
{
	int			ntrees;
	Tree	   *trees = list_trees(set, &ntrees);
	SstWarmSet	copy = {.nforks = set->nforks};

	copy.forks = palloc_extended(sizeof(SstWarmFork) * Max(set->nforks, 1),
								 MCXT_ALLOC_HUGE);
	memcpy(copy.forks, set->forks, sizeof(SstWarmFork) * set->nforks);

	while (bring_in(trees, ntrees, &copy, options, io_stats))
		step_down_all(trees, ntrees, &copy, set, io_stats);

	add_found(set, trees, ntrees);
	pfree(copy.forks);
	pfree(trees);
}
