/*-------------------------------------------------------------------------
 *
 * buffered_buckets.c
 *	  How many blocks of each part of a fork are in shared buffers?
 *
 * One pass over all buffer headers, without a lock, also covers blocks that
 * are not read.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/buffered_buckets.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat/buffer_tag.h"
#include "stream/buffered_buckets.h"

/* Buffers from one check for interrupts to the next, a power of two */
#define CHECK_BUFFERS 8192

/*
 * Count the blocks of each bucket that are in shared buffers; counts has an element for
 * each bucket.  Not for temporary relations.  A block that moves to another buffer
 * meanwhile may be missed, or be counted twice.  Takes no lock and no pin.  A tag that is
 * read while it changes can be part of the old one and part of the new one, on any CPU: that
 * adds one to a count, or not.
 */
void
sst_count_buffered(Relation rel, ForkNumber forknum, const SstBucketSums *sums,
				   uint32 *counts)
{
	BufferTag	wanted = sst_buffer_tag(rel, forknum, 0);

	memset(counts, 0, sizeof(uint32) * sums->nbuckets);
	for (int i = 0; i < NBuffers; i++)
	{
		BufferTag	tag;
		BlockNumber blkno;

		if (i % CHECK_BUFFERS == 0)
			CHECK_FOR_INTERRUPTS();

		tag = GetBufferDescriptor(i)->tag;
		blkno = tag.blockNum;
		tag.blockNum = 0;
		if (blkno < sums->nblocks && BufferTagsEqual(&tag, &wanted))
			counts[sst_bucket_of(sums, blkno)]++;
	}
}
