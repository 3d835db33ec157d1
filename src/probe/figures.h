/*-------------------------------------------------------------------------
 *
 * figures.h
 *	  What a probe tries and where, what came out of it, and what follows
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROBE_FIGURES_H
#define SST_PROBE_FIGURES_H

#include "nodes/pg_list.h"
#include "run/limits.h"
#include "stats/interval.h"
#include "stream/io_stats.h"
#include "stream/segment_file.h"

/* Rounds: the figures are judged after 6, 12 and 24 whether more are needed. */
#define SST_PROBE_LOOK 6
#define SST_PROBE_ROUNDS 48

/* Times of reads that are kept of a cell */
#define SST_PROBE_TIMES 2048

/* So many times as fast counts as a difference. */
#define SST_PROBE_MARGIN 1.1

typedef enum SstProbePattern
{
	SST_PROBE_RANDOM,
	SST_PROBE_SEQUENTIAL
} SstProbePattern;

/* What is tried in each round, and what came out of it */
typedef struct SstProbeCell
{
	SstProbePattern pattern;
	int			depth;			/* reads in flight */
	int			nblocks;		/* of one read */
	int			nreads;			/* of one round */
	int			ncounted;		/* of these, after the first one */
	int			copies;			/* 2 if it is what a setting has now: they
								 * show how much equal cells differ */
	bool		is_step;		/* of those that could be advised */
	bool		needed;			/* in the rounds to come */

	int64		reads;			/* that were timed, of all rounds */
	double		elapsed_ms;
	double		rate[2][SST_PROBE_ROUNDS];	/* reads per second; 0: none */
	double	   *times;			/* of each read, in ms */
	int			ntimes;
} SstProbeCell;

/*
 * A setting: the cell of its present value, with which those of the same pattern are
 * compared that are no deeper than "most"; for more workers, those that are deeper
 */
typedef struct SstProbeSetting
{
	const char *name;
	int			present;
	bool		is_workers;
	SstProbePattern pattern;
	int			base;			/* number of the cell */
	int			most;
} SstProbeSetting;

#define SST_MAX_PROBE_CELLS 32
#define SST_MAX_PROBE_SETTINGS 3

/* What was found on one tablespace */
typedef struct SstProbeResult
{
	Oid			tablespace;
	Oid			relid;			/* InvalidOid if there is none to read */
	const char *note;			/* why there are no (more) figures, or NULL */
	bool		has_io_method;	/* the server starts reads, and not the kernel */
	bool		direct;			/* read by io_uring, past the page cache */
	bool		limited;		/* ended by a limit */
	int			ncells;
	int			nsettings;
	SstProbeCell cells[SST_MAX_PROBE_CELLS];
	SstProbeSetting settings[SST_MAX_PROBE_SETTINGS];
} SstProbeResult;

/* A call that probes */
typedef struct SstProbe
{
	SstLimits	limits;			/* of the call */
	SstThrottle throttle;
	SstIoStats *io_stats;		/* during the call */
	bool		beside_others;	/* other sessions were active */
	double		owed_seconds;	/* of a pause, if they were */
	MemoryContext context;		/* of what the session keeps */
	List	   *results;		/* of SstProbeResult */
} SstProbe;

/* The most reads of a cell in one round */
#define SST_PROBE_MAX_READS 256

/* What a relation's files have to give */
typedef struct SstPlaces
{
	SstSegmentFile file;
	BlockNumber nblocks;		/* that were written, from the first one on */
	bool		not_told;		/* the kernel does not tell what is cached */

	/* The reads of the present cell: their first blocks */
	int			n;
	int			nevicted;		/* that were asked to leave the page cache */
	BlockNumber block[SST_PROBE_MAX_READS];
	bool		was_cached[SST_PROBE_MAX_READS];
} SstPlaces;

/* A relation that is being probed: open and locked */
typedef struct SstProbeTarget
{
	SstProbe   *probe;
	Relation	rel;
	SstPlaces	places;
	SstProbeResult *result;
	int			ntargets_left;	/* that share the limits, this one included */
	double		kept_seconds;	/* of the limits, for the others */
	int64		kept_bytes;
	BlockNumber nblocks_read;	/* of it, for progress */
} SstProbeTarget;

/* What the figures say about a setting */
typedef struct SstProbeVerdict
{
	bool		enough_rounds;	/* if not, there is no more */
	bool		clear;			/* more rounds would not change it */
	double		loss_percent;	/* of the present value; NaN if none is proven */
	int			depth;			/* the smallest that is as good as the best; 0
								 * if no loss is proven, or it is not clear
								 * which */
} SstProbeVerdict;

extern const SstProbe *sst_probe_run(const SstLimits *limits, SstIoStats *io_stats,
									 Oid relid);
extern const SstProbe *sst_last_probe(void);

extern const char *sst_places_begin(SstPlaces *places, const SstFiles *files,
									BlockNumber nblocks);
extern bool sst_probe_read(SstProbeTarget *target, SstProbeCell *cell,
						   double *rate, double *took_ms);

/* The median of a few figures, and the ends of its 95 % interval; NaN for too few */
extern SstEstimate sst_probe_rate(const SstProbeCell *cell);
extern SstEstimate sst_probe_gain(const SstProbeCell *cell, const SstProbeCell *base);
extern double sst_probe_latency(const SstProbeCell *cell, double percent);
extern SstProbeVerdict sst_probe_judge(const SstProbeResult *result,
									   const SstProbeSetting *setting);

#endif							/* SST_PROBE_FIGURES_H */
