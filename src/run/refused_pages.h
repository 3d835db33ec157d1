/*-------------------------------------------------------------------------
 *
 * refused_pages.h
 *	  Continuing a scan after pages that the buffer manager refuses
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/refused_pages.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REFUSED_PAGES_H
#define SST_REFUSED_PAGES_H

#include "run/scan_loop.h"

extern bool sst_try_reading(void (*action) (void *arg), void *arg);
extern void sst_scan_past_refused_pages(SstScan *scan);

#endif							/* SST_REFUSED_PAGES_H */
