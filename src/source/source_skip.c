/*-------------------------------------------------------------------------
 *
 * source_skip.c
 *	  The blocks of another source that are not in a set
 *
 * The set is complete before the scan begins, so that a stream's look-ahead never
 * waits.  A walk over many blocks of the set can be canceled.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source_skip.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "source/source.h"

static BlockNumber
skip_next(SstSource *source)
{
	SstSkipSource *skip = (SstSkipSource *) source;
	BlockNumber blkno;

	while ((blkno = sst_source_next(skip->inner)) != InvalidBlockNumber &&
		   sst_block_set_contains(skip->blocks, blkno))
		CHECK_FOR_INTERRUPTS();

	return blkno;
}

static void
skip_seek(SstSource *source, BlockNumber blkno)
{
	sst_source_seek(((SstSkipSource *) source)->inner, blkno);
}

/*
 * Set up the blocks of another source that are not in the set, which must cover
 * them.  Both must outlive this source.  Returns the source's base.
 */
SstSource *
sst_skip_source_init(SstSkipSource *source, SstSource *inner,
					 const SstBlockSet *blocks)
{
	source->base.next = skip_next;
	source->base.seek = skip_seek;
	source->base.put_back = InvalidBlockNumber;
	source->inner = inner;
	source->blocks = blocks;

	return &source->base;
}
