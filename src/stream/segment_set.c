/*-------------------------------------------------------------------------
 *
 * segment_set.c
 *	  Segment files of a relation that are open at the same time
 *
 * The blocks of a sample of a large relation are far apart, so that reads in
 * flight are reads of many segments.  A segment stays open while it has users, so
 * no read has to be finished because of another one.  The newest segment stays
 * open without users: a scan of neighbouring blocks has one or two open.
 *
 * The descriptors are counted as external ones, because those can be refused
 * without an error.  The transaction's end does not close them.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/segment_set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "compat/shared_blocks.h"
#include "stream/segment_file.h"
#include "stream/segment_set.h"

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
open_segment(SstSegmentSet *set, SstOpenSegment *segment, int64 segno)
{
	char		path[MAXPGPATH];
	int			fd = -1;

	if (set->plain)
	{
		sst_segment_path(&set->files, set->forknum, segno, path);

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
			(segment->segno < 0 && !open_segment(set, segment, segno)))
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
