/*-------------------------------------------------------------------------
 *
 * checksum.h
 *	  Checksums of pages, as fast as the CPU can
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CHECKSUM_H
#define SST_CHECKSUM_H

#include "storage/block.h"

/* Most pages of a call */
#define SST_CHECKSUM_PAGES 4

extern void (*sst_checksum_pages) (const char *const *pages,
								   const BlockNumber *blknos, int npages,
								   uint16 *checksums);

#endif							/* SST_CHECKSUM_H */
