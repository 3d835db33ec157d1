/*-------------------------------------------------------------------------
 *
 * free_buffers.c
 *	  Taking shared buffers only as long as there are free ones
 *
 * A free buffer is one whose header names no block.  Servers before 19 take
 * free buffers first, from a list.  19 has no such list: the clock hand takes
 * the next buffer that is free, or unused since its last round.  As many reads
 * as there are free buffers move it around the pool at most once, so that it
 * evicts nothing that was read or used meanwhile.
 *
 * Other backends take buffers, too.  So only a part of the counted ones may be
 * used before they are counted again.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/free_buffers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat/buffer_tag.h"
#include "compat/shared_blocks.h"
#include "stream/free_buffers.h"

/* This many, or an eighth of the free ones if that is more, between two counts */
#define MIN_ALLOWANCE 8192

/* Others have more time to take buffers where a rate is set. */
#define MAX_AGE_MS 10000.0

/* Those that are left to others: to read a catalog evicts nothing then, either */
#define SPARE_BUFFERS Min(NBuffers / 64, 256)

/* Buffers from one check for interrupts to the next, a power of two */
#define CHECK_BUFFERS 8192

/*
 * One pass over the headers, without a lock.  Each state is one word, read at once; no
 * order among them matters for a number that is out of date in any case.
 */
static int
count_free_buffers(void)
{
	int			nfree = 0;

	for (int i = 0; i < NBuffers; i++)
	{
		if (i % CHECK_BUFFERS == 0)
			CHECK_FOR_INTERRUPTS();
		nfree += (sst_read_buffer_state(GetBufferDescriptor(i)) &
				  BM_TAG_VALID) == 0;
	}

	return nfree;
}

/* Is the count old? */
static bool
is_outdated(const SstFreeBuffers *buffers)
{
	instr_time	age;

	INSTR_TIME_SET_CURRENT(age);
	INSTR_TIME_SUBTRACT(age, buffers->counted);

	return INSTR_TIME_GET_MILLISEC(age) > MAX_AGE_MS;
}

/*
 * Are there n free buffers, besides npending that were taken and are still free, and
 * those that are left to others?  If not, reading would evict pages.  They are counted
 * if the last count does not tell.
 */
bool
sst_free_buffers_suffice(SstFreeBuffers *buffers, BlockNumber n, int npending)
{
	int64		nfree;

	if (sst_free_list_is_empty())
		return false;
	if (buffers->allowance >= n && !is_outdated(buffers))
		return true;

	nfree = (int64) count_free_buffers() - SPARE_BUFFERS - npending;
	buffers->allowance = Min(Max(MIN_ALLOWANCE, nfree / 8), nfree);
	INSTR_TIME_SET_CURRENT(buffers->counted);

	return nfree >= n;
}

/* Take n buffers, which suffice.  There may be more of them than the allowance. */
void
sst_free_buffers_take(SstFreeBuffers *buffers, BlockNumber n)
{
	buffers->allowance = Max(buffers->allowance - (int64) n, 0);
}
