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

	if (range->current >= range->end &&
		(range->chunks == NULL ||
		 !sst_chunks_take(range->chunks, &range->current, &range->end)))
		return InvalidBlockNumber;

	return range->current++;
}

static void
range_seek(SstSource *source, BlockNumber blkno)
{
	((SstRangeSource *) source)->current = blkno;
}

/*
 * Set up a source of the blocks first to end - 1 or, unless chunks is NULL, of the
 * chunks that this process takes.  Returns the source's base.
 */
SstSource *
sst_range_source_init(SstRangeSource *source, SstChunks *chunks,
					  BlockNumber first, BlockNumber end)
{
	source->base.next = range_next;
	source->base.seek = range_seek;
	source->base.put_back = InvalidBlockNumber;
	source->chunks = chunks;
	source->current = chunks == NULL ? first : 0;
	source->end = chunks == NULL ? end : 0;

	return &source->base;
}
