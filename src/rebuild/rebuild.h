/*-------------------------------------------------------------------------
 *
 * rebuild.h
 *	  The space of a page's contents in a rebuilt relation
 *
 * It receives pages after their visitor has accepted them.  It processes the
 * items as the server does when it rebuilds the relation (REINDEX, VACUUM
 * FULL), fills imaginary pages with them, and counts their space in
 * SST_REBUILT_... counters.  These add up over pages like all others, so that
 * a sample of pages is enough.
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
#include "rebuild/toaster.h"
#include "stats/counters.h"
#include "relation/target.h"
#include "visit/visit.h"

typedef struct SstRebuild SstRebuild;

/* The page of an internal level that is being filled, and those before it */
typedef struct SstBtreeLevel
{
	uint64		npages;			/* that are full */
	int			free;
	int			nitems;
	int			last_size;
} SstBtreeLevel;

/* As many levels as an index of BlockNumbers has that has two pivots a page */
#define SST_BTREE_LEVELS 32

/* The leaf page of a new b-tree that is being filled, and those before it */
typedef struct SstBtreeFill
{
	bool		deduplicate;
	int			target_free;	/* by the fillfactor */

	uint64		npages;			/* that are full */
	int			free;			/* bytes between line pointers and tuples */
	int			nitems;
	int			last_size;		/* of the last item */
	int			last_posting;	/* of this, its posting list */
	bool		last_repeats;	/* the key of the item before it */

	/* All items: their number, the sum of their sizes, and of their squares */
	double		added;
	double		added_bytes;
	double		added_squares;

	/*
	 * Pivots, the keys that pages begin with, for the level above.  They have
	 * a TID as well if the page before has items with the same key.
	 */
	double		pivot_bytes;
	double		pivot_squares;
	double		repeating;
	double		repeating_bytes;
	SstBtreeLevel levels[SST_BTREE_LEVELS];
} SstBtreeFill;

/* Pieces of a run of equal keys, of which others may be on other pages */
typedef struct SstBtreeRun
{
	uint32		hash;			/* of the key */
	uint32		ntids;			/* 0 if there is no run */
	uint16		size;			/* of a tuple without a posting list */
	bool		began;			/* its first piece is there */
	bool		ended;			/* its last piece is there */
} SstBtreeRun;

/* Such runs are kept in sets by the hash of their keys. */
#define SST_BTREE_SET_RUNS 8
#define SST_BTREE_RUNS (512 * SST_BTREE_SET_RUNS)

/* All items of an index, in the order of their keys */
typedef struct SstBtreeOrder SstBtreeOrder;

typedef struct SstBtreeRebuild
{
	TupleDesc	tupdesc;
	int			nkeys;			/* of its columns; others are INCLUDE columns */
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */
	SstBtreeFill fill;
	uint64		npivots;		/* between neighbours, by weight: see btree.c */
	uint64		pivot_bytes;	/* their sizes */
	double		pivot_squares;
	SstBtreeOrder *order;		/* or NULL */
	uint64		nruns;			/* of equal keys on the pages seen, at least */
	uint64		ntids;			/* of these runs */
	bool		is_sample;		/* pages are left out */
	uint64		bytes;			/* counted so far */
	uint64		loose_bytes;	/* of these, what ends of runs may not take */

	/* The leaf page seen last, and the key that goes on behind it, or 0 */
	BlockNumber last_leaf;
	uint64		last_key;

	double		spliced_bytes;	/* of runs whose last piece is yet to come */
	SstBtreeRun runs[SST_BTREE_RUNS];
} SstBtreeRebuild;

typedef struct SstHashRebuild
{
	int			fill;			/* entries a bucket should have */
	BlockNumber nblocks;		/* of the index */
	BlockNumber nseen;			/* pages of these */

	/* Entries by the last bits of their hash codes, and room for a copy */
	uint32		nslots;
	uint32	   *slots;			/* or NULL */
	double		nentries;
} SstHashRebuild;

typedef struct SstHeapRebuild
{
	TupleDesc	tupdesc;
	bool		reforms;		/* columns were dropped, or stored as PLAIN */
	int			reserve;		/* bytes to leave free on each page */
	SstHeapFill fill;			/* the new table */
	BlockNumber nblocks;		/* of the old table */
	BlockNumber nseen;			/* pages of these */
	uint64		need;			/* of its tuples, with their line pointers */
	double		last_page;		/* of a sample, a factor for its waste; or 0 */
	SstToaster	toaster;
} SstHeapRebuild;

typedef struct SstGinRebuild
{
	struct SstGinModel *model;	/* see gin_model.h */
	bool		in_parallel;	/* workers will build the new index */
} SstGinRebuild;

/* How a build of a GiST or SP-GiST index fills pages: it sorts, or inserts */
typedef enum SstTreeWay
{
	SST_TREE_SORTED,
	SST_TREE_BUFFERED,
	SST_TREE_INSERTED,
	SST_TREE_SPGIST
} SstTreeWay;

/* Classes of leaf pages by how full they are */
#define SST_TREE_FILLS 32

typedef struct SstTreeRebuild
{
	SstTreeWay	way;
	int			room;			/* of a page, bytes */
	double		full;			/* of that, a build fills so much before it
								 * splits a page */

	/* The present leaf pages, and those as full as a build has left them */
	uint32		nleaves;
	uint32		nbuilt;
	uint32		leaves[SST_TREE_FILLS];

	/* Entries beside each other, and those whose rows are so, too */
	uint64		npairs;
	uint64		nnear;
	BlockNumber last_block;		/* of the table, with a row */
} SstTreeRebuild;

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

/*
 * The scan is over, and was complete: what has to be known of all pages together
 * before blocks() is asked.  "all" if these were all pages of the relation.
 */
typedef void (*SstRebuildFinish) (SstRebuild *rebuild, bool all);

/* The fewest and the most blocks that these counts can mean, where blocks() knows */
typedef void (*SstRebuildEnds) (const SstRebuild *rebuild,
								const double *counts, const SstMeta *meta,
								double *low, double *high);

/* Free the memory that the model has, also after a scan that was not complete. */
typedef void (*SstRebuildFree) (SstRebuild *rebuild);

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

	/* NULL for a kind that does not need it */
	SstRebuildFinish finish;
	SstRebuildEnds ends;
	SstRebuildFree free;

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

	/* Of a hash index's table, as the server estimates it */
	BlockNumber table_blocks;
	double		table_tuples;
	double		entry_fraction; /* of these, have an entry; or NaN */
	int			fillfactor;

	union
	{
		SstBtreeRebuild btree;
		SstHashRebuild hash;
		SstHeapRebuild heap;
		SstGinRebuild gin;
		SstTreeRebuild tree;
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

/* Round up to whole blocks, if requested. */
static inline double
sst_round_up(double nblocks, bool whole)
{
	return whole ? ceil(nblocks) : nblocks;
}

/* Between the last page and the first blocks() */
static inline void
sst_rebuild_finish(SstRebuild *rebuild, bool all)
{
	if (rebuild->finish != NULL)
		rebuild->finish(rebuild, all);
}

static inline void
sst_rebuild_free(SstRebuild *rebuild)
{
	if (rebuild->free != NULL)
		rebuild->free(rebuild);
}

extern void sst_rebuild_init(SstRebuild *rebuild, const SstTarget *target);

extern double sst_try_compression(const char *data, int32 nbytes, char method);

extern void sst_rebuild_btree_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_hash_init(SstRebuild *rebuild, Relation rel);
extern double sst_hash_blocks_if_analyzed(const SstRebuild *rebuild,
										  const double *counts);
extern void sst_rebuild_heap_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_gin_init(SstRebuild *rebuild, Relation rel);
extern void sst_rebuild_tree_init(SstRebuild *rebuild, Relation rel);

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
