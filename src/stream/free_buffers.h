/*-------------------------------------------------------------------------
 *
 * free_buffers.h
 *	  Taking shared buffers only as long as there are free ones
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/free_buffers.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_FREE_BUFFERS_H
#define SST_FREE_BUFFERS_H

#include "portability/instr_time.h"
#include "storage/block.h"

/*
 * The last count of free buffers; zeros at first.  A count passes over all headers, so
 * this lives as long as a load, and not as one of its parts.
 */
typedef struct SstFreeBuffers
{
	int64		allowance;		/* that may be taken before the next count */
	instr_time	counted;
} SstFreeBuffers;

extern bool sst_free_buffers_suffice(SstFreeBuffers *buffers, BlockNumber n,
									 int npending);
extern void sst_free_buffers_take(SstFreeBuffers *buffers, BlockNumber n);

#endif							/* SST_FREE_BUFFERS_H */
