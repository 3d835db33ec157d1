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
	bool		in_flight;		/* it arrives without finish() being called */
	struct iovec missing;		/* what a ring was asked for */
} SstFileRead;

typedef struct SstFileReader SstFileReader;

struct SstFileReader
{
	SstIoMethod method;

	/* Reads that were started and have not arrived, or are not finished */
	int			nin_flight;

	/*
	 * Start to read what is missing.  The file need not stay open, but has to
	 * be when the read is finished.
	 */
	void		(*start) (SstFileReader *reader, SstFileRead *read);

	/*
	 * Wait for a read that was started.  After that, "done" is less than
	 * "length" only at the end of the file or after an error.
	 */
	void		(*finish) (SstFileReader *reader, SstFileRead *read);

	/*
	 * Wait until one of the reads in flight has arrived; there is one.  It
	 * may return without any.  NULL if no read is ever in flight.
	 */
	void		(*wait) (SstFileReader *reader);

	/* Will wait() return at once?  NULL with wait(). */
	bool		(*ready) (const SstFileReader *reader);

	/* Wait for reads in flight and free what is not palloc'd.  No ERROR. */
	void		(*close) (SstFileReader *reader);
};

extern SstFileReader *sst_uring_reader_open(int depth);
extern SstFileReader *sst_sync_reader_open(void);
extern void sst_file_read_rest(SstFileRead *read);
extern int	sst_segment_file_read(SstSegmentFile *file, BlockNumber blkno, int nblocks,
								  char *memory);

#endif							/* SST_SEGMENT_FILE_H */
