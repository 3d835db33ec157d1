/*-------------------------------------------------------------------------
 *
 * prewarm.h
 *	  Reading blocks of a relation into memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PREWARM_H
#define SST_PREWARM_H

#include "stream/stream.h"

typedef enum SstPrewarmMode
{
	SST_PREWARM_PREFETCH,		/* advise the kernel, wait for nothing */
	SST_PREWARM_READ,			/* read, and keep nothing */
	SST_PREWARM_BUFFER			/* read into buffers */
} SstPrewarmMode;

/* What to prewarm: plain data */
typedef struct SstPrewarmPlan
{
	ForkNumber	forknum;
	SstPrewarmMode mode;
	BlockNumber first;
	BlockNumber end;
	bool		evicts;			/* pages of others, and not its own */
	bool		cached;			/* in the page cache; set here */
} SstPrewarmPlan;

/* Fewer are read as soon by one process, for which the kernel reads ahead (bench/compare cold). */
#define SST_PREWARM_PARALLEL_BLOCKS (192 * 1024 * 1024 / BLCKSZ)

extern bool sst_prewarm_parallel(SstPrewarmPlan *plan, Relation rel,
								 SstIoStats *io_stats);
extern int64 sst_prewarm(SstPrewarmPlan *plan, Relation rel, SstIoStats *io_stats);

#endif							/* SST_PREWARM_H */
