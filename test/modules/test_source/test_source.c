/*-------------------------------------------------------------------------
 *
 * test_source.c
 *	  Take all chunks of a range of blocks, and blocks from sources that walk
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "source/source.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(chunks);
PG_FUNCTION_INFO_V1(walk);

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

Datum
walk(PG_FUNCTION_ARGS)
{
	char	   *kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	BlockNumber nblocks = (BlockNumber) PG_GETARG_INT64(1);
	SstBlockSet *set = sst_block_set_create(nblocks);
	SstRangeSource range;
	SstSampleSource sample;
	SstSource  *source;
	BlockNumber blkno;

	for (blkno = 0; blkno < nblocks - 1; blkno++)
		sst_block_set_add(set, blkno - blkno % 32, UINT32_C(1) << blkno % 32);

	if (strcmp(kind, "skip") == 0)
		source = sst_range_source_init(&range, NULL, 0, nblocks, set);
	else
		source = sst_sample_source_init(&sample, 1, 1, 0, set, false);

	if (PG_GETARG_BOOL(2))
		InterruptPending = QueryCancelPending = true;
	blkno = sst_source_next(source);
	if (PG_GETARG_BOOL(2))
	{
		InterruptPending = QueryCancelPending = false;
		elog(ERROR, "the cancel was not seen");
	}
	if (sst_source_next(source) != InvalidBlockNumber)
		elog(ERROR, "there is another block");

	PG_RETURN_INT64((int64) blkno);
}
