/*-------------------------------------------------------------------------
 *
 * wal_position.h
 *	  WAL positions that tell whether pages have been changed
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/wal_position.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_WAL_POSITION_H
#define SST_WAL_POSITION_H

#include "access/xlogdefs.h"

extern XLogRecPtr sst_wal_done(void);
extern XLogRecPtr sst_wal_begun(void);

#endif							/* SST_WAL_POSITION_H */
