/*-------------------------------------------------------------------------
 *
 * maps.h
 *	  Scanning a relation's visibility map and free space map
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/maps.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_MAPS_H
#define SST_MAPS_H

#include "run/plan.h"

extern void sst_scan_visibility_map(const SstTarget *target,
									SstBlockSet *visible, SstBlockSet *frozen,
									SstLimits *limits, SstCounters *counters,
									SstIoStats *io_stats);
extern void sst_scan_free_space_map(const SstTarget *target,
									SstBlockSet *visible,
									SstCounters *counters,
									SstIoStats *io_stats);

#endif							/* SST_MAPS_H */
