/*-------------------------------------------------------------------------
 *
 * schedule.h
 *	  What a probe tries, in which order
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/schedule.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_SCHEDULE_H
#define SST_PROBE_SCHEDULE_H

#include "probe/cell.h"

extern void sst_probe_schedule(SstProbe *probe, SstProbeTarget *target,
							   int ntargets_left);

#endif							/* SST_PROBE_SCHEDULE_H */
