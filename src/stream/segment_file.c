/*-------------------------------------------------------------------------
 *
 * segment_file.c
 *	  Segment files of a relation: open descriptors and read-ahead advice
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/segment_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "pgstat.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "stream/segment_file.h"

/* Write the path of a segment file into MAXPGPATH bytes. */
void
sst_segment_path(const SstFiles *files, ForkNumber forknum, int64 segno, char *path)
{
	sst_files_path(files, forknum, path, MAXPGPATH);
	if (segno > 0)
		snprintf(path + strlen(path), MAXPGPATH - strlen(path), "." INT64_FORMAT,
				 segno);
}

/*
 * Open a segment file of a relation for reading, or return -1.
 *
 * The descriptor is for CloseTransientFile(); the end of the (sub)transaction
 * closes it as well.
 */
static int
open_segment(const SstFiles *files, ForkNumber forknum, int64 segno)
{
	char		path[MAXPGPATH];

	sst_segment_path(files, forknum, segno, path);

	return OpenTransientFile(path, O_RDONLY | PG_BINARY);
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
		file->fd = open_segment(&file->files, file->forknum, segno);
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
 * Advise the kernel that neighbouring blocks of one segment will be read soon.  One
 * call is enough, while smgrprefetch() of servers before 17 needs one for each
 * block.
 *
 * False if the file cannot be opened; the reads that follow report the error.
 */
bool
sst_segment_file_advise(SstSegmentFile *file, BlockNumber blkno, BlockNumber nblocks)
{
#ifdef SST_HAVE_FADVISE
	int			fd = sst_segment_file_open(file, blkno);

	if (fd < 0)
		return false;

	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_PREFETCH);
	(void) posix_fadvise(fd, (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
						 (off_t) BLCKSZ * nblocks, POSIX_FADV_WILLNEED);
	pgstat_report_wait_end();

	return true;
#else
	return false;
#endif
}
