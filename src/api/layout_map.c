/*-------------------------------------------------------------------------
 *
 * layout_map.c
 *	  layout_map and layout_picture: where in a relation's file the space is
 *
 * Both show what run/layout.c finds: as rows of numbers, or as lines of characters.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/api/layout_map.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"

#include "api/arguments.h"
#include "api/layout_picture.h"
#include "api/one_relation.h"
#include "run/call.h"
#include "run/layout.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(sst_layout_map);
PG_FUNCTION_INFO_V1(sst_layout_picture);

#define BAR_LENGTH 40

/* A picture of a bucket: what is in use, what is dead, what is free */
static char *
draw_bar(double dead, double free)
{
	char	   *bar = palloc(BAR_LENGTH + 1);
	int			nfree = (int) rint(free * BAR_LENGTH / 100.0);
	int			ndead = Min((int) rint(dead * BAR_LENGTH / 100.0),
							BAR_LENGTH - nfree);

	memset(bar, '#', BAR_LENGTH);
	memset(bar + BAR_LENGTH - nfree - ndead, 'x', ndead);
	memset(bar + BAR_LENGTH - nfree, '.', nfree);
	bar[BAR_LENGTH] = '\0';

	return bar;
}

/* A number from 1 to SST_MAX_BUCKETS; ERROR if it is another one.  what names it. */
static int
number_argument(FunctionCallInfo fcinfo, int argno, const char *what)
{
	int			number;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot be null", what)));

	number = PG_GETARG_INT32(argno);
	if (number <= 0 || number > SST_MAX_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", what, SST_MAX_BUCKETS)));

	return number;
}

/*
 * Read the layout of the relation that argument 0 names, in as many buckets as argument
 * 1 says, from as many blocks as argument blocks_argno says: null, or not there, is all.
 * Returns its number of blocks.
 */
static BlockNumber
read_argument(FunctionCallInfo fcinfo, int blocks_argno, SstLayout *layout)
{
	int			nbuckets = number_argument(fcinfo, 1, "number of buckets");
	BlockNumber most = 0;
	SstTarget	target;
	SstCall		call;

	if (PG_NARGS() > blocks_argno && !PG_ARGISNULL(blocks_argno))
		most = sst_sample_size_argument(fcinfo, blocks_argno);

	sst_call_open(&call, fcinfo, &target, SST_ANY_INDEX | SST_TABLE);
	sst_progress_totals(1, (int64) (most == 0 ? target.nblocks :
									Min(most, target.nblocks)) * BLCKSZ);
	sst_read_layout(&target, nbuckets, most, &call.io_stats, layout);
	sst_call_close(&call, &target);

	return target.nblocks;
}

Datum
sst_layout_map(PG_FUNCTION_ARGS)
{
	SstLayout	layout;
	SstRow		row;

	(void) read_argument(fcinfo, 2, &layout);
	sst_rows_begin(&row, fcinfo);
	for (int i = 0; i < layout.nbuckets; i++)
	{
		const SstLayoutBucket *bucket = &layout.buckets[i];

		sst_put_int32(&row, "bucket", i + 1);
		sst_put_int64(&row, "first_block", bucket->first);
		sst_put_int64(&row, "last_block", (int64) bucket->end - 1);
		sst_put_float8(&row, "free_percent", bucket->free_percent);
		sst_put_float8(&row, "dead_percent", bucket->dead_percent);
		sst_put_float8(&row, "buffered_percent", bucket->buffered_percent);
		sst_put_float8(&row, "page_cache_percent", bucket->page_cache_percent);
		sst_put_text(&row, "bar", isnan(bucket->free_percent) ? NULL :
					 draw_bar(bucket->dead_percent, bucket->free_percent));
		sst_row_store(&row);
	}

	return (Datum) 0;
}

/* A line of the picture; first is the block that it begins with, or -1. */
static void
put_line(SstRow *row, int64 first, const char *line)
{
	sst_put_count(row, "first_block", first);
	sst_put_text(row, "picture", line);
	sst_row_store(row);
}

Datum
sst_layout_picture(PG_FUNCTION_ARGS)
{
	int			width = number_argument(fcinfo, 2, "width");
	SstLayout	layout;
	SstRow		row;
	BlockNumber nblocks = read_argument(fcinfo, 3, &layout);
	char	   *line = palloc(width + 1);

	sst_rows_begin(&row, fcinfo);
	for (int i = 0; i < layout.nbuckets; i += width)
	{
		const SstLayoutBucket *buckets = &layout.buckets[i];
		int			n = Min(width, layout.nbuckets - i);

		sst_draw_contents(buckets, n, line);
		put_line(&row, buckets->first, line);
		if (sst_draw_caches(buckets, n, line))
			put_line(&row, -1, line);
	}
	for (int i = 0; layout.nbuckets > 0 && i < SST_LEGEND_LINES; i++)
	{
		const char *legend = sst_layout_legend(i, &layout, nblocks);

		if (legend != NULL)
			put_line(&row, -1, legend);
	}

	return (Datum) 0;
}
