/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Running a source's blocks past a visitor
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SCAN_H
#define SST_SCAN_H

#include "source/source.h"
#include "stats/estimate.h"
#include "stream/stream.h"
#include "target/target.h"
#include "visit/visit.h"

/* One scan of one fork, and where its results go */
typedef struct SstScan
{
	Relation	rel;
	SstSource  *source;
	SstVisitor *visitor;
	SstCounters *counters;

	/* For a sample: the statistics, and their sums; else 0 and NULL */
	int			nstatistics;
	const SstStatistic *statistics;
	SstMoments *moments;
	uint64		nvisited;

	SstStreamReport report;
} SstScan;

extern void sst_scan_run(SstScan *scan);

#endif							/* SST_SCAN_H */
