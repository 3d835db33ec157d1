/*-------------------------------------------------------------------------
 *
 * server_io.c
 *	  The server's I/O counters, and what streamstat adds to them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/server_io.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "compat/server_io.h"

#if PG_VERSION_NUM >= 180000
#include "storage/aio.h"
#include "storage/aio_internal.h"
#endif

/*
 * Where this process sums up the time it waits for reads into shared buffers, or
 * into local ones, while track_io_timing is on
 */
instr_time *
sst_read_time(bool temp)
{
#if PG_VERSION_NUM >= 170000
	return temp ? &pgBufferUsage.local_blk_read_time :
		&pgBufferUsage.shared_blk_read_time;
#else
	return &pgBufferUsage.blk_read_time;
#endif
}

int64
sst_nanoseconds(instr_time duration)
{
#if PG_VERSION_NUM >= 160000
	return INSTR_TIME_GET_NANOSEC(duration);
#else
	return duration.tv_sec * INT64CONST(1000000000) + duration.tv_nsec;
#endif
}

bool
sst_is_same_time(instr_time a, instr_time b)
{
	INSTR_TIME_SUBTRACT(a, b);
	return INSTR_TIME_IS_ZERO(a);
}

/* Does the server wait for each of its reads as soon as it is started? */
bool
sst_server_waits_for_each_read(void)
{
#if PG_VERSION_NUM >= 180000
	return io_method == IOMETHOD_SYNC;
#else
	return true;
#endif
}

/*
 * Reads that the server has started for this process, and that it has not taken note of
 * as done; -1 where it does not tell
 */
int
sst_server_reads_in_flight(void)
{
#if PG_VERSION_NUM >= 180000
	return pgaio_my_backend == NULL ? -1 :
		(int) dclist_count(&pgaio_my_backend->in_flight_ios);
#else
	return -1;
#endif
}

#if PG_VERSION_NUM >= 160000
/* Has this process a place in pg_stat_io for what it reads past the buffers? */
static bool
has_place(void)
{
	return pgstat_tracks_io_op(MyBackendType, IOOBJECT_RELATION,
							   IOCONTEXT_BULKREAD, IOOP_READ);
}
#endif

/*
 * Count a read of a relation's file into private memory in pg_stat_io, if the server
 * has that: as a bulk read.  Before 18 the view counts blocks.
 */
void
sst_count_private_read(int nblocks)
{
#if PG_VERSION_NUM >= 180000
	if (has_place())
		pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ, 1,
						   (uint64) nblocks * BLCKSZ);
#elif PG_VERSION_NUM >= 160000
	if (has_place())
		pgstat_count_io_op_n(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ, nblocks);
#endif
}

/*
 * Count the time since start as spent on such reads, where track_io_timing wants that:
 * in pgBufferUsage, pg_stat_database and pg_stat_io.
 */
void
sst_count_private_wait(instr_time start)
{
	if (!track_io_timing)
		return;

#if PG_VERSION_NUM >= 180000
	if (has_place())
		pgstat_count_io_op_time(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ,
								start, 0, 0);
#elif PG_VERSION_NUM >= 160000
	if (has_place())
		pgstat_count_io_op_time(IOOBJECT_RELATION, IOCONTEXT_BULKREAD, IOOP_READ,
								start, 0);
#else
	{
		instr_time	elapsed;

		INSTR_TIME_SET_CURRENT(elapsed);
		INSTR_TIME_SUBTRACT(elapsed, start);
		INSTR_TIME_ADD(pgBufferUsage.blk_read_time, elapsed);
		pgstat_count_buffer_read_time(INSTR_TIME_GET_MICROSEC(elapsed));
	}
#endif
}
