/*-------------------------------------------------------------------------
 *
 * gin_pending.c
 *	  The pending list of a GIN index after a rebuild
 *
 * A sample of pages has some of the pending tuples, whose keys may or may not
 * be in the entry tree, or equal to those of tuples that were not seen.  So
 * the ends of the interval are the extremes: as many equal keys as possible,
 * and only different keys.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_pending.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "rebuild/gin_entry_tree.h"
#include "rebuild/gin_model.h"

/* Pending tuples of known keys that say how much the lists of these grow */
#define MIN_FOUND 50

/* What a difference between TIDs takes where it cannot be told */
#define UNKNOWN_DIFFERENCE 2.0

void
sst_gin_count_keys(const SstGinKeys *keys, SstGinKeyCounts *counts)
{
	memset(counts, 0, sizeof(SstGinKeyCounts));
	for (uint32 i = 0; i < keys->nkeys; i++)
	{
		const SstGinKey *key = &keys->keys[i];

		counts->item_bytes += key->item_bytes;
		counts->pending_bytes += (double) key->npending *
			SST_GIN_ITEM_BYTES(key->size);
		counts->npending += key->npending;
		if (key->item_bytes == 0)
		{
			counts->new_keys++;
			counts->single_keys += key->npending == 1;
		}
		else
		{
			counts->item_keys++;
			counts->nfound += key->npending;
			if (key->tree != InvalidBlockNumber)
				counts->nfound_trees += key->npending;
		}
	}
}

/* Add n keys like this one, each with so many TIDs, to what pending ones become. */
static void
add_pending_keys(const SstGinModel *model, const SstGinKey *key, double n,
				 double ntids, SstGinSize *size)
{
	double		difference =
		sst_gin_expected_difference(ntids, (double) model->last_block + 1);
	double		list = SST_GIN_LIST_HEADER + (ntids - 1) * difference;

	if (sst_gin_fits_in_entry(key->size, list))
		size->pending += n * SST_GIN_ITEM_BYTES(key->size + list);
	else
	{
		size->pending += n * SST_GIN_ITEM_BYTES(key->size);
		size->pending_pages += n * sst_gin_posting_pages(ntids, difference, true);
	}
}

/*
 * How many keys there are for each one that a sample has a single pending tuple
 * of.  The number of keys grows with a power of the number of tuples (Heaps' law),
 * which is the part of the keys that have a single one.
 */
static double
keys_for_single(const SstGinModel *model, const SstGinKeyCounts *counts,
				SstGinCase which)
{
	double		seen = Max(model->pages_seen, 1e-9);
	double		all;

	if (which == SST_GIN_LEAST || counts->single_keys == 0)
		return 1;
	if (which == SST_GIN_MOST)
		return 1 / seen;
	all = counts->new_keys *
		pow(1 / seen, counts->single_keys / counts->new_keys);
	return Max(Min((all - counts->new_keys) / counts->single_keys + 1, 1 / seen), 1);
}

/*
 * Set what the pending tuples of a sample stand for.  A key that was seen once may
 * be all of its kind, or be one of many.  Of the keys in the entry tree, the sample
 * has found those whose pages it has; with their pending TIDs, they take
 * grown_bytes.
 */
void
sst_gin_expect_pending(const SstGinModel *model, const SstGinKeyCounts *counts,
					   double grown_bytes, SstGinCase which, SstGinSize *size)
{
	double		seen = Max(model->pages_seen, 1e-9);
	double		most_found = counts->nfound / seen;
	double		new_part = 1;	/* of what was not found */
	double		ntids;
	double		nsingle = keys_for_single(model, counts, which);
	double		nold;			/* pending tuples with keys in the tree */
	double		in_trees = 0;
	double		nlists = counts->nfound - counts->nfound_trees;
	double		growth = UNKNOWN_DIFFERENCE;

	size->pending = size->pending_pages = 0;
	if (counts->npending == 0)
		return;
	if (which == SST_GIN_LEAST)
		most_found *= 1 + 2 / sqrt((double) model->entry_leaves + 1);
	most_found = Min(most_found, counts->npending);
	if (which != SST_GIN_MOST && counts->npending > counts->nfound)
		new_part = (counts->npending - most_found) /
			(counts->npending - counts->nfound);
	if (which == SST_GIN_LEAST && counts->nfound == 0 &&
		counts->item_keys > 0)
		new_part = 0;

	for (uint32 i = 0; i < model->keys.nkeys; i++)
	{
		const SstGinKey *key = &model->keys.keys[i];

		if (key->npending == 0 || key->item_bytes > 0)
			continue;
		ntids = key->npending / seen;
		if (key->npending == 1)
			add_pending_keys(model, key, new_part * nsingle, ntids / nsingle, size);
		else
			add_pending_keys(model, key, new_part, ntids, size);
	}
	nold = (counts->npending - new_part * (counts->npending - counts->nfound)) / seen;
	if (nlists >= MIN_FOUND)
		growth = Max(grown_bytes - counts->item_bytes, 0) / nlists;
	if (counts->nfound > 0)
		in_trees = counts->nfound_trees / counts->nfound;
	size->pending += nold * (1 - in_trees) * growth;
	size->pending_pages += nold * in_trees * UNKNOWN_DIFFERENCE / SST_GIN_FULL_PAGE;
	size->pending *= seen / counts->pending_bytes;
	size->pending_pages *= seen / counts->pending_bytes;
}

/* The part of the new entries that comes from the pending list */
double
sst_gin_pending_part(const SstGinKeyCounts *counts, const SstGinSize *size)
{
	double		pending = counts->pending_bytes * size->pending;
	double		all = pending + counts->item_bytes * size->indexed;

	return all > 0 ? pending / all : 0;
}
