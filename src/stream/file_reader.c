/*-------------------------------------------------------------------------
 *
 * file_reader.c
 *	  Reading relation files by io_uring, or by pread() after advice
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/file_reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memdebug.h"
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
	reader->close = sync_close;

	return reader;
}

#ifdef SST_USE_LIBURING

#include <liburing.h>

typedef struct UringReader
{
	SstFileReader base;
	struct io_uring ring;
} UringReader;

/*
 * Process a completion.  A request to do nothing has no read.
 *
 * valgrind does not see that the kernel writes to a read's memory, which is marked
 * as not accessible until then.
 */
static void
reap(UringReader *uring, struct io_uring_cqe *cqe)
{
	SstFileRead *read = io_uring_cqe_get_data(cqe);

	if (read != NULL)
	{
		read->in_flight = false;
		VALGRIND_MAKE_MEM_UNDEFINED(read->buffer + read->done,
									read->length - read->done);
		if (cqe->res > 0)
		{
			VALGRIND_MAKE_MEM_DEFINED(read->buffer + read->done, cqe->res);
			read->done += cqe->res;
		}
	}
	uring->base.nin_flight--;
	io_uring_cqe_seen(&uring->ring, cqe);
}

/*
 * Wait for one completion and process it.  Returns 0; -EINTR if there is none yet
 * or the kernel is short of resources for the moment; or another negative errno.
 */
static int
wait_one(UringReader *uring)
{
	struct io_uring_cqe *cqe;
	int			rc;

	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
	rc = io_uring_wait_cqe(&uring->ring, &cqe);
	pgstat_report_wait_end();
	if (rc == 0)
		reap(uring, cqe);
	else if (rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM)
	{
		pg_usleep(1000L);
		rc = -EINTR;
	}

	return rc;
}

/*
 * Start a read.  If the kernel does not accept it, uring_finish() uses pread().
 */
static void
uring_start(SstFileReader *reader, SstFileRead *read)
{
	UringReader *uring = (UringReader *) reader;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);
	int			rc;

	read->in_flight = false;

	/* The ring holds the whole queue: the kernel left some requests in it. */
	if (sqe == NULL)
	{
		rc = io_uring_submit(&uring->ring);
		if (rc > 0)
			uring->base.nin_flight += rc;
		return;
	}

	/* Rings can do this from Linux 5.1 on, and IORING_OP_READ from 5.6 on. */
	read->missing.iov_base = read->buffer + read->done;
	read->missing.iov_len = read->length - read->done;
	io_uring_prep_readv(sqe, read->fd, &read->missing, 1,
						read->offset + read->done);
	io_uring_sqe_set_data(sqe, read);

	/* The kernel may be short of memory until something has completed. */
	while ((rc = io_uring_submit(&uring->ring)) < 0 &&
		   (rc == -EINTR || ((rc == -EAGAIN || rc == -EBUSY) &&
							 uring->base.nin_flight > 0)))
	{
		CHECK_FOR_INTERRUPTS();
		if (rc != -EINTR)
			(void) wait_one(uring);
	}
	if (rc > 0)
		uring->base.nin_flight += rc;
	if (rc <= 0 || io_uring_sq_ready(&uring->ring) > 0)
	{
		/* It stays in the ring and is submitted with the next request. */
		io_uring_prep_nop(sqe);
		io_uring_sqe_set_data(sqe, NULL);
		return;
	}

	VALGRIND_MAKE_MEM_NOACCESS(read->buffer + read->done,
							   read->length - read->done);
	read->in_flight = true;
}

/* Wait until a read has arrived, or it is time to check for interrupts. */
static void
uring_wait(SstFileReader *reader)
{
	int			rc = wait_one((UringReader *) reader);

	if (rc == -EINTR)
		CHECK_FOR_INTERRUPTS();
	else if (rc < 0)
	{
		errno = -rc;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not wait for io_uring: %m")));
	}
}

/* Has something completed that has not been processed? */
static bool
uring_ready(const SstFileReader *reader)
{
	return io_uring_cq_ready(&((const UringReader *) reader)->ring) > 0;
}

/*
 * Wait for a read.  What is missing after a short read or an error is read by
 * pread(), which fails again if something is wrong.
 */
static void
uring_finish(SstFileReader *reader, SstFileRead *read)
{
	while (read->in_flight)
		uring_wait(reader);

	sst_file_read_rest(read);
}

/*
 * Wait for the reads in flight, which are of 8 MB at most: until a read has completed,
 * the kernel writes to its memory.
 */
static void
uring_close(SstFileReader *reader)
{
	UringReader *uring = (UringReader *) reader;

	while (uring->base.nin_flight > 0)
	{
		int			rc = wait_one(uring);

		if (rc < 0 && rc != -EINTR)
			break;
	}

	io_uring_queue_exit(&uring->ring);
	ReleaseExternalFD();
}

/*
 * Open a ring for depth reads at a time.  NULL if the kernel is too old or forbids
 * io_uring, or if there are too many open files or too little memory.
 *
 * An answer that cannot change is remembered for the process.
 */
SstFileReader *
sst_uring_reader_open(int depth)
{
	static bool forbidden = false;
	UringReader *uring;
	int			rc = -EINVAL;

	if (forbidden)
		return NULL;

	uring = palloc0(sizeof(UringReader));
	if (!AcquireExternalFD())
	{
		pfree(uring);
		return NULL;
	}

	/* With these flags completions are handled only while we wait. */
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
	rc = io_uring_queue_init(depth, &uring->ring,
							 IORING_SETUP_SINGLE_ISSUER |
							 IORING_SETUP_DEFER_TASKRUN);
#endif
	if (rc == -EINVAL)
		rc = io_uring_queue_init(depth, &uring->ring, 0);
	if (rc < 0)
	{
		forbidden = (rc == -ENOSYS || rc == -EPERM || rc == -EACCES ||
					 rc == -EINVAL);
		ReleaseExternalFD();
		pfree(uring);
		return NULL;
	}

	uring->base.method = SST_IO_METHOD_IO_URING;
	uring->base.start = uring_start;
	uring->base.finish = uring_finish;
	uring->base.wait = uring_wait;
	uring->base.ready = uring_ready;
	uring->base.close = uring_close;

	return &uring->base;
}

#else							/* !SST_USE_LIBURING */

/* This build has no io_uring. */
SstFileReader *
sst_uring_reader_open(int depth)
{
	return NULL;
}

#endif							/* SST_USE_LIBURING */
