/*-------------------------------------------------------------------------
 *
 * source_range.c
 *	  All blocks of a range
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source_range.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "source/source.h"

static BlockNumber
range_next(SstSource *source)
{
	SstRangeSource *range = (SstRangeSource *) source;

	if (range->current >= range->end)
		return InvalidBlockNumber;

	return range->current++;
}

static void
range_seek(SstSource *source, BlockNumber blkno)
{
	((SstRangeSource *) source)->current = blkno;
}

/*
 * Set up the blocks from first to end - 1.  Returns the source's base.
 */
SstSource *
sst_range_source_init(SstRangeSource *source, BlockNumber first, BlockNumber end)
{
	source->base.next = range_next;
	source->base.seek = range_seek;
	source->current = first;
	source->end = end;

	return &source->base;
}
