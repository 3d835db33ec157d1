/*-------------------------------------------------------------------------
 *
 * line_pointers.h
 *	  One pass over the line pointers of an index page
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_LINE_POINTERS_H
#define SST_LINE_POINTERS_H

#include "compat/compat.h"

/*
 * How long the leaf tuples of a b-tree can be, as their line pointers give
 * it.  A tuple longer than max_plain is a posting list tuple, one shorter than
 * min_posting is not; in between only the tuple itself can tell.
 */
typedef struct SstTupleLengths
{
	uint16		max_plain;
	uint16		min_posting;
} SstTupleLengths;

/* What the line pointers of an index page say together */
typedef struct SstLinePointers
{
	int			nitems;
	int			ndead;			/* LP_DEAD */
	int			nlong;			/* longer than max_plain */
	int			nunclear;		/* from min_posting to max_plain */
	bool		alike;			/* known to have one length and one state */
	bool		outside;		/* one points outside the tuple space */
} SstLinePointers;

extern void (*sst_read_line_pointers) (const PageData *page, OffsetNumber first,
									   const SstTupleLengths *lengths,
									   SstLinePointers *result);

extern int	sst_sum_tuples(const PageData *page);

/* The most line pointers that a page has room for */
#define SST_MAX_ITEMS ((BLCKSZ - SizeOfPageHeaderData) / sizeof(ItemIdData))

/* Items of a page, or fewer where the array would leave the page */
static inline int
sst_page_items(const PageData *page)
{
	int			lower = Min(((const PageHeaderData *) page)->pd_lower, BLCKSZ);

	return lower <= SizeOfPageHeaderData ? 0 :
		(lower - SizeOfPageHeaderData) / sizeof(ItemIdData);
}

/* Does the line pointer, if the page has it, leave the tuple space? */
static inline bool
sst_item_is_outside(const PageData *page, OffsetNumber offnum)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	const ItemIdData *item = &header->pd_linp[offnum - 1];

	return offnum <= sst_page_items(page) &&
		(item->lp_off < header->pd_upper ||
		 item->lp_off + item->lp_len > header->pd_special);
}

/* Do all line pointers of a page point to tuples within it? */
static inline bool
sst_items_are_normal(const PageData *page)
{
	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= sst_page_items(page); offnum++)
	{
		if (!ItemIdIsNormal(PageGetItemId((Page) page, offnum)) ||
			sst_item_is_outside(page, offnum))
			return false;
	}
	return true;
}

/* Does a line pointer of a table's page that redirects refer to one with a tuple? */
static inline bool
sst_redirect_is_sound(const PageData *page, OffsetNumber offnum)
{
	const ItemIdData *items = ((const PageHeaderData *) page)->pd_linp;
	OffsetNumber target = ItemIdGetRedirect(&items[offnum - 1]);

	return target >= FirstOffsetNumber && target <= sst_page_items(page) &&
		ItemIdIsNormal(&items[target - 1]);
}

#endif							/* SST_LINE_POINTERS_H */
