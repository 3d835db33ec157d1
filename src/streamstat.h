/*-------------------------------------------------------------------------
 *
 * streamstat.h
 *	  The settings of the module
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/streamstat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef STREAMSTAT_H
#define STREAMSTAT_H

/* Reads or advised runs to have in flight; 0 for the server's setting */
extern int	sst_io_concurrency;

/* Most blocks in one read or run; 0 for the server's setting */
extern int	sst_io_combine_limit;

#endif							/* STREAMSTAT_H */
