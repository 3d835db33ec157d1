/*-------------------------------------------------------------------------
 *
 * file_reader.h
 *	  Reads of relation files into private memory, several at a time
 *
 * There are two readers: io_uring, and pread() after advice.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/file_reader.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_FILE_READER_H
#define SST_FILE_READER_H

#include <sys/uio.h>

#include "stream/io_stats.h"
#include "streamstat.h"

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

#endif							/* SST_FILE_READER_H */
