/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The items of a b-tree's leaf pages in the order of their keys
 *
 * The pages of an index are read in block order, not in key order.  For a
 * small index, the sizes of all items are kept until all pages were read.
 * Sibling links then give the order in which a build fills pages, and the
 * number of pages is exact.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/btree/order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/btree/fill.h"

/* Limits: with them, the order takes 3 MB, of which it uses what it needs. */
#define MOST_PAGES 65536
#define MOST_RUNS 262144

/* Runs that follow each other on a page and are alike */
typedef struct Runs
{
	uint16		size;			/* of a tuple without a posting list */
	uint16		ntids;			/* of each */
	uint16		count;
} Runs;

typedef struct LeafPage
{
	BlockNumber blkno;
	BlockNumber next;
	uint32		first_runs;		/* number of those before */
	uint32		first_key;		/* hash of the first run's key */
	uint32		last_key;
} LeafPage;

struct SstBtreeOrder
{
	bool		failed;			/* the order will not be known */
	int			leftmost;		/* of pages[], or -1 */
	int			npages;
	uint32		nruns;
	LeafPage	pages[MOST_PAGES + 1];
	Runs		runs[MOST_RUNS];
};

/* NULL if the index is too large. */
SstBtreeOrder *
sst_btree_order_create(BlockNumber nblocks)
{
	SstBtreeOrder *order;

	if (nblocks > MOST_PAGES)
		return NULL;

	order = palloc(sizeof(SstBtreeOrder));
	memset(order, 0, offsetof(SstBtreeOrder, pages));
	order->leftmost = -1;
	return order;
}

/* Begin with a leaf page. */
void
sst_btree_order_page(SstBtreeOrder *order, BlockNumber blkno, BlockNumber prev,
					 BlockNumber next)
{
	LeafPage   *page;

	if (order->npages == MOST_PAGES ||
		(order->npages > 0 && order->pages[order->npages - 1].blkno >= blkno) ||
		(prev == P_NONE && order->leftmost >= 0))
		order->failed = true;
	if (order->failed)
		return;

	if (prev == P_NONE)
		order->leftmost = order->npages;
	page = &order->pages[order->npages++];
	page->blkno = blkno;
	page->next = next;
	page->first_runs = order->nruns;
}

/*
 * Add so many runs of the page that are alike; one, with a hash of its key, if it is the
 * first or the last.
 */
void
sst_btree_order_runs(SstBtreeOrder *order, int size, uint32 ntids, uint32 count,
					 uint32 key)
{
	LeafPage   *page;

	if (order->nruns == MOST_RUNS || ntids > PG_UINT16_MAX)
		order->failed = true;
	if (order->failed)
		return;

	page = &order->pages[order->npages - 1];
	if (page->first_runs == order->nruns)
		page->first_key = key;
	page->last_key = key;

	if (page->first_runs < order->nruns)
	{
		Runs	   *last = &order->runs[order->nruns - 1];

		if (last->size == size && last->ntids == ntids &&
			last->count + count <= PG_UINT16_MAX)
		{
			last->count += count;
			return;
		}
	}
	order->runs[order->nruns++] = (Runs)
	{
		size, ntids, count
	};
}

static int
compare_pages(const void *a, const void *b)
{
	BlockNumber left = ((const LeafPage *) a)->blkno;
	BlockNumber right = ((const LeafPage *) b)->blkno;

	return left < right ? -1 : left > right;
}

/* A run that the next page may go on with */
typedef struct PendingRun
{
	int			size;
	uint64		ntids;
	uint32		key;
} PendingRun;

static void
fill_from_page(const SstBtreeOrder *order, const LeafPage *page,
			   PendingRun *pending, SstBtreeFill *fill)
{
	for (uint32 i = page->first_runs; i < (page + 1)->first_runs; i++)
	{
		const Runs *runs = &order->runs[i];
		int			count = runs->count;

		if (i == page->first_runs && pending->key != 0 &&
			pending->size == runs->size && pending->key == page->first_key)
		{
			pending->ntids += runs->ntids;
			if (--count == 0)
				continue;
		}

		sst_btree_add_runs(fill, pending->size, pending->ntids, 1);
		sst_btree_add_runs(fill, runs->size, runs->ntids, count - 1);
		pending->size = runs->size;
		pending->ntids = runs->ntids;
	}
	if (page->first_runs < (page + 1)->first_runs)
		pending->key = page->last_key;
}

/*
 * Go from leaf to leaf, as sibling links tell.  False if that does not lead to
 * each: then the index was changed in the meantime.
 */
static bool
fill_in_order(SstBtreeOrder *order, SstBtreeFill *fill)
{
	const LeafPage *page = &order->pages[order->leftmost];
	PendingRun	pending = {0};
	int			npages = 1;

	order->pages[order->npages].first_runs = order->nruns;
	for (;;)
	{
		LeafPage	next = {.blkno = page->next};

		fill_from_page(order, page, &pending, fill);
		if (next.blkno == P_NONE)
			break;
		if (!sst_go_on(fill->pause))
			return false;
		page = bsearch(&next, order->pages, order->npages, sizeof(LeafPage),
					   compare_pages);
		if (page == NULL || ++npages > order->npages)
			return false;
	}
	sst_btree_add_runs(fill, pending.size, pending.ntids, 1);

	return npages == order->npages;
}

/*
 * When all pages of the index have been seen: are their items in a known order?
 * Then fill pages with them, else leave "fill" as it is.
 */
bool
sst_btree_in_order(const SstBtreeRebuild *state, SstBtreeFill *fill)
{
	SstBtreeOrder *order = state->order;
	SstBtreeFill ordered;

	if (order == NULL || order->failed || order->leftmost < 0)
		return false;

	sst_btree_fill_init(&ordered, state->fill.deduplicate, state->fill.target_free);
	ordered.pause = state->base.pause;
	if (!fill_in_order(order, &ordered))
		return false;
	*fill = ordered;
	return true;
}
