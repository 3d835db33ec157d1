/*-------------------------------------------------------------------------
 *
 * batches.h
 *	  How full the batches of a build leave the pages of a GIN entry tree
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/gin/batches.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_BATCHES_H
#define SST_GIN_BATCHES_H

#include "am/pause.h"
#include "storage/bufpage.h"

#include "am/gin/list.h"

/* A page with line pointers has this many bytes for them and tuples. */
#define SST_GIN_PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData - \
						   (int) MAXALIGN(sizeof(GinPageOpaqueData)))

/* What a tuple of the entry tree takes on a page */
#define SST_GIN_ITEM_BYTES(size) ((int) (MAXALIGN(size) + sizeof(ItemIdData)))

/* The most tuples that have room on a page */
#define SST_GIN_MAX_ITEMS \
	(SST_GIN_PAGE_ROOM / SST_GIN_ITEM_BYTES(sizeof(IndexTupleData) + 1))

/* Keys of some pages, with some of their TIDs */
typedef struct SstGinSample SstGinSample;

/* An index to build */
typedef struct SstGinBuild
{
	double		nkeys;			/* all of the sample's kind, in the index */
	double		ntrees;			/* posting trees of the index */
	double		tree_tids;		/* of each of these */
	double		difference;		/* bytes from one of these TIDs to the next */
	double		memory;			/* for all keys; INFINITY for no limit */
	SstPause   *pause;
} SstGinBuild;

/* What comes of it */
typedef struct SstGinBuilt
{
	int			nbatches;
	double		part;			/* of the memory, that the largest batch takes */
	double		pages;			/* leaf pages, of the sampled keys */
	double		scale;			/* keys in the index for each of these */
} SstGinBuilt;

extern SstGinSample *sst_gin_sample_create(void);
extern bool sst_gin_sample_page(SstGinSample *sample, uint32 hash,
								uint32 mask);
extern void sst_gin_sample_key(SstGinSample *sample, int key_size,
							   int datum_size, uint32 ntids);
extern void sst_gin_sample_list(SstGinSample *sample, SstGinList *list,
								uint32 ntids, uint32 bytes);
extern void sst_gin_sample_sort(SstGinSample *sample);
extern void sst_gin_build(const SstGinSample *sample, const SstGinBuild *build,
						  SstGinBuilt *built);

#endif							/* SST_GIN_BATCHES_H */
