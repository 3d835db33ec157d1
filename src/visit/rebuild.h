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
 *	  src/visit/rebuild.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REBUILD_H
#define SST_REBUILD_H

#include "stats/counters.h"
#include "target/target.h"
#include "visit/visit.h"

typedef struct SstRebuild SstRebuild;

struct SstRebuild
{
	SstTargetKind kind;

	/* Why it cannot be told how large the new relation is, or NULL */
	const char *obstacle;

	/*
	 * Add what a page's contents would take.  The page is sound by the rules
	 * of the kind's own visitor; nothing else is known of what tuples
	 * contain.
	 */
	void		(*page) (SstRebuild *rebuild, const PageData *page,
						 BlockNumber blkno, SstCounters *counters);

	/*
	 * Blocks of the new relation, from the counts of all pages of the old
	 * one; these may be estimates.
	 */
	double		(*blocks) (const SstRebuild *rebuild, const double *counts,
						   const SstMeta *meta);

	/* How far that can be off, even when all pages were seen: a fraction */
	double		uncertainty;

	BlockNumber table_blocks;	/* of an index's table */
	int			fillfactor;
};

extern void sst_rebuild_init(SstRebuild *rebuild, const SstTarget *target);

#endif							/* SST_REBUILD_H */
