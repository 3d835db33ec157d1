/*-------------------------------------------------------------------------
 *
 * find_corrupt.h
 *	  Finding the corrupt blocks of a relation, one by one
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/find_corrupt.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_FIND_CORRUPT_H
#define SST_FIND_CORRUPT_H

#include "am/diagnose.h"
#include "run/scan.h"

/* Corrupt blocks that a scan finds before they are looked at */
#define SST_CORRUPT_BATCH 256

/* A search, from sst_corrupt_begin() to sst_corrupt_end() */
typedef struct SstCorruptSearch
{
	Relation	rel;
	SstScanPlan plan;
	SstLimits  *limits;			/* or NULL */
	BlockNumber next;			/* to be read next */
	bool		stopped;		/* a limit ended the search */
	BlockNumber nsingle;		/* blocks still to be read one by one */
	BlockNumber nsingle_next;	/* and after the next error */

	/* Blocks that were found and not yet looked at */
	SstCorruptList list;
	BlockNumber blknos[SST_CORRUPT_BATCH];
	int			pos;
	char	   *read_error;		/* of block "next", which cannot be read */

	SstVisitor	visitor;
	SstItemCheck check;
	SstBlockReader reader;
	SstIoStats	io_stats;		/* of all scans */
	SstIoStats	not_reported;	/* of the second look */
	int			guc_nest_level;
} SstCorruptSearch;

extern void sst_corrupt_begin(SstCorruptSearch *search, const SstTarget *target,
							  BlockNumber first, SstLimits *limits);
extern bool sst_corrupt_next(SstCorruptSearch *search, BlockNumber *blkno,
							 SstDiagnosis *diagnosis);
extern void sst_corrupt_end(SstCorruptSearch *search);

#endif							/* SST_FIND_CORRUPT_H */
