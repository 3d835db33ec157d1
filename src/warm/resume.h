/*-------------------------------------------------------------------------
 *
 * resume.h
 *	  Where a second call continues
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/warm/resume.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WARM_RESUME_H
#define SST_WARM_RESUME_H

#include "warm/warm.h"

/* A place in a set, and those after it, one of which may still be there */
typedef struct SstWarmPlace
{
	Oid			relid;
	ForkNumber	forknum;
} SstWarmPlace;

#define SST_MAX_WARM_PLACES 8

typedef struct SstWarmResume
{
	int			nplaces;
	SstWarmPlace places[SST_MAX_WARM_PLACES];
	BlockNumber blkno;			/* in the first place */
	bool		more;			/* the set had more behind the last place */
} SstWarmResume;

extern char *sst_resume_text(const SstWarmSet *set);
extern bool sst_parse_resume(const char *text, SstWarmResume *resume);
extern BlockNumber sst_resume_forks(SstWarmSet *set,
									const SstWarmResume *resume);
extern void sst_resume_blocks(SstWarmSet *set, BlockNumber blkno);

#endif							/* SST_WARM_RESUME_H */
