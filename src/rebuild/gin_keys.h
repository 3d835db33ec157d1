/*-------------------------------------------------------------------------
 *
 * gin_keys.h
 *	  The keys of a GIN index, with the rows that have them
 *
 * A bounded number of keys and heap TIDs is kept.  If there are more, half of
 * the keys are dropped by their hash, repeatedly.  The rest is a sample of the
 * keys: a key in both the entry tree and the pending list is kept in both or
 * in neither.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_keys.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_KEYS_H
#define SST_GIN_KEYS_H

#include "access/itup.h"
#include "storage/block.h"
#include "utils/rel.h"

/* A TID as a number: ginpostinglist.c has 11 bits for the offset, too. */
#define SST_GIN_OFFSET_BITS		11
#define SST_GIN_TID_BITS		(32 + SST_GIN_OFFSET_BITS)

/* A TID of a key, in the order of TIDs */
#define SST_GIN_KEY_BITS		(64 - SST_GIN_TID_BITS)
#define SST_GIN_PAIR(tid, key)	((uint64) (tid) << SST_GIN_KEY_BITS | (key))
#define SST_GIN_PAIR_TID(pair)	((pair) >> SST_GIN_KEY_BITS)
#define SST_GIN_PAIR_KEY(pair) \
	((uint32) ((pair) & ((UINT64CONST(1) << SST_GIN_KEY_BITS) - 1)))

typedef struct SstGinKey
{
	uint64		hash;
	uint64		order;			/* by its first bytes; in its column */
	BlockNumber tree;			/* root of its posting tree, or none */
	uint32		npending;		/* tuples in the pending list */
	uint16		column;
	uint16		size;			/* of a tuple without a posting list */
	uint16		datum_size;		/* that it takes in memory; 0 by value */
	uint16		item_bytes;		/* that it takes in the entry tree; or 0 */
} SstGinKey;

/* What is known of the type of a column's keys */
typedef struct SstGinColumn
{
	int16		length;
	bool		by_value;
} SstGinColumn;

typedef struct SstGinKeys
{
	SstGinColumn columns[INDEX_MAX_KEYS];
	int			ncolumns;

	SstGinKey  *keys;
	uint32		nkeys;
	uint32		maxkeys;
	uint32		current;		/* key, of which TIDs are added */
	uint32	   *slots;			/* a hash table: keys, or none */
	uint32		nslots;			/* a power of two */
	uint64	   *pairs;			/* TIDs with their keys */
	uint32		npairs;
	uint32		maxpairs;
	uint64		dropped;		/* keys with one of these bits in their hash */
	double		fraction;		/* of keys that is kept */
} SstGinKeys;

extern void sst_gin_keys_init(SstGinKeys *keys, TupleDesc tupdesc);
extern void sst_gin_read_key(const SstGinKeys *keys, const char *tuple,
							 int size, SstGinKey *key);
extern bool sst_gin_keys_begin(SstGinKeys *keys, const SstGinKey *key,
							   int ntids);
extern void sst_gin_keys_add_tid(SstGinKeys *keys, uint64 tid);
extern void sst_gin_keys_sort(SstGinKeys *keys);
extern void sst_gin_keys_free(SstGinKeys *keys);

#endif							/* SST_GIN_KEYS_H */
