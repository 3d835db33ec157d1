/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Reporting the progress of a call
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PROGRESS_H
#define SST_PROGRESS_H

#include "datatype/timestamp.h"
#include "source/source.h"
#include "utils/backend_status.h"

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

extern void sst_progress_init(void);

extern void sst_progress_begin(const char *function, int64 relations_total,
							   int64 bytes_total);
extern void sst_progress_end(void);
extern void sst_progress_named(Oid relid);
extern void sst_progress_present(Oid *named, Oid *scanned);
extern void sst_progress_totals(int64 relations_total, int64 bytes_total);
extern void sst_progress_phase(SstPhase phase);
extern void sst_progress_relations(int64 relations_done);
extern void sst_progress_scan(Oid relid, BlockNumber nblocks, bool last);
extern void sst_progress_blocks(BlockNumber nblocks, const SstChunks *chunks);

extern bool sst_progress_read(const PgBackendStatus *status,
							  SstProgress *progress);

#endif							/* SST_PROGRESS_H */
