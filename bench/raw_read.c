/*-------------------------------------------------------------------------
 *
 * raw_read.c
 *	  The limit of a scan: what it reads of a file, with nothing else done
 *
 *		raw_read mapped|copied parts|whole|checksums PROCESSES FILE...
 *
 * Reads parts of each page (header, line pointers and special space), or all of it,
 * or verifies the checksums and then reads parts, from a mapping of the file or from
 * copies of 256 kB.  Prints the milliseconds from the first page to the last.
 * Processes take 2 MB at a time, and are there before the clock starts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "storage/bufpage.h"

#include "stream/run.h"

/* Not the server's, which is in no library */
#undef printf
#undef fprintf

/* What a process takes at a time, maps at a time, and copies at a time */
#define WINDOW_SIZE (2 * 1024 * 1024)
#define COPY_SIZE (256 * 1024)

/* What the processes share */
typedef struct Shared
{
	volatile unsigned next;		/* window */
	volatile unsigned ready;	/* processes */
	volatile bool go;
	volatile uint64 sum;		/* so that nothing is left out */
	volatile unsigned wrong;	/* pages whose checksum is */
} Shared;

static Shared *shared;
static bool mapped;
static bool whole;
static bool checksums;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* Add up the words that a scan would look at. */
static uint64
read_parts(const char *page)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	uint64		sum = header->pd_flags;

	if (whole)
	{
		for (int i = 0; i < BLCKSZ; i += sizeof(uint64))
			sum += *(const uint64 *) (page + i);
		return sum;
	}
	if (header->pd_lower > BLCKSZ || header->pd_special > BLCKSZ)
		return 0;
	for (int i = SizeOfPageHeaderData; i < header->pd_lower; i += sizeof(ItemIdData))
		sum += *(const uint32 *) (page + i);
	for (int i = header->pd_special; i < BLCKSZ; i += sizeof(uint32))
		sum += *(const uint32 *) (page + i);

	return sum;
}

static void
read_pages(const char *pages, int npages, BlockNumber blkno)
{
	uint64		sum = 0;

	for (int i = 0; i < npages; i += SST_CHECKSUM_PAGES)
	{
		const char *group[SST_CHECKSUM_PAGES];
		BlockNumber blknos[SST_CHECKSUM_PAGES];
		uint16		sums[SST_CHECKSUM_PAGES];
		int			n = Min(npages - i, SST_CHECKSUM_PAGES);

		for (int k = 0; k < n; k++)
		{
			group[k] = pages + (size_t) BLCKSZ * (i + k);
			blknos[k] = blkno + i + k;
		}
		if (checksums)
			sst_checksum_pages(group, blknos, n, sums);
		for (int k = 0; k < n; k++)
		{
			const PageHeaderData *header = (const PageHeaderData *) group[k];

			if (checksums && header->pd_upper != 0 && sums[k] != header->pd_checksum)
				shared->wrong++;
			sum += read_parts(group[k]);
		}
	}
	shared->sum += sum;
}

/* Read some bytes of a file from "offset" on, of which it has all. */
static void
read_window(int fd, off_t offset, size_t length, BlockNumber blkno)
{
	static char *copy = NULL;

	if (mapped)
	{
		char	   *start = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, offset);

		if (start == MAP_FAILED)
			die("mmap");
		read_pages(start, length / BLCKSZ, blkno);
		munmap(start, length);
		return;
	}

	if (copy == NULL && posix_memalign((void **) &copy, 4096, COPY_SIZE) != 0)
		die("posix_memalign");
	for (size_t done = 0; done < length; done += COPY_SIZE)
	{
		size_t		n = Min(length - done, COPY_SIZE);

		if (pread(fd, copy, n, offset + done) != (ssize_t) n)
			die("pread");
		read_pages(copy, n / BLCKSZ, blkno + done / BLCKSZ);
	}
}

/* Take windows of all files together until none is left. */
static void
participate(int nfiles, char **names)
{
	unsigned	first = 0;		/* window of the file */
	unsigned	window;

	__sync_fetch_and_add(&shared->ready, 1);
	while (!shared->go)
		;

	window = __sync_fetch_and_add(&shared->next, 1);
	for (int i = 0; i < nfiles; i++)
	{
		struct stat st;
		unsigned	nwindows;
		int			fd = open(names[i], O_RDONLY);

		if (fd < 0 || fstat(fd, &st) < 0)
			die(names[i]);
		nwindows = (st.st_size + WINDOW_SIZE - 1) / WINDOW_SIZE;
		for (; window < first + nwindows; window = __sync_fetch_and_add(&shared->next, 1))
		{
			off_t		offset = (off_t) WINDOW_SIZE * (window - first);

			read_window(fd, offset, Min(st.st_size - offset, WINDOW_SIZE),
						RELSEG_SIZE * i + offset / BLCKSZ);
		}
		first += nwindows;
		close(fd);
	}
}

int
main(int argc, char **argv)
{
	struct timespec begin,
				end;
	int			nprocesses;

	if (argc < 5)
	{
		fprintf(stderr, "usage: raw_read mapped|copied parts|whole|checksums PROCESSES FILE...\n");
		return 1;
	}
	mapped = strcmp(argv[1], "mapped") == 0;
	whole = strcmp(argv[2], "whole") == 0;
	checksums = strcmp(argv[2], "checksums") == 0;
	nprocesses = atoi(argv[3]);
	shared = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");

	for (int i = 1; i < nprocesses; i++)
	{
		if (fork() == 0)
		{
			participate(argc - 4, argv + 4);
			_exit(0);
		}
	}
	while (shared->ready < nprocesses - 1)
		;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	shared->go = true;
	participate(argc - 4, argv + 4);
	for (int i = 1; i < nprocesses; i++)
	{
		int			status;

		if (wait(&status) < 0 || status != 0)
			die("wait");
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.3f\n", (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);

	return shared->wrong > 0;
}
