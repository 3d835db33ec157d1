/*-------------------------------------------------------------------------
 *
 * gist.c
 *	  Reading the pages of a GiST index
 *
 * There is no metapage: block 0 is the root.  Only leaf pages are ever deleted,
 * and only tuples on leaf pages marked dead.  access/gist.h has the layouts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/gist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gist.h"

#include "visit/visit.h"

#define ROOT_BLKNO 0			/* GIST_ROOT_BLKNO, in access/gist_private.h */

#define USABLE_BYTES (BLCKSZ - SizeOfPageHeaderData - \
					  MAXALIGN(sizeof(GISTPageOpaqueData)))

#define KNOWN_FLAGS (F_LEAF | F_DELETED | F_TUPLES_DELETED | F_FOLLOW_RIGHT | \
					 F_HAS_GARBAGE)

/* Where the contents of a deleted page end: GistPageSetDeleted() */
#define DELETED_LOWER (MAXALIGN(SizeOfPageHeaderData) + \
					   sizeof(GISTDeletedPageContents))

/*
 * A deleted page has the time of its deletion in the place of line pointers, or
 * nothing there if an old release deleted it: GistPageGetDeleteXid().
 */
static bool
deleted_page(const PageData *page, BlockNumber blkno, SstCounters *counters)
{
	int			lower = ((const PageHeaderData *) page)->pd_lower;

	if (blkno == ROOT_BLKNO ||
		(lower != DELETED_LOWER && lower != SizeOfPageHeaderData))
		return false;

	counters->n[SST_DELETED_PAGES]++;
	return true;
}

static bool
gist_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
		  SstCounters *counters)
{
	const GISTPageOpaqueData *opaque;
	SstLinePointers items;

	if (!sst_page_is_sound(page, sizeof(GISTPageOpaqueData)))
		return sst_count_if_new(page, blkno, counters);

	opaque = GistPageGetOpaque((Page) page);
	if (opaque->gist_page_id != GIST_PAGE_ID ||
		(opaque->flags & ~KNOWN_FLAGS) != 0)
		return false;

	if (opaque->flags & F_DELETED)
		return deleted_page(page, blkno, counters);

	sst_read_line_pointers(page, FirstOffsetNumber, &visitor->lengths, &items);
	if (items.outside)
		return false;

	if (opaque->flags & F_LEAF)
	{
		sst_count_leaf(counters, sst_page_free_space(page), USABLE_BYTES);
		sst_count_items(counters, &items);
	}
	else
		counters->n[SST_INTERNAL_PAGES]++;

	return true;
}

void
sst_gist_visitor_init(SstVisitor *visitor)
{
	sst_visitor_init(visitor, gist_page, SST_LINE_POINTER_PREFETCH,
					 SST_PART_LINE_POINTERS);
}
