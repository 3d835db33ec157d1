/*-------------------------------------------------------------------------
 *
 * upper_pages.c
 *	  The inner pages of b-trees, found without reading leaves
 *
 * The metapage names the root.  The downlinks of the pages of a level are the blocks
 * of the level below, down to level 1.  So the pages of levels 0 and 1 are never
 * looked at.
 *
 * The trees go down together, one level at a time.  Before the pages of a level are
 * looked at, sst_warm() has read those of all trees into the page cache.  So a
 * thousand small trees take as many round trips to the disk as one.
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
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "run/blocking.h"
#include "run/subtransaction.h"
#include "visit/visit.h"
#include "warm/upper_pages.h"

/* No tree is as high; see visit/btree.c. */
#define MAX_LEVEL 64

/* Pages from one look for sessions that wait to the next */
#define PAGES_PER_CHECK 64

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
	BlockNumber nblocks;
	bool		at_metapage;	/* the metapage is next to be looked at */
	uint32		level;			/* otherwise the pages of this level */
	BlockList	next;			/* pages to look at next, ascending */
	BlockList	found;			/* pages to warm */
} Tree;

/* A visit to the pages of a tree that are next */
typedef struct Visit
{
	Tree	   *tree;
	const SstWarmFork *fork;
	SstIoStats *io_stats;
	SstVisitor	visitor;
	BlockList	below;			/* what their downlinks point to */
	const char *note;			/* why the tree cannot be read, or NULL */
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

/* Add what the downlinks of a sound page point to. */
static void
add_downlinks(Visit *visit, const PageData *page)
{
	const BTPageOpaqueData *opaque = BTPageGetOpaque((Page) page);
	OffsetNumber last = PageGetMaxOffsetNumber((Page) page);

	for (OffsetNumber offnum = P_FIRSTDATAKEY(opaque); offnum <= last; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		IndexTupleData tuple;
		BlockNumber blkno;

		if (!ItemIdHasStorage(item) ||
			ItemIdGetLength(item) < sizeof(IndexTupleData))
			continue;

		/* On a damaged page it may not be aligned. */
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(IndexTupleData));
		blkno = BTreeTupleGetDownLink(&tuple);
		if (blkno != BTREE_METAPAGE && blkno < visit->tree->nblocks)
			add_block(&visit->below, blkno);
	}
}

/*
 * Look at a page that does not change meanwhile.  One that makes no sense, or is not
 * what is expected in its place, adds nothing.
 */
static void
look_at_page(Visit *visit, const PageData *page, BlockNumber blkno)
{
	Tree	   *tree = visit->tree;
	SstMeta    *meta = &visit->visitor.meta;
	SstCounters counters;
	const BTPageOpaqueData *opaque;

	sst_counters_init(&counters);
	if (!visit->visitor.page(&visit->visitor, page, blkno, &counters))
		return;

	if (tree->at_metapage)
	{
		if (meta->known && meta->tree_level <= MAX_LEVEL &&
			meta->root != BTREE_METAPAGE && meta->root < tree->nblocks)
			add_block(&visit->below, meta->root);
		return;
	}

	/* A visitor takes a page of zeros for a sound one. */
	if (PageIsNew((Page) page))
		return;
	opaque = BTPageGetOpaque((Page) page);
	if (!P_ISLEAF(opaque) && !P_IGNORE(opaque) &&
		opaque->btpo_level == tree->level)
		add_downlinks(visit, page);
}

/* Look at a page of a stream, and release its pin. */
static void
look_at(Visit *visit, const SstPage *page)
{
	if (BufferIsValid(page->buffer))
		LockBuffer(page->buffer, BUFFER_LOCK_SHARE);
	if (page->image != NULL)
		look_at_page(visit, page->image, page->blkno);
	if (BufferIsValid(page->buffer))
		UnlockReleaseBuffer(page->buffer);
}

/*
 * Get the next page from the file stream, or when there is none or it gave up, from
 * the source through the buffer manager.
 */
static bool
next_page(SstStream *stream, SstSource *source, SstBlockReader *reader,
		  SstPage *page)
{
	BlockNumber blkno;

	if (stream != NULL)
	{
		if (stream->next(stream, page))
			return true;
		if (!sst_file_stream_gave_up(stream))
			return false;
	}

	blkno = sst_source_next(source);
	if (blkno == InvalidBlockNumber)
		return false;
	sst_read_block_noerror(reader, blkno, page);

	return true;
}

/* Look at the pages of an open index that are next. */
static void
look_at_pages(Visit *visit, Relation rel)
{
	const BlockList *next = &visit->tree->next;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	SstBlockReader reader = {rel, MAIN_FORKNUM, strategy, visit->io_stats};
	SstStream  *stream = NULL;
	SstListSource list;
	SstSource  *source = sst_list_source_init(&list, next->blknos, next->n);
	SstPage		page;
	uint64		nvisited = 0;

	sst_btree_visitor_init(&visit->visitor, SST_RULES_TOLERANT, rel, 0);
	if (sst_choose_io_path(rel) == SST_IO_PATH_FILE)
		stream = sst_file_stream_begin(rel, MAIN_FORKNUM, source, next->n,
									   strategy, SST_RULES_TOLERANT,
									   visit->io_stats);

	while (next_page(stream, source, &reader, &page))
	{
		look_at(visit, &page);
		CHECK_FOR_INTERRUPTS();
		if (++nvisited % PAGES_PER_CHECK == 0)
			sst_check_blocking();
	}

	if (stream != NULL)
		stream->end(stream);
	sst_block_reader_end(&reader);
	FreeAccessStrategy(strategy);
}

/* ----------
 * Trees
 * ----------
 */

/* Lock the index, without waiting, and look at its pages that are next. */
static void
visit_tree(void *arg)
{
	Visit	   *visit = arg;
	Oid			relid = visit->fork->relation->relid;
	Relation	rel;
	SstTarget	target;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		visit->note = _("locked by another session");
		return;
	}

	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
	{
		visit->note = _("dropped meanwhile");
		UnlockRelationOid(relid, AccessShareLock);
		return;
	}

	sst_target_examine(&target, rel);
	if (!sst_target_is_readable(&target))
		visit->note = target.note;
	else if (target.kind == SST_BTREE)
	{
		visit->tree->nblocks = target.nblocks;
		while (visit->tree->next.n > 0 &&
			   visit->tree->next.blknos[visit->tree->next.n - 1] >= target.nblocks)
			visit->tree->next.n--;
		look_at_pages(visit, rel);
	}
	sst_target_close(&target);
}

/* Is the error about the session, and not about one relation? */
static bool
is_about_session(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		error->sqlerrcode == ERRCODE_OUT_OF_MEMORY ||
		(error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && sst_is_blocking());
}

/* Take the pages below for the next ones of the tree, as far as they are inner pages. */
static void
go_down(Tree *tree, Visit *visit)
{
	BlockList  *below = &visit->below;

	put_in_order(below);
	for (uint64 i = 0; i < below->n; i++)
		add_block(&tree->found, below->blknos[i]);

	tree->level = tree->at_metapage ? visit->visitor.meta.tree_level :
		tree->level - 1;
	tree->at_metapage = false;
	free_list(&tree->next);
	if (tree->level > 1)
		tree->next = *below;
	else
		free_list(below);
}

/*
 * Look at the pages of a tree that are next, and find those after them.  In recovery
 * no subtransaction may begin, and errors pass.  Elsewhere what an error prevents is
 * left out: sst_warm() comes to the block that is to blame.
 */
static void
step_down(Tree *tree, SstWarmFork *fork, SstIoStats *io_stats)
{
	Visit		visit = {.tree = tree, .fork = fork, .io_stats = io_stats};
	ErrorData  *error = NULL;

	if (RecoveryInProgress())
		visit_tree(&visit);
	else
		error = sst_run_in_subtransaction(visit_tree, &visit);

	if (error != NULL)
	{
		if (is_about_session(error))
			ReThrowError(error);
		FreeErrorData(error);
	}
	fork->note = visit.note;
	if (visit.note != NULL)
		tree->next.n = 0;
	else
		go_down(tree, &visit);
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
			fork->relation->amoid == BTREE_AM_OID)
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
 * that has its main fork in the set, in the order of the forks.  Forks with a note are
 * left out, and indexes that cannot be read get one.  The ranges are allocated in the
 * current memory context, or are reallocated.
 *
 * To find them, the pages above level 1 are read, within the time and the rate of the
 * options' limits; what time does not suffice for is left out.  No lock is waited
 * for, and none is held afterwards.  A downlink that points beyond the end of the
 * index, or a page above level 1 that is not of the level expected, is left out.
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
	{
		for (int i = 0; i < ntrees; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (trees[i].next.n > 0)
				step_down(&trees[i], &set->forks[trees[i].fork], io_stats);
		}
	}

	add_found(set, trees, ntrees);
	pfree(copy.forks);
	pfree(trees);
}
