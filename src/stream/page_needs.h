/*-------------------------------------------------------------------------
 *
 * page_needs.h
 *	  The parts of a relation's pages that must be read
 *
 * A visitor declares them, and a stream that copies pages skips the rest.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/page_needs.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PAGE_NEEDS_H
#define SST_PAGE_NEEDS_H

#include "storage/block.h"

/* What is looked at besides the header and the special space */
typedef enum SstPagePart
{
	SST_PART_NONE,
	SST_PART_LINE_POINTERS,		/* what ends at pd_lower */
	SST_PART_TUPLES_IF_CHANGED, /* all; line pointers of an all-visible page */
	SST_PART_ALL
} SstPagePart;

typedef struct SstPageNeeds
{
	SstPagePart part;
	BlockNumber stride;			/* of every so many'th block, 0 the first, all */
} SstPageNeeds;

/* All of block 0, where the metapage is, and a part of the others */
#define SST_NEEDS(part) ((SstPageNeeds) {(part), InvalidBlockNumber})

#endif							/* SST_PAGE_NEEDS_H */
