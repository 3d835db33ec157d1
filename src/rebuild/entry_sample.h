/*-------------------------------------------------------------------------
 *
 * entry_sample.h
 *	  Some of the entries of each index page that is read
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/entry_sample.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ENTRY_SAMPLE_H
#define SST_ENTRY_SAMPLE_H

#include "rebuild/entries.h"

typedef struct SstSampledEntry
{
	BlockNumber blkno;			/* of the table */
	OffsetNumber offnum;
	uint32		page;			/* of the index: the order in which they came */
	float		bytes;			/* that it stands for */
	float		key_bytes;		/* of these, left as long as the key has
								 * others */
} SstSampledEntry;

typedef struct SstEntrySample
{
	SstTargetKind kind;
	bool		deduplicate;	/* a b-tree's build does */
	uint32		seed;
	int			page_stride;	/* of so many pages, one is looked at */
	int			most_of_page;	/* entries to keep of one */

	uint32		npages;			/* shown */
	int			nentries;
	int			maxentries;
	SstSampledEntry *entries;
	SstEntries	of_page;
} SstEntrySample;

extern SstEntrySample *sst_entry_sample_create(SstTargetKind kind,
											   bool deduplicate,
											   BlockNumber npages, uint32 seed);
extern void sst_entry_sample_add(SstEntrySample *sample, const PageData *page,
								 BlockNumber blkno, BlockNumber range_blocks);
extern void sst_entry_sample_free(SstEntrySample *sample);

#endif							/* SST_ENTRY_SAMPLE_H */
