/*-------------------------------------------------------------------------
 *
 * box_split.h
 *	  How a GiST index of points splits a page
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/box_split.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_BOX_SPLIT_H
#define SST_BOX_SPLIT_H

/* A tuple of a GiST index of points: on a leaf page, both corners are the same */
typedef struct SstBox
{
	double		low[2];
	double		high[2];
	uint16		size;			/* of the tuple, aligned */
	bool		isnull;
} SstBox;

/* Tuples of four pages, each at least 16 bytes and a line pointer, and one more */
#define SST_MAX_SPLIT_BOXES (4 * BLCKSZ / 20 + 1)

typedef struct SstBoxInterval
{
	double		lower;
	double		upper;
} SstBoxInterval;

/* A tuple that may go to either side */
typedef struct SstCommonBox
{
	int			i;
	double		delta;
} SstCommonBox;

/* Memory for a split */
typedef struct SstBoxSplitSpace
{
	SstBoxInterval by_lower[SST_MAX_SPLIT_BOXES];
	SstBoxInterval by_upper[SST_MAX_SPLIT_BOXES];
	SstCommonBox common[SST_MAX_SPLIT_BOXES];
	int			left[SST_MAX_SPLIT_BOXES];
	int			right[SST_MAX_SPLIT_BOXES];
	SstBox		boxes[SST_MAX_SPLIT_BOXES];
} SstBoxSplitSpace;

extern void sst_box_add(SstBox *to, const SstBox *box);
extern int	sst_box_split(SstBoxSplitSpace *space, SstBox *boxes, int nboxes);

#endif							/* SST_BOX_SPLIT_H */
