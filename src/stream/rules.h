/*-------------------------------------------------------------------------
 *
 * rules.h
 *	  The rules for relations and pages, tolerant or contrib's, and the parts of pages
 *	  that must be read
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RULES_H
#define SST_RULES_H

#include "storage/block.h"

typedef enum SstRules
{
	SST_RULES_TOLERANT,			/* ours: damage is counted, and an error about
								 * a relation hints at the function for it */
	SST_RULES_CONTRIB			/* those of contrib's functions: a scan stops
								 * at the first page that makes no sense, and
								 * errors of the buffer manager pass through;
								 * errors have contrib's words and no more */
} SstRules;

/* What is looked at besides the header and the special space */
typedef enum SstPagePart
{
	SST_PART_NONE,
	SST_PART_LINE_POINTERS,		/* what ends at pd_lower */
	SST_PART_TUPLES_IF_CHANGED, /* all; line pointers of an all-visible page */
	SST_PART_ALL
} SstPagePart;

/*
 * The parts of a relation's pages that must be read.  A visitor declares them, and a
 * stream that copies pages skips the rest.
 */
typedef struct SstPageNeeds
{
	SstPagePart part;
	BlockNumber stride;			/* of every so many'th block, 0 the first, all */
} SstPageNeeds;

/* All of block 0, where the metapage is, and a part of the others */
#define SST_NEEDS(part) ((SstPageNeeds) {(part), InvalidBlockNumber})

#endif							/* SST_RULES_H */
