/*-------------------------------------------------------------------------
 *
 * wal_position.c
 *	  WAL positions that tell whether pages have been changed
 *
 * If sst_wal_begun() returns what sst_wal_done() returned before, then every
 * change up to now was made in a buffer that already had the page at the first
 * call, or it was complete by then.
 *
 * Usually both are the insert position, which a change advances after its page
 * was read into a buffer.  Replay advances its position before it reads the
 * page.  There the record being replayed has begun, and the one before it is
 * done.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/wal_position.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"

#include "stream/wal_position.h"

/* The end of the WAL whose changes are complete */
XLogRecPtr
sst_wal_done(void)
{
	return RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
}

/* The end of the WAL whose changes have begun */
XLogRecPtr
sst_wal_begun(void)
{
	return RecoveryInProgress() ? GetCurrentReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
}
