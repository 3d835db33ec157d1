/*-------------------------------------------------------------------------
 *
 * fill.h
 *	  The model of a b-tree's build: its state, and how it fills pages
 *
 * Items have a size only: no page is made.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BTREE_FILL_H
#define SST_BTREE_FILL_H

#include "access/nbtree.h"

#include "am/rebuild.h"

/* What is counted of b-trees only */
enum
{
	SST_ITEMS_TOLD_APART = SST_OWN, /* known to be posting list tuples or not */
	SST_POSTING_TUPLES,
	SST_REBUILT_KEYS,			/* if it deduplicates: runs of equal keys */
	SST_REBUILT_KEY_BYTES		/* of these keys, once each */
};

/* The page of an internal level that is being filled, and those before it */
typedef struct SstBtreeLevel
{
	uint64		npages;			/* that are full */
	int			free;
	int			nitems;
	int			last_size;
} SstBtreeLevel;

/* Levels of the highest possible tree, which has two pivots on each page */
#define SST_BTREE_LEVELS 32

/* The leaf page of a new b-tree that is being filled, and those before it */
typedef struct SstBtreeFill
{
	SstPause   *pause;
	bool		deduplicate;
	int			target_free;	/* by the fillfactor */

	uint64		npages;			/* that are full */
	int			free;			/* bytes between line pointers and tuples */
	int			nitems;
	int			last_size;		/* of the last item */
	int			last_posting;	/* of this, its posting list */
	bool		last_repeats;	/* the key of the item before it */
	bool		next_repeats;	/* the next item the last one's, on a page not
								 * seen */

	/* All items: their number, the sum of their sizes, and of their squares */
	double		added;
	double		added_bytes;
	double		added_squares;

	/*
	 * Pivots, the keys that pages begin with, for the level above.  They have
	 * a TID as well if the page before has items with the same key.
	 */
	double		npivots;
	double		pivot_bytes;
	double		pivot_squares;
	double		repeating;
	double		repeating_bytes;
	SstBtreeLevel levels[SST_BTREE_LEVELS];
} SstBtreeFill;

/* Pieces of a run of equal keys, of which others may be on other pages */
typedef struct SstBtreeRun
{
	uint32		hash;			/* of the key */
	uint32		ntids;			/* 0 if there is no run */
	uint16		size;			/* of a tuple without a posting list */
	bool		began;			/* its first piece is there */
	bool		ended;			/* its last piece is there */
} SstBtreeRun;

/* Such runs are kept in sets by the hash of their keys. */
#define SST_BTREE_SET_RUNS 8
#define SST_BTREE_RUNS (512 * SST_BTREE_SET_RUNS)

/* What is counted of the items of a leaf page */
typedef enum SstBtreeCount
{
	SST_LEAF_BYTES,
	SST_LEAF_KEY_BYTES,
	SST_LEAF_KEYS,
	SST_LEAF_ENTRIES,
	SST_LEAF_DEAD_ENTRIES,
	SST_LEAF_PIVOTS,
	SST_LEAF_PIVOT_BYTES,
	SST_BTREE_COUNTS
} SstBtreeCount;

/* What leaf pages of some kind came to that were looked at, the earlier ones with less weight */
typedef struct SstBtreeKind
{
	double		npages;
	double		used;			/* bytes of items and line pointers */
	double		counts[SST_BTREE_COUNTS];
	uint32		nleft_out;		/* since the last of them */
} SstBtreeKind;

/* Kinds by what an item takes on average, four for each power of two, and by two neighbours */
#define SST_BTREE_SIZES 64
#define SST_BTREE_KINDS (2 * SST_BTREE_SIZES)

/* All items of an index, in the order of their keys */
typedef struct SstBtreeOrder SstBtreeOrder;

typedef struct SstBtreeRebuild
{
	SstRebuild	base;
	TupleDesc	tupdesc;
	int			nkeys;			/* of its columns; others are INCLUDE columns */
	bool		is_unique;
	bool		is_primary;		/* so that no key has nulls */
	SstTupleLengths lengths;	/* of leaf tuples */
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */
	SstBtreeFill fill;
	SstBtreeFill like;			/* with pages that others are taken to be like */
	SstBtreeFill *into;			/* the one that is being filled */
	uint64		npivots;		/* between neighbours, by weight: see model.c */
	uint64		pivot_bytes;	/* their sizes */
	double		pivot_squares;
	SstBtreeOrder *order;		/* or NULL */
	uint64		nruns;			/* of equal keys on the pages seen, at least */
	uint64		ntids;			/* of these runs */
	bool		is_sample;		/* pages are left out */
	uint64		bytes;			/* counted so far */
	uint64		loose_bytes;	/* of these, what ends of runs may not take */
	uint64		short_bytes;	/* where all runs are taken for short ones */
	double		tid_squares;	/* sum of the squares of what TIDs take of
								 * these */

	SstKeys		keys;

	/* Leaf pages: see may_leave_out() */
	BlockNumber nlooked;		/* whose items were looked at */
	uint64		like_bytes;		/* counted on pages that others are like */
	uint64		left_out_bytes; /* on these */
	double		doubt;			/* variance of these, as they are estimated */
	SstBtreeKind kinds[SST_BTREE_KINDS];

	/* The leaf page seen last, and the key that goes on behind it, or 0 */
	BlockNumber last_leaf;
	uint64		last_key;

	SstBtreeFill all;			/* when all pages have been shown, what they
								 * have */

	double		spliced_bytes;	/* of runs whose last piece is yet to come */
	SstBtreeRun runs[SST_BTREE_RUNS];
} SstBtreeRebuild;

/* Between the line pointers and the tuples of a page with nothing on it */
#define SST_EMPTY_PAGE_BYTES SST_PAGE_ROOM(sizeof(BTPageOpaqueData))

/* A leaf page has the line pointer of its high key from the start. */
#define SST_EMPTY_LEAF_BYTES \
	(SST_EMPTY_PAGE_BYTES - (int) sizeof(ItemIdData))

/* The largest posting list tuple of a build (_bt_load()); they are aligned. */
#define SST_MAX_POSTING_TUPLE \
	((int) MAXALIGN_DOWN(MAXALIGN_DOWN(BLCKSZ * 10 / 100) - sizeof(ItemIdData)))

/* TIDs that a tuple can have, whose size without a posting list is this */
static inline int
sst_btree_most_tids(const SstBtreeFill *fill, int size)
{
	return !fill->deduplicate ? 1 :
		Max((SST_MAX_POSTING_TUPLE - size) / (int) sizeof(ItemPointerData), 1);
}

/* The size of such a tuple with these TIDs */
static inline int
sst_btree_tuple_size(int size, int ntids)
{
	return ntids == 1 ? size :
		(int) MAXALIGN(size + ntids * (int) sizeof(ItemPointerData));
}

extern void sst_btree_tuple_lengths(SstTupleLengths *lengths, Relation rel);
extern void sst_btree_fill_init(SstBtreeFill *fill, bool deduplicate,
								int target_free);
extern void sst_btree_add_run(SstBtreeFill *fill, int size, uint64 ntids);
extern void sst_btree_add_runs(SstBtreeFill *fill, int size, uint64 ntids,
							   uint64 count);
extern double sst_btree_filled_pages(const SstBtreeFill *fill);
extern double sst_btree_internal_pages(const SstBtreeFill *fill);
extern void sst_btree_fill_more(SstBtreeFill *fill, const SstBtreeFill *like,
								double times);

extern int	sst_btree_pivot_size(TupleDesc tupdesc, int nkeys, const char *left,
								 int left_len, const char *right,
								 int right_len);

extern SstBtreeOrder *sst_btree_order_create(BlockNumber nblocks);
extern void sst_btree_order_page(SstBtreeOrder *order, BlockNumber blkno,
								 BlockNumber prev, BlockNumber next);
extern void sst_btree_order_runs(SstBtreeOrder *order, int size, uint32 ntids,
								 uint32 count, uint32 key);

extern void sst_btree_park(SstBtreeRebuild *state, uint64 key,
						   const SstBtreeRun *piece);
extern SstBtreeRun sst_btree_take(SstBtreeRebuild *state, uint64 key);
extern SstBtreeFill sst_btree_fill_all(const SstBtreeRebuild *state,
									   bool *is_in_order);

#endif							/* SST_BTREE_FILL_H */
