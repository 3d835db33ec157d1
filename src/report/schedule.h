/*-------------------------------------------------------------------------
 *
 * schedule.h
 *	  Measuring many relations within limits that hold for all together
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/schedule.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REPORT_H
#define SST_REPORT_H

#include "portability/instr_time.h"
#include "report/bloat_estimate.h"

typedef enum SstReportMethod
{
	SST_REPORT_SKIPPED,			/* nothing was found out */
	SST_REPORT_SAMPLED,
	SST_REPORT_EXACT			/* all blocks were read */
} SstReportMethod;

typedef enum SstReportEnd
{
	SST_REPORT_CANCELED,		/* or still running */
	SST_REPORT_COMPLETE,
	SST_REPORT_BUDGET,
	SST_REPORT_TIME
} SstReportEnd;

typedef struct SstReportEntry
{
	/* Given */
	Oid			relid;
	Oid			tableoid;		/* of an index, to be locked before it */
	uint64		nblocks;		/* by its files; then, when it was measured */
	bool		fileless;		/* there is no file: find out why */

	/* Why it is skipped, if given, or else what is to be said; or NULL */
	const char *reason;

	/* Found.  The numbers are of the last sample that was completed. */
	SstReportMethod method;
	uint64		nsampled;		/* blocks */
	uint64		nread;			/* blocks, of all samples */
	SstEstimate free_share;
	SstEstimate dead_share;
	SstEstimate rebuilt_blocks;
	const char *obstacle;		/* why that is not known */
	const char *note;			/* what it leaves out */
	SstEstimate kept_share;
	uint64		ncorrupt;
	BlockNumber first_corrupt;

	/* For the schedule */
	bool		locked;			/* by others, when it was to be measured */
	bool		settled;		/* no more is to be read of it */
} SstReportEntry;

typedef struct SstReport
{
	/* Given */
	int64		budget;			/* bytes */
	double		max_seconds;
	int64		max_rate;		/* bytes per second, or 0 */
	double		margin;			/* in points */
	uint32		seed;
	instr_time	start;
	void		(*between) (void);	/* after each relation, or NULL */
	MemoryContext context;		/* of what entries point to */
	int			nentries;
	SstReportEntry *entries;

	/* Found */
	SstReportEnd ended_by;
	SstReportEnd limited_by;	/* the first limit that was met */
	int64		bytes_read;
	SstIoStats streams;
	double		elapsed_ms;
} SstReport;

extern void sst_report_run(SstReport *report);

#endif							/* SST_REPORT_H */
