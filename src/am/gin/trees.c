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

#include "am/gin/state.h"

/* Sizes of last pages of posting trees that are tried, for so many of the roots of a sample */
#define LAST_PAGES				8
#define ENOUGH_ROOTS			1024

/*
 * By which part entries with lists of short trees can be wrong, and the relative standard deviation
 * of these from which on they are not alike; the bytes of a known tree; and of samples, the bytes of a
 * tree, and of its last page
 */
#define UNCERTAINTY_OF_SHORT	0.03
#define ALIKE					0.1
#define UNCERTAINTY_OF_KNOWN	0.003
#define UNCERTAINTY_OF_TREES	0.06
#define UNCERTAINTY_OF_LAST		0.5

/* Trees are alike if the relative standard deviation of their leaf pages is below this. */
#define ALIKE_CHILDREN			0.5

/* A tree's pages besides full ones: half a page, and a root; and the standard deviation of that */
#define MORE_THAN_FULL			1.5
#define MORE_SPREAD				0.5

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
	double		level = 1 + ceil((bytes - SST_GIN_FIRST_PAGE) / SST_GIN_FULL_PAGE);
	double		pages = level;

	if (sst_gin_list_fits(model, bytes))
		return bytes / model->short_fill;
	if (bytes <= SST_GIN_ONLY_PAGE)
		return 1;
	for (; level > 1; pages += level)
		level = ceil(level / SST_GIN_INNER_ITEMS);
	return pages;
}

/* The pages of so many bytes, if all were full */
static double
full_pages(double bytes)
{
	return bytes / SST_GIN_FULL_PAGE * (1 + 1 / SST_GIN_INNER_ITEMS);
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
 * Find out how many bytes each posting tree has, when all leaf pages are known.  Those that become
 * part of their entry are left out.  In damaged trees no more links are followed than there are.
 */
static void
find_trees(SstGinModel *model)
{
	uint32		nfollowed = 0;

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

		/* What is on one page fits on one again. */
		if (leaf->next == InvalidBlockNumber)
			bytes = Min(bytes, SST_GIN_ONLY_PAGE / (1 + UNCERTAINTY_OF_KNOWN));
		while (nfollowed++ < model->nleaves &&
			   (leaf = find_leaf(model, leaf->next)) != NULL)
			bytes += leaf->bytes;
		if (sst_gin_list_fits(model, bytes))
			model->short_bytes += bytes;
		model->trees[model->ntrees++] = bytes;
	}
}

/*
 * Find out how full the last pages of trees that have others are: by all last pages, if most of
 * these are of such trees; or by those that are known to be behind another page; without any,
 * they end anywhere.
 */
static void
find_last_pages(SstGinModel *model)
{
	bool		most = 2 * model->nroots >= model->nlast;
	double		mean = model->last_bytes / Max(model->nlast, 1);
	double		n = 0;
	double		sum = 0;
	double		squares = 0;

	for (uint32 i = 0; i < model->nleaves; i++)
	{
		const PostingLeaf *leaf = &model->leaves[i];

		if (leaf->next != InvalidBlockNumber || (!most && !leaf->linked))
			continue;
		n++;
		sum += leaf->bytes;
		squares += (double) leaf->bytes * leaf->bytes;
	}
	if (sum > 0)
	{
		model->nlast_known = n;
		model->deep_last = sum / n;
		model->deep_last_spread = Min(sqrt(3 * Max(n * squares / (sum * sum) - 1, 0)) + 1.0 / n, 1);
	}
	else
	{
		model->deep_last = model->middle_bytes / Max(model->nmiddle, 1) / 2;
		model->deep_last_spread = 1;
	}
	model->deep_last_part = mean > 0 ? model->deep_last / mean : 1;
}

/*
 * How many pages more than full ones a sampled tree with so many leaf pages has, if it has part
 * of its bytes.  Its pages are like others, and the last one differs by the spread of these:
 * -1 is the least full one, and 1 the fullest.
 */
static double
more_than_full(const SstGinModel *model, uint32 children, double part, double last)
{
	double		bytes = part * ((children - 1) * model->middle_bytes / Max(model->nmiddle, 1) +
								model->deep_last * (1 + model->deep_last_spread * last));

	return pages_of_tree(model, bytes) - full_pages(bytes);
}

/*
 * The average of that of all roots of a sample, and with one last page for all; and the standard
 * error of the average, not too small if roots are few
 */
static SstEstimate
average_more(const SstGinModel *model, double part, double *error)
{
	SstEstimate result = {MORE_THAN_FULL, 0, 2};
	uint32		step = model->nroots / ENOUGH_ROOTS + 1;
	double		n = (model->nroots + step - 1) / step;
	double		sum = 0;
	double		squares = 0;
	double		by_last[LAST_PAGES] = {0};

	*error = MORE_SPREAD;
	if (n == 0)
		return result;
	for (uint32 i = 0; i < model->nroots; i += step)
	{
		double		more = 0;

		for (int j = 0; j < LAST_PAGES; j++)
		{
			double		one = more_than_full(model, model->roots[i], part, 2 * (j + 0.5) / LAST_PAGES - 1);

			by_last[j] += one / n;
			more += one / LAST_PAGES;
		}
		sum += more;
		squares += more * more;
	}
	result.value = sum / n;
	*error = sqrt(Max(squares - sum * sum / n, 0) + MORE_SPREAD * MORE_SPREAD) / n;
	result.low = result.high = by_last[0];
	for (int j = 1; j < LAST_PAGES; j++)
	{
		result.low = Min(result.low, by_last[j]);
		result.high = Max(result.high, by_last[j]);
	}
	return result;
}

/*
 * Find out what the roots of a sample show.  Where trees are alike, leaf pages say better how
 * many there are than roots do, of which a sample has fewer.  They are not if roots have too
 * different numbers of leaf pages, or too few for so many leaf pages: some trees are large then.
 */
static void
find_children(SstGinModel *model)
{
	double		n = Max(model->nroots, 1);
	double		sum = 0;
	double		squares = 0;
	double		expected;		/* roots for so many leaf pages */

	for (uint32 i = 0; i < model->nroots; i++)
	{
		sum += model->roots[i];
		squares += (double) model->roots[i] * model->roots[i];
	}
	model->children = Max(sum / n, 1);
	model->children_spread = sqrt(Max(n * squares / Max(sum * sum, 1) - 1, 0));
	expected = model->nleaves / model->children;
	model->alike = model->nroots > 0 && model->children_spread < ALIKE_CHILDREN &&
		fabs(expected - model->nroots) < 2 * sqrt(expected);
}

/* Trees with inner pages, of a sample with these counts.  One at least has a page that is not the last. */
static double
deep_trees(const SstGinModel *model, const double *counts)
{
	double		deep = counts[SST_REBUILT_DEEP_TREES];
	double		trees = counts[SST_REBUILT_TREES];

	if (deep <= 0 && counts[SST_REBUILT_TREE_BYTES] <= counts[SST_REBUILT_LAST_BYTES])
		return 0;

	/* If more roots than last pages were found, all trees have both. */
	deep = Max(Min(deep, (deep + trees) / 2), 1);
	if (!model->alike)
		return deep;
	return Max(counts[SST_POSTING_LEAF_PAGES] - Max(trees - deep, 0), 1) / model->children;
}

/*
 * Pages that posting trees will have, if each has so many bytes for one.  Those that become
 * part of their entries have none.
 */
double
sst_gin_tree_pages(const SstGinModel *model, const double *counts, double part)
{
	double		trees = counts[SST_REBUILT_TREES];
	double		bytes = counts[SST_REBUILT_TREE_BYTES];
	double		deep = deep_trees(model, counts);
	double		middle = Max(bytes - counts[SST_REBUILT_LAST_BYTES], 0);
	double		pages = 0;
	double		part_left;		/* without TIDs that are left out */
	double		error;

	if (bytes <= 0)
		return 0;
	part_left = part * bytes / Max(counts[SST_POSTING_LEAF_PAGES], 1) * (model->nmiddle + model->nlast) /
		Max(model->middle_bytes + model->last_bytes, 1);
	if (knows_trees(model))
	{
		for (uint32 i = 0; i < model->ntrees; i++)
			pages += pages_of_tree(model, part_left * model->trees[i]);
		return pages;
	}

	pages = Max(trees - deep - counts[SST_REBUILT_SHORT_TREES] * model->short_part, 0);
	bytes = middle + counts[SST_REBUILT_LAST_BYTES] * Min(deep / Max(trees, 1), 1) * model->deep_last_part;
	return pages + full_pages(part * bytes) + deep * average_more(model, part_left, &error).value;
}

/*
 * Set how many pages fewer, and more, posting trees can have than expected.  Of samples, these have
 * an error of what roots show, too.
 */
void
sst_gin_tree_ends(const SstGinModel *model, const double *counts, double *fewer, double *more)
{
	double		pages = sst_gin_tree_pages(model, counts, 1);
	double		part = UNCERTAINTY_OF_KNOWN;
	double		error = 0;

	*fewer = *more = 0;
	if (!knows_trees(model))
	{
		SstEstimate roots = average_more(model, 1, &error);
		double		deep = deep_trees(model, counts);

		if (model->alike)
			error = hypot(error, roots.value * model->children_spread / sqrt(model->nroots));
		*fewer = Max(UNCERTAINTY_OF_TREES * pages, deep * (roots.value - roots.low));
		*more = Max(UNCERTAINTY_OF_TREES * pages, deep * (roots.high - roots.value));
		error *= 1.96 * deep;
		part = UNCERTAINTY_OF_TREES + UNCERTAINTY_OF_LAST /
			(model->children * sqrt(model->nlast_known + 1));
	}
	*fewer = hypot(Max(*fewer, pages - sst_gin_tree_pages(model, counts, 1 - part)), error);
	*more = hypot(Max(*more, sst_gin_tree_pages(model, counts, 1 + part) - pages), error);
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

/* Find out what trees become, after the last page.  Checks for interrupts and limits. */
void
sst_gin_study_trees(SstGinModel *model)
{
	link_leaves(model);
	find_short_fill(model);
	if (knows_trees(model))
		find_trees(model);
	else
	{
		find_last_pages(model);
		find_children(model);
	}
}
