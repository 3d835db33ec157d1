/*-------------------------------------------------------------------------
 *
 * quadtree_pages.c
 *	  The pages of a modelled SP-GiST index of points
 *
 * For each page, only the numbers of leaf tuples, placeholders and free bytes
 * matter.  Of each kind of page, one is remembered, and receives the next
 * tuples, up to the fillfactor (SpGistGetBuffer() in
 * access/spgist/spgutils.c).  Inner pages are of three kinds, by their block
 * number modulo three.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/quadtree_pages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "rebuild/quadtree_pages.h"

/* Add an element of zeros.  Returns its number, from 0. */
uint32
sst_quad_append(SstQuadArray *array, Size size)
{
	if (array->all == NULL)
	{
		array->nallocated = 64;
		array->all = palloc(array->nallocated * size);
	}
	else if (array->n == array->nallocated)
	{
		array->nallocated *= 2;
		array->all = repalloc(array->all, array->nallocated * size);
	}
	memset((char *) array->all + array->n * size, 0, size);
	return array->n++;
}

/* Make a page empty. */
void
sst_quad_clear(SstQuadPage *page)
{
	page->free = SPGIST_PAGE_CAPACITY;
	page->nlive = 0;
	page->nplaceholders = 0;
}

static BlockNumber
append_page(SstQuadPages *pages)
{
	BlockNumber blkno = sst_quad_append(&pages->pages, sizeof(SstQuadPage));

	sst_quad_clear(sst_quad_page(pages, blkno));
	return blkno;
}

/* Begin with the metapage and the two roots. */
void
sst_quad_pages_init(SstQuadPages *pages, int fillfactor)
{
	memset(pages, 0, sizeof(SstQuadPages));
	pages->reserve = BLCKSZ * (100 - fillfactor) / 100;
	for (int i = 0; i <= SPGIST_LAST_FIXED_BLKNO; i++)
		(void) append_page(pages);
}

/*
 * Add a page.  An inner page of the wrong kind is remembered for its own, and
 * another one follows.
 */
static BlockNumber
add_page(SstQuadPages *pages, int flags)
{
	for (;;)
	{
		BlockNumber blkno = append_page(pages);
		int			parity = GBUF_INNER_PARITY(blkno);
		SstQuadLastUsed *last;

		if (GBUF_REQ_LEAF(flags) || (flags & GBUF_PARITY_MASK) == parity)
			return blkno;
		last = &pages->last_used[parity | (flags & GBUF_NULLS)];
		last->blkno = blkno;
		last->free = SPGIST_PAGE_CAPACITY;
	}
}

/*
 * Get a page with so much room: the last one used, or a new one.  The flags are
 * those of SpGistGetBuffer(): GBUF_LEAF or a parity, and GBUF_NULLS.
 */
BlockNumber
sst_quad_get_page(SstQuadPages *pages, int flags, int room)
{
	SstQuadLastUsed *last = &pages->last_used[flags];

	room = Min(room + pages->reserve, (int) SPGIST_PAGE_CAPACITY);
	if (last->blkno != 0 && last->free >= room)
	{
		int			free = sst_quad_page(pages, last->blkno)->free;

		if (free >= room)
		{
			last->free = free - room;
			return last->blkno;
		}
	}
	return add_page(pages, flags);
}

/* A page was used: remember it if it has the most room (SpGistSetLastUsedPage()). */
void
sst_quad_remember(SstQuadPages *pages, int flags, BlockNumber blkno)
{
	SstQuadLastUsed *last = &pages->last_used[flags];
	int			free = sst_quad_page(pages, blkno)->free;

	if (SpGistBlockIsFixed(blkno))
		return;
	if (last->blkno == 0 || last->blkno == blkno || last->free < free)
	{
		last->blkno = blkno;
		last->free = free;
	}
}

/* Put a leaf tuple on a page, in the place of a placeholder if there is one. */
void
sst_quad_add_leaf(SstQuadPage *page, int size)
{
	if (page->nplaceholders > 0 && page->free + SST_PLACEHOLDER >= size)
	{
		page->nplaceholders--;
		page->free += SST_PLACEHOLDER;
	}
	else
		page->free -= SST_LINE_POINTER;
	page->free -= size;
	page->nlive++;
}

/* Turn leaf tuples, whose bytes count their line pointers, into placeholders. */
void
sst_quad_remove_leaves(SstQuadPage *page, int nleaves, int bytes)
{
	page->free += bytes - nleaves * (SST_PLACEHOLDER + SST_LINE_POINTER);
	page->nlive -= nleaves;
	page->nplaceholders += nleaves;
}
