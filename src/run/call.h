/*-------------------------------------------------------------------------
 *
 * call.h
 *	  The call of an SQL function: its name, its time, its I/O, its progress; errors
 *	  that it contains, and sessions that it keeps waiting
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
#include "utils/backend_status.h"

typedef struct SstCall
{
	char		function[NAMEDATALEN];	/* as the SQL script names it */
	Oid			relid;			/* InvalidOid for many relations */
	instr_time	start;
	double		elapsed_ms;		/* once it has ended */
	SstIoStats	io_stats;		/* of all its scans */
} SstCall;

typedef enum SstPhase
{
	SST_PHASE_SCANNING,
	SST_PHASE_CATALOG,
	SST_PHASE_FIRST_SAMPLES,
	SST_PHASE_MEASURING,
	SST_PHASE_FINISHING,
	SST_PHASE_PROBING
} SstPhase;

/* For totals */
#define SST_PROGRESS_UNKNOWN (-1)

/* Bytes of a function's name that other sessions get to see */
#define SST_PROGRESS_NAME_SIZE 32

/*
 * What another session can know of a call; -1 for what is not known.  These are the server's
 * parameters of progress, so each member takes whole ones.
 */
typedef struct SstProgress
{
	char		function[SST_PROGRESS_NAME_SIZE];	/* need not end with '\0' */
	int64		phase;			/* SstPhase */
	int64		relid;			/* InvalidOid before the first scan */
	int64		blocks_done;	/* of the present scan */
	int64		blocks_total;
	int64		relations_done;
	int64		relations_total;
	int64		bytes_done;		/* without those of the present scan, until
								 * sst_progress_read() */
	int64		bytes_total;
	TimestampTz started;
} SstProgress;

/* in blocking.c */
extern bool sst_is_blocking(void);
extern bool sst_must_yield(void);
extern void sst_check_blocking(void);

extern ErrorData *sst_run_in_subtransaction(void (*action) (void *arg),
											void *arg);
extern ErrorData *sst_contain_errors(void (*action) (void *arg), void *arg);

extern void sst_call_begin(SstCall *call, FunctionCallInfo fcinfo,
						   int64 relations_total, int64 bytes_total);
extern void sst_call_set_relation(SstCall *call, Relation rel);
extern bool sst_call_locks(Oid relid);
extern void sst_call_end(SstCall *call);
extern void sst_call_add_worker(int worker, const SstIoStats *io_stats);
extern const SstCall *sst_last_call(void);
extern int	sst_last_call_processes(void);
extern const SstIoStats *sst_last_call_process(int process);

extern void sst_progress_totals(int64 relations_total, int64 bytes_total);
extern void sst_progress_phase(SstPhase phase);
extern void sst_progress_relations(int64 relations_done);
extern void sst_progress_scan(Oid relid, BlockNumber nblocks, bool last);
extern void sst_progress_blocks(BlockNumber nblocks, const SstChunks *chunks);

extern bool sst_progress_read(const PgBackendStatus *status,
							  SstProgress *progress);

#endif							/* SST_CALL_H */
