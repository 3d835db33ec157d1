/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  Probing the storage of tablespaces; the session keeps the last result
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/probe.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_H
#define SST_PROBE_H

#include "probe/figures.h"

extern SstProbe *sst_create_probe(SstIoStats *io_stats);
extern void sst_probe_run(SstProbe *probe, Oid relid);
extern const SstProbe *sst_last_probe(void);

#endif							/* SST_PROBE_H */
