/*-------------------------------------------------------------------------
 *
 * read_ahead.h
 *	  Reading ahead of a report's first samples
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/read_ahead.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_READ_AHEAD_H
#define SST_READ_AHEAD_H

#include "report/reader.h"

/* A relation of up to so many first samples is read as a whole. */
#define SST_WHOLE_SAMPLES 2

/* A relation that was advised and not read yet */
typedef struct SstAdvised
{
	int			place;			/* in the order */
	int			nruns;
	BlockNumber nblocks;
} SstAdvised;

typedef struct SstReadAhead
{
	const SstReportReader *reader;
	SstReportEntry **order;
	int			next;			/* place of the next one to advise */

	/* A ring of relations, and what they have together */
	SstAdvised *advised;
	int			max_advised;	/* 0 if nothing is to be advised */
	int			first;
	int			nadvised;
	int			nruns;
	uint64		nblocks;
} SstReadAhead;

/* Blocks of an entry's first sample, when there are to be first_blocks */
static inline BlockNumber
sst_first_sample_blocks(const SstReportEntry *entry, uint64 first_blocks)
{
	return entry->estimate.nblocks <= SST_WHOLE_SAMPLES * first_blocks ?
		entry->estimate.nblocks : first_blocks;
}

extern void sst_read_ahead_begin(SstReadAhead *ahead,
								 const SstReportReader *reader,
								 SstReportEntry **order, MemoryContext context);
extern void sst_read_ahead(SstReadAhead *ahead, int place,
						   uint64 first_blocks);

#endif							/* SST_READ_AHEAD_H */
