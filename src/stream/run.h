/*-------------------------------------------------------------------------
 *
 * run.h
 *	  Runs of blocks that are read from files: checked (direct_page_check.c, checksum.c),
 *	  and copied from mapped memory (mapped_file.c)
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_RUN_H
#define SST_RUN_H

#include "access/xlogdefs.h"
#include "portability/instr_time.h"
#include "storage/bufpage.h"

#include "stream/buffered.h"
#include "stream/segment_file.h"
#include "stream/stream.h"

/* Bit of a block in the words of a run */
#define SST_RUN_BIT(i) (UINT64CONST(1) << (i))

/* Neighbouring blocks of one segment; in the words, bit 0 is the first */
typedef struct SstRun
{
	BlockNumber first;
	uint64		wanted;			/* blocks to return */
	uint64		buffered;		/* of those, in buffers */
	uint64		good;			/* of those, read directly and checked */
	uint64		cached;			/* blocks that the page cache had before */
	Buffer		buffers[SST_MAX_COLD_RUN_BLOCKS];
	XLogRecPtr	position;		/* of the WAL before the look-up */
	int			read_first;		/* first block of the run that is read */
	SstFileRead read;
	char	   *memory;			/* NULL if there is no read */
	int			memory_blocks;	/* of it that were ever written */
	bool		mapped;			/* copied from a mapping, in part */
	uint16		checksums[SST_MAX_COLD_RUN_BLOCKS]; /* computed, if there are
													 * any */
} SstRun;

/* State for checking the pages of one fork */
typedef struct SstDirectPageCheck
{
	SstBuffered buffered;
	SstSegmentFile file;		/* of the fork */
	bool		wal_logged;
	bool		checksums;
} SstDirectPageCheck;

/* What copies runs from a window of the mapped file */
typedef struct SstRunMapper
{
	SstPageNeeds needs;
	bool		checksums;		/* compute them, too */
	bool		off;			/* not to be used, or does not work */
	int			nskip;			/* runs to leave to be read */

	/* Trials of which is quicker */
	int			nruns;			/* since the last one began */
	double		spent;			/* in this part of one, sum of times for a
								 * byte */
	double		least[2];		/* in a part that was read, or mapped */
	bool		timed;			/* the current run is, from here on: */
	instr_time	start_time;

	char	   *window;			/* NULL if nothing is mapped */
	int64		segno;			/* segment, and where in it the window begins */
	off_t		offset;
} SstRunMapper;

/* Would the buffer manager accept the header, as that of a page in use? */
static inline bool
sst_header_is_good(const PageHeaderData *header)
{
	return header->pd_upper != 0 &&
		(header->pd_flags & ~PD_VALID_FLAG_BITS) == 0 &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_special <= BLCKSZ &&
		header->pd_special == MAXALIGN(header->pd_special);
}

extern void sst_direct_page_check_init(SstDirectPageCheck *check, Relation rel,
									   ForkNumber forknum, BlockNumber nblocks);
extern void sst_run_look_up(SstDirectPageCheck *check, SstRun *run);
extern void sst_run_sum(SstRun *run, const char *images, uint64 blocks);
extern void sst_run_check(SstDirectPageCheck *check, SstRun *run);

/* Most pages of a call, in checksum.c */
#define SST_CHECKSUM_PAGES 4

extern void (*sst_checksum_pages) (const char *const *pages,
								   const BlockNumber *blknos, int npages,
								   uint16 *checksums);

extern void sst_run_mapper_init(SstRunMapper *mapper, const SstPageNeeds *needs,
								const SstDirectPageCheck *check);
extern void sst_run_mapper_close(SstRunMapper *mapper);
extern bool sst_run_copy_mapped(SstRunMapper *mapper, SstRun *run, bool can_read);
extern void sst_run_mapper_done(SstRunMapper *mapper, const SstRun *run);
extern void sst_run_mapper_missed(SstRunMapper *mapper);

#endif							/* SST_RUN_H */
