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

#include "storage/block.h"

/* Free buffers that may be taken before they are counted again; 0 at first */
typedef struct SstFreeBuffers
{
	int			allowance;
} SstFreeBuffers;

extern bool sst_free_buffers_suffice(BlockNumber n);
extern bool sst_free_buffers_take(SstFreeBuffers *buffers, int n, int npending);

#endif							/* SST_FREE_BUFFERS_H */
