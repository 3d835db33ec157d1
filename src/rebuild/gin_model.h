/*-------------------------------------------------------------------------
 *
 * gin_model.h
 *	  What the pages of a GIN index contain, for the model of its build
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gin_model.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIN_MODEL_H
#define SST_GIN_MODEL_H

#include "rebuild/gin_build.h"
#include "rebuild/gin_keys.h"
#include "rebuild/gin_posting.h"

/* What is likely, and what is possible */
typedef enum SstGinCase
{
	SST_GIN_LIKELY,
	SST_GIN_LEAST,
	SST_GIN_MOST
} SstGinCase;

#define SST_GIN_CASES 3

/* How large a new index is for what the old one has */
typedef struct SstGinSize
{
	double		indexed;		/* bytes of entries for such bytes */
	double		pending;		/* and for bytes of pending tuples */
	double		pending_pages;	/* of posting trees, for these bytes */

	/* Of all keys: bytes of entries, and pages on all levels */
	double		bytes;
	double		pages;

	/* Of some keys: bytes on a leaf page and on the last one; on inner pages */
	double		fill;
	double		last_bytes;
	double		inner_fill;
} SstGinSize;

/* What the keys say that are kept */
typedef struct SstGinKeyCounts
{
	double		item_bytes;		/* in the entry tree */
	double		item_keys;
	double		pending_bytes;
	double		npending;
	double		nfound;			/* of these, with keys in the entry tree */
	double		nfound_trees;	/* of these, with posting trees */
	double		new_keys;		/* of the others */
	double		single_keys;	/* of these, with one tuple */
} SstGinKeyCounts;

typedef struct SstGinModel
{
	MemoryContext context;
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */
	BlockNumber last_block;		/* of the table that TIDs point to */
	uint64		entry_leaves;	/* pages of the entry tree */
	uint64		posting_leaves; /* pages of posting trees */
	uint64		posting_tids;	/* on these */
	uint64		posting_differences;	/* and bytes of differences */
	uint64		last_leaves;	/* of these, the last of their tree */
	uint64		last_tids;
	uint64		roots;			/* of trees with inner pages */
	uint64		posting_bytes;	/* SST_REBUILT_TREE_BYTES of the pages seen */
	SstGinKeys	keys;
	SstGinTrees trees;

	/* After the last page */
	bool		all_keys;		/* all pages and keys are known */
	double		pages_seen;		/* fraction */
	double		posting_pages;	/* for posting_bytes, or NaN */
	double		deep_pages;		/* for each byte of trees with inner pages, or
								 * NaN */
	SstGinSize	sizes[SST_GIN_CASES];
} SstGinModel;

extern void sst_gin_count_keys(const SstGinKeys *keys, SstGinKeyCounts *counts);
extern void sst_gin_expect_pending(const SstGinModel *model,
								   const SstGinKeyCounts *counts,
								   double grown_bytes, SstGinCase which,
								   SstGinSize *size);
extern double sst_gin_pending_part(const SstGinKeyCounts *counts,
								   const SstGinSize *size);

extern void sst_gin_finish(SstRebuild *rebuild, bool exact);
extern double sst_gin_blocks(const SstRebuild *rebuild, const double *counts,
							 const SstMeta *meta, bool whole);
extern void sst_gin_ends(const SstRebuild *rebuild, const double *counts,
						 const SstMeta *meta, double *low, double *high);

#endif							/* SST_GIN_MODEL_H */
