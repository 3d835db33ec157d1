/*-------------------------------------------------------------------------
 *
 * report.h
 *	  A report: the bloat of all relations of the database
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_REPORT_H
#define SST_REPORT_H

#include "portability/instr_time.h"
#include "relation/relation.h"
#include "report/bloat_estimate.h"

/* How the estimate of a relation was obtained */
typedef enum SstMeasured
{
	SST_SKIPPED,				/* nothing is known */
	SST_SAMPLED,
	SST_EXACT					/* all blocks were read */
} SstMeasured;

/* Why nothing was read of a relation the last time */
typedef enum SstSkipReason
{
	SST_SKIP_NONE,				/* it was read, or its turn has not come */
	SST_SKIP_LOCKED,			/* by another session */
	SST_SKIP_BUDGET,
	SST_SKIP_TIME,
	SST_SKIP_REFUSED			/* the entry's note says why */
} SstSkipReason;

typedef enum SstReportEnd
{
	SST_REPORT_CANCELED,		/* or still running */
	SST_REPORT_COMPLETE,
	SST_REPORT_BUDGET,
	SST_REPORT_TIME
} SstReportEnd;

typedef struct SstReportEntry SstReportEntry;

/* There can be very many of these. */
struct SstReportEntry
{
	/* Given */
	const SstRelation *relation;	/* what the catalogs say of it */
	SstReportEntry *table;		/* of an index or a TOAST table, or NULL */

	bool		settled;		/* no more is to be read of it */
	bool		gain_settled;	/* ... for what a rebuild gives back */
	SstMeasured measured;

	/*
	 * Given or found.  The note, if there is one, is for people, translated,
	 * and in the report's memory context.
	 */
	SstSkipReason skipped;
	BlockNumber table_nread;	/* blocks of the table that the estimate is by */
	const char *note;

	/*
	 * By the last sample that was completed.  Before the first, only
	 * estimate.nblocks is known, from the size of the files.
	 */
	SstBloatEstimate estimate;
	uint64		nread;			/* blocks, of all samples */
};

/* Which tables a report is about, with all that belongs to them */
typedef struct SstReportScope
{
	const Oid  *tables;			/* NULL: all */
	int			ntables;
	const Oid  *schemas;		/* the same */
	int			nschemas;
	int64		min_bytes;		/* of a table with its indexes and TOAST table */
} SstReportScope;

/* Of all relations together */
typedef struct SstReportLimits
{
	SstReportScope scope;		/* its arrays: as the report begins */
	int64		budget;			/* bytes */
	double		max_seconds;
	int64		max_rate;		/* bytes per second, or 0 */
	double		margin;			/* in percentage points */
	uint32		seed;
} SstReportLimits;

typedef struct SstReport
{
	MemoryContext context;		/* of all this */
	SstReportLimits limits;
	TimestampTz started;
	TransactionId next_xid;		/* not given out yet when it began */
	instr_time	start;

	/* In the same order */
	SstRelations relations;
	SstReportEntry *entries;

	/* Found */
	SstReportEnd ended_by;
	SstReportEnd limited_by;	/* the last limit that cut a request for
								 * blocks */
	SstLimits	left;			/* of the limits, for all samples */
	SstIoStats	io_stats;
	double		elapsed_ms;
} SstReport;

extern SstReportEntry *sst_report_entry(const SstReport *report, Oid relid);
extern SstReport *sst_create_report(const SstReportLimits *limits);
extern const SstReport *sst_last_report(void);

/* in schedule.c */
extern void sst_read_report(SstReport *report, void (*between) (void));

#endif							/* SST_REPORT_H */
