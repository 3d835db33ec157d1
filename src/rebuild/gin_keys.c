/*-------------------------------------------------------------------------
 *
 * gin_keys.c
 *	  The keys of a GIN index, with the rows that have them
 *
 * Keys are compared by their bytes, and sorted by the first eight of them: no
 * function of their type is called.  If this order differs from the index's,
 * keys seem to be in random order, which matters only for keys that are
 * inserted in order.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_keys.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/memutils.h"

#include "rebuild/gin_entry_tree.h"
#include "rebuild/gin_keys.h"

/* Most keys and TIDs that are kept: 10 MB and 16 MB */
#define MAX_KEYS	(256 * 1024)
#define MAX_PAIRS	(2 * 1024 * 1024)

/* The smallest part of the keys that says anything of all */
#define LEAST_FRACTION (1.0 / 65536)

#define NONE PG_UINT32_MAX

StaticAssertDecl(MAX_KEYS <= 1 << SST_GIN_KEY_BITS, "too many keys for a pair");

void
sst_gin_keys_init(SstGinKeys *keys, TupleDesc tupdesc)
{
	memset(keys, 0, sizeof(SstGinKeys));
	keys->fraction = 1;
	keys->ncolumns = Min(tupdesc->natts, INDEX_MAX_KEYS);
	for (int i = 0; i < keys->ncolumns; i++)
	{
		keys->columns[i].length = TupleDescAttr(tupdesc, i)->attlen;
		keys->columns[i].by_value = TupleDescAttr(tupdesc, i)->attbyval;
	}
}

/* All bits of the result depend on all bytes (FNV-1a, and a last mixing). */
static uint64
hash_bytes_of_key(uint64 hash, const char *bytes, int nbytes)
{
	hash ^= UINT64CONST(0xcbf29ce484222325);
	for (int i = 0; i < nbytes; i++)
		hash = (hash ^ (unsigned char) bytes[i]) * UINT64CONST(0x100000001b3);
	hash ^= hash >> 33;
	hash *= UINT64CONST(0xff51afd7ed558ccd);
	hash ^= hash >> 33;
	hash *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

/* A number that is in the order of a signed integer's */
static uint64
order_of_integer(const char *bytes, int length)
{
	int64		value = 0;

	if (length == 8)
		memcpy(&value, bytes, 8);
	else if (length == 4)
	{
		int32		v;

		memcpy(&v, bytes, 4);
		value = v;
	}
	else if (length == 2)
	{
		int16		v;

		memcpy(&v, bytes, 2);
		value = v;
	}
	else
		value = *bytes;
	return (uint64) value ^ (UINT64CONST(1) << 63);
}

/* The first of some bytes, as a number in their order */
static uint64
order_of_bytes(const char *bytes, int nbytes)
{
	uint64		result = 0;

	for (int i = 0; i < 8; i++)
		result = result << 8 | (i < nbytes ? (unsigned char) bytes[i] : 0);
	return result;
}

/*
 * Read a key: the bytes of a tuple before its posting list.  They are within the
 * page, and can be anything else; the tuple's header is among them.
 *
 * With several columns, the tuple has the number of the column first
 * (GinFormTuple() in ginentrypage.c).
 */
void
sst_gin_read_key(const SstGinKeys *keys, const char *tuple, int size,
				 SstGinKey *key)
{
	IndexTupleData header;
	const SstGinColumn *column;
	int			pos = MAXALIGN(sizeof(IndexTupleData));
	bool		null;

	memcpy(&header, tuple, sizeof(header));
	null = (header.t_info & INDEX_NULL_MASK) != 0;
	if (null)
		pos = MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));

	memset(key, 0, sizeof(SstGinKey));
	key->tree = InvalidBlockNumber;
	key->size = size;
	key->hash = hash_bytes_of_key(null, tuple + sizeof(header),
								  size - (int) sizeof(header));
	key->order = PG_UINT64_MAX;

	if (keys->ncolumns > 1 && size - pos >= (int) sizeof(uint16))
	{
		memcpy(&key->column, tuple + pos, sizeof(uint16));
		key->column = Min(Max(key->column, 1), keys->ncolumns) - 1;
		pos += sizeof(uint16);
	}
	column = &keys->columns[key->column];
	if (null)
		return;

	if (column->by_value)
	{
		int			length = column->length;

		pos = TYPEALIGN(Max(length, 1), pos);
		if (length > 0 && size - pos >= length)
			key->order = order_of_integer(tuple + pos, length);
		return;
	}

	if (column->length == -1 && pos < size)
	{
		bool		is_short = VARATT_IS_1B(tuple + pos);
		int			length = is_short ? VARSIZE_1B(tuple + pos) - 1 : BLCKSZ;

		/* Memory has it with a header of four bytes. */
		if (!is_short && tuple[pos] == 0)
			pos = INTALIGN(pos);
		pos += is_short ? 1 : VARHDRSZ;
		length = Max(Min(length, size - pos), 0);
		key->datum_size = VARHDRSZ + length;
	}
	else
	{
		pos = MAXALIGN(pos);
		key->datum_size = Max(size - pos, 0);
	}
	key->order = order_of_bytes(tuple + pos, size - pos);
}

/* Return the slot of a key, or the empty one where it would be. */
static uint32
find_slot(const SstGinKeys *keys, const SstGinKey *key)
{
	uint32		slot = (uint32) (key->hash >> 32) & (keys->nslots - 1);

	while (keys->slots[slot] != NONE &&
		   (keys->keys[keys->slots[slot]].hash != key->hash ||
			keys->keys[keys->slots[slot]].column != key->column))
		slot = (slot + 1) & (keys->nslots - 1);
	return slot;
}

static void
fill_slots(SstGinKeys *keys)
{
	memset(keys->slots, 0xff, keys->nslots * sizeof(uint32));
	for (uint32 i = 0; i < keys->nkeys; i++)
		keys->slots[find_slot(keys, &keys->keys[i])] = i;
}

/* Drop half of the keys, and what belongs to them.  False if that is all. */
static bool
drop_half(SstGinKeys *keys)
{
	uint32	   *after;
	uint32		nkeys = 0;
	uint32		npairs = 0;

	if (keys->nkeys == 0 || keys->fraction <= LEAST_FRACTION)
		return false;

	/* The slots are not needed meanwhile, and there are more than keys. */
	after = keys->slots;
	keys->dropped = keys->dropped << 1 | 1;
	keys->fraction /= 2;
	for (uint32 i = 0; i < keys->nkeys; i++)
	{
		after[i] = NONE;
		if ((keys->keys[i].hash & keys->dropped) == 0)
		{
			after[i] = nkeys;
			keys->keys[nkeys++] = keys->keys[i];
		}
	}
	for (uint32 i = 0; i < keys->npairs; i++)
	{
		uint64		pair = keys->pairs[i];
		uint32		key = after[SST_GIN_PAIR_KEY(pair)];

		if (key != NONE)
			keys->pairs[npairs++] = SST_GIN_PAIR(SST_GIN_PAIR_TID(pair), key);
	}
	keys->nkeys = nkeys;
	keys->npairs = npairs;
	fill_slots(keys);
	return true;
}

/* Make room for one more key.  False if there is none. */
static bool
reserve_key(SstGinKeys *keys)
{
	SstGinKey  *bigger;
	uint32	   *slots;
	uint32		max = keys->maxkeys;

	if (keys->nkeys < max)
		return true;

	slots = MemoryContextAllocExtended(CurrentMemoryContext,
									   Max(max, 32) * 4 * sizeof(uint32),
									   MCXT_ALLOC_NO_OOM);
	if (slots == NULL)
		return false;
	bigger = sst_gin_grow(keys->keys, &keys->maxkeys, MAX_KEYS,
						  sizeof(SstGinKey));
	if (bigger == NULL)
	{
		pfree(slots);
		return false;
	}
	keys->keys = bigger;
	if (keys->slots != NULL)
		pfree(keys->slots);
	keys->slots = slots;
	keys->nslots = Max(max, 32) * 4;
	fill_slots(keys);
	return true;
}

static bool
reserve_pairs(SstGinKeys *keys, int n)
{
	while (keys->maxpairs < keys->npairs + n)
	{
		uint64	   *bigger = sst_gin_grow(keys->pairs, &keys->maxpairs,
										  MAX_PAIRS, sizeof(uint64));

		if (bigger == NULL)
			return false;
		keys->pairs = bigger;
	}
	return true;
}

/* Add what another tuple says of a key. */
static void
merge_key(SstGinKey *key, const SstGinKey *other)
{
	key->npending += other->npending;
	key->item_bytes = Max(key->item_bytes, other->item_bytes);
	if (other->tree != InvalidBlockNumber)
		key->tree = other->tree;
}

/*
 * Begin a key, of which up to ntids TIDs follow.  It may have been added before.
 * False if it is not kept.
 */
bool
sst_gin_keys_begin(SstGinKeys *keys, const SstGinKey *key, int ntids)
{
	uint32		slot;

	while ((key->hash & keys->dropped) == 0)
	{
		if (!reserve_key(keys) || !reserve_pairs(keys, ntids))
		{
			if (!drop_half(keys))
				return false;
			continue;
		}
		slot = find_slot(keys, key);
		if (keys->slots[slot] == NONE)
		{
			keys->slots[slot] = keys->nkeys;
			keys->keys[keys->nkeys] = *key;
			keys->keys[keys->nkeys].npending = 0;
			keys->keys[keys->nkeys].item_bytes = 0;
			keys->nkeys++;
		}
		keys->current = keys->slots[slot];
		merge_key(&keys->keys[keys->current], key);
		return true;
	}
	return false;
}

/* Add a TID to the key that was begun last. */
void
sst_gin_keys_add_tid(SstGinKeys *keys, uint64 tid)
{
	Assert(keys->npairs < keys->maxpairs);
	keys->pairs[keys->npairs++] = SST_GIN_PAIR(tid, keys->current);
}

/* A key's place before and after sorting */
typedef struct Place
{
	SstGinKey	key;
	uint32		before;
} Place;

static int
compare_numbers(uint64 a, uint64 b)
{
	return a < b ? -1 : a > b;
}

static int
compare_places(const void *a, const void *b)
{
	const SstGinKey *x = &((const Place *) a)->key;
	const SstGinKey *y = &((const Place *) b)->key;
	int			result = (int) x->column - (int) y->column;

	if (result == 0)
		result = compare_numbers(x->order, y->order);
	return result != 0 ? result : compare_numbers(x->hash, y->hash);
}

static int
compare_pairs(const void *a, const void *b)
{
	return compare_numbers(*(const uint64 *) a, *(const uint64 *) b);
}

/*
 * Put keys in their order, and the TIDs of all keys in theirs.  No more can be
 * added then.  Without the memory for that, nothing is left.
 */
void
sst_gin_keys_sort(SstGinKeys *keys)
{
	uint32		n = keys->nkeys;
	Place	   *places;
	uint32	   *after;

	if (n == 0)
		return;
	places = MemoryContextAllocExtended(CurrentMemoryContext, n * sizeof(Place),
										MCXT_ALLOC_NO_OOM);
	after = MemoryContextAllocExtended(CurrentMemoryContext, n * sizeof(uint32),
									   MCXT_ALLOC_NO_OOM);
	if (places == NULL || after == NULL)
	{
		keys->nkeys = keys->npairs = 0;
		return;
	}

	for (uint32 i = 0; i < n; i++)
		places[i] = (Place)
	{
		keys->keys[i], i
	};
	qsort(places, n, sizeof(Place), compare_places);

	for (uint32 i = 0; i < n; i++)
	{
		keys->keys[i] = places[i].key;
		after[places[i].before] = i;
	}
	for (uint32 i = 0; i < keys->npairs; i++)
	{
		uint64		pair = keys->pairs[i];

		keys->pairs[i] = SST_GIN_PAIR(SST_GIN_PAIR_TID(pair),
									  after[SST_GIN_PAIR_KEY(pair)]);
	}
	if (keys->npairs > 0)
		qsort(keys->pairs, keys->npairs, sizeof(uint64), compare_pairs);
	pfree(places);
	pfree(after);
}

void
sst_gin_keys_free(SstGinKeys *keys)
{
	if (keys->keys != NULL)
		pfree(keys->keys);
	if (keys->slots != NULL)
		pfree(keys->slots);
	if (keys->pairs != NULL)
		pfree(keys->pairs);
}
