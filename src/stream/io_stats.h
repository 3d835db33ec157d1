/*-------------------------------------------------------------------------
 *
 * io_stats.h
 *	  I/O counters of a stream, and watching the server's reads into buffers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_IO_STATS_H
#define SST_IO_STATS_H

#include "compat/compat.h"
#include "streamstat.h"

/* What reads the pages */
typedef enum SstStreamKind
{
	SST_STREAM_SERVER,
	SST_STREAM_BUNDLED,
	SST_STREAM_FILE,
	SST_STREAM_ADVICE,			/* pg_prewarm in mode prefetch: nothing */
	SST_STREAM_READS			/* pg_prewarm in mode read: reads */
} SstStreamKind;

/* Sizes of reads: 1 block, 2 to 3, 4 to 7, and so on; the last one has no end. */
#define SST_READ_SIZES 8

/*
 * What one process did, or several together.  -1 means that it is not known.  Plain
 * data, which parallel workers copy to the leader.
 *
 * A wait is for one read that is needed and has not arrived.  Reads are in flight
 * from their start, or from the advice about them, to the moment when they are needed;
 * their number is sampled at each start, as the look-ahead is for each block
 * returned.
 */
typedef struct SstIoStats
{
	SstStreamKind stream;
	SstIoMethod reader;			/* of data not in the page cache */

	/* Sums: only integers of this type */
	int64		blocks_requested;
	int64		blocks_hit;		/* found in buffers */
	int64		blocks_read;
	int64		blocks_private; /* of those read, into private memory */
	int64		blocks_mapped;	/* of these, copied from mapped memory */
	int64		blocks_page_cache;	/* of those read, in the page cache before */
	int64		reads;
	int64		read_bytes;
	int64		reads_by_size[SST_READ_SIZES];
	int64		blocks_by_size[SST_READ_SIZES]; /* that these reads have read */
	int64		waits;
	int64		wait_ns;
	int64		in_flight_sum;
	int64		in_flight_count;
	int64		advice_calls;
	int64		advice_blocks;
	int64		look_ahead_sum; /* in blocks */
	int64		look_ahead_count;

	/* The sums end here. */
	int64		in_flight_max;
	int64		look_ahead_max;
} SstIoStats;

/* What is known of advice: of it and of reads in flight, and of the page cache */
typedef struct SstAdviceStats
{
	SstIoStats	seen;
	int64		nabsent;		/* blocks to read that were not in the page
								 * cache; -1 if not known */
} SstAdviceStats;

extern void sst_io_stats_init(SstIoStats *io_stats, SstIoPath path);
extern void sst_io_stats_merge(SstIoStats *into, const SstIoStats *from);
extern void sst_io_stats_merge_worker(SstIoStats *into, const SstIoStats *from);
extern void sst_io_stats_subtract(SstIoStats *all, const SstIoStats *worker);

extern void sst_add_count(int64 *into, int64 from);
extern void sst_io_stats_in_flight(SstIoStats *io_stats, int in_flight);
extern void sst_io_stats_read(SstIoStats *io_stats, int nblocks, int in_flight);
extern void sst_io_stats_private_read(SstIoStats *io_stats, int nblocks,
									  int in_flight);
extern void sst_io_stats_forget_sizes(SstIoStats *io_stats);
extern int64 sst_io_stats_waited(SstIoStats *io_stats, instr_time start);
extern int64 sst_io_stats_waited_privately(SstIoStats *io_stats,
										   instr_time start);
extern void sst_io_stats_returned(SstIoStats *io_stats, int64 look_ahead,
								  int64 nblocks);

/*
 * A read from the page cache takes no longer than this, for itself and for each block:
 * a copy takes 1 to 2 microseconds a block, the fastest disk 50 and more for a read.
 */
#define SST_CACHED_READ_NS 40000
#define SST_CACHED_BLOCK_NS 4000

/* Judging by the time it took, was a read of so many blocks one from the page cache? */
static inline bool
sst_read_was_cached(int64 nblocks, int64 ns)
{
	return ns < SST_CACHED_READ_NS + nblocks * SST_CACHED_BLOCK_NS;
}

/* Of the server's reads into buffers */
typedef struct SstReadWatch
{
	bool		by_server;		/* up to combine_limit blocks at a time; else
								 * each of our calls reads one */
	bool		waits_for_each; /* one read at a time, and no other work
								 * meanwhile */
	int			combine_limit;
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

	SstIoStats	seen;			/* so far */
} SstReadWatch;

extern void sst_read_watch_begin(SstReadWatch *watch, bool temp, bool by_stream);
extern void sst_read_watch_restart(SstReadWatch *watch);
extern void sst_read_watch_note(SstReadWatch *watch);
extern void sst_read_watch_add(SstReadWatch *watch,
							   const SstAdviceStats *advice,
							   SstIoStats *io_stats);
extern void sst_read_watch_end(SstReadWatch *watch,
							   const SstAdviceStats *advice,
							   SstIoStats *io_stats);

/* Is nothing between two times? */
static inline bool
sst_is_same_time(instr_time a, instr_time b)
{
	INSTR_TIME_SUBTRACT(a, b);
	return INSTR_TIME_IS_ZERO(a);
}

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

#endif							/* SST_IO_STATS_H */
