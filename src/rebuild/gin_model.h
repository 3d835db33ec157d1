/*-------------------------------------------------------------------------
 *
 * gin_model.h
 *	  What is known of a GIN index, for the size of a new one
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_model.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_MODEL_H
#define SST_GIN_MODEL_H

#include "access/itup.h"

#include "rebuild/gin_batches.h"
#include "rebuild/gin_list.h"
#include "rebuild/rebuild.h"

/* The target size of lists on a posting tree page, and a full page of these (gindatapage.c) */
#define SST_GIN_TARGET_LIST		256
#define SST_GIN_FULL_PAGE		((double) (GinDataPageMaxDataSize / SST_GIN_TARGET_LIST * SST_GIN_TARGET_LIST))

/* The first page of a tree has larger lists, which have more TIDs. */
#define SST_GIN_FIRST_PAGE		8130.0

/* Items of an inner page of a posting tree */
#define SST_GIN_INNER_ITEMS		((double) (GinDataPageMaxDataSize / sizeof(PostingItem)))

/* Keys that are kept to look up pending ones: 1 MB */
#define SST_GIN_MAX_KEYS		32768
#define SST_GIN_KEY_SLOTS		65536
#define SST_GIN_NO_KEY			PG_UINT32_MAX

/* What is likely, and what is possible */
typedef enum Case
{
	LIKELY,
	LEAST,
	MOST
} Case;

#define NCASES 3

/* The leaf page of a new entry tree that is being filled, and those before it */
typedef struct EntryFill
{
	uint64		npages;			/* that are full */
	uint64		bytes;			/* on these */
	uint64		pivot_bytes;	/* of the tuples that inner pages have for
								 * these */
	int			used;
	int			nitems;
	uint16		sizes[SST_GIN_MAX_ITEMS + 1];
	uint16		pivots[SST_GIN_MAX_ITEMS + 1];
} EntryFill;

/* A leaf page of a posting tree */
typedef struct PostingLeaf
{
	BlockNumber blkno;
	BlockNumber next;			/* to the right */
	uint16		bytes;			/* that its lists take in a new tree */
	bool		is_short;		/* they may become part of an entry */
	bool		linked;			/* another one is to its left */
} PostingLeaf;

/* A key of the entry tree or the pending list */
typedef struct PendingKey
{
	uint64		hash;
	uint32		npending;
	uint16		size;			/* of a tuple without a posting list */
	uint16		list_bytes;		/* of differences, in the entry tree */
	uint32		ntids;			/* there; 0 if it is not */
	bool		tree;
} PendingKey;

/* What comes of the pending list, for each byte of its tuples */
typedef struct Pending
{
	double		bytes;			/* of entries */
	double		tree_bytes;		/* in posting trees that there are */
	double		tree_pages;		/* of new posting trees */
	double		keys;
} Pending;

typedef struct SstGinModel
{
	int			ncolumns;
	int16		lengths[INDEX_MAX_KEYS];	/* of by-value types; else 0 */
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */
	uint64		nentries;
	uint64		nentries_looked;	/* of pages whose items were looked at */
	uint64		nitems;			/* of entry pages whose items were looked at */
	uint64		used_bytes;		/* on these */
	uint64		entry_bytes;	/* of these, SST_REBUILT_BYTES */
	uint64		pivot_bytes;
	uint64		list_tids;
	EntryFill	fill;
	SstGinSample *sample;

	/*
	 * Posting trees: leaf pages that are not the last of their tree, and
	 * others
	 */
	uint64		nmiddle;
	double		middle_bytes;
	uint64		tree_tids;
	uint64		difference_bytes;	/* between these */
	uint64		nlast;
	double		last_bytes;
	uint64		ntree_keys;		/* that point to them */
	double		tree_key_bytes;
	PostingLeaf *leaves;
	uint32		nleaves;
	uint32	   *roots;			/* children of inner pages without right
								 * sibling */
	uint32		nroots;

	/* To look up pending keys */
	bool		any_pending;
	PendingKey *keys;
	uint32	   *slots;			/* a hash table: keys, or none */
	uint32		nkeys;
	uint64		threshold;		/* keys with a larger hash are left out */

	/* After the last page */
	bool		all;			/* pages were seen */
	double		pages_seen;		/* fraction */
	double		last_used;		/* bytes on the last leaf page */
	double		left_fill;		/* bytes on the others, with one batch */
	double		pivot;			/* bytes on inner pages for each page */
	double		short_fill;		/* with lists of short posting trees */
	double		batches[NCASES];	/* pages with all batches, for those with
									 * one */
	bool		several;		/* batches */
	double		tree_factor;	/* pages of posting trees, for those expected */
	Pending		pending[NCASES];
} SstGinModel;

/* Bytes of one list with so many differences' bytes */
static inline double
sst_gin_list_size(double bytes)
{
	return SST_GIN_LIST_HEADER + 2 * ceil(floor(bytes) / 2);
}

/* Does a list become part of an entry?  (GinFormTuple()) */
static inline bool
sst_gin_fits_in_entry(int key_size, double list_bytes)
{
	return MAXALIGN(SHORTALIGN(key_size)) + list_bytes <=
		MAXALIGN_DOWN(GinMaxItemSize);
}

/* Average bytes of a difference */
static inline double
sst_gin_difference(double bytes, double ntids)
{
	return ntids > 0 ? Max(bytes / ntids, 1) : 1;
}

/* A tuple that begins within its page */
typedef struct EntryTuple
{
	const char *data;
	int			length;
	IndexTupleData header;
} EntryTuple;

/* Pages of a tree; whole ones, or the average of those about this size */
static inline double
sst_gin_tree_pages(double bytes, bool whole)
{
	double		leaves = (bytes - SST_GIN_FIRST_PAGE) / SST_GIN_FULL_PAGE;
	double		pages;

	if (leaves <= 0)
		return 1;
	leaves = 1 + (whole ? ceil(leaves) : leaves + 0.5 * Min(leaves, 1));
	pages = leaves;
	for (double level = leaves; level > 1; pages += level)
	{
		level /= SST_GIN_INNER_ITEMS;
		level = level <= 1 ? 1 : sst_round_up(level, whole);
	}
	return pages;
}

extern PendingKey *sst_gin_keep_key(SstGinModel *model, const EntryTuple *item,
									int key_size);
extern void sst_gin_expect_pending(const SstGinModel *model, Case which,
								   Pending *pending);

#endif							/* SST_GIN_MODEL_H */
