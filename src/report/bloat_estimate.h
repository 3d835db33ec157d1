/*-------------------------------------------------------------------------
 *
 * bloat_estimate.h
 *	  Estimate of a relation's bloat from all or some of its blocks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/bloat_estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOAT_ESTIMATE_H
#define SST_BLOAT_ESTIMATE_H

#include "run/limits.h"
#include "run/plan.h"

/* Which blocks to read, and what reading them took */
typedef struct SstSampling
{
	BlockNumber nblocks;		/* of each relation, at most */
	uint32		seed;
	SstLimits  *limits;			/* or NULL */
	SstIoStats *io_stats;		/* added to */
} SstSampling;

/* NaN stands for what is not known. */
typedef struct SstBloatEstimate
{
	uint64		nblocks;		/* of the relation, when it was read */
	uint64		nread;			/* of these, read */
	bool		exact;			/* all of them were */

	/* Percent of the relation's bytes */
	SstEstimate free_percent;
	SstEstimate dead_percent;

	/*
	 * Blocks after a rebuild.  Where the value is known, so are both ends,
	 * but the upper one can be infinite.
	 */
	SstEstimate rebuilt_blocks;

	/*
	 * Of a table: line pointers that indexes can point to, and the percentage
	 * of these that an index build finds a row behind.  Of an index: the
	 * percentage of its entries that a build makes, by what its table keeps.
	 */
	double		indexed_items;
	SstEstimate kept_percent;

	/* Corrupt pages among those read, and the first of them */
	BlockNumber ncorrupt;
	BlockNumber first_corrupt;

	/*
	 * For people, not translated: what the prediction leaves out, or why
	 * there is none; or NULL.  sst_bloat_note() has all that is to be said.
	 */
	const char *note;

	/*
	 * Of a table: dead rows that VACUUM must keep for other transactions, in
	 * percent of the table's bytes, and the mean length of a row, 0 if there
	 * are none
	 */
	float		recently_dead_percent;
	float		row_bytes;

	/*
	 * Of a hash index: the number of rows by which REINDEX would size it is
	 * not up to date.
	 */
	bool		analyze_first;
} SstBloatEstimate;

/* An index's table, which tells how many of the index's entries are needed */
typedef struct SstIndexTable
{
	Oid			relid;			/* locked by the caller */
	const SstBloatEstimate *estimate;	/* or NULL: read a sample of it */
} SstIndexTable;

extern void sst_bloat_estimate_init(SstBloatEstimate *estimate, uint64 nblocks);
extern void sst_estimate_kept_items(const SstPageSample *sample,
									SstBloatEstimate *estimate);

extern const char *sst_bloat_note(const SstBloatEstimate *estimate);
extern SstEstimate sst_reclaimable_bytes(const SstBloatEstimate *estimate);

#endif							/* SST_BLOAT_ESTIMATE_H */
