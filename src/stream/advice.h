/*-------------------------------------------------------------------------
 *
 * advice.h
 *	  Read-ahead advice for blocks that will be read soon
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/advice.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_ADVICE_H
#define SST_ADVICE_H

#include "compat/catalog.h"
#include "source/source.h"
#include "stream/stream.h"

extern int	sst_advise_blocks(const SstFiles *files, ForkNumber forknum,
							  SstSource *source, SstIoStats *io_stats);

#endif							/* SST_ADVICE_H */
