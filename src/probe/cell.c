/*-------------------------------------------------------------------------
 *
 * cell.c
 *	  Running one cell of a probe, within the limits
 *
 * A cell reads without a throttle, which would distort its figures.  So the
 * throttle is charged for the most that it can read before it begins, with a
 * sleep if the rate requires it, and the rest is refunded.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/cell.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat/compat.h"
#include "probe/cell.h"
#include "probe/run.h"
#include "run/progress.h"

/* Reads of one cell at most, and at least: these times the depth */
#define MAX_READS 65536
#define MIN_DEPTHS 3

/* With a rate, a cell reads what that allows in this time, or at most in the other. */
#define RATE_SECONDS 0.25
#define MAX_RATE_SECONDS 2.0

/* Take so many blocks of the limits, sleeping as the rate asks; false at a limit. */
static bool
pay(SstProbe *probe, BlockNumber nblocks)
{
	BlockNumber npaid = 0;

	while (npaid < nblocks)
	{
		BlockNumber n = sst_throttle_take(&probe->throttle, nblocks - npaid);

		if (n == 0)
		{
			sst_throttle_give_back(&probe->throttle, npaid);
			return false;
		}
		npaid += n;
	}
	return true;
}

/*
 * The reads that a cell may do at most, by the target's share of the limits; 0 if these
 * are too few
 */
static int
count_reads(const SstProbe *probe, const SstProbeTarget *target,
			const SstProbeCell *cell, int64 bytes)
{
	int64		read_bytes = (int64) cell->nblocks * BLCKSZ;
	int64		least = Max(cell->depth, 1) * MIN_DEPTHS * read_bytes;
	double		rate = probe->throttle.rate;

	if (rate > 0)
		bytes = Min(bytes, (int64) (rate * RATE_SECONDS));
	bytes = Max(bytes, least);
	if (bytes > probe->limits.bytes_left - target->bytes_kept ||
		(rate > 0 && bytes > rate * MAX_RATE_SECONDS))
		return 0;

	return (int) Min(bytes / read_bytes, MAX_READS);
}

/* Add what was read to the I/O of the call. */
static void
count_io(SstProbe *probe, const SstProbeCell *cell, int nreads)
{
	SstIoStats *io_stats = probe->io_stats;
	int64		nblocks = (int64) nreads * cell->nblocks;

	io_stats->blocks_requested += nblocks;
	io_stats->blocks_read += nblocks;
	if (cell->method != SST_PROBE_STREAM)
		io_stats->blocks_private += nblocks;
	io_stats->reads += nreads;
	io_stats->read_bytes += nblocks * BLCKSZ;
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max,
								   (int64) cell->depth * cell->nblocks);
}

/*
 * Run a cell for about so long, with about so many bytes, and add it to the result of
 * the target.  False if there is no figure: a limit was reached, which the result of
 * the target says, too few blocks are there to be read, or the method does not work here.
 *
 * No pin and no page lock may be held.  Interrupts are accepted.
 */
bool
sst_probe_cell(SstProbe *probe, SstProbeTarget *target, SstProbeCell *cell,
			   double seconds, int64 bytes)
{
	SstProbeRun run = {
		.probe = probe,
		.cell = cell,
		.places = &target->places,
		.rel = target->rel,
		.seconds = seconds
	};
	int			most = count_reads(probe, target, cell, bytes);
	int			nfound;
	bool		done;

	if (most == 0)
	{
		target->result->limited = true;
		return false;
	}
	nfound = sst_places_find(&target->places, cell, most);
	if (nfound < Max(cell->depth, 1) * 2)
		return false;
	if (!pay(probe, (BlockNumber) nfound * cell->nblocks))
	{
		target->result->limited = true;
		return false;
	}

	done = cell->method == SST_PROBE_STREAM ?
		sst_probe_read_stream(&run) : sst_probe_read_files(&run);
	sst_throttle_give_back(&probe->throttle,
						   (BlockNumber) (nfound - run.nstarted) * cell->nblocks);
	sst_places_forget(&target->places, cell, run.nstarted);
	count_io(probe, cell, run.nstarted);
	target->nblocks_read += run.nstarted * cell->nblocks;
	sst_progress_blocks(target->nblocks_read);

	if (!done || cell->reads < 2 ||
		target->result->ncells == SST_MAX_PROBE_CELLS)
		return false;
	target->result->cells[target->result->ncells++] = *cell;
	return true;
}
