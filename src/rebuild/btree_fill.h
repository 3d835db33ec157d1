/*-------------------------------------------------------------------------
 *
 * btree_fill.h
 *	  How a b-tree's build fills its leaf pages
 *
 * Items have a size only: no page is made.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/btree_fill.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BTREE_FILL_H
#define SST_BTREE_FILL_H

#include "access/nbtree.h"

#include "rebuild/rebuild.h"

/* Between the line pointers and the tuples of a page with nothing on it */
#define SST_EMPTY_PAGE_BYTES \
	(BLCKSZ - (int) SizeOfPageHeaderData - \
	 (int) MAXALIGN(sizeof(BTPageOpaqueData)))

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

/* in btree_fill.c */
extern void sst_btree_fill_init(SstBtreeFill *fill, bool deduplicate,
								int target_free);
extern void sst_btree_add_items(SstBtreeFill *fill, int size, int posting,
								uint64 count, bool same_key);
extern void sst_btree_add_run(SstBtreeFill *fill, int size, uint64 ntids);
extern double sst_btree_filled_pages(const SstBtreeFill *fill);
extern double sst_btree_internal_pages(const SstBtreeFill *fill);

/* in btree_pivot.c */
extern int	sst_btree_pivot_size(TupleDesc tupdesc, int nkeys,
								 const char *left, int left_len,
								 const char *right, int right_len);

/* in btree_order.c */
extern SstBtreeOrder *sst_btree_order_create(BlockNumber nblocks);
extern void sst_btree_order_page(SstBtreeOrder *order, BlockNumber blkno,
								 BlockNumber prev, BlockNumber next);
extern void sst_btree_order_run(SstBtreeOrder *order, int size, uint32 ntids,
								uint32 key);
extern bool sst_btree_in_order(const SstBtreeRebuild *state,
							   SstBtreeFill *fill);

/* in btree_runs.c */
extern void sst_btree_park(SstBtreeRebuild *state, uint64 key,
						   const SstBtreeRun *piece);
extern SstBtreeRun sst_btree_take(SstBtreeRebuild *state, uint64 key);
extern SstBtreeFill sst_btree_fill_all(const SstBtreeRebuild *state);

/* in btree_blocks.c */
extern double sst_btree_blocks(const SstRebuild *rebuild,
							   const double *counts, const SstMeta *meta,
							   bool whole);
extern void sst_btree_scale_entries(const SstRebuild *rebuild, double *counts,
									double fraction);
extern double sst_btree_uncertainty(const SstBtreeRebuild *state);

#endif							/* SST_BTREE_FILL_H */
