/*-------------------------------------------------------------------------
 *
 * page_cache.c
 *	  How much of a relation's files is in the kernel's page cache?
 *
 * cachestat(2) counts that in one call for a file, from Linux 6.5 on.  Elsewhere
 * the file is mapped, window by window, and mincore(2) asked which pages of the
 * mapping are there.  No page of it is touched.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/page_cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "stream/page_cache.h"

/* Bytes that are mapped at a time for mincore(2) */
#define WINDOW (64 * 1024 * 1024)

/* The number of cachestat(2) is the same on all architectures that are newer. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* As the kernel has them (include/uapi/linux/mman.h) */
typedef struct CachestatRange
{
	uint64		offset;
	uint64		length;			/* 0: to the end of the file */
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
 * tell; for length 0 up to the end of the file
 */
static int64
ask_cachestat(int fd, off_t offset, off_t length)
{
#ifdef __linux__
	CachestatRange range = {offset, length};
	Cachestat	found = {0};

	if (syscall(SYS_cachestat, fd, &range, &found, 0) == 0)
		return found.cached;
#endif
	return -1;
}

/* The same, by mapping the file */
static int64
ask_mincore(int fd, int64 page_size)
{
	struct stat st;
	unsigned char *resident;
	int64		npages = 0;

	if (fstat(fd, &st) != 0)
		return -1;

	resident = palloc(WINDOW / page_size);
	for (int64 offset = 0; offset < st.st_size && npages >= 0; offset += WINDOW)
	{
		size_t		size = Min(WINDOW, st.st_size - offset);
		void	   *window = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);

		if (window == MAP_FAILED)
			npages = -1;
		else
		{
			if (mincore(window, size, (void *) resident) != 0)
				npages = -1;
			for (size_t i = 0; i < (size + page_size - 1) / page_size && npages >= 0; i++)
				npages += resident[i] & 1;
			munmap(window, size);
		}
	}
	pfree(resident);

	return npages;
}

/*
 * Bytes of a fork's files in the page cache; -1 if that cannot be known, or there is
 * no file.  The files are opened for reading, one at a time.
 */
int64
sst_page_cache_bytes(const SstFiles *files, ForkNumber forknum)
{
	int64		page_size = sysconf(_SC_PAGESIZE);
	char		path[MAXPGPATH];
	size_t		length;
	int64		bytes = 0;

	sst_files_path(files, forknum, path, sizeof(path));
	length = strlen(path);
	for (int segno = 0;; segno++)
	{
		int64		npages;
		int			fd;

		CHECK_FOR_INTERRUPTS();
		if (segno > 0)
			snprintf(path + length, sizeof(path) - length, ".%d", segno);
		fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);
		if (fd < 0)
			return errno == ENOENT && segno > 0 ? bytes : -1;

		npages = ask_cachestat(fd, 0, 0);
		if (npages < 0)
			npages = ask_mincore(fd, page_size);
		CloseTransientFile(fd);
		if (npages < 0)
			return -1;
		bytes += npages * page_size;
	}
}

/*
 * Is a part of an open file in the page cache?  False where cachestat(2) does not
 * tell.
 */
bool
sst_page_cache_has(int fd, off_t offset, off_t length)
{
	return ask_cachestat(fd, offset, length) * sysconf(_SC_PAGESIZE) >= length;
}
