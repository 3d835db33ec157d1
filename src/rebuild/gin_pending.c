/*-------------------------------------------------------------------------
 *
 * gin_pending.c
 *	  What becomes of the pending list when a GIN index is rebuilt
 *
 * A pending tuple has a key and a TID.  Whether the key is new, and how many others
 * have it, the keys tell that are kept of pending list and entry tree: those whose
 * hash is below a threshold, which falls when they become too many.
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

#include "access/gin_private.h"

#include "rebuild/gin_model.h"

/* A difference between TIDs takes so many bytes where nothing is known of it. */
#define UNKNOWN_DIFFERENCE 2.0

/* All bits of the result depend on all bytes. */
static uint64
hash_key(const EntryTuple *item, int key_size)
{
	uint64		hash = (item->header.t_info & INDEX_NULL_MASK) + key_size;
	const char *key = item->data + sizeof(IndexTupleData);
	int			n = key_size - (int) sizeof(IndexTupleData);

	for (; n > 0; n -= 8, key += 8)
	{
		uint64		word = 0;

		memcpy(&word, key, Min(n, 8));
		hash = (hash ^ word) * UINT64CONST(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	hash *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

/* Return the slot of a key, or the empty one where it would be. */
static uint32 *
find_slot(const SstGinModel *model, uint64 hash)
{
	uint32		slot = (uint32) hash % SST_GIN_KEY_SLOTS;

	while (model->slots[slot] != SST_GIN_NO_KEY &&
		   model->keys[model->slots[slot]].hash != hash)
		slot = (slot + 1) % SST_GIN_KEY_SLOTS;
	return &model->slots[slot];
}

/* Leave out the half of the keys that has the larger hashes. */
static void
drop_keys(SstGinModel *model)
{
	uint32		nkeys = 0;

	model->threshold /= 2;
	memset(model->slots, 0xff, SST_GIN_KEY_SLOTS * sizeof(uint32));
	for (uint32 i = 0; i < model->nkeys; i++)
	{
		if (model->keys[i].hash <= model->threshold)
		{
			model->keys[nkeys] = model->keys[i];
			*find_slot(model, model->keys[nkeys].hash) = nkeys;
			nkeys++;
		}
	}
	model->nkeys = nkeys;
}

/* Keep a key, to be found by others.  NULL if it is one of those left out. */
PendingKey *
sst_gin_keep_key(SstGinModel *model, const EntryTuple *item, int key_size)
{
	uint64		hash;
	uint32	   *slot;

	if (!model->any_pending)
		return NULL;
	hash = hash_key(item, key_size);
	while (model->nkeys == SST_GIN_MAX_KEYS && hash <= model->threshold)
		drop_keys(model);
	if (hash > model->threshold)
		return NULL;

	slot = find_slot(model, hash);
	if (*slot == SST_GIN_NO_KEY)
	{
		*slot = model->nkeys++;
		model->keys[*slot] = (PendingKey)
		{
			.hash = hash, .size = key_size
		};
	}
	return &model->keys[*slot];
}

/* Add n keys like this one with so many TIDs each, to what pending ones become. */
static void
add_pending_keys(const PendingKey *key, double n, double ntids, Pending *pending)
{
	double		list = sst_gin_list_size((ntids - 1) * UNKNOWN_DIFFERENCE);

	pending->keys += n;
	if (sst_gin_fits_in_entry(key->size, list))
		pending->bytes += n * SST_GIN_ITEM_BYTES(SHORTALIGN(key->size) + list);
	else
	{
		pending->bytes += n * SST_GIN_ITEM_BYTES(key->size);
		pending->tree_pages += n * sst_gin_tree_pages(list, true);
	}
}

/* Add pending TIDs to a key that is in the entry tree. */
static void
add_to_entry(const SstGinModel *model, const PendingKey *key, double ntids,
			 Pending *pending)
{
	double		diff = key->ntids > 1 ? sst_gin_difference(key->list_bytes, key->ntids - 1) :
		UNKNOWN_DIFFERENCE;
	double		before = sst_gin_list_size(key->list_bytes);
	double		after = sst_gin_list_size(key->list_bytes + ntids * diff);

	if (key->tree)
		pending->tree_bytes += ntids *
			sst_gin_difference(model->difference_bytes, model->tree_tids);
	else if (sst_gin_fits_in_entry(key->size, after))
		pending->bytes += after - before;
	else
	{
		pending->bytes -= before;
		pending->tree_pages += sst_gin_tree_pages(after, true);
	}
}

/*
 * How many keys there are for each one that a sample has a single pending tuple
 * of.  The number of keys grows with a power of the number of tuples (Heaps' law),
 * which is the part of the keys that have a single one.
 */
static double
keys_for_single(const SstGinModel *model, double new_keys, double single_keys,
				Case which)
{
	double		seen = model->pages_seen;
	double		all;

	if (which == LEAST || single_keys == 0 || seen == 1)
		return 1;
	if (which == MOST)
		return 1 / seen;
	all = new_keys * pow(1 / seen, single_keys / new_keys);
	return Max(Min((all - new_keys) / single_keys + 1, 1 / seen), 1);
}

/*
 * Set what the pending tuples stand for.  A key of a sample that was seen once may be
 * all of its kind, or be one of many; and of the keys in the entry tree, the sample
 * has found those whose pages it has.
 */
void
sst_gin_expect_pending(const SstGinModel *model, Case which, Pending *pending)
{
	double		seen = model->pages_seen;
	double		tuple_bytes = 0;
	double		npending = 0;
	double		nfound = 0;		/* of these, with keys in the entry tree */
	double		new_keys = 0;	/* of the others */
	double		single_keys = 0;	/* of these, with one tuple */
	double		new_part = 1;	/* of what was not found */
	double		nsingle;
	Pending		found = {0};
	Pending		others = {0};

	for (uint32 i = 0; i < model->nkeys; i++)
	{
		const PendingKey *key = &model->keys[i];

		if (key->npending == 0)
			continue;
		npending += key->npending;
		tuple_bytes += (double) key->npending * SST_GIN_ITEM_BYTES(key->size);
		if (key->ntids > 0)
			nfound += key->npending;
		else
		{
			new_keys++;
			single_keys += key->npending == 1;
		}
	}
	memset(pending, 0, sizeof(Pending));
	if (npending == 0)
		return;

	if (seen < 1 && which != MOST && npending > nfound)
		new_part = (npending - Min(nfound / seen, npending)) / (npending - nfound);
	if (which == LEAST && seen < 1)
		new_part = nfound == 0 ? 0 : new_part / 2;
	nsingle = keys_for_single(model, new_keys, single_keys, which);
	for (uint32 i = 0; i < model->nkeys; i++)
	{
		const PendingKey *key = &model->keys[i];
		double		ntids = key->npending / seen;

		if (key->npending == 0)
			continue;
		if (key->ntids > 0)
			add_to_entry(model, key, ntids, &found);
		else if (key->npending == 1)
			add_pending_keys(key, new_part * nsingle, ntids / nsingle, &others);
		else
			add_pending_keys(key, new_part, ntids, &others);
	}

	/*
	 * Those that were not found and are not new are like those that were
	 * found.
	 */
	if (nfound > 0)
	{
		double		factor = (npending - new_part * (npending - nfound)) / nfound;

		found.bytes *= factor;
		found.tree_bytes *= factor;
		found.tree_pages *= factor;
	}
	else
		found.bytes = (1 - new_part) * npending / seen * UNKNOWN_DIFFERENCE;

	tuple_bytes /= seen;
	pending->bytes = (found.bytes + others.bytes) / tuple_bytes;
	pending->tree_bytes = found.tree_bytes / tuple_bytes;
	pending->tree_pages = (found.tree_pages + others.tree_pages) / tuple_bytes;
	pending->keys = others.keys / tuple_bytes;
}
