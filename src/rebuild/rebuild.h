/*-------------------------------------------------------------------------
 *
 * rebuild.h
 *	  What the contents of a page would take in a relation built anew
 *
 * Pages are shown to it after the visitor has found them sound.  It goes
 * through the items as the server would when it builds the relation (REINDEX,
 * VACUUM FULL), fills pages of no substance with them, and counts the space that
 * takes: SST_REBUILT_... counters.  These add up over pages like all others, so
 * that a sample of pages does.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/rebuild.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REBUILD_H
#define SST_REBUILD_H

#include <math.h>

#include "access/htup_details.h"

#include "rebuild/dead_tids.h"
#include "rebuild/entry_sample.h"
#include "stats/counters.h"
#include "relation/target.h"
#include "visit/visit.h"

typedef struct SstRebuild SstRebuild;

/* The leaf page of a new b-tree that is being filled, and those before it */
typedef struct SstBtreeFill
{
	uint64		npages;			/* that are full */
	int			free;			/* bytes between line pointers and tuples */
	int			nitems;
	int			last_size;		/* of the last item */
	int			last_posting;	/* of this, its posting list */
} SstBtreeFill;

typedef struct SstBtreeRebuild
{
	bool		deduplicate;
	int			target_free;	/* by the fillfactor */
	SstBtreeFill fill;
	uint64		bytes;			/* counted so far */

	/* What is yet to be added: TIDs of a key that may go on */
	int			ntids;
	int			size;			/* without a posting list */
	uint16		flags;
	char		tuple[BLCKSZ];	/* one with that key, between pages */
} SstBtreeRebuild;

typedef struct SstHashRebuild
{
	int			fill;			/* entries a bucket should have */
} SstHashRebuild;

typedef struct SstBrinRebuild
{
	BlockNumber pages_per_range;
} SstBrinRebuild;

/* The new page of a table that is being filled, and what it took so far */
typedef struct SstHeapRewrite
{
	int			free;			/* bytes for tuples and line pointers */
	uint64		bytes;
} SstHeapRewrite;

typedef struct SstHeapRebuild
{
	TupleDesc	tupdesc;
	bool		reforms;		/* tuples lose the columns that were dropped */
	int			reserve;		/* bytes to leave free on each page */
	SstHeapRewrite rewrite;
} SstHeapRebuild;

/* Tuples of a page of a new GIN entry tree, at least 16 bytes and a line pointer */
#define SST_MAX_GIN_ENTRIES (BLCKSZ / 20)

/* The last leaf page of a new GIN entry tree, and those before it */
typedef struct SstGinRebuild
{
	uint64		npages;
	uint64		bytes;			/* of tuples on these */
	int			nitems;
	int			used;
	uint16		sizes[SST_MAX_GIN_ENTRIES];

	/* How much memory the build will take for what it has not yet written */
	BlockNumber nblocks;		/* of the index */
	uint64		nseen;			/* pages of these */
	double		memory;			/* for the items of these */
	bool		batches;		/* it is more than there is */
} SstGinRebuild;

typedef struct SstGistRebuild
{
	uint64		npoints;
	uint64		naligned;		/* with the point before, on a grid or line */
	bool		lines;			/* many are */
} SstGistRebuild;

/*
 * Add what a page's contents would take.  The page is sound by the rules of the
 * kind's own visitor; nothing else is known of what tuples contain.  Of a table's
 * page, "kept" has the tuples that are rewritten; indexes ignore it.
 */
typedef void (*SstRebuildPage) (SstRebuild *rebuild, const PageData *page,
								BlockNumber blkno, const SstKeptItems *kept,
								SstCounters *counters);

/*
 * Blocks of the new relation, from the counts of all pages of the old one, which
 * may be estimates.  NaN if the counts do not say enough.
 *
 * "whole" asks for whole blocks, as the relation will have them.  Otherwise the
 * result has fractions and is as smooth a function of the counts as the model
 * allows: the width of an interval follows from its derivatives.
 */
typedef double (*SstRebuildBlocks) (const SstRebuild *rebuild,
									const double *counts,
									const SstMeta *meta, bool whole);

/*
 * Change the counts to what they would be if only this fraction (0 to 1) of the
 * entries were there.
 */
typedef void (*SstRebuildScale) (const SstRebuild *rebuild, double *counts,
								 double fraction);

struct SstRebuild
{
	SstTargetKind kind;

	/* The size of the new relation cannot be predicted; the note says why. */
	bool		unpredictable;

	/* For people, not translated: what the prediction leaves out; or NULL */
	const char *note;

	/* The model; the first two are NULL for a kind that has none. */
	SstRebuildPage page;
	SstRebuildBlocks blocks;

	/* NULL where the new size is proportional to the number of entries */
	SstRebuildScale scale_entries;

	/*
	 * By which fraction of its result blocks() can be wrong when all pages
	 * were seen
	 */
	double		uncertainty;

	/* Entries of an index that its build would leave out; or NULL */
	const SstDeadTids *dead_tids;

	/* Takes some entries of each page, to look them up afterwards; or NULL */
	SstEntrySample *entries;

	/* Of a hash or BRIN index's table, as the server estimates it */
	BlockNumber table_blocks;
	double		table_tuples;
	int			fillfactor;

	union
	{
		SstBtreeRebuild btree;
		SstHashRebuild hash;
		SstBrinRebuild brin;
		SstHeapRebuild heap;
		SstGinRebuild gin;
		SstGistRebuild gist;
	}			u;
};

/* Would a build leave an index's entry with this TID out? */
static inline bool
sst_rebuild_leaves_out(const SstRebuild *rebuild, const ItemPointerData *tid)
{
	return rebuild->dead_tids != NULL &&
		sst_dead_tids_contain(rebuild->dead_tids,
							  ItemPointerGetBlockNumberNoCheck(tid),
							  ItemPointerGetOffsetNumberNoCheck(tid));
}

/* Round up to whole blocks, if that is asked for. */
static inline double
sst_round_up(double nblocks, bool whole)
{
	return whole ? ceil(nblocks) : nblocks;
}

extern void sst_rebuild_init(SstRebuild *rebuild, const SstTarget *target);

extern void sst_rebuild_btree_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_hash_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_brin_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_heap_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_gin_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_gist_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_spgist_init(SstRebuild *rebuild, Relation rel);

/* Set the model of a kind of relation; the other fields stay as they are. */
static inline void
sst_rebuild_set_model(SstRebuild *rebuild, SstRebuildPage page,
					  SstRebuildBlocks blocks, SstRebuildScale scale_entries,
					  double uncertainty)
{
	rebuild->page = page;
	rebuild->blocks = blocks;
	rebuild->scale_entries = scale_entries;
	rebuild->uncertainty = uncertainty;
}

#endif							/* SST_REBUILD_H */
