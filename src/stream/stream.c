/*-------------------------------------------------------------------------
 *
 * stream.c
 *	  Which way pages take, and what the ways have in common
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stream/stream.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stream/stream.h"

/*
 * The way for nblocks blocks of a relation, from the settings and the
 * relation's kind.
 *
 * Temporary relations are in local buffers, and with direct I/O nothing is in
 * the page cache: those go through buffers, whatever the setting says.
 */
SstIoPath
sst_choose_io_path(Relation rel, BlockNumber nblocks)
{
	if (RelationUsesLocalBuffers(rel) || sst_direct_io())
		return SST_IO_PATH_BUFFER;
	if (sst_io_path != SST_IO_PATH_AUTO)
		return sst_io_path;

	return SST_IO_PATH_FILE;
}

void
sst_stream_report_init(SstStreamReport *report, SstIoPath path)
{
	memset(report, 0, sizeof(SstStreamReport));
	if (path == SST_IO_PATH_FILE)
	{
		report->stream = SST_STREAM_FILE;
		return;
	}

#ifdef SST_HAVE_READ_STREAM
	report->stream = SST_STREAM_SERVER;
	report->advice_calls = -1;
	report->advice_blocks = -1;
#else
	report->stream = SST_STREAM_BUNDLED;
#endif
}

/* The sum of two counts, unknown if one of them is. */
static void
add(int64 *into, int64 from)
{
	*into = *into < 0 || from < 0 ? -1 : *into + from;
}

/* Add what another process's stream, of the same kind, did. */
void
sst_stream_report_merge(SstStreamReport *into, const SstStreamReport *from)
{
	into->reader = Max(into->reader, from->reader);
	add(&into->blocks_requested, from->blocks_requested);
	add(&into->blocks_hit, from->blocks_hit);
	add(&into->blocks_read, from->blocks_read);
	add(&into->blocks_private, from->blocks_private);
	add(&into->reads, from->reads);
	add(&into->read_bytes, from->read_bytes);
	add(&into->advice_calls, from->advice_calls);
	add(&into->advice_blocks, from->advice_blocks);
	into->look_ahead_max = Max(into->look_ahead_max, from->look_ahead_max);
}
