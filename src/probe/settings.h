/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The present I/O settings of the server
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/settings.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_SETTINGS_H
#define SST_PROBE_SETTINGS_H

#include "probe/figures.h"

extern void sst_get_probe_settings(SstProbeSettings *settings, Oid tablespace);

#endif							/* SST_PROBE_SETTINGS_H */
