/*-------------------------------------------------------------------------
 *
 * run.c
 *	  The reads of one cell, and their times
 *
 * Until the time of the cell has passed, each completed read is followed by
 * another one, so that the depth stays constant.  Later reads are not counted:
 * fewer are in flight then, and the rate would be too low.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "probe/run.h"
#include "run/blocking.h"
#include "run/progress.h"

/* Others are looked at, and progress shown, so often. */
#define CHECK_MS 50.0

/* Reads that are to arrive beyond the depth, however long they take */
#define MIN_READS 4

/* Start the clock.  Memory is taken from the current context. */
void
sst_run_begin(SstProbeRun *run)
{
	run->closed = false;
	run->nstarted = run->narrived = 0;
	run->checked_ms = 0;
	run->cell->reads = 0;
	run->cell->elapsed_ms = 0;
	sst_latency_init(&run->latency, run->places->n);
	INSTR_TIME_SET_CURRENT(run->start);
}

/* Milliseconds since then */
double
sst_run_ms(const SstProbeRun *run)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, run->start);

	return INSTR_TIME_GET_MILLISEC(now);
}

/* Get the first block of the next read; false if no more is to be read. */
bool
sst_run_next(SstProbeRun *run, BlockNumber *blkno)
{
	if (run->nstarted == run->places->n)
		run->closed = true;
	if (run->closed)
		return false;

	*blkno = run->places->block[run->nstarted++];
	return true;
}

/*
 * Note that a read has arrived, which started at that time, or at an unknown one
 * (negative).  Accepts interrupts, and ERROR if others have waited too long.
 */
void
sst_run_arrived(SstProbeRun *run, double started_ms)
{
	SstProbeCell *cell = run->cell;
	double		ms = sst_run_ms(run);

	run->narrived++;
	if (!run->closed)
	{
		cell->reads++;
		cell->elapsed_ms = ms;
		if (started_ms >= 0)
			sst_latency_add(&run->latency, ms - started_ms);
		if (ms > run->seconds * 1000.0 && cell->reads >= cell->depth + MIN_READS)
			run->closed = true;
	}

	CHECK_FOR_INTERRUPTS();
	if (ms - run->checked_ms < CHECK_MS)
		return;

	run->checked_ms = ms;
	sst_check_blocking();
	if (sst_throttle_expired(&run->probe->throttle))
		run->closed = true;
}

/* All reads have arrived: fill in what the cell tells. */
void
sst_run_end(SstProbeRun *run)
{
	run->cell->latency_ms = sst_latency_percentile(&run->latency, 50);
	run->cell->latency_ms_p99 = sst_latency_percentile(&run->latency, 99);
	sst_latency_free(&run->latency);
}
