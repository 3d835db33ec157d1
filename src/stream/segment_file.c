/*-------------------------------------------------------------------------
 *
 * segment_file.c
 *	  Segment files of a relation: open descriptors, read-ahead advice, what of them is
 *	  in the page cache, and reads into private memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifdef SST_USE_LIBURING
#include <liburing.h>
#endif

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memdebug.h"
#include "utils/wait_event.h"

#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "stream/segment_file.h"
#include "streamstat.h"

/*
 * Open a segment file of a relation for reading, or return -1.
 *
 * The descriptor is for CloseTransientFile(); the end of the (sub)transaction
 * closes it as well.
 */
static int
open_segment(const SstSegmentFile *file, int64 segno)
{
	char		path[MAXPGPATH];
	int			flags = O_RDONLY | PG_BINARY;

	if (file->direct)
#ifdef SST_HAVE_DIRECT_READS
		flags |= O_DIRECT;
#else
	{
		errno = EINVAL;
		return -1;
	}
#endif
	sst_files_path(&file->files, file->forknum, path, MAXPGPATH);
	if (segno > 0)
		snprintf(path + strlen(path), MAXPGPATH - strlen(path), "." INT64_FORMAT,
				 segno);

	return OpenTransientFile(path, flags);
}

/*
 * Prepare to use a fork's files.  Who reads them holds a lock on the relation, so that
 * they are not replaced; advice needs none.
 */
void
sst_segment_file_init_files(SstSegmentFile *file, const SstFiles *files,
							ForkNumber forknum)
{
	file->files = *files;
	file->forknum = forknum;
	file->plain = sst_files_are_plain(files);
	file->direct = false;
	file->fd = -1;
	file->segno = -1;
}

/* The same for an open relation */
void
sst_segment_file_init(SstSegmentFile *file, Relation rel, ForkNumber forknum)
{
	SstFiles	files;

	sst_relation_files(rel, &files);
	sst_segment_file_init_files(file, &files, forknum);
}

/*
 * Return the descriptor of the segment of a block, or -1 if it cannot be opened, or if
 * only the relation's storage manager knows what is in it.  It stays open until another
 * segment is opened, or until the close.
 */
int
sst_segment_file_open(SstSegmentFile *file, BlockNumber blkno)
{
	int64		segno = blkno / RELSEG_SIZE;

	if (!file->plain)
	{
		errno = ENOTSUP;
		return -1;
	}

	if (file->segno != segno)
	{
		sst_segment_file_close(file);
		file->fd = open_segment(file, segno);
		file->segno = segno;
	}

	return file->fd;
}

void
sst_segment_file_close(SstSegmentFile *file)
{
	if (file->fd >= 0)
		CloseTransientFile(file->fd);
	file->fd = -1;
	file->segno = -1;
}

/*
 * Advise the kernel that a part of an open file will be read soon.  One call is enough,
 * while smgrprefetch() of servers before 17 needs one for each block.
 */
static void
advise(int fd, off_t offset, off_t length)
{
#ifdef SST_HAVE_FADVISE
	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_PREFETCH);
	(void) posix_fadvise(fd, offset, length, POSIX_FADV_WILLNEED);
	pgstat_report_wait_end();
#endif
}

/*
 * Advise of neighbouring blocks of one segment.  False if the file cannot be opened, and
 * the reads that follow report the error, or if the system takes no advice.
 */
bool
sst_segment_file_advise(SstSegmentFile *file, BlockNumber blkno, BlockNumber nblocks)
{
#ifdef SST_HAVE_FADVISE
	int			fd = sst_segment_file_open(file, blkno);

	if (fd < 0)
		return false;
	advise(fd, (off_t) BLCKSZ * (blkno % RELSEG_SIZE), (off_t) BLCKSZ * nblocks);

	return true;
#else
	return false;
#endif
}

/* ----------
 * What of the files is in the kernel's page cache
 *
 * cachestat(2) counts that in one call for a file, from Linux 6.5 on.
 * Elsewhere the file is mapped, window by window, and mincore(2) reports which
 * pages of the mapping are cached.  The pages are not touched.
 * ----------
 */

/* Bytes that are mapped at a time for mincore(2), and the least of a page of the kernel */
#define WINDOW (2 * 1024 * 1024)
#define MIN_PAGE_SIZE 4096

/* Runs to ask for a share, and their blocks */
#define SHARE_RUNS 64
#define SHARE_RUN 64

/* cachestat(2) has the same number on all architectures but alpha (asm/unistd.h). */
#ifndef SYS_cachestat
#ifdef __alpha__
#define SYS_cachestat 561
#else
#define SYS_cachestat 451
#endif
#endif

/* As the kernel has them (include/uapi/linux/mman.h) */
typedef struct CachestatRange
{
	uint64		offset;
	uint64		length;			/* 0 would be: to the end of the file */
} CachestatRange;

typedef struct Cachestat
{
	uint64		cached;			/* pages, as the others are */
	uint64		dirty;
	uint64		writeback;
	uint64		evicted;
	uint64		recently_evicted;
} Cachestat;

/*
 * Pages of a part of an open file in the page cache, or -1 where the kernel does not
 * tell, or is not to be asked
 */
static int64
ask_cachestat(int fd, off_t offset, off_t length)
{
#ifdef SST_HAVE_CACHESTAT
	CachestatRange range = {offset, length};
	Cachestat	found = {0};

	/*
	 * Old seccomp filters end a process for a system call that they do not
	 * know.
	 */
	if (sst_map_files != SST_MAP_FILES_OFF &&
		syscall(SYS_cachestat, fd, &range, &found, 0) == 0)
		return found.cached;
#endif
	return -1;
}

/*
 * Pages of mapped memory in the page cache, or -1 where that cannot be known.  The address
 * is at the beginning of a page, and the memory no larger than a window.
 */
static int64
count_resident(char *mapped, size_t length)
{
	int64		npages = -1;
#ifdef SST_HAVE_MINCORE
	unsigned char resident[WINDOW / MIN_PAGE_SIZE];
	int64		page_size = sysconf(_SC_PAGESIZE);

	if (mincore(mapped, length, (void *) resident) < 0)
		return -1;
	npages = 0;
	for (size_t i = 0; i < (length + page_size - 1) / page_size; i++)
		npages += resident[i] & 1;
#endif
	return npages;
}

/* Pages of a part of an open file in the page cache, or -1, by mapping that part */
static int64
ask_mincore(int fd, off_t offset, off_t length)
{
	off_t		end = offset + length;
	int64		npages = 0;

	for (off_t start = offset - offset % sysconf(_SC_PAGESIZE); start < end;
		 start += WINDOW)
	{
		size_t		size = Min(WINDOW, end - start);
		void	   *window = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, start);
		int64		nhere = window == MAP_FAILED ? -1 : count_resident(window, size);

		if (window != MAP_FAILED)
			munmap(window, size);
		if (nhere < 0)
			return -1;
		npages += nhere;
	}

	return npages;
}

/*
 * Pages of the kernel that a part of a file lies in.  If they are larger than a block,
 * they have more bytes than the part.
 */
static int64
pages_of_part(off_t offset, off_t length)
{
	int64		page_size = sysconf(_SC_PAGESIZE);

	return (offset % page_size + length + page_size - 1) / page_size;
}

/*
 * Bytes of a part of an open file in the page cache; -1 if that cannot be known.  They are
 * all only if no page is missing.
 */
int64
sst_page_cache_part(int fd, off_t offset, off_t length)
{
	int64		npages = ask_cachestat(fd, offset, length);

	if (npages < 0)
		npages = ask_mincore(fd, offset, length);
	if (npages < 0)
		return -1;

	return Max(length - (pages_of_part(offset, length) - npages) * sysconf(_SC_PAGESIZE), 0);
}

/*
 * Bytes of a fork's blocks first to end - 1 in the page cache; -1 if that cannot be
 * known.  Blocks of segments that do not exist, other than the first one, are not
 * there.  The segment of the last block may stay open.
 */
int64
sst_page_cache_range(SstSegmentFile *file, BlockNumber first, BlockNumber end)
{
	int64		bytes = 0;
	BlockNumber next;

	for (BlockNumber blkno = first; blkno < end; blkno = next)
	{
		off_t		offset = (off_t) BLCKSZ * (blkno % RELSEG_SIZE);
		int64		part;
		int			fd;

		CHECK_FOR_INTERRUPTS();
		next = Min(end - blkno, RELSEG_SIZE - blkno % RELSEG_SIZE) + blkno;

		errno = ENOENT;
		fd = sst_segment_file_open(file, blkno);
		if (fd < 0 && errno == ENOENT && blkno >= RELSEG_SIZE)
			break;
		if (fd < 0)
			return -1;

		part = sst_page_cache_part(fd, offset, (off_t) BLCKSZ * (next - blkno));
		if (part < 0)
			return -1;
		bytes += part;
	}

	return bytes;
}

/*
 * Share of a fork's blocks first to end - 1 in the page cache, 0 to 1; 0 if that
 * cannot be known.  Of a large range it is the share of some runs, because the kernel
 * looks at each page.
 */
double
sst_page_cache_share(Relation rel, ForkNumber forknum, BlockNumber first,
					 BlockNumber end)
{
	SstSegmentFile file;
	BlockNumber step;
	int64		asked = 0;
	int64		found = 0;

	if (first >= end)
		return 0;

	sst_segment_file_init(&file, rel, forknum);
	step = SHARE_RUN * ((end - first - 1) / (SHARE_RUN * SHARE_RUNS) + 1);
	for (BlockNumber blkno = first; blkno < end; blkno += Min(step, end - blkno))
	{
		BlockNumber nblocks = Min(SHARE_RUN, end - blkno);
		int64		bytes = sst_page_cache_range(&file, blkno, blkno + nblocks);

		asked += (int64) BLCKSZ * nblocks;
		found += bytes;
		if (bytes < 0)
		{
			found = 0;
			break;
		}
	}
	sst_segment_file_close(&file);

	return (double) found / asked;
}

/*
 * Is a part of an open file, which is mapped, in the page cache?  False for a large part
 * where cachestat(2) does not tell.
 */
bool
sst_page_cache_has_mapped(int fd, off_t offset, const char *mapped, size_t length)
{
	size_t		before = offset % sysconf(_SC_PAGESIZE);
	int64		ncached = ask_cachestat(fd, offset, length);

	if (ncached < 0 && before + length <= WINDOW)
		ncached = count_resident((char *) mapped - before, before + length);

	return ncached >= pages_of_part(offset, length);
}

/*
 * Advise of neighbouring blocks of one segment, of which none is in buffers, and count
 * that, how many of them the page cache does not have, and the reads in flight.
 */
void
sst_advise_run(SstSegmentFile *file, BlockNumber first, int nblocks, int in_flight,
			   SstAdviceStats *stats)
{
	int64		cached = sst_page_cache_range(file, first, first + nblocks);

	sst_add_count(&stats->nabsent, cached < 0 ? -1 : nblocks - cached / BLCKSZ);
	sst_io_stats_in_flight(&stats->seen, in_flight);
	if (sst_segment_file_advise(file, first, nblocks))
	{
		stats->seen.advice_calls++;
		stats->seen.advice_blocks += nblocks;
	}
}

/* ----------
 * Reads into private memory
 *
 * A stream has several of them in flight: by io_uring, or by pread() after advice.
 * ----------
 */

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

/*
 * Read neighbouring blocks of one segment into private memory, and wait for them.  Returns
 * how many have arrived, from the first one on.
 */
int
sst_segment_file_read(SstSegmentFile *file, BlockNumber blkno, int nblocks, char *memory)
{
	SstFileRead read = {
		.fd = sst_segment_file_open(file, blkno),
		.offset = (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
		.buffer = memory,
		.length = (size_t) BLCKSZ * nblocks
	};

	if (read.fd >= 0)
		sst_file_read_rest(&read);

	return read.done / BLCKSZ;
}

#ifdef SST_USE_LIBURING

struct SstRing
{
	struct io_uring ring;
	int			nin_flight;		/* requests that have not completed */
};

/*
 * Process a completion.  A request to do nothing has no read.
 *
 * valgrind does not see that the kernel writes to a read's memory, which is marked
 * as not accessible until then.
 */
static void
reap(SstRing *ring, struct io_uring_cqe *cqe)
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
	ring->nin_flight--;
	io_uring_cqe_seen(&ring->ring, cqe);
}

/*
 * Wait for one completion and process it.  Returns 0; -EINTR if there is none yet
 * or the kernel is short of resources for the moment; or another negative errno.
 */
static int
wait_one(SstRing *ring)
{
	struct io_uring_cqe *cqe;
	int			rc;

	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
	rc = io_uring_wait_cqe(&ring->ring, &cqe);
	pgstat_report_wait_end();
	if (rc == 0)
		reap(ring, cqe);
	else if (rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM)
	{
		pg_usleep(1000L);
		rc = -EINTR;
	}

	return rc;
}

/*
 * Start a read.  If the kernel does not accept it, pread() follows when it is finished.
 */
static void
start_in_ring(SstRing *ring, SstFileRead *read)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->ring);
	int			rc;

	/* The ring holds the whole queue: the kernel left some requests in it. */
	if (sqe == NULL)
	{
		rc = io_uring_submit(&ring->ring);
		if (rc > 0)
			ring->nin_flight += rc;
		return;
	}

	/* Rings can do this from Linux 5.1 on, and IORING_OP_READ from 5.6 on. */
	read->missing.iov_base = read->buffer + read->done;
	read->missing.iov_len = read->length - read->done;
	io_uring_prep_readv(sqe, read->fd, &read->missing, 1,
						read->offset + read->done);
	io_uring_sqe_set_data(sqe, read);

	/* The kernel may be short of memory until something has completed. */
	while ((rc = io_uring_submit(&ring->ring)) < 0 &&
		   (rc == -EINTR || ((rc == -EAGAIN || rc == -EBUSY) &&
							 ring->nin_flight > 0)))
	{
		CHECK_FOR_INTERRUPTS();
		if (rc != -EINTR)
			(void) wait_one(ring);
	}
	if (rc > 0)
		ring->nin_flight += rc;
	if (rc <= 0 || io_uring_sq_ready(&ring->ring) > 0)
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

/*
 * Wait until one of the reads in flight has arrived; there is one.  It may return without
 * any.  Accepts interrupts.
 */
void
sst_ring_wait(SstRing *ring)
{
	int			rc = wait_one(ring);

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

/* Will sst_ring_wait() return at once? */
bool
sst_ring_ready(const SstRing *ring)
{
	return io_uring_cq_ready(&ring->ring) > 0;
}

/*
 * Wait for the reads in flight, which are of 8 MB at most: until a read has completed,
 * the kernel writes to its memory.  Frees the ring.  No ERROR.
 */
void
sst_ring_close(SstRing *ring)
{
	while (ring->nin_flight > 0)
	{
		int			rc = wait_one(ring);

		if (rc < 0 && rc != -EINTR)
			break;
	}

	io_uring_queue_exit(&ring->ring);
	ReleaseExternalFD();
	pfree(ring);
}

/*
 * Open a ring for depth reads at a time.  NULL if the kernel is too old or forbids
 * io_uring, or if there are too many open files or too little memory.
 *
 * An answer that cannot change is remembered for the process.
 */
SstRing *
sst_ring_open(int depth)
{
	static bool forbidden = false;
	SstRing    *ring;
	int			rc = -EINVAL;

	if (forbidden)
		return NULL;

	ring = palloc0(sizeof(SstRing));
	if (!AcquireExternalFD())
	{
		pfree(ring);
		return NULL;
	}

	/* With these flags completions are handled only while we wait. */
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
	rc = io_uring_queue_init(depth, &ring->ring,
							 IORING_SETUP_SINGLE_ISSUER |
							 IORING_SETUP_DEFER_TASKRUN);
#endif
	if (rc == -EINVAL)
		rc = io_uring_queue_init(depth, &ring->ring, 0);
	if (rc < 0)
	{
		forbidden = (rc == -ENOSYS || rc == -EPERM || rc == -EACCES ||
					 rc == -EINVAL);
		ReleaseExternalFD();
		pfree(ring);
		return NULL;
	}

	return ring;
}

#endif							/* SST_USE_LIBURING */

/*
 * Start to read what is missing, in a ring.  Without one this gives advice, and the read
 * is made when it is finished.  The file need not stay open, but has to be then.
 */
void
sst_file_read_start(SstFileRead *read, SstRing *ring)
{
	read->in_flight = false;
#ifdef SST_USE_LIBURING
	if (ring != NULL)
	{
		start_in_ring(ring, read);
		return;
	}
#endif
	advise(read->fd, read->offset + read->done, read->length - read->done);
}

/*
 * Wait for a read that was started.  What is missing after a short read or an error is
 * read by pread(), so that "done" is less than "length" only at the end of the file or if
 * something is wrong.
 */
void
sst_file_read_finish(SstFileRead *read, SstRing *ring)
{
	while (read->in_flight)
		sst_ring_wait(ring);
	sst_file_read_rest(read);
}
