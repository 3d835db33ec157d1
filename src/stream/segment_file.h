/*-------------------------------------------------------------------------
 *
 * segment_file.h
 *	  Segment files of a relation: open descriptors, read-ahead advice, and what of
 *	  them is in the page cache
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/segment_file.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SEGMENT_FILE_H
#define SST_SEGMENT_FILE_H

#include "storage/block.h"
#include "utils/rel.h"

#include "compat/compat.h"
#include "stream/io_stats.h"

/* The segment files of a fork, of which one at a time is open */
typedef struct SstSegmentFile
{
	SstFiles	files;
	ForkNumber	forknum;
	bool		plain;			/* blocks are in them as in buffers */
	bool		direct;			/* to be opened with O_DIRECT */
	int			fd;				/* -1 if none is open */
	int64		segno;			/* of it, also if it cannot be opened; or -1 */
} SstSegmentFile;

extern void sst_segment_file_init(SstSegmentFile *file, Relation rel,
								  ForkNumber forknum);
extern void sst_segment_file_init_files(SstSegmentFile *file,
										const SstFiles *files,
										ForkNumber forknum);
extern int	sst_segment_file_open(SstSegmentFile *file, BlockNumber blkno);
extern void sst_segment_file_close(SstSegmentFile *file);
extern bool sst_segment_file_advise(SstSegmentFile *file, BlockNumber blkno,
									BlockNumber nblocks);

/* What of them is in the kernel's page cache */
extern int64 sst_page_cache_range(SstSegmentFile *file, BlockNumber first,
								  BlockNumber end);
extern double sst_page_cache_share(Relation rel, ForkNumber forknum,
								   BlockNumber first, BlockNumber end);
extern int64 sst_page_cache_bytes(const SstFiles *files, ForkNumber forknum,
								  int64 fork_bytes);
extern int	sst_page_cache_blocks(SstSegmentFile *file, BlockNumber first,
								  int nblocks);
extern int64 sst_page_cache_part(int fd, off_t offset, off_t length);
extern bool sst_page_cache_has(int fd, off_t offset, off_t length);
extern bool sst_page_cache_has_mapped(int fd, off_t offset,
									  const char *mapped, size_t length);
extern void sst_advise_run(SstSegmentFile *file, BlockNumber first, int nblocks,
						   int in_flight, SstAdviceStats *stats);

#endif							/* SST_SEGMENT_FILE_H */
