/*-------------------------------------------------------------------------
 *
 * duration.h
 *	  How long the commands of a plan take
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/report/duration.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_DURATION_H
#define SST_DURATION_H

#include "report/report.h"

/* What a command does that takes time */
typedef struct SstWork
{
	double		cpu_ns;			/* on the machine that the constants are of */
	double		read_bytes;		/* once each: then they are cached */
	double		written_bytes;	/* to files and to WAL */
} SstWork;

/* Seconds that this server takes to read a byte, and its processor against that machine's */
typedef struct SstRates
{
	SstEstimate read;
	double		cpu;
} SstRates;

extern void sst_find_rates(const SstReport *report, SstRates *rates);
extern void sst_add_index_work(const SstReport *report, int i, bool concurrent,
							   SstWork *work);
extern void sst_add_table_work(const SstReport *report, int i, bool by_inserts,
							   SstWork *work);
extern void sst_add_vacuum_work(const SstReport *report, int i, bool removes,
								SstWork *work);
extern void sst_add_analyze_work(const SstReport *report, int i, double bytes,
								 double sample, SstWork *work);
extern SstEstimate sst_duration(const SstRates *rates, const SstWork *work);

#endif							/* SST_DURATION_H */
