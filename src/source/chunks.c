/*-------------------------------------------------------------------------
 *
 * chunks.c
 *	  Assigning a relation's blocks to the processes that read it together
 *
 * Chunks are small, so that all processes together read the file in order, which
 * read-ahead of disks and kernel supports best.  Towards the end they get smaller,
 * so that all processes finish at about the same time.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/source/chunks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "source/source.h"

/* Blocks of a chunk: a multiple of the smallest, aligned to it in the file */
#define MIN_CHUNK 16
#define MAX_CHUNK 64

/* The blocks left are cut into so many chunks for each process. */
#define CHUNKS_PER_PROCESS 8

/* Set up the assignment of the blocks first to end - 1. */
void
sst_chunks_init(SstChunks *chunks, BlockNumber first, BlockNumber end,
				int nparticipants)
{
	pg_atomic_init_u64(&chunks->next, first);
	pg_atomic_init_u32(&chunks->stop, InvalidBlockNumber);
	chunks->end = end;
	chunks->nparticipants = nparticipants;
}

/*
 * Take the next chunk, blocks *first to *end - 1; false when all are taken, or
 * the rest need not be read.  Takes no lock.  No two processes get the same chunk: the
 * exchange fails if "next" is not what was read.  Who sees "stop" late reads blocks in
 * vain, and nothing else depends on the order of the two.
 */
bool
sst_chunks_take(SstChunks *chunks, BlockNumber *first, BlockNumber *end)
{
	uint64		next = pg_atomic_read_u64(&chunks->next);
	uint64		after;

	do
	{
		uint64		size;

		if (next >= chunks->end ||
			next >= pg_atomic_read_u32(&chunks->stop))
			return false;

		size = (chunks->end - next) /
			(CHUNKS_PER_PROCESS * chunks->nparticipants);
		size = Max(Min(size, MAX_CHUNK), MIN_CHUNK);
		after = (next + size) / MIN_CHUNK * MIN_CHUNK;
		after = Min(after, chunks->end);
	} while (!pg_atomic_compare_exchange_u64(&chunks->next, &next, after));

	*first = (BlockNumber) next;
	*end = (BlockNumber) after;

	return true;
}

/*
 * Let all processes stop once they have read what precedes the block.  If several
 * blocks are given, the lowest counts.
 */
void
sst_chunks_stop(SstChunks *chunks, BlockNumber blkno)
{
	uint32		stop = pg_atomic_read_u32(&chunks->stop);

	while (blkno < stop &&
		   !pg_atomic_compare_exchange_u32(&chunks->stop, &stop, blkno))
		 /* another process has changed it, and stop is what it is now */ ;
}
