/*-------------------------------------------------------------------------
 *
 * segment_file.h
 *	  Segment files of a relation: open descriptors, read-ahead advice, what of them is
 *	  in the page cache, and reads into private memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SEGMENT_FILE_H
#define SST_SEGMENT_FILE_H

#include <sys/uio.h>

#include "storage/block.h"
#include "utils/rel.h"

#include "compat/compat.h"
#include "stream/io_stats.h"
#include "streamstat.h"

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
extern int64 sst_page_cache_part(int fd, off_t offset, off_t length);
extern bool sst_page_cache_has_mapped(int fd, off_t offset,
									  const char *mapped, size_t length);
extern void sst_advise_run(SstSegmentFile *file, BlockNumber first, int nblocks,
						   int in_flight, SstAdviceStats *stats);

/*
 * Reads into private memory, several at a time: by io_uring, or by pread() after advice
 */

/* One read.  Its memory must stay allocated while it is in flight. */
typedef struct SstFileRead
{
	int			fd;
	off_t		offset;
	char	   *buffer;
	size_t		length;
	size_t		done;			/* bytes that have arrived */
	bool		in_flight;		/* in a ring */
	struct iovec missing;		/* what a ring was asked for */
} SstFileRead;

/* A ring of io_uring, which has several reads in flight; NULL for none */
typedef struct SstRing SstRing;

#ifdef SST_USE_LIBURING
extern SstRing *sst_ring_open(int depth);
extern bool sst_ring_ready(const SstRing *ring);
extern void sst_ring_wait(SstRing *ring);
extern void sst_ring_close(SstRing *ring);
#else
#define sst_ring_open(depth) ((SstRing *) NULL)
#define sst_ring_ready(ring) true
#define sst_ring_wait(ring) ((void) 0)
#define sst_ring_close(ring) ((void) 0)
#endif

extern void sst_file_read_start(SstFileRead *read, SstRing *ring);
extern void sst_file_read_finish(SstFileRead *read, SstRing *ring);
extern void sst_file_read_rest(SstFileRead *read);
extern int	sst_segment_file_read(SstSegmentFile *file, BlockNumber blkno, int nblocks,
								  char *memory);

#endif							/* SST_SEGMENT_FILE_H */
