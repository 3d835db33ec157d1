/*-------------------------------------------------------------------------
 *
 * read_buffers.c
 *	  Probe by the server's own read stream, as its scans read
 *
 * A stream takes its depth and the size of its reads from the settings when it
 * begins.  Pages are read into a ring of buffers, so that little is evicted
 * from shared buffers, and are not examined.  For maintenance it is VACUUM's
 * ring, whose size limits the depth.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/probe/read_buffers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"
#include "utils/spccache.h"

#include "probe/run.h"
#include "stream/read_stream.h"

#ifdef SST_HAVE_READ_STREAM

/* A ring holds all that is in flight twice, within these bounds, in kB. */
#define MIN_RING_KB 256
#define MAX_RING_KB 16384

/* The stream's blocks, one read after the other */
typedef struct StreamBlocks
{
	SstProbeRun *run;
	BlockNumber next;
	int			nleft;			/* of the present read */
} StreamBlocks;

static BlockNumber
next_block(ReadStream *stream, void *callback_private_data,
		   void *per_buffer_data)
{
	StreamBlocks *blocks = callback_private_data;

	if (blocks->nleft == 0)
	{
		if (!sst_run_next(blocks->run, &blocks->next))
			return InvalidBlockNumber;
		blocks->nleft = blocks->run->cell->nblocks;
	}

	blocks->nleft--;
	return blocks->next++;
}

static void
set_until_end(const char *name, int value)
{
	char		str[12];

	snprintf(str, sizeof(str), "%d", value);
	(void) set_config_option(name, str, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/* VACUUM's stream for reads in sequence, else that of queries */
static inline bool
is_maintenance(const SstProbeCell *cell)
{
	return cell->pattern == SST_PROBE_SEQUENTIAL;
}

static BufferAccessStrategy
make_ring(const SstProbeCell *cell)
{
	int64		kb = 2 * (int64) cell->depth * cell->nblocks * BLCKSZ / 1024;

	if (is_maintenance(cell))
		return GetAccessStrategy(BAS_VACUUM);
	return GetAccessStrategyWithSize(BAS_BULKREAD,
									 (int) Max(Min(kb, MAX_RING_KB), MIN_RING_KB));
}

/* Begin a stream with the cell's depth and size; NULL if the tablespace has its own. */
static ReadStream *
begin_stream(StreamBlocks *blocks, BufferAccessStrategy ring)
{
	SstProbeRun *run = blocks->run;
	const SstProbeCell *cell = run->cell;
	Oid			tablespace = run->rel->rd_rel->reltablespace;
	int			nestlevel = NewGUCNestLevel();
	ReadStream *stream = NULL;

	set_until_end("effective_io_concurrency", cell->depth);
	set_until_end("maintenance_io_concurrency", cell->depth);
	set_until_end("io_combine_limit", cell->nblocks);
	if (cell->depth == (is_maintenance(cell) ?
						get_tablespace_maintenance_io_concurrency(tablespace) :
						get_tablespace_io_concurrency(tablespace)))
		stream = read_stream_begin_relation((is_maintenance(cell) ?
											 READ_STREAM_MAINTENANCE :
											 READ_STREAM_DEFAULT) |
											READ_STREAM_FULL |
											READ_STREAM_USE_BATCHING,
											ring, run->rel, MAIN_FORKNUM,
											next_block, blocks, 0);
	AtEOXact_GUC(true, nestlevel);

	return stream;
}

/*
 * Run a cell by the server's stream.  False if the tablespace sets another depth,
 * which a session cannot change.
 */
bool
sst_probe_read_stream(SstProbeRun *run)
{
	StreamBlocks blocks = {.run = run};
	BufferAccessStrategy ring = make_ring(run->cell);
	ReadStream *stream;
	Buffer		buf;
	int			nblocks = 0;

	sst_run_begin(run);
	stream = begin_stream(&blocks, ring);
	while (stream != NULL &&
		   BufferIsValid(buf = read_stream_next_buffer(stream, NULL)))
	{
		ReleaseBuffer(buf);
		if (++nblocks % run->cell->nblocks == 0)
			sst_run_arrived(run, -1);
	}
	if (stream != NULL)
		read_stream_end(stream);
	sst_run_end(run);
	if (ring != NULL)
		FreeAccessStrategy(ring);

	return stream != NULL;
}

#else							/* !SST_HAVE_READ_STREAM */

/* This server has none. */
bool
sst_probe_read_stream(SstProbeRun *run)
{
	return false;
}

#endif							/* SST_HAVE_READ_STREAM */
