/*-------------------------------------------------------------------------
 *
 * server_check.h
 *	  Is the server built as its header files say?
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/compat/server_check.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SERVER_CHECK_H
#define SST_SERVER_CHECK_H

/* Internals of the server that streamstat reads in shared memory */
typedef enum SstInternals
{
	SST_BUFFER_HEADERS,			/* tags and states of shared buffers */
	SST_PROCESSES,				/* who waits for which lock */
	SST_TRANSACTIONS,			/* the oldest one in the commit log */
	SST_NINTERNALS
} SstInternals;

extern void sst_check_block_sizes(void);
extern bool sst_server_has(SstInternals internals);
extern void sst_require_internals(SstInternals internals);

#endif							/* SST_SERVER_CHECK_H */
