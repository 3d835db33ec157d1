/*-------------------------------------------------------------------------
 *
 * gin_build.h
 *	  A model of a GIN index build, from keys and TIDs
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_build.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_BUILD_H
#define SST_GIN_BUILD_H

#include "rebuild/gin_keys.h"
#include "rebuild/gin_posting.h"

/* What a build begins with */
typedef struct SstGinSource
{
	const SstGinKeys *keys;
	SstGinTrees *trees;			/* NULL if not all of them are known */
	double		fraction;		/* of the index's keys that there are */
	double		tree_tids;		/* in all posting trees of the index */
	BlockNumber nblocks;		/* of the table, as far as there are TIDs */
	double		memory;			/* for all keys; INFINITY for no limit */
} SstGinSource;

/* Its end, among the present keys */
typedef struct SstGinBuilt
{
	uint32		nbatches;
	double		memory;			/* that the largest batch took */
	double		pages;			/* of the entry tree */
	double		leaf_pages;
	double		last_bytes;		/* on the last of these */
	double		bytes;			/* on all of these */
	double		indexed_bytes;	/* of keys that were in the entry tree */
	double		posting_pages;	/* for lists that became too long */
} SstGinBuilt;

extern bool sst_gin_build(const SstGinSource *source, SstGinBuilt *built);

#endif							/* SST_GIN_BUILD_H */
