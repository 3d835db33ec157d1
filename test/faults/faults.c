/*-------------------------------------------------------------------------
 *
 * faults.c
 *	  Failing system calls, for tests: a library to be preloaded into a server
 *
 * The test writes what is to go wrong, and with which file, into a file of its
 * own (STREAMSTAT_FAULTS), which all processes of the server have mapped.  A bad
 * range of a file behaves as on a bad disk: a read that begins before it comes
 * back short, one that begins within it fails.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#define CACHESTAT 451

/* What to do with reads of the file */
enum
{
	FAULT_NONE,
	FAULT_ERROR,				/* the range gives an error */
	FAULT_END,					/* the file ends where the range begins */
	FAULT_SHORT,				/* no read gives more than "most" bytes */
	FAULT_INTERRUPTED,			/* every other read is interrupted */
	FAULT_HELD,					/* the range gives its data when this is over */
	FAULT_LATE,					/* of the range, what a ring reads arrives
								 * late */
	FAULT_SLOW,					/* of the range, everything arrives late */
	FAULT_COPIED_LATE,			/* ... and this does that is read without
								 * waiting */
};

/* What happens to those who map the file */
enum
{
	MAP_FAULT_NONE,
	MAP_FAULT_REFUSED,			/* they cannot */
	MAP_FAULT_UNSEEN,			/* nothing seems to be in the page cache */
	MAP_FAULT_DROPPED,			/* all of it seems to be, and is dropped */
	MAP_FAULT_CUT,				/* likewise, and the file is cut at "from" */
	MAP_FAULT_LATE,				/* to see what is in the page cache takes long */
};

/* As t/lib/Faults.pm writes it */
typedef struct Faults
{
	uint64_t	ino;			/* the file */
	uint64_t	from;			/* bytes of it: the range */
	uint64_t	to;
	uint32_t	reads;
	uint32_t	error;			/* of reads, and of the others where set */
	uint32_t	most;			/* bytes; milliseconds of a late read */
	uint32_t	uncached;		/* nothing can be read without waiting */
	uint32_t	opens;			/* opening the file gives this error */
	uint32_t	setups;			/* the making of a ring does */
	uint32_t	submits;		/* submitting to a ring does, */
	uint32_t	nsubmits;		/* so many times */
	uint32_t	waits;			/* and waiting for completions, */
	uint32_t	nwaits;			/* so many times */
	uint32_t	hits;			/* calls that were made to fail */
	uint32_t	spared;			/* a process whose calls are left alone */
	uint32_t	no_cachestat;	/* for every file: as of a kernel before 6.5 */
	uint32_t	maps;
	uint32_t	only;			/* the one process that this is for; 0: all */
	uint32_t	timed;			/* the process that this is of: */
	uint32_t	longest;		/* microseconds of CPU between two looks at
								 * the clock */
	uint32_t	ndropped;		/* blocks that the page cache was told to give
								 * up before they were read */
	uint32_t	nmissing;		/* of these, those that were neither read nor
								 * asked for since */
} Faults;

#define BLOCK_SIZE 8192

static Faults *faults;

/* Behind it, two bits for each of the first blocks of the file: has been read, is missing */
#define MAP_SIZE 4096
#define NBLOCKS ((MAP_SIZE - sizeof(Faults)) * 4)
static int	interrupted;

__attribute__((constructor)) static void
map_faults(void)
{
	const char *path = getenv("STREAMSTAT_FAULTS");
	int			fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void	   *mapped;

	if (fd < 0)
		return;
	mapped = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped != MAP_FAILED)
		faults = mapped;
	close(fd);
}

/* No fault, but found out in the same way: how often does a process look at the clock? */
int
clock_gettime(clockid_t clock, struct timespec *now)
{
	static int	(*real) (clockid_t, struct timespec *);
	static double last = -1;
	struct timespec cpu;
	double		used;

	if (real == NULL)
		*(void **) &real = dlsym(RTLD_NEXT, "clock_gettime");
	if (faults == NULL || faults->timed != (uint32_t) getpid())
		last = -1;
	else if (real(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
	{
		used = cpu.tv_sec * 1e6 + cpu.tv_nsec / 1e3;
		if (last >= 0 && used - last > faults->longest)
			faults->longest = used - last;
		last = used;
	}
	return real(clock, now);
}

static void
count_hit(void)
{
	__atomic_fetch_add(&faults->hits, 1, __ATOMIC_RELAXED);
}

static int
concerns(int fd)
{
	struct stat st;
	int			saved = errno;
	int			result = faults != NULL && faults->ino != 0 &&
		faults->spared != (uint32_t) getpid() &&
		(faults->only == 0 || faults->only == (uint32_t) getpid()) &&
		fstat(fd, &st) == 0 && st.st_ino == faults->ino;

	errno = saved;
	return result;
}

/* Note that blocks of the file are read, or are dropped from the page cache. */
static void
note_blocks(uint64_t offset, size_t length, int read)
{
	uint8_t    *bits = (uint8_t *) (faults + 1);

	for (uint64_t i = offset / BLOCK_SIZE; i < (offset + length) / BLOCK_SIZE && i < NBLOCKS; i++)
	{
		uint8_t		was_read = 1 << i % 4 * 2;
		uint8_t		missing = was_read << 1;

		if (read)
		{
			faults->nmissing -= (bits[i / 4] & missing) != 0;
			bits[i / 4] = (bits[i / 4] | was_read) & ~missing;
		}
		else if ((bits[i / 4] & (was_read | missing)) == 0)
		{
			faults->ndropped++;
			faults->nmissing++;
			bits[i / 4] |= missing;
		}
	}
}

/* No fault: what a process has dropped from the page cache, and not brought back? */
static int
advise(int fd, off_t offset, off_t length, int advice)
{
	static int	(*real) (int, off_t, off_t, int);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "posix_fadvise");
	if ((advice == POSIX_FADV_DONTNEED || advice == POSIX_FADV_WILLNEED) && concerns(fd))
		note_blocks(offset, length, advice == POSIX_FADV_WILLNEED);
	return real(fd, offset, length, advice);
}

int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	return advise(fd, offset, length, advice);
}

int
posix_fadvise64(int fd, off_t offset, off_t length, int advice)
{
	return advise(fd, offset, length, advice);
}

/*
 * How much of a read may go on, at least 1; or -1 for an error, or 0 for the end
 * of the file.
 */
static ssize_t
allowed(size_t length, uint64_t offset)
{
	switch (faults->reads)
	{
		case FAULT_ERROR:
		case FAULT_END:
			if (offset + length <= faults->from ||
				(faults->reads == FAULT_ERROR && offset >= faults->to))
				return length;
			count_hit();
			if (offset < faults->from)
				return faults->from - offset;
			errno = faults->error;
			return faults->reads == FAULT_ERROR ? -1 : 0;
		case FAULT_SHORT:
			if (length > faults->most)
				count_hit();
			return length < faults->most ? length : faults->most;
		case FAULT_INTERRUPTED:
			interrupted = !interrupted;
			if (!interrupted)
				return length;
			count_hit();
			errno = EINTR;
			return -1;
		case FAULT_HELD:
			if (offset + length <= faults->from || offset >= faults->to)
				return length;
			count_hit();
			while (__atomic_load_n(&faults->reads, __ATOMIC_RELAXED) == FAULT_HELD)
				usleep(1000);
			return length;
	}
	return length;
}

/* One call for all kinds of reads */
static ssize_t
read_some(int fd, const struct iovec *iov, int niov, off_t offset, int flags)
{
	static ssize_t (*real) (int, const struct iovec *, int, off_t, int);
	struct iovec part[64];
	size_t		length = 0;
	ssize_t		left;
	int			n = 0;

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "preadv2");
	if (!concerns(fd) || niov > 64)
		return real(fd, iov, niov, offset, flags);

	if (faults->uncached && (flags & RWF_NOWAIT))
	{
		errno = EAGAIN;
		return -1;
	}
	for (int i = 0; i < niov; i++)
		length += iov[i].iov_len;
	note_blocks(offset, length, 1);
	if (faults->reads == ((flags & RWF_NOWAIT) ? FAULT_COPIED_LATE : FAULT_SLOW) &&
		(uint64_t) offset < faults->to && offset + length > faults->from)
	{
		count_hit();
		usleep(faults->most * 1000);
	}
	left = allowed(length, offset);
	if (left <= 0)
		return left;
	for (; n < niov && left > 0; n++)
	{
		part[n] = iov[n];
		if ((size_t) left < part[n].iov_len)
			part[n].iov_len = left;
		left -= part[n].iov_len;
	}
	return real(fd, part, n, offset, flags);
}

static ssize_t
read_one(int fd, void *buffer, size_t length, off_t offset)
{
	struct iovec iov = {buffer, length};

	return read_some(fd, &iov, 1, offset, 0);
}

ssize_t
pread(int fd, void *buffer, size_t length, off_t offset)
{
	return read_one(fd, buffer, length, offset);
}

ssize_t
pread64(int fd, void *buffer, size_t length, off_t offset)
{
	return read_one(fd, buffer, length, offset);
}

ssize_t
__pread_chk(int fd, void *buffer, size_t length, off_t offset, size_t size)
{
	return read_one(fd, buffer, length, offset);
}

ssize_t
__pread64_chk(int fd, void *buffer, size_t length, off_t offset, size_t size)
{
	return read_one(fd, buffer, length, offset);
}

ssize_t
preadv(int fd, const struct iovec *iov, int niov, off_t offset)
{
	return read_some(fd, iov, niov, offset, 0);
}

ssize_t
preadv64(int fd, const struct iovec *iov, int niov, off_t offset)
{
	return read_some(fd, iov, niov, offset, 0);
}

ssize_t
preadv2(int fd, const struct iovec *iov, int niov, off_t offset, int flags)
{
	return read_some(fd, iov, niov, offset, flags);
}

ssize_t
preadv64v2(int fd, const struct iovec *iov, int niov, off_t offset, int flags)
{
	return read_some(fd, iov, niov, offset, flags);
}

static int
open_some(const char *path, int flags, mode_t mode)
{
	static int	(*real) (const char *, int, ...);
	struct stat st;

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "open");
	if (faults != NULL && faults->opens != 0 &&
		faults->spared != (uint32_t) getpid() &&
		stat(path, &st) == 0 && st.st_ino == faults->ino)
	{
		count_hit();
		errno = faults->opens;
		return -1;
	}
	return real(path, flags, mode);
}

static mode_t
mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;
}

#define DEFINE_OPEN(name) \
int \
name(const char *path, int flags,...) \
{ \
	va_list		args; \
	mode_t		mode; \
\
	va_start(args, flags); \
	mode = mode_of(flags, args); \
	va_end(args); \
	return open_some(path, flags, mode); \
}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int
__open_2(const char *path, int flags)
{
	return open_some(path, flags, 0);
}

int
__open64_2(const char *path, int flags)
{
	return open_some(path, flags, 0);
}

#ifdef HAVE_LIBURING

static void *
of_liburing(const char *name)
{
	static void *library;

	if (library == NULL)
		library = dlopen("liburing.so.2", RTLD_NOW);
	return dlsym(library, name);
}

int
io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	static int	(*real) (unsigned, struct io_uring *, unsigned);

	if (real == NULL)
		real = of_liburing("io_uring_queue_init");
	if (faults != NULL && faults->setups != 0)
	{
		count_hit();
		return -(int) faults->setups;
	}
	return real(entries, ring, flags);
}

/* Descriptors of delayed reads, which have to stay open: only a read that begins has its file */
static int	delayed_fds[1024];
static int	ndelayed_fds;

void
io_uring_queue_exit(struct io_uring *ring)
{
	static void (*real) (struct io_uring *);

	if (real == NULL)
		real = of_liburing("io_uring_queue_exit");
	real(ring);
	while (ndelayed_fds > 0)
		close(delayed_fds[--ndelayed_fds]);
}

/*
 * Let the read in slot i, the last one of a ring, begin after faults->most ms: by a
 * timeout that it is linked to, which has a completion of its own.
 */
static void
delay_last_read(struct io_uring_sq *sq, unsigned i)
{
#ifdef IORING_TIMEOUT_ETIME_SUCCESS
	static struct __kernel_timespec delay;
	unsigned	mask = *sq->kring_entries - 1;
	struct io_uring_sqe *sqe = &sq->sqes[i & mask];

	if (ndelayed_fds < (int) (sizeof(delayed_fds) / sizeof(int)))
		sqe->fd = delayed_fds[ndelayed_fds++] = dup(sqe->fd);
	sq->sqes[(i + 1) & mask] = *sqe;
	sq->sqe_tail++;
	delay.tv_sec = faults->most / 1000;
	delay.tv_nsec = faults->most % 1000 * 1000000;
	io_uring_prep_timeout(sqe, &delay, 0, IORING_TIMEOUT_ETIME_SUCCESS);
	sqe->flags |= IOSQE_IO_LINK;
	io_uring_sqe_set_data(sqe, NULL);
	count_hit();
#endif
}

/*
 * A read through a ring fails by reading from no file at all, and is short by
 * asking for less.  It is not done at once, as if it had to wait for the disk.
 */
int
io_uring_submit(struct io_uring *ring)
{
	static int	(*real) (struct io_uring *);
	struct io_uring_sq *sq = &ring->sq;
	unsigned	mask = *sq->kring_entries - 1;

	if (real == NULL)
		real = of_liburing("io_uring_submit");
	if (faults != NULL && faults->nsubmits > 0)
	{
		faults->nsubmits--;
		count_hit();
		return -(int) faults->submits;
	}
	for (unsigned i = sq->sqe_head; i != sq->sqe_tail; i++)
	{
		struct io_uring_sqe *sqe = &sq->sqes[i & mask];
		struct iovec *iov;
		ssize_t		n;

		if (sqe->opcode != IORING_OP_READV || !concerns(sqe->fd))
			continue;
		iov = (struct iovec *) (uintptr_t) sqe->addr;
		n = allowed(iov->iov_len, sqe->off);
		if (n < 0)
			sqe->fd = -1;
		else
			iov->iov_len = n;
		if (faults->uncached)
			sqe->flags |= IOSQE_ASYNC;
		if ((faults->reads == FAULT_LATE || faults->reads == FAULT_SLOW) &&
			i + 1 == sq->sqe_tail &&
			sqe->off < faults->to && sqe->off + iov->iov_len > faults->from)
		{
			delay_last_read(sq, i);
			break;
		}
	}
	return real(ring);
}

int
__io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe,
				   unsigned submit, unsigned wait_nr, sigset_t *sigmask)
{
	static int	(*real) (struct io_uring *, struct io_uring_cqe **, unsigned,
						 unsigned, sigset_t *);

	if (real == NULL)
		real = of_liburing("__io_uring_get_cqe");
	if (faults != NULL && faults->nwaits > 0)
	{
		faults->nwaits--;
		count_hit();
		return -(int) faults->waits;
	}
	return real(ring, cqe, submit, wait_nr, sigmask);
}

#endif							/* HAVE_LIBURING */

static void *
map_some(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	static void *(*real) (void *, size_t, int, int, int, off_t);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "mmap");
	if (fd >= 0 && faults != NULL && faults->maps == MAP_FAULT_REFUSED && concerns(fd))
	{
		count_hit();
		errno = ENODEV;
		return MAP_FAILED;
	}
	return real(start, length, prot, flags, fd, offset);
}

void *
mmap(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	return map_some(start, length, prot, flags, fd, offset);
}

void *
mmap64(void *start, size_t length, int prot, int flags, int fd, off_t offset)
{
	return map_some(start, length, prot, flags, fd, offset);
}

/*
 * What cachestat(2) says of a file: cached[0] is the number of pages.  What gives
 * errors is not in the page cache.
 */
static void
change_cachestat(int fd, const uint64_t *range, uint64_t *cached)
{
	uint64_t	page_size = sysconf(_SC_PAGESIZE);

	if (faults->uncached ||
		((faults->reads == FAULT_ERROR || faults->reads == FAULT_END) &&
		 range[0] + range[1] > faults->from && range[0] < faults->to))
		cached[0] = 0;

	switch (faults->maps)
	{
		case MAP_FAULT_UNSEEN:
			cached[0] = 0;
			break;
		case MAP_FAULT_CUT:
			if (ftruncate(fd, faults->from) != 0)
			{
				char		path[64];
				char		name[4096];
				ssize_t		n;

				/* It is open for reading only. */
				snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
				n = readlink(path, name, sizeof(name) - 1);
				name[n < 0 ? 0 : n] = 0;
				if (truncate(name, faults->from) != 0)
					return;
			}
			cached[0] = (range[1] + page_size - 1) / page_size;
			break;
		case MAP_FAULT_DROPPED:
			(void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			cached[0] = (range[1] + page_size - 1) / page_size;
			break;
		case MAP_FAULT_LATE:
			usleep(faults->most * 1000);
			break;
		default:
			return;
	}
	count_hit();
}

/* cachestat(2) has no function of its own. */
long
syscall(long number, ...)
{
	static long (*next) (long, ...);
	va_list		args;
	long		a[6];
	long		result;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);

	if (number == CACHESTAT && faults != NULL && faults->no_cachestat)
	{
		count_hit();
		errno = ENOSYS;
		return -1;
	}
	if (next == NULL)
		next = (long (*) (long, ...)) dlsym(RTLD_NEXT, "syscall");
	result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == CACHESTAT && result == 0 && concerns(a[0]))
		change_cachestat(a[0], (const uint64_t *) a[1], (uint64_t *) a[2]);
	return result;
}
