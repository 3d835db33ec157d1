/*-------------------------------------------------------------------------
 *
 * call.h
 *	  The call of an SQL function: its name, its time, its I/O; errors that it
 *	  contains, and sessions that it keeps waiting
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_CALL_H
#define SST_CALL_H

#include "fmgr.h"
#include "portability/instr_time.h"
#include "stream/stream.h"

typedef struct SstCall
{
	char		function[NAMEDATALEN];	/* as the SQL script names it */
	Oid			relid;			/* InvalidOid for many relations */
	instr_time	start;
	double		elapsed_ms;		/* once it has ended */
	SstIoStats	io_stats;		/* of all its scans */
} SstCall;

/* in blocking.c */
extern bool sst_is_blocking(void);
extern bool sst_must_yield(void);
extern void sst_check_blocking(void);

/* in subtransaction.c */
extern ErrorData *sst_run_in_subtransaction(void (*action) (void *arg),
											void *arg);
extern ErrorData *sst_contain_errors(void (*action) (void *arg), void *arg);

extern void sst_call_begin(SstCall *call, FunctionCallInfo fcinfo,
						   int64 relations_total, int64 bytes_total);
extern void sst_call_set_relation(SstCall *call, Relation rel);
extern void sst_call_end(SstCall *call);
extern void sst_call_add_worker(int worker, const SstIoStats *io_stats);
extern const SstCall *sst_last_call(void);
extern int	sst_last_call_processes(void);
extern const SstIoStats *sst_last_call_process(int process);

#endif							/* SST_CALL_H */
