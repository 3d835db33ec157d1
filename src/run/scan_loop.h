/*-------------------------------------------------------------------------
 *
 * scan_loop.h
 *	  The loop of a scan: source to stream to visitor to counters
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/scan_loop.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SCAN_LOOP_H
#define SST_SCAN_LOOP_H

#include "run/plan.h"

/* One process's part of a scan, from sst_scan_begin() to sst_scan_end() */
typedef struct SstScan
{
	const SstScanPlan *plan;
	SstScanSinks sinks;
	Relation	rel;
	SstSource  *source;
	SstVisitor	visitor;
	SstKeptItems kept;			/* for the rebuild of a table */
	SstDeadItems dead;			/* for sinks.dead_tids */
	BufferAccessStrategy strategy;
	SstScanResult *result;
	SstChunks  *chunks;			/* shared with others, or NULL */

	/* To read a page a second time, which is not reported */
	MemoryContext context;		/* of the scan */
	SstBlockReader again;
	SstIoStats	not_reported;
	bool		copied;			/* the page was shown as a private copy */

	BlockNumber reached;		/* one past the highest block visited */

	/* If there is a limit: what is granted, from the page that was next then */
	bool		limited;
	SstThrottle throttle;
	SstSliceSource slice;
	BlockNumber ngranted;
	uint64		slice_begin;
	bool		stopped;		/* a limit is reached */
	uint64		check_mask;		/* check after pages whose number has none */

	/* The buffer stream that an error leaves behind, or NULL */
	SstStream  *volatile stream;
} SstScan;

/* Is the scan to end before its source does? */
static inline bool
sst_scan_must_stop(const SstScan *scan)
{
	return scan->stopped ||
		(scan->plan->rules == SST_RULES_CONTRIB &&
		 scan->result->counters.n[SST_CORRUPT_PAGES] > 0);
}

extern void sst_scan_begin(SstScan *scan);
extern void sst_scan_end(SstScan *scan);
extern bool sst_scan_next_slice(SstScan *scan);
extern void sst_scan_page(SstScan *scan, const SstPage *page);
extern void sst_scan_buffers(SstScan *scan);
extern bool sst_scan_files(SstScan *scan);

#endif							/* SST_SCAN_LOOP_H */
