/*-------------------------------------------------------------------------
 *
 * gist_build.h
 *	  A model of a GiST build for points, without pages
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/gist_build.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_GIST_BUILD_H
#define SST_GIST_BUILD_H

#include "rebuild/box_split.h"
#include "rebuild/points.h"

/* A page of a GiST index has this many bytes for line pointers and tuples. */
#define SST_GIST_PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData - \
							(int) MAXALIGN(sizeof(GISTPageOpaqueData)))

/* Pages that a sorted build fills before it parts their tuples (gistbuild.c) */
#define SST_GIST_BUILD_PAGES 4

/* What was built of one level of the tree */
typedef struct SstGistLevel
{
	struct SstGistLevel *parent;
	int			page;			/* being filled, of those before a split */
	int			free;			/* bytes on it */
	int			nboxes;			/* on all of these */
	SstBox		boxes[SST_MAX_SPLIT_BOXES];
} SstGistLevel;

typedef struct SstGistBuild
{
	int			room;			/* of a page */
	uint64		nleaves;
	uint64		ninner;			/* other pages, the root not among them */
	SstGistLevel *leaf;
	SstBoxSplitSpace space;
} SstGistBuild;

extern void sst_gist_sort(SstPoint *points, uint32 npoints);
extern SstGistBuild *sst_gist_build_begin(int room);
extern void sst_gist_build_add(SstGistBuild *build, const SstPoint *point);
extern void sst_gist_build_end(SstGistBuild *build);
extern void sst_gist_build_free(SstGistBuild *build);

#endif							/* SST_GIST_BUILD_H */
