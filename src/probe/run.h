/*-------------------------------------------------------------------------
 *
 * run.h
 *	  The reads of one cell, and their times
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/run.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_RUN_H
#define SST_PROBE_RUN_H

#include "portability/instr_time.h"
#include "probe/latency.h"
#include "probe/places.h"

/* A cell that is being run */
typedef struct SstProbeRun
{
	SstProbe   *probe;
	SstProbeCell *cell;
	SstPlaces  *places;
	Relation	rel;
	double		seconds;		/* that it is to take */

	instr_time	start;
	bool		closed;			/* the depth is no longer kept: arrivals do
								 * not count */
	int			nstarted;
	int			narrived;		/* of all; those that count are in the cell */
	double		checked_ms;		/* when others were last looked at */
	SstLatency	latency;
} SstProbeRun;

extern void sst_run_begin(SstProbeRun *run);
extern double sst_run_ms(const SstProbeRun *run);
extern bool sst_run_next(SstProbeRun *run, BlockNumber *blkno);
extern void sst_run_arrived(SstProbeRun *run, double started_ms);
extern void sst_run_end(SstProbeRun *run);

extern bool sst_probe_read_files(SstProbeRun *run);
extern bool sst_probe_read_stream(SstProbeRun *run);

#endif							/* SST_PROBE_RUN_H */
