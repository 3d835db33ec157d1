/*-------------------------------------------------------------------------
 *
 * warm.h
 *	  Reading blocks of many relations into memory, with one queue
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/warm.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_H
#define SST_WARM_H

#include "relation/relations.h"
#include "run/limits.h"
#include "run/prewarm.h"
#include "stream/buffer_pool.h"

/* A fork to warm, and what came of it */
typedef struct SstWarmFork
{
	const SstRelation *relation;
	ForkNumber	forknum;

	/*
	 * Why not (all of) it was warmed, or NULL.  A fork that has a note before
	 * is left out.
	 */
	const char *note;
	bool		left_out;		/* no more is read of it */
	bool		entered;		/* the queue has come to it */

	BlockNumber nblocks;		/* that it has; InvalidBlockNumber if not
								 * known */
	int64		nwanted;		/* of these, blocks looked at */
	int64		ncached;		/* of these, found where they were wanted */
	int64		nread;			/* of these, read, or advised */
	double		elapsed_ms;
	BlockNumber next_block;		/* first wanted block not looked at, or
								 * InvalidBlockNumber */
} SstWarmFork;

/* Adjacent blocks of a fork */
typedef struct SstWarmRange
{
	int			fork;			/* index into the forks of the set */
	BlockNumber first;
	BlockNumber end;			/* one past the last block; those that the
								 * fork does not have are left out */
} SstWarmRange;

/* What to warm: ranges, in this order */
typedef struct SstWarmSet
{
	int			nforks;
	SstWarmFork *forks;
	int64		nranges;
	SstWarmRange *ranges;
} SstWarmSet;

typedef struct SstWarmOptions
{
	SstPrewarmMode mode;
	SstLimits  *limits;			/* of what is read; or NULL */
	SstFreeBuffers *free_buffers;	/* take only these in mode "buffer"; or
									 * NULL */
} SstWarmOptions;

/* What ended it */
typedef enum SstWarmEnd
{
	SST_WARM_COMPLETE,
	SST_WARM_MAX_BYTES,
	SST_WARM_MAX_TIME,
	SST_WARM_FULL,				/* no free buffers are left */
	SST_WARM_BLOCKING			/* others wait for the end of the transaction */
} SstWarmEnd;

extern SstWarmEnd sst_warm(SstWarmSet *set, const SstWarmOptions *options,
						   SstIoStats *io_stats);

#endif							/* SST_WARM_H */
