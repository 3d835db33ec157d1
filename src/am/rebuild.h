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
 *-------------------------------------------------------------------------
 */
#ifndef SST_REBUILD_H
#define SST_REBUILD_H

#include <math.h>

#include "port/pg_bitutils.h"

#include "am/am.h"
#include "stats/counters.h"
#include "stats/estimate.h"

/* What code that takes CPU for long does now and then; run/limits.c has it. */
typedef struct SstPause
{
	bool		(*go_on) (void *limits);
	void	   *limits;			/* of the call, or NULL */
} SstPause;

/*
 * To be called every few milliseconds of CPU, while no lock on a page is held: accepts
 * interrupts, and yields to sessions that wait.  False if the call's time is over: then the
 * result will not be used, and the caller is to end soon.
 */
static inline bool
sst_go_on(SstPause *pause)
{
	return pause == NULL || pause->go_on(pause->limits);
}

typedef struct SstRebuild SstRebuild;

/* Blocks are the same to the filter if their numbers differ by a multiple of this. */
#define SST_FILTER_BITS 65536

/*
 * Rows of a table that an index build skips, by the TIDs that indexes have for them.  The filter has
 * a bit for each block with such a row: most entries of most indexes are of others.
 */
typedef struct SstDeadTids
{
	struct block_tids_hash *blocks;
	uint64		ntids;
	uint64		filter[SST_FILTER_BITS / 64];
} SstDeadTids;

extern SstDeadTids *sst_dead_tids_create(const SstRebuild *rebuild, BlockNumber nblocks);
extern void sst_dead_tids_add(SstDeadTids *set, BlockNumber blkno,
							  OffsetNumber offnum);
extern bool sst_dead_tids_look_up(const SstDeadTids *set, BlockNumber blkno,
								  OffsetNumber offnum);

/* Is it in the set?  The TID can be anything, from a damaged page as well. */
static inline bool
sst_dead_tids_contain(const SstDeadTids *set, BlockNumber blkno, OffsetNumber offnum)
{
	return (set->filter[blkno % SST_FILTER_BITS / 64] >> blkno % 64 & 1) != 0 &&
		sst_dead_tids_look_up(set, blkno, offnum);
}

/* Will workers build an index, if its access method can? */
typedef enum SstParallelBuild
{
	SST_PARALLEL_NO,
	SST_PARALLEL_PERHAPS,		/* if its expressions are parallel safe */
	SST_PARALLEL_YES
} SstParallelBuild;

/* What is known of an index's table, which the models of some access methods need */
typedef struct SstTableFacts
{
	double		ntuples;		/* as the server estimates it ... */
	bool		counted;		/* ... by rows that were counted before */
	SstParallelBuild parallel;
} SstTableFacts;

/*
 * How to predict the size of relations of one kind.  Each model has a state of its own,
 * which begins with an SstRebuild.
 */
typedef struct SstModel
{
	/*
	 * Make the state, in the current memory context.  NULL if that needs
	 * facts about the index's table, which is locked.
	 */
	SstRebuild *(*begin) (Relation rel);

	/*
	 * Add what a page's contents would take.  The page is sound by the rules
	 * of the kind's own visitor; nothing else is known of what tuples
	 * contain.  Its buffer may be share-locked, so this neither sleeps nor
	 * pauses.  Of a table's page, "kept" has the tuples that are rewritten;
	 * indexes ignore it.
	 */
	void		(*page) (SstRebuild *rebuild, const PageData *page,
						 BlockNumber blkno, const SstItemList *kept,
						 SstCounters *counters);

	/*
	 * Predict the size from the pages that were shown, once.  "kept" is the
	 * fraction of the entries of an index that a build makes, of those that
	 * the model has not left out.  NaN stands for what is not known.
	 */
	void		(*predict) (SstRebuild *rebuild, const SstPageSample *sample,
							const SstEstimate *kept, SstEstimate *blocks);

	/*
	 * Blocks of the new relation, from the counts of all pages of the old
	 * one, which may be estimates.  NaN if the counts do not say enough.
	 *
	 * "whole" asks for whole blocks, as the relation will have them.
	 * Otherwise the result has fractions and is as smooth a function of the
	 * counts as the model allows: the width of an interval follows from its
	 * derivatives.
	 */
	double		(*blocks) (const SstRebuild *rebuild, const double *counts,
						   bool whole);

	/*
	 * Change the counts to what they would be if only this fraction (0 to 1)
	 * of the entries were there.  NULL stands for one that changes
	 * SST_REBUILT_ENTRIES, SST_REBUILT_BYTES and what only the access method
	 * counts.
	 */
	void		(*scale) (const SstRebuild *rebuild, double *counts, double fraction);
} SstModel;

/* What the states of all models begin with */
struct SstRebuild
{
	const SstModel *model;
	MemoryContext context;		/* of the state */

	/* For people, not translated: what the prediction leaves out; or NULL */
	const char *note;

	/* Entries of an index that its build would leave out; or NULL */
	const SstDeadTids *dead_tids;

	double		deleted_part;	/* of other dead rows; the rest was updated */

	SstPause   *pause;			/* for predict(), and pages that take long */
	bool		slow_pages;		/* page() can take milliseconds: from the
								 * start, or after a page that has shown it */
	const char *ahead;			/* a page that comes soon, for a CPU prefetch;
								 * or NULL */

	/* Found by predict(), besides */
	bool		certain;		/* the ends are, to the block */
	double		passed_pages;	/* by a build of a hash index that looks for
								 * room */
	double		analyzed_blocks;	/* of a hash index, if the rows that the
									 * table has are those that have entries,
									 * and this makes a difference; or NaN */
	bool		analyze_first;	/* ANALYZE will tell so */
};

/*
 * Rows or pages that are not looked at are taken to be like others that were.  The next one that
 * is looked at was off by some error: add the variance of the sum of the n before it, whose errors
 * may have grown to that.
 */
static inline void
sst_add_doubt(double *variance, double error, double n)
{
	*variance += error * error * n * (n + 1) / 2;
}

/* By which part can a sum be wrong that has this variance? */
static inline double
sst_doubt_part(double variance, double sum)
{
	return variance > 0 ? SST_Z * sqrt(variance) / Max(sum, 1) : 0;
}

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

/*
 * The first option, a number, of an index of an extension's access method.  That is known by its
 * names only, so that options can hold anything: outside these limits, it is the default.
 */
static inline int
sst_extension_option(Relation rel, int least, int most, int otherwise)
{
	int32		option;

	if (rel->rd_options == NULL || VARSIZE(rel->rd_options) < VARHDRSZ + sizeof(option))
		return otherwise;
	memcpy(&option, VARDATA(rel->rd_options), sizeof(option));
	return option >= least && option <= most ? option : otherwise;
}

/* in rebuild.c */
extern SstRebuild *sst_rebuild_begin(const SstAccessMethod *am,
									 Relation rel, SstPause *pause,
									 const char **note);
extern void sst_rebuild_end(SstRebuild *rebuild);
extern bool sst_get_table_facts(Relation index, SstTableFacts *facts);
extern bool sst_may_have_build_workers(double nblocks);
extern double sst_entry_fraction(Relation index, double without);

/* in am/heap/model.c */
extern bool sst_heap_tries_compression(const SstRebuild *rebuild);
extern void sst_heap_leave_out_toast(SstRebuild *rebuild);
extern void sst_heap_try_compression(SstRebuild *rebuild, SstRebuild *toast);

/* in prediction.c */
extern SstEstimate sst_predict_blocks(const SstRebuild *rebuild,
									  const SstPageSample *sample);
extern void sst_widen(SstEstimate *estimate, double below, double above);
extern void sst_leave_out(const SstRebuild *rebuild, const SstPageSample *sample,
						  const SstEstimate *kept, double uncertainty,
						  SstEstimate *result);
extern double sst_most_unlike(double fraction, double n, double sum,
							  double squares);

/* ----------
 * Keys of an index by the number of their TIDs
 *
 * When some TIDs are left out, whichever they are, a key with few of them is more likely to
 * vanish than one with many.
 * ----------
 */

#define SST_KEY_CLASSES 16

/* By powers of two: the keys with so many TIDs, and their TIDs */
typedef struct SstKeys
{
	uint64		nkeys[SST_KEY_CLASSES];
	uint64		ntids[SST_KEY_CLASSES];
} SstKeys;

/* Add so many keys with so many TIDs each. */
static inline void
sst_keys_add(SstKeys *keys, uint32 nkeys, uint32 ntids)
{
	int			i = Min(pg_leftmost_one_pos32(Max(ntids, 1)), SST_KEY_CLASSES - 1);

	keys->nkeys[i] += nkeys;
	keys->ntids[i] += (uint64) nkeys * ntids;
}

/* The part of the keys of which a TID is left if this fraction of the TIDs is */
static inline double
sst_keys_left(const SstKeys *keys, double fraction)
{
	double		sum = 0;
	double		left = 0;

	for (int i = 0; i < SST_KEY_CLASSES; i++)
	{
		if (keys->nkeys[i] == 0)
			continue;
		sum += keys->nkeys[i];
		left += keys->nkeys[i] *
			(1 - pow(1 - fraction, (double) keys->ntids[i] / keys->nkeys[i]));
	}
	return sum > 0 ? left / sum : fraction;
}

#endif							/* SST_REBUILD_H */
