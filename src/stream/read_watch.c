/*-------------------------------------------------------------------------
 *
 * read_watch.c
 *	  Watching the server's reads into buffers
 *
 * The server counts blocks and the time that a process waits for them, for all
 * reads together.  Checking these counters often enough separates one read
 * from the next.  The server measures the time, with track_io_timing on, so
 * that no clock is read for a page found in a buffer.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/read_watch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"

#include "stream/read_watch.h"

/* Count from now on.  The parameters of the watch are set. */
void
sst_read_watch_restart(SstReadWatch *watch)
{
	memset(&watch->seen, 0, sizeof(SstIoStats));
	watch->hit_before = *watch->hit_counter;
	watch->read_before = watch->read_last = *watch->read_counter;
	watch->time_before = watch->time_last = *watch->time_counter;
	watch->server_counts = watch->by_server &&
		sst_backend_io_reads(watch->strategy, watch->temp, &watch->reads_before,
							 &watch->bytes_before);
}

/*
 * Begin to watch the server read blocks with a strategy, or those of a temporary
 * relation: by itself, up to combine_limit blocks at a time, or else one block for each
 * of our calls.
 *
 * Opens a GUC nest level unless track_io_timing is on.
 */
void
sst_read_watch_begin(SstReadWatch *watch, BufferAccessStrategy strategy, bool temp,
					 bool by_server, int combine_limit)
{
	memset(watch, 0, sizeof(SstReadWatch));
	watch->strategy = strategy;
	watch->temp = temp;
	watch->by_server = by_server;
	watch->waits_for_each = !by_server || sst_server_waits_for_each_read();
	watch->combine_limit = combine_limit;

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

/*
 * Begin to watch the server read for a caller that waits for all reads before the next
 * look.
 */
void
sst_watch_server_reads(SstReadWatch *watch, BufferAccessStrategy strategy, bool temp)
{
#ifdef SST_HAVE_IO_COMBINE_LIMIT
	sst_read_watch_begin(watch, strategy, temp, true, io_combine_limit);
#else
	sst_read_watch_begin(watch, strategy, temp, false, 1);
#endif
	watch->waits_for_each = true;
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

/* Replace what was seen of reads by what the server counts, where the two differ. */
static void
compare_reads(SstReadWatch *watch)
{
	SstIoStats *seen = &watch->seen;
	uint64		reads;
	uint64		bytes;

	if (!watch->server_counts ||
		!sst_backend_io_reads(watch->strategy, watch->temp, &reads, &bytes))
		return;

	reads -= watch->reads_before;
	bytes -= watch->bytes_before;
	if (seen->reads != reads || seen->read_bytes != bytes)
		sst_io_stats_forget_sizes(seen);
	seen->reads = reads;
	seen->read_bytes = bytes;
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
	compare_reads(watch);

#ifdef SST_HAVE_READ_STREAM_STATS
	if (watch->has_stream)
	{
		seen->waits = watch->stream_stats.wait_count;
		seen->in_flight_sum = watch->stream_stats.io_in_progress;
		seen->in_flight_count = watch->stream_stats.io_count;
	}
#endif
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
