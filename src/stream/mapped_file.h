/*-------------------------------------------------------------------------
 *
 * mapped_file.h
 *	  Windows of a file's cached data, mapped into memory
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/mapped_file.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MAPPED_FILE_H
#define SST_MAPPED_FILE_H

#include "stream/direct_page_check.h"
#include "stream/rules.h"

/* One window of the segment files of a fork */
typedef struct SstMappedFile
{
	char	   *start;			/* NULL if nothing is mapped */
	int64		segno;			/* segment, and where in it the window begins */
	off_t		offset;
} SstMappedFile;

typedef struct SstRunMapper
{
	SstMappedFile file;
	SstPageNeeds needs;
	bool		checksums;		/* compute them, too */
	bool		off;			/* not to be used, or does not work */
	int			nskip;			/* runs to leave to be read */
	int			nwrong;			/* see sst_run_mapper_was_wrong() */
} SstRunMapper;

extern void sst_mapped_file_close(SstMappedFile *file);
extern void sst_run_mapper_init(SstRunMapper *mapper, const SstPageNeeds *needs,
								const SstDirectPageCheck *check);
extern bool sst_run_copy_mapped(SstRunMapper *mapper, SstRun *run, bool *absent);
extern void sst_run_mapper_was_wrong(SstRunMapper *mapper);

#endif							/* SST_MAPPED_FILE_H */
