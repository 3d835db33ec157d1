/*-------------------------------------------------------------------------
 *
 * source_slice.c
 *	  Another source, slice by slice
 *
 * At the end of a slice the source reports its end, so that a stream on it drains
 * and holds no pin.  Then the caller begins the next slice.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source_slice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "source/source.h"

static BlockNumber
slice_next(SstSource *source)
{
	SstSliceSource *slice = (SstSliceSource *) source;

	if (slice->left == 0)
		return InvalidBlockNumber;

	slice->left--;
	return sst_source_next(slice->inner);
}

static void
slice_seek(SstSource *source, BlockNumber blkno)
{
	sst_source_seek(((SstSliceSource *) source)->inner, blkno);
}

/*
 * Set up slices of another source, which must outlive this one.  The first slice is
 * empty.  Returns the source's base.
 */
SstSource *
sst_slice_source_init(SstSliceSource *source, SstSource *inner)
{
	source->base.next = slice_next;
	source->base.seek = slice_seek;
	source->base.put_back = InvalidBlockNumber;
	source->inner = inner;
	source->left = 0;

	return &source->base;
}

/* Is there a block after the slice? */
bool
sst_slice_source_more(SstSliceSource *source)
{
	BlockNumber blkno;

	if (source->base.put_back != InvalidBlockNumber)
		return true;

	blkno = sst_source_next(source->inner);
	sst_source_put_back(source->inner, blkno);

	return blkno != InvalidBlockNumber;
}

/* Begin a slice of nblocks blocks, including one that was put back. */
void
sst_slice_source_cut(SstSliceSource *source, BlockNumber nblocks)
{
	source->left = nblocks;
	if (source->base.put_back != InvalidBlockNumber)
		source->left--;
}
