/*-------------------------------------------------------------------------
 *
 * file_sync.c
 *	  Reading relation files by pread(), after advice
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/file_sync.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/wait_event.h"

#include "compat/platform.h"
#include "stream/file_reader.h"

/*
 * Read what is missing, and wait for it.  After an error it stays missing.
 */
void
sst_file_read_rest(SstFileRead *read)
{
	while (read->done < read->length)
	{
		ssize_t		n;

		pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
		n = pread(read->fd, read->buffer + read->done,
				  read->length - read->done, read->offset + read->done);
		pgstat_report_wait_end();

		if (n > 0)
			read->done += n;
		else if (n == 0 || errno != EINTR)
			break;
		else
			CHECK_FOR_INTERRUPTS();
	}
}

static void
sync_start(SstFileReader *reader, SstFileRead *read)
{
	reader->nin_flight++;
#ifdef SST_HAVE_FADVISE
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_PREFETCH);
	(void) posix_fadvise(read->fd, read->offset + read->done,
						 read->length - read->done, POSIX_FADV_WILLNEED);
	pgstat_report_wait_end();
#endif
}

static void
sync_finish(SstFileReader *reader, SstFileRead *read)
{
	reader->nin_flight--;
	sst_file_read_rest(read);
}

static void
sync_close(SstFileReader *reader)
{
}

/* Open a reader, which always succeeds. */
SstFileReader *
sst_sync_reader_open(void)
{
	SstFileReader *reader = palloc0(sizeof(SstFileReader));

	reader->method = SST_IO_METHOD_SYNC;
	reader->start = sync_start;
	reader->finish = sync_finish;
	reader->wait = NULL;
	reader->ready = NULL;
	reader->close = sync_close;

	return reader;
}
