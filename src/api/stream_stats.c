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

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

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

/* A count, or null if the server does not let one know it. */
static Datum
count_or_null(int64 count, bool *isnull)
{
	*isnull = count < 0;
	return Int64GetDatum(count);
}

static Datum
average_or_null(int64 sum, int64 count, bool *isnull)
{
	*isnull = count <= 0;
	return *isnull ? (Datum) 0 : Float8GetDatum((double) sum / count);
}

Datum
sst_stream_stats(PG_FUNCTION_ARGS)
{
	const SstCall *call = sst_last_call();
	const SstIoStats *io_stats;
	TupleDesc	tupdesc;
	Datum		values[16];
	bool		nulls[16] = {0};
	int			i = 0;

	if (call == NULL)
		PG_RETURN_NULL();
	io_stats = &call->io_stats;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	values[i++] = CStringGetTextDatum(call->function);
	values[i++] = ObjectIdGetDatum(call->relid);
	values[i++] = CStringGetTextDatum(stream_names[io_stats->stream]);
	nulls[i] = io_stats->reader == SST_IO_METHOD_AUTO;
	if (!nulls[i])
		values[i] = CStringGetTextDatum(method_names[io_stats->reader]);
	i++;
	values[i++] = Int32GetDatum(io_stats->nworkers);
	values[i++] = Int64GetDatum(io_stats->blocks_requested);
	values[i++] = Int64GetDatum(io_stats->blocks_hit);
	values[i++] = Int64GetDatum(io_stats->blocks_read);
	values[i++] = Int64GetDatum(io_stats->blocks_private);
	values[i] = count_or_null(io_stats->reads, &nulls[i]);
	i++;
	values[i] = average_or_null(io_stats->read_bytes, io_stats->reads, &nulls[i]);
	i++;
	values[i] = count_or_null(io_stats->advice_calls, &nulls[i]);
	i++;
	values[i] = average_or_null(io_stats->advice_blocks * BLCKSZ,
								io_stats->advice_calls, &nulls[i]);
	i++;
	values[i++] = Int64GetDatum(io_stats->look_ahead_max);
	values[i++] = Float8GetDatum(call->elapsed_ms);
	nulls[i] = call->elapsed_ms <= 0;
	if (!nulls[i])
		values[i] = Float8GetDatum(io_stats->blocks_requested * (double) BLCKSZ /
								   (call->elapsed_ms / 1000.0));
	i++;
	Assert(i == tupdesc->natts);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  values, nulls)));
}
