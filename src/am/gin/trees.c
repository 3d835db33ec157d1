/*-------------------------------------------------------------------------
 *
 * trees.c
 *	  The posting trees of a rebuilt GIN index
 *
 * A tree has full pages, but for the last one, and a tree of one page with few TIDs becomes
 * part of its entry.  Which pages a tree has, links to the right show, and how many, its root.
 * If all pages were read, the trees are known.  A sample has the roots of some, some leaf pages,
 * and a few of these together with the page before.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/gin/trees.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/gin_private.h"

#include "am/gin/state.h"

/* Sizes of last pages of posting trees that are tried */
#define LAST_PAGES				8

/*
 * By which part entries with lists of short trees can be wrong, and the relative standard deviation
 * of these from which on they are not alike; and of samples, the bytes of a tree, and of its last page
 */
#define UNCERTAINTY_OF_SHORT	0.03
#define ALIKE					0.1
#define UNCERTAINTY_OF_TREES	0.06
#define UNCERTAINTY_OF_LAST		0.5

/*
 * Pages that posting trees are expected to have.  Those with one page that are short become
 * part of their entries.
 */
double
sst_gin_tree_pages_expected(const SstGinModel *model, const double *counts)
{
	double		trees = counts[SST_REBUILT_TREES];
	double		deep = Min(counts[SST_REBUILT_DEEP_TREES], trees);
	double		last = counts[SST_REBUILT_LAST_BYTES];
	double		bytes = Max(counts[SST_REBUILT_TREE_BYTES] - last, 0);
	double		single;

	/* A tree without TIDs vanishes. */
	if (counts[SST_REBUILT_TREE_BYTES] <= 0)
		return 0;
	if (bytes > 0)
		deep = Max(deep, 1);
	single = Max(trees - deep - counts[SST_REBUILT_SHORT_TREES] * model->short_part, 0);
	if (deep == 0)
		return single;
	if (trees > 0)
		bytes += last * Min(deep / trees, 1) * model->deep_last_part;

	/*
	 * Leaf pages are found in more samples than roots are, which say how many
	 * they have.
	 */
	if (model->nroots > 0)
		deep = Max(counts[SST_POSTING_LEAF_PAGES] - Max(trees - deep, 0), 1) / model->children;
	return single + deep * sst_gin_tree_pages(bytes / deep, false);
}

static PostingLeaf *
find_leaf(const SstGinModel *model, BlockNumber blkno)
{
	uint32		low = 0;
	uint32		high = model->nleaves;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (model->leaves[middle].blkno == blkno)
			return &model->leaves[middle];
		if (model->leaves[middle].blkno < blkno)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Pages of a posting tree with so many bytes.  One without TIDs vanishes; of others a list may be left. */
static double
pages_of_tree(const SstGinModel *model, double bytes)
{
	return sst_gin_list_fits(model, bytes) ? bytes / model->short_fill :
		sst_gin_tree_pages(bytes, true);
}

/* Leaf pages of a posting tree that has an inner page, on average */
static double
average_children(const SstGinModel *model)
{
	double		sum = 0;

	for (uint32 i = 0; i < model->nroots; i++)
		sum += model->roots[i];
	return sum / Max(model->nroots, 1);
}

/* Are all leaf pages of posting trees known? */
static bool
knows_trees(const SstGinModel *model)
{
	return model->all && model->nleaves == model->nmiddle + model->nlast;
}

/*
 * Find out which of the known leaf pages are behind another one, and which part of the short
 * ones becomes part of entries.  Of last pages that are known to be behind another one, as many are
 * short as of others of which this is not known; without any, it is as likely as that the place
 * where a tree ends is within so much of a full page.
 */
static void
link_leaves(SstGinModel *model)
{
	uint32		nshort = 0;
	uint32		nlinked = 0;
	double		short_bytes = 0;
	double		linked_bytes = 0;
	double		deep;			/* short pages of trees that have others */

	for (uint32 i = 0; i < model->nleaves; i++)
	{
		PostingLeaf *next = find_leaf(model, model->leaves[i].next);

		if (next != NULL)
			next->linked = true;
	}
	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];

		model->ndeep_last += leaf->linked && leaf->next == InvalidBlockNumber;
		if (!leaf->is_short)
			continue;
		nshort++;
		short_bytes += leaf->bytes;
		nlinked += leaf->linked;
		linked_bytes += leaf->linked ? leaf->bytes : 0;
	}
	model->short_part = model->short_bytes_part = 0;
	if (nshort == 0)
		return;
	if (knows_trees(model))
	{
		model->short_part = 1 - (double) nlinked / nshort;
		model->short_bytes_part = 1 - linked_bytes / Max(short_bytes, 1);
		return;
	}
	deep = model->nroots * (model->ndeep_last > 0 ? (double) nlinked / model->ndeep_last :
							Min(1, GinMaxItemSize * model->nmiddle / Max(model->middle_bytes, 1)));
	model->short_part = Min(Max(1 - deep / nshort, 0),
							Max((double) model->nlast - model->nroots, 0) / nshort);
	model->short_bytes_part = model->short_part;
}

/*
 * Pages of all posting trees but those that become part of their entry, when all leaf
 * pages are known.  Sets the bytes of those that do.  In damaged trees no more links are
 * followed than there are.
 */
static double
known_tree_pages(SstGinModel *model)
{
	uint32		nfollowed = 0;
	double		pages = 0;

	model->short_bytes = 0;
	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];
		double		bytes = leaf->bytes;

		if (i % 64 == 0 && !sst_go_on(model->base.pause))
			break;
		if (leaf->linked)
			continue;
		if (leaf->next == InvalidBlockNumber && leaf->is_short)
		{
			model->short_bytes += bytes;
			continue;
		}
		while (nfollowed++ < model->nleaves &&
			   (leaf = find_leaf(model, leaf->next)) != NULL)
			bytes += leaf->bytes;
		if (sst_gin_list_fits(model, bytes))
			model->short_bytes += bytes;
		pages += pages_of_tree(model, bytes);
	}
	return pages;
}

/*
 * Find out how full the last pages of trees that have others are: by those that are known to
 * be behind another page.  If there are none, most last pages are of such trees, or they
 * end anywhere.
 */
static void
find_last_pages(SstGinModel *model)
{
	double		mean = model->last_bytes / Max(model->nlast, 1);
	double		n = model->ndeep_last;
	double		sum = 0;
	double		squares = 0;

	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];

		if (!leaf->linked || leaf->next != InvalidBlockNumber)
			continue;
		sum += leaf->bytes;
		squares += (double) leaf->bytes * leaf->bytes;
	}
	model->deep_last = mean;
	model->deep_last_spread = 1;
	if (n > 0 && sum > 0)
	{
		model->deep_last = sum / n;
		model->deep_last_spread = Min(sqrt(3 * Max(n * squares / (sum * sum) - 1, 0)) + 1.0 / n, 1);
	}
	else if (2 * model->nroots < model->nlast)
		model->deep_last = model->middle_bytes / Max(model->nmiddle, 1) / 2;
	model->deep_last_part = mean > 0 ? model->deep_last / mean : 1;
}

/*
 * Pages of the sampled trees, by their roots, if each has so many bytes for one.  Their leaf
 * pages are like others, and the last ones differ by their spread.
 */
static double
sampled_tree_pages(const SstGinModel *model, double part)
{
	double		middle = model->middle_bytes / Max(model->nmiddle, 1);
	double		pages = 0;

	for (uint32 i = 0; i < model->nroots; i++)
	{
		double		bytes = (model->roots[i] - 1) * middle;

		for (int j = 0; j < LAST_PAGES; j++)
		{
			double		last = model->deep_last *
				(1 + model->deep_last_spread * (2 * (j + 0.5) / LAST_PAGES - 1));

			pages += pages_of_tree(model, part * (bytes + last)) / LAST_PAGES;
		}
	}
	return pages;
}

/*
 * Set how many pages posting trees will have, by the trees that are known, for each one of
 * those that are expected, and the ends of that.  If all pages are known, whose counts these
 * are, this makes up for all that is not expected.
 */
static void
find_tree_factor(SstGinModel *model, const double *all_counts)
{
	double		counts[SST_NCOUNTS] = {0};
	double		expected;
	double		part;

	model->deep_last_part = 1;
	if (knows_trees(model))
	{
		expected = sst_gin_tree_pages_expected(model, all_counts);
		model->tree_factor = expected >= 1 ? known_tree_pages(model) / expected : 1;
		model->tree_factor_low = model->tree_factor_high = model->tree_factor;
		return;
	}

	find_last_pages(model);
	counts[SST_REBUILT_TREES] = counts[SST_REBUILT_DEEP_TREES] = model->nroots;
	for (uint32 i = 0; i < model->nroots; i++)
	{
		counts[SST_REBUILT_TREE_BYTES] += (model->roots[i] - 1) *
			(model->middle_bytes / Max(model->nmiddle, 1)) + model->deep_last;
		counts[SST_POSTING_LEAF_PAGES] += model->roots[i];
	}
	part = UNCERTAINTY_OF_TREES + UNCERTAINTY_OF_LAST /
		(Max(model->children, 1) * sqrt(model->ndeep_last + 1));
	expected = sst_gin_tree_pages_expected(model, counts);
	model->tree_factor = expected >= 1 ? sampled_tree_pages(model, 1) / expected : 1;
	model->tree_factor_low = (1 - UNCERTAINTY_OF_TREES) * model->tree_factor;
	model->tree_factor_high = (1 + UNCERTAINTY_OF_TREES) * model->tree_factor;
	if (expected >= 1)
	{
		model->tree_factor_low = Min(model->tree_factor_low, sampled_tree_pages(model, 1 - part) / expected);
		model->tree_factor_high = Max(model->tree_factor_high, sampled_tree_pages(model, 1 + part) / expected);
	}
}

/*
 * Find out how many bytes are on a leaf page of entries that are as long as the lists of short
 * trees, or last pages, are, and by which part that may be wrong.  If an odd number of entries
 * fits and they are alike, it depends on which of them are a little longer whether half of the
 * next even number is more than half a page.
 */
static void
find_short_fill(SstGinModel *model)
{
	EntryFill	fill = {.weight = 1};
	int			key_size = SHORTALIGN(sst_gin_tree_key_size(model));
	uint32		nshort = 0;
	double		sum = 0;
	double		squares = 0;
	int			most;

	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];

		if (leaf->is_short)
		{
			int			size = SST_GIN_ITEM_BYTES(Min(key_size + leaf->bytes, GinMaxItemSize));

			sst_gin_fill_entry(&fill, size, 0);
			nshort++;
			sum += size;
			squares += (double) size * size;
		}

		/* A few of them are repeated. */
		if (i + 1 == model->nleaves && nshort > 0 && fill.npages < 3)
			i = -1;
	}
	model->short_fill = model->left_fill;
	model->short_uncertainty = UNCERTAINTY_OF_SHORT;
	if (nshort == 0)
		return;
	model->short_fill = (double) fill.bytes / fill.npages;
	most = SST_GIN_PAGE_ROOM * nshort / sum;
	if (most % 2 == 1 && nshort * squares / (sum * sum) - 1 < ALIKE * ALIKE)
		model->short_uncertainty += 2.0 / (most + 3);
}

/*
 * Find out what trees become, after the last page.  The counts are those of all pages.  Checks for
 * interrupts and limits.
 */
void
sst_gin_study_trees(SstGinModel *model, const double *counts)
{
	link_leaves(model);
	find_short_fill(model);
	model->children = average_children(model);
	find_tree_factor(model, counts);
}
