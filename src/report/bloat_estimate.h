/*-------------------------------------------------------------------------
 *
 * bloat_estimate.h
 *	  Estimate of a relation's bloat from all or some of its blocks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BLOAT_ESTIMATE_H
#define SST_BLOAT_ESTIMATE_H

#include "run/limits.h"
#include "run/scan.h"

/* Which blocks to read, and what reading them took */
typedef struct SstSampling
{
	BlockNumber nblocks;		/* of each relation, at most */
	uint32		seed;
	bool		toast;			/* of a table, estimate what it needs of its
								 * TOAST table */
	SstLimits  *limits;			/* or NULL */
	SstIoStats *io_stats;		/* added to */
} SstSampling;

/*
 * What a table's rows need of its TOAST table.  Chunks are in units of
 * SST_TOAST_UNIT bytes.
 */
typedef struct SstToastNeeds
{
	SstEstimate blocks;			/* of the rebuilt TOAST table */
	SstEstimate blocks_per_chunk;	/* that the rows have now; NaN if none */
	double		chunks;
	double		nseen;			/* chunks of the rows that were read, about */
} SstToastNeeds;

/* What the chunks of a TOAST table say */
typedef struct SstToastChunks
{
	SstEstimate kept;			/* in the same units */
	SstEstimate blocks;			/* after a rebuild, if all of these are needed */
} SstToastChunks;

/* Of a table that has a TOAST table the one, of a TOAST table the other */
typedef union SstToastPart
{
	SstToastNeeds needs;
	SstToastChunks chunks;
} SstToastPart;

/* NaN stands for what is not known. */
typedef struct SstBloatEstimate
{
	uint64		nblocks;		/* of the relation, when it was read */
	uint64		nread;			/* of these, read */
	bool		exact;			/* all of them were */

	/*
	 * Of a table: the new pages at its end that a bulk insert has left for
	 * the next rows, if all was read and VACUUM is not to give them back; and
	 * the part of its pages that are not all-visible, which VACUUM reads
	 */
	uint8		nextended;

	/*
	 * Of a table: the percentage of its dead rows that were deleted, not
	 * updated; 50 if that is not known
	 */
	uint8		deleted_percent;

	/*
	 * Of a hash index: the server is known to believe its table to have more
	 * rows than there are, so that ANALYZE is to come first.
	 */
	bool		analyze_first;

	float		changed_part;

	/* Percent of the relation's bytes */
	SstEstimate free_percent;
	SstEstimate dead_percent;

	/*
	 * Blocks after a rebuild.  Where the value is known, so are both ends,
	 * but the upper one can be infinite.
	 */
	SstEstimate rebuilt_blocks;

	/*
	 * Of a hash index: if the server knew the number of rows, a rebuild would
	 * give as many blocks as that, because it now believes the table to have
	 * more, or because many rows have no entry; else NaN.
	 */
	float		analyzed_blocks;
	float		passed_pages;	/* by the build of a hash index, besides the
								 * page that an entry goes to */

	/*
	 * Of a table: line pointers that indexes can point to, and the percentage
	 * of these that an index build finds a row behind.  Of an index: the TIDs
	 * that a build has, and the percentage of its entries that it makes, by
	 * what its table keeps.
	 */
	SstEstimate indexed_items;
	SstEstimate kept_percent;

	/*
	 * Of a table: blocks at its end that VACUUM gives back at most, 0 if
	 * there are few
	 */
	BlockNumber ntruncated;

	/* Of a table with a TOAST table and of that, if it was read; else NULL */
	SstToastPart *toast;

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
} SstBloatEstimate;

/* Blocks by which bulk inserts extend a table at most (MAX_BUFFERS_TO_EXTEND_BY) */
#define SST_MAX_EXTENSION 64

/* in bloat.c */
extern void sst_bloat_estimate_init(SstBloatEstimate *estimate, uint64 nblocks);
extern SstEstimate sst_truncated_bytes(const SstBloatEstimate *estimate);
extern const char *sst_bloat_note(const SstBloatEstimate *estimate);
extern SstEstimate sst_reclaimable_bytes(const SstBloatEstimate *estimate);
extern bool sst_estimate_bloat(const SstTarget *target,
							   const SstBloatEstimate *table,
							   SstSampling *sampling,
							   SstBloatEstimate *estimate);

/* in toast_estimate.c */
extern void sst_round_blocks(SstEstimate *rebuilt, int least);
extern void sst_try_toast_compression(const SstTarget *table,
									  SstSampling *sampling,
									  SstRebuild *rebuild);
extern void sst_estimate_toast(const SstTarget *target,
							   const SstPageSample *sample,
							   bool with_needs,
							   SstBloatEstimate *estimate);
extern bool sst_apply_toast_needs(const SstBloatEstimate *table,
								  SstBloatEstimate *toast);
extern bool sst_toast_needs_rows(const SstBloatEstimate *table,
								 const SstBloatEstimate *toast);

#endif							/* SST_BLOAT_ESTIMATE_H */
