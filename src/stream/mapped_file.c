/*-------------------------------------------------------------------------
 *
 * mapped_file.c
 *	  Windows of a file's cached data, mapped into memory
 *
 * A visitor that needs a fifth of each page does not need a copy of all of it:
 * data in the page cache can be mapped.  A window is small, and unmapped when
 * the next one is mapped, so that a process's memory does not grow with the
 * relation.
 *
 * Data outside the page cache is not touched, because that would read it page
 * by page, and a failed read raises SIGBUS.  So does a page after the end of a
 * truncated file.  A guard is set while mapped memory is read, because data
 * may leave the page cache, and the file may be truncated, after the check.
 *
 * A touched page can start the kernel's read-ahead, whose data counts as cached
 * when its turn comes.  Where the kernel reads ahead far enough, the rest of a
 * file of which only the head was cached is read so.  MADV_RANDOM would prevent
 * that; it took 1.2 to 1.6 times as long with a read-ahead of 8 MB.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/mapped_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compat/platform.h"
#include "stream/mapped_file.h"

/* Prepare to map windows of a fork's files. */
void
sst_mapped_file_init(SstMappedFile *file)
{
	file->start = NULL;
	file->segno = -1;
	file->offset = 0;
}

#ifdef SST_HAVE_MAPPED_READS

/* Bytes of a window */
#define WINDOW_SIZE (2 * 1024 * 1024)

/* The guard: where to go on after SIGBUS, and for which addresses */
static sigjmp_buf guard_jump;
static const char *volatile guard_start;
static const char *volatile guard_end;
static struct sigaction guard_previous;

/* Unmap the window, if there is one.  No ERROR. */
void
sst_mapped_file_close(SstMappedFile *file)
{
	if (file->start != NULL)
		munmap(file->start, WINDOW_SIZE);
	file->start = NULL;
	file->segno = -1;
}

/*
 * Return the address of some bytes of a segment; NULL if they cannot be mapped.  They
 * must be looked at by sst_mapped_file_read() only, before the next call.
 */
const char *
sst_mapped_file_map(SstMappedFile *file, int fd, int64 segno, off_t offset,
					size_t length)
{
	off_t		begin = offset - offset % sysconf(_SC_PAGESIZE);
	off_t		end = offset + length;

	if (file->segno != segno || begin < file->offset ||
		end > file->offset + WINDOW_SIZE)
	{
		void	   *start;

		sst_mapped_file_close(file);
		if (end - begin > WINDOW_SIZE)
			return NULL;

		start = mmap(NULL, WINDOW_SIZE, PROT_READ, MAP_SHARED, fd, begin);
		if (start == MAP_FAILED)
			return NULL;
		file->start = start;
		file->segno = segno;
		file->offset = begin;
	}

	return file->start + (offset - file->offset);
}

/*
 * Jump out of the reader when mapped memory cannot be read.  Any other SIGBUS is
 * for the previous handler: the instruction is run again and raises it again.
 */
static void
handle_sigbus(int signo, siginfo_t *info, void *context)
{
	const char *address = info->si_addr;

	if (address >= guard_start && address < guard_end)
		siglongjmp(guard_jump, 1);

	sigaction(SIGBUS, &guard_previous, NULL);
}

/*
 * Call the reader for mapped memory.  False if some could not be read; what the
 * reader has done until then is meaningless.
 *
 * The signal is not blocked while it is handled, so that the jump need not
 * restore the signal mask.
 */
bool
sst_mapped_file_read(SstMappedFile *file, const char *mapped,
					 SstMappedReader reader, void *arg)
{
	struct sigaction action;
	bool		done = false;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handle_sigbus;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, &action, &guard_previous) < 0)
		return false;

	guard_start = file->start;
	guard_end = file->start + WINDOW_SIZE;
	if (sigsetjmp(guard_jump, 0) == 0)
	{
		reader(mapped, arg);
		done = true;
	}
	guard_start = guard_end = NULL;
	sigaction(SIGBUS, &guard_previous, NULL);

	return done;
}

#else							/* !SST_HAVE_MAPPED_READS */

/* Nothing is mapped. */

void
sst_mapped_file_close(SstMappedFile *file)
{
}

const char *
sst_mapped_file_map(SstMappedFile *file, int fd, int64 segno, off_t offset,
					size_t length)
{
	return NULL;
}

bool
sst_mapped_file_read(SstMappedFile *file, const char *mapped,
					 SstMappedReader reader, void *arg)
{
	return false;
}

#endif							/* SST_HAVE_MAPPED_READS */
