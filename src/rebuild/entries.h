/*-------------------------------------------------------------------------
 *
 * entries.h
 *	  The entries of an index page: TIDs and sizes
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/entries.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ENTRIES_H
#define SST_ENTRIES_H

#include "compat/compat.h"
#include "relation/kind.h"
#include "storage/itemptr.h"

typedef struct SstEntry
{
	ItemPointerData tid;
	float		bytes;			/* its part of what its key takes when built */
	float		key_bytes;		/* of these, left as long as the key has
								 * others */
} SstEntry;

/* A page has fewer: a TID takes a byte at least. */
#define SST_MAX_ENTRIES BLCKSZ

/* The entries of one page */
typedef struct SstEntries
{
	int			n;
	SstEntry	entry[SST_MAX_ENTRIES];
} SstEntries;

extern void sst_list_entries(SstTargetKind kind, bool deduplicate,
							 const PageData *page, BlockNumber blkno,
							 SstEntries *entries);

#endif							/* SST_ENTRIES_H */
