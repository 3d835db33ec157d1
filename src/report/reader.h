/*-------------------------------------------------------------------------
 *
 * reader.h
 *	  Reading samples of a report's relations within its limits
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/reader.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_READER_H
#define SST_READER_H

#include "report/report.h"

typedef struct SstReportReader
{
	SstReport  *report;
	MemoryContext scratch;		/* of an attempt */
	instr_time	deadline;

	/* Seconds that one relation and one block take, as learned so far */
	double		relation_cost;
	double		block_cost;

	/*
	 * Relations that were locked, and the blocks that are held back for each
	 * of them
	 */
	int			nlocked;
	uint64		blocks_each;

	SstReportEnd cut_by;		/* what cut the last request for blocks */
} SstReportReader;

static inline double
sst_seconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);

	return INSTR_TIME_GET_DOUBLE(now);
}

extern void sst_reader_init(SstReportReader *reader, SstReport *report,
							MemoryContext context);
extern double sst_reader_seconds_left(const SstReportReader *reader);
extern uint64 sst_reader_allowed(SstReportReader *reader, uint64 wanted);
extern bool sst_reader_leaves(const SstReportReader *reader, int nrelations,
							  uint64 nblocks);
extern void sst_reader_skip(SstReportReader *reader, SstReportEntry *entry);
extern void sst_reader_read(SstReportReader *reader, SstReportEntry *entry,
							BlockNumber nblocks);

#endif							/* SST_READER_H */
