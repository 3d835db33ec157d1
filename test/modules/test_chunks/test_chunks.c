/*-------------------------------------------------------------------------
 *
 * test_chunks.c
 *	  Take all chunks of a range of blocks
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  test/modules/test_chunks/test_chunks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "source/source.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(chunks);

Datum
chunks(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	SstChunks	all;
	BlockNumber first;
	BlockNumber end;

	InitMaterializedSRF(fcinfo, 0);
	sst_chunks_init(&all, (BlockNumber) PG_GETARG_INT64(0),
					(BlockNumber) PG_GETARG_INT64(1), PG_GETARG_INT32(2));

	for (int n = 1; sst_chunks_take(&all, &first, &end); n++)
	{
		Datum		values[3];
		bool		nulls[3] = {0};

		CHECK_FOR_INTERRUPTS();
		values[0] = Int32GetDatum(n);
		values[1] = Int64GetDatum((int64) first);
		values[2] = Int64GetDatum((int64) end);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}

	/* There is no more, however often one asks. */
	if (sst_chunks_take(&all, &first, &end))
		elog(ERROR, "a chunk came behind the last one");

	return (Datum) 0;
}
