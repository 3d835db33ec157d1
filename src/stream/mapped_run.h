/*-------------------------------------------------------------------------
 *
 * mapped_run.h
 *	  Copying the needed parts of a run's pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/mapped_run.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MAPPED_RUN_H
#define SST_MAPPED_RUN_H

#include "relation/page_needs.h"
#include "stream/direct_page_check.h"
#include "stream/mapped_file.h"

typedef struct SstRunMapper
{
	SstMappedFile file;
	SstPageNeeds needs;
	bool		checksums;		/* compute them, too */
	bool		off;			/* not to be used, or does not work */
	int			nskip;			/* runs to leave to be read */
	int			nwrong;			/* see sst_run_mapper_was_wrong() */
} SstRunMapper;

extern void sst_run_mapper_init(SstRunMapper *mapper, const SstPageNeeds *needs,
								const SstDirectPageCheck *check);
extern bool sst_run_copy_mapped(SstRunMapper *mapper, SstRun *run, bool *absent);
extern void sst_run_mapper_was_wrong(SstRunMapper *mapper);

#endif							/* SST_MAPPED_RUN_H */
