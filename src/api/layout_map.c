/*-------------------------------------------------------------------------
 *
 * layout_map.c
 *	  layout_map: where in a relation's file the space is
 *
 * The blocks are divided into buckets of about the same size, and each is scanned
 * by itself.
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

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "api/one_relation.h"
#include "run/call.h"
#include "run/progress.h"
#include "run/scan.h"
#include "stream/page_cache.h"

PG_FUNCTION_INFO_V1(sst_layout_map);

#define MAX_BUCKETS 10000
#define BAR_LENGTH 40

/* Bytes that are free, in percent of all */
static double
free_percent(SstTargetKind kind, const SstCounters *counters)
{
	double		bytes = counters->n[SST_FREE_BYTES];

	/* Whole pages; of a hash index they are among the free bytes. */
	if (kind != SST_HASH)
		bytes += (double) BLCKSZ * (counters->n[SST_NEW_PAGES] +
									counters->n[SST_EMPTY_PAGES] +
									counters->n[SST_DELETED_PAGES]);

	return 100.0 * bytes / counters->n[SST_PAGE_BYTES];
}

/*
 * Bytes of dead tuples, in percent of all.  Of index tuples only the number is
 * known: they are taken to be as long as the live ones.
 */
static double
dead_percent(SstTargetKind kind, const SstCounters *counters)
{
	double		nitems = (double) counters->n[SST_LIVE_ITEMS] +
		counters->n[SST_DEAD_ITEMS];

	if ((kind & SST_TABLE) != 0)
		return 100.0 * counters->n[SST_DEAD_TUPLE_BYTES] /
			counters->n[SST_PAGE_BYTES];

	return nitems == 0 ? 0 : counters->n[SST_DEAD_ITEMS] / nitems *
		(100.0 - free_percent(kind, counters));
}

/* A picture: what is in use, what is dead, what is free */
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

static int
buckets_argument(FunctionCallInfo fcinfo, int argno)
{
	int			nbuckets;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of buckets cannot be null")));

	nbuckets = PG_GETARG_INT32(argno);
	if (nbuckets <= 0 || nbuckets > MAX_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of buckets must be between 1 and %d",
						MAX_BUCKETS)));

	return nbuckets;
}

/* What is cached is for those to know who may use pg_buffercache. */
static bool
may_see_caches(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

/* The first block of a bucket, from 0 */
static BlockNumber
bucket_start(const SstTarget *target, int nbuckets, int bucket)
{
	return (uint64) target->nblocks * bucket / nbuckets;
}

/*
 * What percentage of each bucket is in the page cache; NaN if that cannot be known.
 * A scan of one bucket brings the next ones there, so all are looked at before.
 */
static double *
page_cache_percents(const SstTarget *target, int nbuckets)
{
	double	   *percents = palloc(sizeof(double) * Max(nbuckets, 1));
	SstSegmentFile file;

	sst_segment_file_init(&file, target->rel, MAIN_FORKNUM);
	for (int i = 0; i < nbuckets; i++)
	{
		BlockNumber first = bucket_start(target, nbuckets, i);
		BlockNumber end = bucket_start(target, nbuckets, i + 1);
		int64		bytes = sst_page_cache_range(&file, first, end);

		percents[i] = bytes < 0 ? NAN :
			100.0 * bytes / ((double) BLCKSZ * (end - first));
	}
	sst_segment_file_close(&file);

	return percents;
}

Datum
sst_layout_map(PG_FUNCTION_ARGS)
{
	int			nbuckets = buckets_argument(fcinfo, 1);
	bool		see_caches = may_see_caches();
	double	   *page_cache = NULL;
	SstRow		row;
	SstTarget	target;
	SstScanPlan plan;
	SstCall		call;

	sst_call_open(&call, fcinfo, &target, SST_ANY_INDEX | SST_TABLE);
	sst_rows_begin(&row, fcinfo);
	sst_plan_scan(&plan, &target, SST_RULES_TOLERANT);
	nbuckets = Min(nbuckets, target.nblocks);
	sst_progress_totals(1, (int64) target.nblocks * BLCKSZ);
	if (see_caches)
		page_cache = page_cache_percents(&target, nbuckets);

	for (int i = 0; i < nbuckets; i++)
	{
		SstScanResult result;
		double		free;
		double		dead;
		double		buffered;

		plan.first = bucket_start(&target, nbuckets, i);
		plan.end = bucket_start(&target, nbuckets, i + 1);
		sst_scan_run(&plan, target.rel, NULL, &result);
		sst_io_stats_merge(&call.io_stats, &result.io_stats);

		free = free_percent(target.kind, &result.counters);
		dead = dead_percent(target.kind, &result.counters);
		buffered = see_caches ? 100.0 * result.io_stats.blocks_hit /
			(plan.end - plan.first) : NAN;
		sst_put_int32(&row, "bucket", i + 1);
		sst_put_int64(&row, "first_block", plan.first);
		sst_put_int64(&row, "last_block", (int64) plan.end - 1);
		sst_put_float8(&row, "free_percent", free);
		sst_put_float8(&row, "dead_percent", dead);
		sst_put_float8(&row, "buffered_percent", buffered);
		sst_put_float8(&row, "page_cache_percent", see_caches ? page_cache[i] : NAN);
		sst_put_text(&row, "bar", draw_bar(dead, free));
		sst_row_store(&row);
	}

	sst_call_close(&call, &target);

	return (Datum) 0;
}
