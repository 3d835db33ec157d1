/*-------------------------------------------------------------------------
 *
 * checksum.h
 *	  Checksums of pages, as fast as the CPU can
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/checksum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CHECKSUM_H
#define SST_CHECKSUM_H

#include "storage/block.h"

extern void (*sst_checksum_two) (char *const pages[2],
								 const BlockNumber blknos[2],
								 uint16 checksums[2]);

#endif							/* SST_CHECKSUM_H */
