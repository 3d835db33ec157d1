/*-------------------------------------------------------------------------
 *
 * quadtree_pages.h
 *	  The pages of a modelled SP-GiST index of points
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/quadtree_pages.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_QUADTREE_PAGES_H
#define SST_QUADTREE_PAGES_H

#include "access/spgist_private.h"

#define SST_LINE_POINTER ((int) sizeof(ItemIdData))
#define SST_PLACEHOLDER ((int) SGDTSIZE)

/* Numbered elements, of so many as there is memory for */
typedef struct SstQuadArray
{
	void	   *all;
	uint32		n;
	uint32		nallocated;
} SstQuadArray;

typedef struct SstQuadPage
{
	int16		free;
	int16		nlive;
	int16		nplaceholders;
} SstQuadPage;

/* The page that gets the next tuples of a kind, and its free bytes */
typedef struct SstQuadLastUsed
{
	BlockNumber blkno;			/* 0 for none */
	int			free;
} SstQuadLastUsed;

typedef struct SstQuadPages
{
	SstQuadArray pages;			/* by block number */
	int			reserve;		/* bytes, by the fillfactor */
	SstQuadLastUsed last_used[SPGIST_CACHED_PAGES];
} SstQuadPages;

static inline SstQuadPage *
sst_quad_page(const SstQuadPages *pages, BlockNumber blkno)
{
	return (SstQuadPage *) pages->pages.all + blkno;
}

extern uint32 sst_quad_append(SstQuadArray *array, Size size);
extern void sst_quad_pages_init(SstQuadPages *pages, int fillfactor);
extern BlockNumber sst_quad_get_page(SstQuadPages *pages, int flags, int room);
extern void sst_quad_remember(SstQuadPages *pages, int flags,
							  BlockNumber blkno);
extern void sst_quad_add_leaf(SstQuadPage *page, int size);
extern void sst_quad_clear(SstQuadPage *page);
extern void sst_quad_remove_leaves(SstQuadPage *page, int nleaves, int bytes);

#endif							/* SST_QUADTREE_PAGES_H */
