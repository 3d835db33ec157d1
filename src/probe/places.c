/*-------------------------------------------------------------------------
 *
 * places.c
 *	  Uncached blocks for a probe to read
 *
 * Only reads of uncached blocks measure the disk.  O_DIRECT bypasses the page
 * cache.  For other reads, blocks are chosen before the measurement: those
 * that the kernel reports as not cached, and if these are too few, some that
 * it drops on request (POSIX_FADV_DONTNEED of just these).  Blocks that stay
 * cached are not read.  Those that were not cached before are dropped again
 * after the cell.
 *
 * The reads of a cell lie in one segment, so that one file is open.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/places.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "compat/compat.h"
#include "compat/platform.h"
#include "compat/shared_blocks.h"
#include "probe/places.h"
#include "stream/page_cache.h"

/* Ranges to try for a sequential cell */
#define MAX_STARTS 8

/* Prepare to read the files of a relation with so many blocks, which is locked. */
void
sst_places_begin(SstPlaces *places, const SstFiles *files, BlockNumber nblocks)
{
	memset(places, 0, sizeof(SstPlaces));
	sst_segment_file_init_files(&places->file, files, MAIN_FORKNUM);
	places->buffers = sst_direct_io();
	places->nblocks = nblocks;
	places->order = palloc(sizeof(uint32) * Min(nblocks, RELSEG_SIZE));
	places->block = palloc(sizeof(BlockNumber) * Min(nblocks, RELSEG_SIZE));
	places->was_cached = palloc(sizeof(bool) * Min(nblocks, RELSEG_SIZE));
}

void
sst_places_end(SstPlaces *places)
{
	sst_segment_file_close(&places->file);
	pfree(places->order);
	pfree(places->block);
	pfree(places->was_cached);
}

static uint64
draw(uint64 n)
{
	return pg_prng_uint64_range(&pg_global_prng_state, 0, n - 1);
}

/* Ask the kernel to give up blocks of the page cache. */
static void
give_up(SstPlaces *places, BlockNumber blkno, BlockNumber nblocks)
{
#ifdef SST_HAVE_FADVISE
	int			fd = sst_segment_file_open(&places->file, blkno);

	if (fd >= 0)
		(void) posix_fadvise(fd, (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
							 (off_t) BLCKSZ * nblocks, POSIX_FADV_DONTNEED);
#endif
}

/* Is some of the blocks in the page cache?  Yes where the kernel does not tell. */
static bool
is_cached(SstPlaces *places, BlockNumber blkno, BlockNumber nblocks)
{
	int64		bytes = sst_page_cache_range(&places->file, blkno, blkno + nblocks);

	places->not_told |= (bytes < 0);
	return bytes != 0;
}

static bool
is_buffered(SstPlaces *places, BlockNumber blkno, BlockNumber nblocks)
{
	for (BlockNumber i = 0; i < nblocks; i++)
	{
		if (sst_is_buffered(&places->file.files, MAIN_FORKNUM, blkno + i))
			return true;
	}
	return false;
}

/* Add a read to those of the cell. */
static void
add_place(SstPlaces *places, BlockNumber blkno, bool was_cached)
{
	places->block[places->n] = blkno;
	places->was_cached[places->n++] = was_cached;
}

/* Let order[i] be any of those that come after it, or itself. */
static uint32
draw_next(SstPlaces *places, int i)
{
	int			other = i + (int) draw(places->norder - i);
	uint32		drawn = places->order[other];

	places->order[other] = places->order[i];
	places->order[i] = drawn;

	return drawn;
}

/*
 * Find reads at random places from block first on, which are nplaces reads apart at
 * most: first among those that are not cached, then among the others.
 */
static void
find_random(SstPlaces *places, const SstProbeCell *cell, BlockNumber first,
			int nplaces, int most)
{
	bool		by_cache = !cell->direct;
	int			nlooked;
	int			ncached = 0;

	places->norder = nplaces;
	for (int i = 0; i < nplaces; i++)
		places->order[i] = i;

	/* Cached ones are moved to the front of the order. */
	for (nlooked = 0; nlooked < nplaces && places->n < most; nlooked++)
	{
		uint32		place = draw_next(places, nlooked);
		BlockNumber blkno = first + place * cell->nblocks;

		if (nlooked % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		if (cell->method == SST_PROBE_STREAM &&
			is_buffered(places, blkno, cell->nblocks))
			continue;
		if (by_cache && is_cached(places, blkno, cell->nblocks))
			places->order[ncached++] = place;
		else
			add_place(places, blkno, false);
	}

	for (int i = 0; i < ncached && places->n < most && !places->not_told; i++)
	{
		BlockNumber blkno = first + places->order[i] * cell->nblocks;

		if (i % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		give_up(places, blkno, cell->nblocks);
		if (!is_cached(places, blkno, cell->nblocks))
			add_place(places, blkno, true);
	}
}

/*
 * Is a read fit for the cell?  What is cached is given up if evict says so, and then
 * *was_cached is true.
 */
static bool
is_fit(SstPlaces *places, const SstProbeCell *cell, BlockNumber blkno, bool evict,
	   bool *was_cached)
{
	*was_cached = false;
	if (cell->method == SST_PROBE_STREAM &&
		is_buffered(places, blkno, cell->nblocks))
		return false;
	if (cell->direct || !is_cached(places, blkno, cell->nblocks))
		return true;
	if (!evict || places->not_told)
		return false;

	*was_cached = true;
	give_up(places, blkno, cell->nblocks);
	return !is_cached(places, blkno, cell->nblocks);
}

/*
 * Find successive reads from block first on, which has nplaces of them.  They begin
 * where hardly any is cached, if that can be found.  Reads that are cached for good are
 * left out.
 */
static void
find_sequential(SstPlaces *places, const SstProbeCell *cell, BlockNumber first,
				int nplaces, int most)
{
	most = Min(most, nplaces);

	for (int try = 0; try < MAX_STARTS && (cell->direct || !places->not_told); try++)
	{
		bool		evict = (try == MAX_STARTS - 1);
		int			start = (int) draw(nplaces - most + 1);

		places->n = 0;
		for (int i = start; i < nplaces && places->n < most; i++)
		{
			BlockNumber blkno = first + i * cell->nblocks;
			bool		was_cached;

			if (i % 64 == 0)
				CHECK_FOR_INTERRUPTS();
			if (is_fit(places, cell, blkno, evict, &was_cached))
				add_place(places, blkno, was_cached);
			else if (!evict && i - start - places->n >= most / 2)
				break;
		}
		if (places->n >= most / 2)
			break;
	}
}

/*
 * Find at most so many reads for a cell, and return their number.  Of the page cache
 * they may push out what they need; none of it is in the page cache then, nor, if the
 * server's stream is to read it, in a buffer.  Interrupts are accepted.
 */
int
sst_places_find(SstPlaces *places, const SstProbeCell *cell, int most)
{
	BlockNumber first = 0;
	BlockNumber nblocks = places->nblocks;
	SstProbeCell through = *cell;

	/* A segment: a full one, if there is any */
	if (nblocks > RELSEG_SIZE)
	{
		first = draw(nblocks / RELSEG_SIZE) * RELSEG_SIZE;
		nblocks = RELSEG_SIZE;
	}

	/* The server may read its files past the page cache, too. */
	if (cell->method == SST_PROBE_STREAM && places->buffers)
		through.direct = true;

	places->n = 0;
	places->nblocks_each = cell->nblocks;
	if (nblocks < cell->nblocks)
		return 0;
	if (cell->pattern == SST_PROBE_RANDOM)
		find_random(places, &through, first, nblocks / cell->nblocks, most);
	else
		find_sequential(places, &through, first, nblocks / cell->nblocks, most);

	return places->n;
}

/* Give up again what the first nread reads of a cell have left in the page cache. */
void
sst_places_forget(SstPlaces *places, const SstProbeCell *cell, int nread)
{
	if (cell->direct || nread == 0)
		return;
	for (int i = 0; i < nread; i++)
	{
		if (!places->was_cached[i])
			give_up(places, places->block[i], cell->nblocks);
	}
}
