/*-------------------------------------------------------------------------
 *
 * source_list.c
 *	  The blocks of a list
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/source_list.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "source/source.h"

static BlockNumber
list_next(SstSource *source)
{
	SstListSource *list = (SstListSource *) source;

	return list->current < list->n ? list->blknos[list->current++] :
		InvalidBlockNumber;
}

static void
list_seek(SstSource *source, BlockNumber blkno)
{
	SstListSource *list = (SstListSource *) source;

	list->current = 0;
	while (list->current < list->n && list->blknos[list->current] < blkno)
		list->current++;
}

/*
 * Set up a source of n blocks, which ascend.  The array must stay.  Returns the
 * source's base.
 */
SstSource *
sst_list_source_init(SstListSource *source, const BlockNumber *blknos,
					 BlockNumber n)
{
	source->base.next = list_next;
	source->base.seek = list_seek;
	source->base.put_back = InvalidBlockNumber;
	source->blknos = blknos;
	source->n = n;
	source->current = 0;

	return &source->base;
}
