/*-------------------------------------------------------------------------
 *
 * gin_posting.h
 *	  Posting lists and posting trees of a GIN index, old and new
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_posting.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_POSTING_H
#define SST_GIN_POSTING_H

#include "access/gin_private.h"

#include "rebuild/rebuild.h"

/* Where the data of a posting tree page begins: GinDataPageGetData() */
#define SST_GIN_POSTING_OFFSET ((int) (MAXALIGN(SizeOfPageHeaderData) + \
									   MAXALIGN(sizeof(ItemPointerData))))

/* Lists on a page of a posting tree: GinPostingListSegmentMaxSize, ...TargetSize */
#define SST_GIN_MAX_LIST		384
#define SST_GIN_TARGET_LIST		256

/* A full page of these */
#define SST_GIN_FULL_PAGE \
	((int) (GinDataPageMaxDataSize / SST_GIN_TARGET_LIST * SST_GIN_TARGET_LIST))

/* A list without differences between TIDs */
#define SST_GIN_LIST_HEADER ((int) offsetof(GinPostingList, bytes))

/* TIDs, in any number of posting lists */
typedef struct SstGinTids
{
	uint64		ntids;
	uint64		nlists;			/* that they are in, and are each the first of */
	uint64		bytes;			/* of differences */
	uint64		ndead;			/* left out of all these */
	BlockNumber last_block;
} SstGinTids;

/* A page of a posting tree */
typedef struct SstGinPostingPage
{
	BlockNumber blkno;
	BlockNumber next;			/* to the right */
	BlockNumber child;			/* the first, of an inner page */
	uint32		nchildren;		/* of an inner page */
	uint32		ntids;
	uint32		nlists;
	uint32		bytes;
	bool		linked;			/* another one is to its left */
} SstGinPostingPage;

/* All pages of posting trees, as long as there are not too many */
typedef struct SstGinTrees
{
	SstGinPostingPage *pages;
	uint32		npages;
	uint32		maxpages;
	uint64		nfollowed;		/* links */
	bool		incomplete;
} SstGinTrees;

typedef void (*SstGinTidCallback) (void *arg, uint64 tid);

extern int	sst_gin_difference_bytes(uint64 difference);
extern double sst_gin_expected_difference(double ntids, double nblocks);
extern int	sst_gin_read_list(const SstRebuild *rebuild, const char *list,
							  int size, SstGinTids *tids,
							  SstGinTidCallback callback, void *arg);
extern void sst_gin_read_tids(const SstRebuild *rebuild, const char *array,
							  int ntids, SstGinTids *tids,
							  SstGinTidCallback callback, void *arg);
extern bool sst_gin_fits_in_entry(int key_size, double list_bytes);
extern double sst_gin_list_bytes(const SstGinTids *tids);
extern double sst_gin_difference(const SstGinTids *tids);
extern double sst_gin_tree_bytes(const SstGinTids *tids);
extern double sst_gin_posting_pages(double ntids, double difference,
									bool whole);

extern void sst_gin_trees_add(SstGinTrees *trees, const SstGinPostingPage *page);
extern double sst_gin_trees_pages(SstGinTrees *trees);
extern double sst_gin_trees_by_roots(const SstGinTrees *trees,
									 double leaf_tids, double difference);
extern bool sst_gin_tree_of(SstGinTrees *trees, BlockNumber root,
							SstGinTids *tids);

#endif							/* SST_GIN_POSTING_H */
