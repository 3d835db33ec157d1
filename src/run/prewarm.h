/*-------------------------------------------------------------------------
 *
 * prewarm.h
 *	  Bringing blocks of a relation into memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/prewarm.h
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

extern int64 sst_prewarm(Relation rel, ForkNumber forknum, SstPrewarmMode mode,
						 BlockNumber first, BlockNumber end,
						 SstStreamReport *report);

#endif							/* SST_PREWARM_H */
