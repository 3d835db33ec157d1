/*-------------------------------------------------------------------------
 *
 * io_stats.c
 *	  I/O counters of a stream
 *
 * All counters are integers, so that the sum over processes is exact.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/io_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "compat/compat.h"
#include "stream/io_stats.h"

/* Set up the stats of nothing, for a stream of this path. */
void
sst_io_stats_init(SstIoStats *io_stats, SstIoPath path)
{
	memset(io_stats, 0, sizeof(SstIoStats));
	if (path == SST_IO_PATH_FILE)
	{
		io_stats->stream = SST_STREAM_FILE;
		return;
	}

#ifdef SST_HAVE_READ_STREAM
	io_stats->stream = SST_STREAM_SERVER;
	io_stats->advice_calls = -1;
	io_stats->advice_blocks = -1;
#else
	io_stats->stream = SST_STREAM_BUNDLED;
#endif
}

/* Add two counts; the sum is unknown (-1) if one of them is. */
void
sst_add_count(int64 *into, int64 from)
{
	*into = *into < 0 || from < 0 ? -1 : *into + from;
}

/* Add all sums, or with sign -1, subtract them. */
static void
combine(SstIoStats *into, const SstIoStats *from, int sign)
{
	const size_t begin = offsetof(SstIoStats, blocks_requested);
	int64	   *sums = (int64 *) ((char *) into + begin);
	const int64 *others = (const int64 *) ((const char *) from + begin);

	for (int i = 0; i < (offsetof(SstIoStats, in_flight_max) - begin) / sizeof(int64); i++)
		sums[i] = sums[i] < 0 || others[i] < 0 ? -1 : sums[i] + sign * others[i];
}

/* Add the counts of another stream of the same call. */
void
sst_io_stats_merge(SstIoStats *into, const SstIoStats *from)
{
	combine(into, from, 1);
	into->reader = Max(into->reader, from->reader);
	into->in_flight_max = Max(into->in_flight_max, from->in_flight_max);
	into->look_ahead_max = Max(into->look_ahead_max, from->look_ahead_max);
	into->workers_in_flight_max = Max(into->workers_in_flight_max,
									  from->workers_in_flight_max);
	into->workers_look_ahead_max = Max(into->workers_look_ahead_max,
									   from->workers_look_ahead_max);
	into->nworkers = Max(into->nworkers, from->nworkers);
}

/* Add those of a worker to its leader's. */
void
sst_io_stats_merge_worker(SstIoStats *into, const SstIoStats *from)
{
	combine(into, from, 1);
	into->reader = Max(into->reader, from->reader);
	into->workers_in_flight_max = Max(into->workers_in_flight_max,
									  from->in_flight_max);
	into->workers_look_ahead_max = Max(into->workers_look_ahead_max,
									   from->look_ahead_max);
	into->nworkers++;
}

/*
 * Take one worker's out of the sum over all processes.  The maxima of the rest are the
 * leader's, so that in the end its stats are left.
 */
void
sst_io_stats_subtract(SstIoStats *all, const SstIoStats *worker)
{
	combine(all, worker, -1);
	all->workers_in_flight_max = 0;
	all->workers_look_ahead_max = 0;
}

/* Count how many reads are in flight at the start of one; -1 if that is not known. */
void
sst_io_stats_in_flight(SstIoStats *io_stats, int in_flight)
{
	sst_add_count(&io_stats->in_flight_sum, in_flight);
	io_stats->in_flight_count++;
	io_stats->in_flight_max = Max(io_stats->in_flight_max, in_flight);
}

/* Count a read, when so many are in flight, this one included. */
void
sst_io_stats_read(SstIoStats *io_stats, int nblocks, int in_flight)
{
	int			size = Min(pg_leftmost_one_pos32(nblocks), SST_READ_SIZES - 1);

	sst_add_count(&io_stats->reads, 1);
	sst_add_count(&io_stats->read_bytes, (int64) nblocks * BLCKSZ);
	sst_add_count(&io_stats->reads_by_size[size], 1);
	sst_add_count(&io_stats->blocks_by_size[size], nblocks);
	sst_io_stats_in_flight(io_stats, in_flight);
}

/* Count a read into private memory, also for the server's own statistics. */
void
sst_io_stats_private_read(SstIoStats *io_stats, int nblocks, int in_flight)
{
	sst_io_stats_read(io_stats, nblocks, in_flight);
	sst_count_private_read(nblocks);
}

/* The sizes of single reads are not known, after all. */
void
sst_io_stats_forget_sizes(SstIoStats *io_stats)
{
	for (int i = 0; i < SST_READ_SIZES; i++)
		io_stats->reads_by_size[i] = io_stats->blocks_by_size[i] = -1;
}

/* Count a wait from start to now.  Returns the nanoseconds. */
int64
sst_io_stats_waited(SstIoStats *io_stats, instr_time start)
{
	instr_time	elapsed;
	int64		ns;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	ns = sst_nanoseconds(elapsed);
	sst_add_count(&io_stats->waits, 1);
	sst_add_count(&io_stats->wait_ns, ns);

	return ns;
}

/* The same for a private read, also for the server's own statistics. */
int64
sst_io_stats_waited_privately(SstIoStats *io_stats, instr_time start)
{
	int64		ns = sst_io_stats_waited(io_stats, start);

	sst_count_private_wait(start);

	return ns;
}

/*
 * Count that nblocks are returned, one by one.  The first of them is the oldest of
 * look_ahead blocks that were requested and not returned until then.
 */
void
sst_io_stats_returned(SstIoStats *io_stats, int64 look_ahead, int64 nblocks)
{
	sst_add_count(&io_stats->look_ahead_sum,
				  nblocks * look_ahead - nblocks * (nblocks - 1) / 2);
	sst_add_count(&io_stats->look_ahead_count, nblocks);
	io_stats->look_ahead_max = Max(io_stats->look_ahead_max, look_ahead);
}
