/*-------------------------------------------------------------------------
 *
 * stream_stats.c
 *	  What the last call of this session did
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/stream_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "api/result.h"
#include "run/call.h"

PG_FUNCTION_INFO_V1(sst_stream_stats);

static const char *const stream_names[] = {
	[SST_STREAM_SERVER] = "read stream of the server",
	[SST_STREAM_BUNDLED] = "bundled read stream",
	[SST_STREAM_FILE] = "file stream",
	[SST_STREAM_ADVICE] = "none (advice)",
	[SST_STREAM_READS] = "none (direct reads)"
};

static const char *const method_names[] = {
	[SST_IO_METHOD_IO_URING] = "io_uring",
	[SST_IO_METHOD_SYNC] = "sync"
};

/* NaN if there is nothing to divide by, or if that is not known */
static double
average(int64 sum, int64 count)
{
	return count <= 0 ? NAN : (double) sum / count;
}

Datum
sst_stream_stats(PG_FUNCTION_ARGS)
{
	const SstCall *call = sst_last_call();
	const SstIoStats *io_stats;
	SstRow		row;

	if (call == NULL)
		PG_RETURN_NULL();
	io_stats = &call->io_stats;

	sst_row_init(&row, fcinfo);
	sst_put_text(&row, "function", call->function);
	sst_put_regclass(&row, "relation", call->relid);
	sst_put_text(&row, "stream", stream_names[io_stats->stream]);
	sst_put_text(&row, "io_method", io_stats->reader == SST_IO_METHOD_AUTO ?
				 NULL : method_names[io_stats->reader]);
	sst_put_int32(&row, "workers", io_stats->nworkers);
	sst_put_int64(&row, "blocks_requested", io_stats->blocks_requested);
	sst_put_int64(&row, "blocks_hit", io_stats->blocks_hit);
	sst_put_int64(&row, "blocks_missed", io_stats->blocks_read);
	sst_put_int64(&row, "blocks_private", io_stats->blocks_private);
	sst_put_int64(&row, "blocks_mapped", io_stats->blocks_mapped);

	/* The server does not always let one know these. */
	sst_put_count(&row, "reads", io_stats->reads);
	sst_put_float8(&row, "avg_read_bytes",
				   average(io_stats->read_bytes, io_stats->reads));
	sst_put_count(&row, "advice_calls", io_stats->advice_calls);
	sst_put_float8(&row, "avg_advice_bytes",
				   average(io_stats->advice_blocks * BLCKSZ,
						   io_stats->advice_calls));
	sst_put_int64(&row, "look_ahead_max", io_stats->look_ahead_max);
	sst_put_float8(&row, "elapsed_ms", call->elapsed_ms);
	sst_put_float8(&row, "bytes_per_second", call->elapsed_ms <= 0 ? NAN :
				   io_stats->blocks_requested * (double) BLCKSZ /
				   (call->elapsed_ms / 1000.0));

	return sst_row_datum(&row);
}
