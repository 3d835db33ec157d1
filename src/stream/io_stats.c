/*-------------------------------------------------------------------------
 *
 * io_stats.c
 *	  I/O counters of a stream, and watching the server's reads into buffers
 *
 * All counters are integers, so that the sum over processes is exact.
 *
 * The server counts blocks and the time that a process waits for them, for all
 * reads together.  Checking these counters often enough separates one read
 * from the next.  The server measures the time, with track_io_timing on, so
 * that no clock is read for a page found in a buffer.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "port/pg_bitutils.h"
#include "utils/guc.h"

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
}

/* Add the sums of a worker to its leader's.  The maxima stay the leader's own. */
void
sst_io_stats_merge_worker(SstIoStats *into, const SstIoStats *from)
{
	combine(into, from, 1);
	into->reader = Max(into->reader, from->reader);
}

/* Take them out again, so that in the end the leader's stats are left. */
void
sst_io_stats_subtract(SstIoStats *all, const SstIoStats *worker)
{
	combine(all, worker, -1);
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

/* ----------
 * Watching the server's reads
 * ----------
 */

/* Count from now on.  The parameters of the watch are set. */
void
sst_read_watch_restart(SstReadWatch *watch)
{
	memset(&watch->seen, 0, sizeof(SstIoStats));
	watch->hit_before = *watch->hit_counter;
	watch->read_before = watch->read_last = *watch->read_counter;
	watch->time_before = watch->time_last = *watch->time_counter;
}

/*
 * Begin to watch the server read blocks, those of a temporary relation or others: for a
 * read stream, or for a caller that waits for all reads before the next look.
 *
 * Opens a GUC nest level unless track_io_timing is on.
 */
void
sst_read_watch_begin(SstReadWatch *watch, bool temp, bool by_stream)
{
	memset(watch, 0, sizeof(SstReadWatch));
	watch->combine_limit = 1;
#ifdef SST_HAVE_IO_COMBINE_LIMIT
#ifdef SST_HAVE_READ_STREAM
	watch->by_server = true;
#else
	watch->by_server = !by_stream;
#endif
	if (watch->by_server)
		watch->combine_limit = io_combine_limit;
#endif
	watch->waits_for_each = !watch->by_server || !by_stream ||
		sst_server_waits_for_each_read();

	if (!track_io_timing)
	{
		watch->guc_nest_level = NewGUCNestLevel();
		(void) set_config_option("track_io_timing", "on", PGC_SUSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	}

	watch->hit_counter = temp ? &pgBufferUsage.local_blks_hit :
		&pgBufferUsage.shared_blks_hit;
	watch->read_counter = temp ? &pgBufferUsage.local_blks_read :
		&pgBufferUsage.shared_blks_read;
	watch->time_counter = sst_read_time(temp);
	sst_read_watch_restart(watch);
}

/* Take note of what has changed since the last look. */
void
sst_read_watch_note(SstReadWatch *watch)
{
	int64		nblocks = *watch->read_counter - watch->read_last;
	instr_time	waited = *watch->time_counter;
	int			in_flight = watch->by_server ? sst_server_reads_in_flight() : 1;

	INSTR_TIME_SUBTRACT(waited, watch->time_last);
	watch->read_last += nblocks;
	watch->time_last = *watch->time_counter;

	/* Else a read was started, which takes time as well. */
	if (nblocks == 0)
		watch->seen.waits++;

	/* Of AIO, the time tells nothing about where the data was. */
	if (watch->waits_for_each && sst_read_was_cached(nblocks, sst_nanoseconds(waited)))
		watch->seen.blocks_page_cache += nblocks;

	while (nblocks > 0)
	{
		int			n = Min(nblocks, watch->combine_limit);

		sst_io_stats_read(&watch->seen, n, in_flight < 0 ? -1 : Max(in_flight, 1));
		watch->seen.waits += watch->waits_for_each;
		nblocks -= n;
	}
}

/*
 * Use what is known of advice: how many reads were in flight by that, and how many
 * blocks were not in the page cache.  They were read from disk, however fast they came.
 */
static void
use_advice(SstIoStats *seen, const SstAdviceStats *advice)
{
	seen->advice_calls = advice->seen.advice_calls;
	seen->advice_blocks = advice->seen.advice_blocks;
	seen->in_flight_sum = advice->seen.in_flight_sum;
	seen->in_flight_count = advice->seen.in_flight_count;
	seen->in_flight_max = advice->seen.in_flight_max;
	seen->blocks_page_cache = advice->nabsent < 0 ? -1 :
		seen->blocks_read - Min(advice->nabsent, seen->blocks_read);
}

/*
 * Add what was read, and what is known of advice of ours (or NULL), without ending the
 * watch: its GUC nest level may have ended with
 * the subtransaction.  EXPLAIN shows no time that it would not have shown.
 */
void
sst_read_watch_add(SstReadWatch *watch, const SstAdviceStats *advice,
				   SstIoStats *io_stats)
{
	SstIoStats *seen = &watch->seen;
	instr_time	waited;

	sst_read_watch_look(watch);
	waited = *watch->time_counter;
	INSTR_TIME_SUBTRACT(waited, watch->time_before);
	if (watch->guc_nest_level > 0)
		*watch->time_counter = watch->time_before;

	seen->blocks_hit = *watch->hit_counter - watch->hit_before;
	seen->blocks_read = *watch->read_counter - watch->read_before;
	seen->wait_ns = sst_nanoseconds(waited);

	if (!watch->waits_for_each && seen->blocks_read > 0)
		seen->blocks_page_cache = -1;
	if (advice != NULL)
		use_advice(seen, advice);
	if (sst_direct_io())
		seen->blocks_page_cache = 0;

	sst_io_stats_merge(io_stats, seen);
}

/* The same, and end the watch. */
void
sst_read_watch_end(SstReadWatch *watch, const SstAdviceStats *advice,
				   SstIoStats *io_stats)
{
	sst_read_watch_add(watch, advice, io_stats);
	if (watch->guc_nest_level > 0)
		AtEOXact_GUC(true, watch->guc_nest_level);
}
