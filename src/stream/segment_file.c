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
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "utils/wait_event.h"

#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "stream/segment_file.h"

/* Write the path of a segment file into MAXPGPATH bytes. */
static void
segment_path(const SstFiles *files, ForkNumber forknum, int64 segno, char *path)
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
	segment_path(&file->files, file->forknum, segno, path);

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

/* ----------
 * Segment files of a relation that are open at the same time
 *
 * The blocks of a sample of a large relation are far apart, so that reads in
 * flight are reads of many segments.  A segment stays open while it has users, so
 * no read has to be finished because of another one.  The newest segment stays
 * open without users: a scan of neighbouring blocks has one or two open.
 *
 * The descriptors are counted as external ones, because those can be refused
 * without an error.  The transaction's end does not close them.
 * ----------
 */

/*
 * Prepare to open segments of a fork.  The relation stays open and locked, so that its
 * files are not replaced.
 */
void
sst_segment_set_init(SstSegmentSet *set, Relation rel, ForkNumber forknum)
{
	sst_relation_files(rel, &set->files);
	set->forknum = forknum;
	set->plain = sst_files_are_plain(&set->files);
	set->nopen = 0;
	set->most = SST_MAX_OPEN_SEGMENTS;
	set->newest = &set->segments[0];
	for (int i = 0; i < SST_MAX_OPEN_SEGMENTS; i++)
	{
		set->segments[i].segno = -1;
		set->segments[i].fd = -1;
		set->segments[i].nusers = 0;
	}
}

/* Make room for another segment.  No ERROR. */
static void
close_segment(SstSegmentSet *set, SstOpenSegment *segment)
{
	if (segment->fd >= 0)
	{
		close(segment->fd);
		ReleaseExternalFD();
		set->nopen--;
	}
	segment->segno = -1;
	segment->fd = -1;
	segment->nusers = 0;
}

/*
 * Open a segment.  False if there are too many open files, and some of them are ours.
 */
static bool
open_of_set(SstSegmentSet *set, SstOpenSegment *segment, int64 segno)
{
	char		path[MAXPGPATH];
	int			fd = -1;

	if (set->plain)
	{
		segment_path(&set->files, set->forknum, segno, path);

		/* The first one is needed, as any scan needs one. */
		if (set->nopen == 0)
			ReserveExternalFD();
		else if (set->nopen >= set->most || !AcquireExternalFD())
			return false;

		/* If descriptors are short, this writes a log line. */
		HOLD_INTERRUPTS();
		fd = BasicOpenFile(path, O_RDONLY | PG_BINARY);
		RESUME_INTERRUPTS();
		if (fd >= 0)
			set->nopen++;
		else
		{
			bool		too_many = errno == EMFILE || errno == ENFILE;

			ReleaseExternalFD();
			if (too_many && set->nopen > 0)
			{
				/* To try again would close files of the server each time. */
				set->most = set->nopen;
				return false;
			}
		}
	}

	segment->segno = segno;
	segment->fd = fd;

	return true;
}

/* The segment if the set has it; else room for it, or NULL if there is none */
static SstOpenSegment *
find_segment(SstSegmentSet *set, int64 segno)
{
	SstOpenSegment *room = NULL;

	for (int i = 0; i < SST_MAX_OPEN_SEGMENTS; i++)
	{
		SstOpenSegment *segment = &set->segments[i];

		if (segment->segno == segno)
			return segment;
		if (room == NULL && segment->segno < 0)
			room = segment;
	}

	return room;
}

/*
 * Return the segment of a block, which stays open until its user returns it.  It has no
 * descriptor if it cannot be opened, or if only the relation's storage manager knows
 * what is in it.  NULL if no more can be open until one is returned; that cannot be
 * if there are no users.
 */
SstOpenSegment *
sst_segment_set_take(SstSegmentSet *set, BlockNumber blkno)
{
	int64		segno = blkno / RELSEG_SIZE;

	if (set->newest->segno != segno)
	{
		SstOpenSegment *segment;

		if (set->newest->nusers == 0)
			close_segment(set, set->newest);
		segment = find_segment(set, segno);
		if (segment == NULL ||
			(segment->segno < 0 && !open_of_set(set, segment, segno)))
			return NULL;
		set->newest = segment;
	}
	set->newest->nusers++;

	return set->newest;
}

/* Its user needs the segment no more. */
void
sst_segment_set_return(SstSegmentSet *set, SstOpenSegment *segment)
{
	Assert(segment->nusers > 0);
	if (--segment->nusers == 0 && segment != set->newest)
		close_segment(set, segment);
}

/* Close all.  No read of them is under way.  No ERROR. */
void
sst_segment_set_close(SstSegmentSet *set)
{
	for (int i = 0; i < SST_MAX_OPEN_SEGMENTS; i++)
		close_segment(set, &set->segments[i]);
}
