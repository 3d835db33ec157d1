/*-------------------------------------------------------------------------
 *
 * figures.h
 *	  What a probe tries, and its results
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/figures.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_FIGURES_H
#define SST_PROBE_FIGURES_H

#include "nodes/pg_list.h"
#include "relation/target.h"
#include "run/limits.h"
#include "stream/stream.h"

typedef enum SstProbePattern
{
	SST_PROBE_RANDOM,
	SST_PROBE_SEQUENTIAL
} SstProbePattern;

typedef enum SstProbeMethod
{
	SST_PROBE_SYNC,				/* pread(), one at a time */
	SST_PROBE_ADVICE,			/* posix_fadvise() ahead of pread() */
	SST_PROBE_URING,
	SST_PROBE_STREAM			/* the server's read stream, into buffers */
} SstProbeMethod;

/* What is tried, and what came out of it.  Plain data. */
typedef struct SstProbeCell
{
	SstProbePattern pattern;
	SstProbeMethod method;
	int			depth;			/* reads in flight */
	int			nblocks;		/* of one read */
	bool		direct;			/* O_DIRECT, not by the page cache */

	int64		reads;			/* that arrived while the depth was kept */
	double		elapsed_ms;		/* until the last of these arrived */
	double		latency_ms;		/* median; NaN if not known */
	double		latency_ms_p99;
	int			deeper_pays;	/* 1, 0, or -1 if not known */
} SstProbeCell;

/* The settings that the advice is about; -1 for one that the server has not */
typedef struct SstProbeSettings
{
	int			effective_io_concurrency;	/* of the tablespace */
	int			maintenance_io_concurrency;
	int			io_combine_limit;	/* in blocks */
	int			io_max_combine_limit;
	int			io_workers;		/* the most that the server starts */
	const char *io_workers_name;	/* what that setting is called */
	char		io_method[16];	/* "" if the server has none */
} SstProbeSettings;

#define SST_MAX_PROBE_CELLS 160

/* What was found on one tablespace */
typedef struct SstProbeResult
{
	Oid			tablespace;
	Oid			relid;			/* InvalidOid if there is none to read */
	const char *note;			/* why there are no (more) cells, or NULL */
	SstProbeSettings settings;
	bool		limited;		/* ended by a limit, before all was tried */
	int			ncells;
	SstProbeCell cells[SST_MAX_PROBE_CELLS];
} SstProbeResult;

/* A call that probes */
typedef struct SstProbe
{
	SstLimits	limits;			/* of the call */
	bool		has_deadline;
	SstThrottle throttle;
	SstIoStats *io_stats;
	MemoryContext context;		/* of what the session keeps */
	List	   *results;		/* of SstProbeResult */
} SstProbe;

/* Neighbouring blocks per read where the server has no setting for that: 128 kB */
#define SST_PROBE_SEQUENTIAL_BLOCKS Max(128 * 1024 / BLCKSZ, 1)

/* More depth, or larger reads, pay if they give so much more. */
#define SST_PROBE_GAIN 1.05

/* Bytes per second of a cell; 0 if nothing arrived */
static inline double
sst_probe_rate(const SstProbeCell *cell)
{
	return cell->elapsed_ms <= 0 ? 0 :
		cell->reads * (double) cell->nblocks * BLCKSZ * 1000.0 / cell->elapsed_ms;
}

#endif							/* SST_PROBE_FIGURES_H */
