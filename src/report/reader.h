/*-------------------------------------------------------------------------
 *
 * reader.h
 *	  Reading samples of a report's relations within its limits, and ahead of them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_READER_H
#define SST_READER_H

#include "report/report.h"

/* A relation of up to so many first samples is read as a whole. */
#define SST_WHOLE_SAMPLES 2

typedef struct SstReportReader
{
	SstReport  *report;
	MemoryContext scratch;		/* of an attempt */
	instr_time	deadline;

	/* Seconds that one relation and one block take, as learned so far */
	double		relation_cost;
	double		block_cost;

	/*
	 * Blocks of a first sample, which are held back for each of the relations
	 * that were locked
	 */
	uint64		first_blocks;
	int			nlocked;

	/* The order of first samples, and at most how many are advised ahead */
	SstReportEntry **order;
	int			max_advised;	/* 0 if nothing is to be advised */

	/* The places that were advised last, and the blocks of these */
	int			advised_first;
	int			advised_end;
	uint64		advised_blocks;
} SstReportReader;

/* Blocks of an entry's first sample, when there are to be first_blocks */
static inline BlockNumber
sst_first_sample_blocks(const SstReportEntry *entry, uint64 first_blocks)
{
	return entry->estimate.nblocks <= SST_WHOLE_SAMPLES * first_blocks ?
		entry->estimate.nblocks : first_blocks;
}

extern void sst_reader_init(SstReportReader *reader, SstReport *report,
							SstReportEntry **order);
extern double sst_reader_seconds_left(const SstReportReader *reader);
extern uint64 sst_reader_allowed(SstReportReader *reader, uint64 wanted);
extern bool sst_reader_leaves(const SstReportReader *reader, int nrelations, uint64 nblocks);
extern void sst_reader_skip(SstReportReader *reader, SstReportEntry *entry);
extern void sst_reader_read(SstReportReader *reader, SstReportEntry *entry,
							BlockNumber nblocks);
extern void sst_read_ahead(SstReportReader *reader, int place);

#endif							/* SST_READER_H */
