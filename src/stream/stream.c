/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  The choice of an I/O path, and code that the streams share
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/stream.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "utils/spccache.h"

#include "compat/server_check.h"
#include "compat/shared_blocks.h"
#include "stream/stream.h"

/* Reads in flight, unless a setting asks for more */
#define DEFAULT_DEPTH 32

/* PG_IO_ALIGN_SIZE of 16 and later */
#define IO_ALIGN_SIZE 4096

/*
 * Can the relation's files be read directly?  Pages of temporary relations are in
 * local buffers.  Without WAL and checksums, nothing shows that a page was
 * written while it was read.  A storage manager other than md.c may have encrypted
 * the files, or have none.
 */
static bool
can_read_directly(Relation rel)
{
	return !RelationUsesLocalBuffers(rel) &&
		(RelationIsPermanent(rel) || DataChecksumsEnabled()) &&
		sst_relation_is_plain(rel);
}

/* Set up what streams of both kinds have, but for their functions. */
void
sst_stream_init(SstStream *stream, Relation rel, ForkNumber forknum,
				SstSource *source, BufferAccessStrategy strategy,
				SstIoStats *io_stats)
{
	stream->rel = rel;
	stream->forknum = forknum;
	stream->source = source;
	stream->strategy = strategy;
	stream->io_stats = io_stats;
}

/*
 * Choose the I/O path for a relation.  With direct I/O nothing is in the page
 * cache.  Then, where files cannot be read directly, and where buffers cannot be
 * looked at, all blocks go through buffers regardless of the setting.
 */
SstIoPath
sst_choose_io_path(Relation rel)
{
	if (!can_read_directly(rel) || sst_direct_io() ||
		!sst_server_has(SST_BUFFER_HEADERS))
		return SST_IO_PATH_BUFFER;
	if (sst_io_path != SST_IO_PATH_AUTO)
		return sst_io_path;

	return SST_IO_PATH_FILE;
}

/*
 * The I/O path of a call about many relations, as far as that can be said before: that
 * of pg_class.
 */
SstIoPath
sst_usual_io_path(void)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SstIoPath	path = sst_choose_io_path(catalog);

	table_close(catalog, AccessShareLock);

	return path;
}

/* The number of neighbouring blocks to read together from the page cache */
int
sst_run_blocks(void)
{
	return sst_io_combine_limit > 0 ?
		Min(sst_io_combine_limit, SST_MAX_RUN_BLOCKS) : SST_MAX_RUN_BLOCKS;
}

/* The number of neighbouring blocks to read or to advise together from storage */
int
sst_cold_run_blocks(void)
{
	return sst_io_combine_limit > 0 ?
		Min(sst_io_combine_limit, SST_MAX_COLD_RUN_BLOCKS) : SST_MAX_COLD_RUN_BLOCKS;
}

/*
 * The number of such runs to keep in flight for relations of a tablespace, at least 1;
 * InvalidOid is the database's own.
 *
 * The server's default suits reads of single blocks from a local disk.  More are
 * kept in flight, unless the setting turns asynchronous I/O off.  The limit is
 * the memory they take.
 */
int
sst_io_depth(Oid tablespace)
{
	int			depth = sst_io_concurrency;

	if (depth == 0)
	{
		depth = get_tablespace_maintenance_io_concurrency(tablespace);
		depth = depth == 0 ? 1 : Max(depth, DEFAULT_DEPTH);
	}

	return Min(depth, SST_MAX_BYTES_AHEAD / BLCKSZ / sst_run_blocks());
}

/*
 * Allocate memory for nblocks blocks in the current context, aligned for direct
 * I/O.  The pointer that palloc() returned is stored in front of the blocks, for
 * sst_pfree_blocks().
 */
void *
sst_palloc_blocks(int nblocks)
{
	char	   *memory = palloc((Size) nblocks * BLCKSZ + IO_ALIGN_SIZE +
								sizeof(void *));
	void	  **blocks = (void **) TYPEALIGN(IO_ALIGN_SIZE,
											 memory + sizeof(void *));

	blocks[-1] = memory;
	return blocks;
}

void
sst_pfree_blocks(void *blocks)
{
	pfree(((void **) blocks)[-1]);
}
