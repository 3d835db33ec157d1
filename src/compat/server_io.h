/*-------------------------------------------------------------------------
 *
 * server_io.h
 *	  The server's I/O counters, and what streamstat adds to them
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/server_io.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SERVER_IO_H
#define SST_SERVER_IO_H

#include "compat/compat.h"

extern instr_time *sst_read_time(bool temp);
extern int64 sst_nanoseconds(instr_time duration);
extern bool sst_is_same_time(instr_time a, instr_time b);
extern bool sst_server_waits_for_each_read(void);
extern int	sst_server_reads_in_flight(void);
extern void sst_count_private_read(int nblocks);
extern void sst_count_private_wait(instr_time start);

#endif							/* SST_SERVER_IO_H */
