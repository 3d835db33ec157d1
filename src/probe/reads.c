/*-------------------------------------------------------------------------
 *
 * reads.c
 *	  The reads of one cell of a probe, and their times
 *
 * Reads are by io_uring past the page cache, where that works, and else as the
 * server prefetches: advice for the blocks ahead, so that the kernel has
 * "depth" reads in flight, then pread().  As in the server's scans, each
 * read that arrives, in the order of their start, is followed by another one.
 *
 * The clock runs from the first arrival until a multiple of the depth has
 * arrived after it; then only those are left that are in flight.  So neither
 * the beginning nor the end counts, where fewer are in flight, and a disk that
 * answers "depth" reads at once gives its true rate.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/reads.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat/compat.h"
#include "compat/shared_blocks.h"
#include "probe/target.h"
#include "run/blocking.h"
#include "run/progress.h"
#include "stream/file_reader.h"
#include "stream/stream.h"

/* Others are looked at so often. */
#define CHECK_MS 50.0

/* The reads of a cell, under way: a ring of those in flight */
typedef struct Run
{
	SstProbeTarget *target;
	SstProbeCell *cell;
	SstFileReader *reader;
	SstFileRead *reads;
	char	   *memory;
	int			nstarted;
	double		rate;			/* reads per second; 0: none */
} Run;

/*
 * ERROR for a read that did not bring all: in the storage manager's words, which are the
 * server's.
 */
static void
report_missing(const Run *run, BlockNumber blkno)
{
	int			save_errno = errno;

	sst_read_stored_block(&run->target->places.file.files, MAIN_FORKNUM, blkno, run->memory);

	/* That could read it. */
	errno = save_errno;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read block %u of relation \"%s\": %m", blkno,
					RelationGetRelationName(run->target->rel))));
}

/*
 * Do the reads, whose places have been found.  If the time is over, it ends early, and
 * has no rate.  Accepts interrupts, and ERROR if others have waited too long.
 */
static void
read_all(Run *run)
{
	SstProbeCell *cell = run->cell;
	SstPlaces  *places = &run->target->places;
	size_t		length = (size_t) BLCKSZ * cell->nblocks;
	int			ntimes = cell->ntimes;
	double		started_ms[SST_PROBE_MAX_READS];
	double		first_ms = 0;
	double		checked_ms = 0;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (int i = 0; i < cell->nreads; i++)
	{
		SstFileRead *read = &run->reads[i % cell->depth];
		double		ms;

		for (; run->nstarted < Min(i + cell->depth, cell->nreads); run->nstarted++)
		{
			int			slot = run->nstarted % cell->depth;
			BlockNumber blkno = places->block[run->nstarted];

			run->reads[slot] = (SstFileRead)
			{
				.fd = sst_segment_file_open(&places->file, blkno),
					.offset = (off_t) BLCKSZ * (blkno % RELSEG_SIZE),
					.buffer = run->memory + slot * length,
					.length = length
			};
			started_ms[run->nstarted] = sst_seconds_since(start) * 1000;
			run->reader->start(run->reader, &run->reads[slot]);
		}

		errno = 0;
		run->reader->finish(run->reader, read);
		if (read->done < length)
			report_missing(run, places->block[i] + read->done / BLCKSZ);
		ms = sst_seconds_since(start) * 1000;
		if (i == 0)
			first_ms = ms;
		if (i <= cell->ncounted && ntimes < SST_PROBE_TIMES)
			cell->times[ntimes++] = ms - started_ms[i];
		if (i == cell->ncounted && ms > first_ms)
		{
			run->rate = cell->ncounted * 1000.0 / (ms - first_ms);
			cell->reads += cell->ncounted;
			cell->elapsed_ms += ms - first_ms;
			cell->ntimes = ntimes;
		}

		CHECK_FOR_INTERRUPTS();
		if (ms - checked_ms < CHECK_MS)
			continue;
		checked_ms = ms;
		sst_check_blocking();
		if (sst_throttle_expired(&run->target->probe->throttle))
			break;
	}
}

/*
 * Find the reads of a cell and do them; *took_ms is as below.  On return, or ERROR, none is
 * in flight.
 */
static void
find_and_read(Run *run, double *took_ms)
{
	SstPlaces  *places = &run->target->places;
	SstProbeCell *cell = run->cell;
	instr_time	start;

	PG_TRY();
	{
		if (sst_places_find(places, cell))
		{
			INSTR_TIME_SET_CURRENT(start);

			/* A ring has room for what delays a read in tests, besides. */
			run->reader = places->file.direct ?
				sst_uring_reader_open(cell->depth + 1) : sst_sync_reader_open();
			if (run->reader != NULL)
			{
				run->memory = sst_palloc_blocks(cell->depth * cell->nblocks);
				run->reads = palloc0(sizeof(SstFileRead) * cell->depth);
				read_all(run);
			}
			*took_ms = sst_seconds_since(start) * 1000;
		}
	}
	PG_FINALLY();
	{
		/* The kernel writes to memory while a read is in flight. */
		if (run->reader != NULL)
			run->reader->close(run->reader);
		sst_places_leave(places, cell, run->nstarted);
	}
	PG_END_TRY();
	if (run->reader == NULL)
		return;
	pfree(run->reader);
	pfree(run->reads);
	sst_pfree_blocks(run->memory);
}

/* Take so many blocks of the limits, sleeping as the rate asks; false at a limit. */
static bool
pay(SstThrottle *throttle, BlockNumber nblocks)
{
	BlockNumber n;

	for (BlockNumber npaid = 0; npaid < nblocks; npaid += n)
	{
		n = sst_throttle_take(throttle, nblocks - npaid);
		if (n == 0)
		{
			sst_throttle_give_back(throttle, npaid);
			return false;
		}
	}
	return true;
}

/*
 * Read a cell once, and set *rate to the reads per second, 0 if there is no figure, and
 * *took_ms to the time that the disk was busy with it.  Returns false at a limit.
 *
 * The reads are not throttled, which would distort the figure, but paid for before, with
 * a sleep if the rate requires it.  No pin and no page lock may be held.  Interrupts are
 * accepted.
 */
bool
sst_probe_read(SstProbeTarget *target, SstProbeCell *cell, double *rate, double *took_ms)
{
	Run			run = {.target = target, .cell = cell};
	SstProbe   *probe = target->probe;
	SstIoStats *io_stats = probe->io_stats;
	BlockNumber nblocks = cell->nreads * cell->nblocks;
	int			nspared;

	*rate = *took_ms = 0;
	if (!pay(&probe->throttle, nblocks))
		return false;
	find_and_read(&run, took_ms);
	*rate = run.rate;

	/* What was evicted is paid for, read or not. */
	nspared = cell->nreads - Max(run.nstarted, target->places.nevicted);
	sst_throttle_give_back(&probe->throttle, nspared * cell->nblocks);

	nblocks = run.nstarted * cell->nblocks;
	io_stats->blocks_requested += nblocks;
	io_stats->blocks_read += nblocks;
	io_stats->blocks_private += nblocks;
	io_stats->reads += run.nstarted;
	io_stats->read_bytes += (int64) nblocks * BLCKSZ;
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max, cell->depth * cell->nblocks);
	target->nblocks_read += nblocks;
	sst_progress_blocks(target->nblocks_read);

	return !probe->limits.reached;
}
