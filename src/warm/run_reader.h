/*-------------------------------------------------------------------------
 *
 * run_reader.h
 *	  Reading one run of blocks of the queue
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/run_reader.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RUN_READER_H
#define SST_RUN_READER_H

#include "stream/segment_file.h"
#include "warm/warm.h"

/* A relation of which runs are under way */
typedef struct SstLockedRelation
{
	Oid			relid;
	SstFiles	files;
	char		persistence;
	int			nruns;			/* under way */
} SstLockedRelation;

/* Blocks of one segment that are read together */
typedef struct SstWarmRun
{
	int			fork;			/* index into the forks of the set */
	SstLockedRelation *relation;
	BlockNumber first;
	int			nblocks;		/* from first on; some of them may not be
								 * wanted */
	int			nwanted;
	int			nmissing;
	uint64		missing;		/* those to read: bit 0 is the first block */
	int			nabsent;		/* of these, not in the page cache; -1 if not
								 * known */
} SstWarmRun;

typedef struct SstRunReader
{
	SstPrewarmMode mode;
	bool		checks_pages;	/* before they are read into buffers */
	SstIoStats *io_stats;
	SstSegmentFile file;
	char	   *memory;			/* for one run, or NULL */

	/*
	 * Runs that were advised and not read yet, and their blocks that are
	 * wanted
	 */
	int			nadvised;
	int64		look_ahead;
} SstRunReader;

extern void sst_run_reader_begin(SstRunReader *reader, SstPrewarmMode mode,
								 SstIoStats *io_stats);
extern void sst_count_cached_run(SstRunReader *reader, const SstWarmRun *run);
extern bool sst_read_run(SstRunReader *reader, const SstWarmRun *run,
						 SstWarmFork *fork);
extern void sst_run_reader_end(SstRunReader *reader);

#endif							/* SST_RUN_READER_H */
