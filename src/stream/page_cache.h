/*-------------------------------------------------------------------------
 *
 * page_cache.h
 *	  How much of a relation's files is in the kernel's page cache?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/page_cache.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PAGE_CACHE_H
#define SST_PAGE_CACHE_H

#include "stream/segment_file.h"

extern int64 sst_page_cache_range(SstSegmentFile *file, BlockNumber first,
								  BlockNumber end);
extern double sst_page_cache_share(SstSegmentFile *file, BlockNumber first,
								   BlockNumber end);
extern int64 sst_page_cache_bytes(const SstFiles *files, ForkNumber forknum,
								  int64 fork_bytes);
extern int	sst_page_cache_blocks(SstSegmentFile *file, BlockNumber first,
								  int nblocks);
extern int	sst_page_cache_part(int fd, off_t offset, int nblocks);
extern bool sst_page_cache_has(int fd, off_t offset, off_t length);
extern bool sst_page_cache_has_mapped(int fd, off_t offset,
									  const char *mapped, size_t length);

#endif							/* SST_PAGE_CACHE_H */
