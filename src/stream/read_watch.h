/*-------------------------------------------------------------------------
 *
 * read_watch.h
 *	  Watching the server's reads into buffers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/read_watch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_READ_WATCH_H
#define SST_READ_WATCH_H

#include "compat/compat.h"
#include "stream/io_stats.h"

#ifdef SST_HAVE_READ_STREAM_STATS
#include "executor/instrument_node.h"
#endif

typedef struct SstReadWatch
{
	BufferAccessStrategy strategy;
	bool		temp;
	bool		by_server;		/* else each of our calls reads one block */
	bool		waits_for_each; /* one read at a time, and no other work
								 * meanwhile */
	int			combine_limit;	/* most blocks of a read */
	int			guc_nest_level; /* 0 if track_io_timing was on anyway */

	/* Counters of the process, at the begin and at the last look */
	const int64 *hit_counter;
	const int64 *read_counter;
	instr_time *time_counter;
	int64		hit_before;
	int64		read_before;
	int64		read_last;
	instr_time	time_before;
	instr_time	time_last;

	/* The server's own count of reads, if it tells */
	bool		server_counts;
	uint64		reads_before;
	uint64		bytes_before;

	SstIoStats	seen;			/* so far */
#ifdef SST_HAVE_READ_STREAM_STATS
	bool		has_stream;		/* stream_stats is that of a stream */
	IOStats		stream_stats;
#endif
} SstReadWatch;

extern void sst_read_watch_begin(SstReadWatch *watch,
								 BufferAccessStrategy strategy, bool temp,
								 bool by_server, int combine_limit);
extern void sst_watch_server_reads(SstReadWatch *watch,
								   BufferAccessStrategy strategy, bool temp);
extern void sst_read_watch_restart(SstReadWatch *watch);
extern void sst_read_watch_note(SstReadWatch *watch);
extern void sst_read_watch_add(SstReadWatch *watch,
							   const SstAdviceStats *advice,
							   SstIoStats *io_stats);
extern void sst_read_watch_end(SstReadWatch *watch,
							   const SstAdviceStats *advice,
							   SstIoStats *io_stats);

/*
 * Take note of a read that the server has started, or waited for, since the last look.
 * One look after each thing that can do that tells reads from each other.
 */
static inline void
sst_read_watch_look(SstReadWatch *watch)
{
	if (unlikely(*watch->read_counter != watch->read_last ||
				 (!watch->waits_for_each &&
				  !sst_is_same_time(*watch->time_counter, watch->time_last))))
		sst_read_watch_note(watch);
}

#endif							/* SST_READ_WATCH_H */
