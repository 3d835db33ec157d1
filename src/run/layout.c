/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  The layout of a relation's file, and what of it is cached
 *
 * The blocks are divided into buckets of about the same size.  Large buckets are
 * scanned one after the other, by parallel workers too.  Small ones, and samples with
 * some blocks of each, are one scan: its stream reads ahead over all of them.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "compat/compat.h"
#include "run/scan.h"
#include "stream/buffered.h"
#include "stream/segment_file.h"

/* Buckets of fewer blocks are read together. */
#define MIN_BLOCKS_FOR_SCAN SST_MAX_COLD_RUN_BLOCKS

/* The same call is to read the same blocks. */
#define SEED 17

/* What is cached is for those to know who may use pg_buffercache. */
bool
sst_may_see_caches(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

/*
 * Set what percentage of each bucket is in the page cache.  Reads bring blocks there,
 * so this comes first.
 */
static void
look_at_page_cache(const SstTarget *target, SstLayout *layout)
{
	SstSegmentFile file;

	sst_segment_file_init(&file, target->rel, MAIN_FORKNUM);
	for (int i = 0; i < layout->nbuckets; i++)
	{
		SstLayoutBucket *bucket = &layout->buckets[i];
		int64		bytes = sst_page_cache_range(&file, bucket->first,
												 bucket->end);

		bucket->page_cache_percent = bytes < 0 ? NAN :
			100.0 * bytes / ((double) BLCKSZ * (bucket->end - bucket->first));
	}
	sst_segment_file_close(&file);
}

/* Set what percentage of each bucket is in shared buffers. */
static void
look_at_buffers(const SstTarget *target, const SstBucketSums *sums,
				SstLayout *layout)
{
	uint32	   *counts = palloc(sizeof(uint32) * layout->nbuckets);

	sst_require_internals(SST_BUFFER_HEADERS);
	sst_count_buffered(target->rel, MAIN_FORKNUM, sums, counts);
	for (int i = 0; i < layout->nbuckets; i++)
	{
		SstLayoutBucket *bucket = &layout->buckets[i];
		BlockNumber nblocks = bucket->end - bucket->first;

		bucket->buffered_percent = 100.0 * Min(counts[i], nblocks) / nblocks;
	}
	pfree(counts);
}

/* Scan each bucket by itself, which tells the blocks that were in buffers. */
static void
scan_buckets(SstScanPlan *plan, Relation rel, SstBucketSums *sums,
			 SstIoStats *io_stats, SstLayout *layout)
{
	for (int i = 0; i < layout->nbuckets; i++)
	{
		SstLayoutBucket *bucket = &layout->buckets[i];
		SstScanResult result;

		plan->first = bucket->first;
		plan->end = bucket->end;
		sst_scan_run(plan, rel, NULL, &result);
		sst_io_stats_merge(io_stats, &result.io_stats);
		sst_bucket_sums_add(sums, &result.counters, bucket->first);
		bucket->buffered_percent = 100.0 * result.io_stats.blocks_hit /
			(bucket->end - bucket->first);
	}
}

/*
 * Scan some blocks of each bucket, or all, in one go.  As a bucket has as many ranges
 * of the sample as others have, each range lies in one bucket.
 */
static void
scan_together(SstScanPlan *plan, Relation rel, SstBucketSums *sums,
			  BlockNumber nblocks, SstIoStats *io_stats)
{
	SstScanSinks sinks = {.buckets = sums};
	SstScanResult result;

	plan->sample_pages = nblocks;
	plan->sample_blocks = plan->nblocks;
	plan->seed = SEED;
	sst_scan_alone(plan, rel, NULL, &sinks, &result);
	sst_io_stats_merge(io_stats, &result.io_stats);
}

/* Divide the target's blocks into buckets, of which nothing is known yet. */
static void
make_buckets(const SstTarget *target, int nbuckets, SstLayout *layout)
{
	layout->nbuckets = nbuckets;
	layout->buckets = palloc0(sizeof(SstLayoutBucket) * Max(nbuckets, 1));
	for (int i = 0; i < nbuckets; i++)
	{
		SstLayoutBucket *bucket = &layout->buckets[i];

		bucket->first = sst_range_start(target->nblocks, nbuckets, i);
		bucket->end = sst_range_start(target->nblocks, nbuckets, i + 1);
		bucket->buffered_percent = bucket->page_cache_percent = NAN;
	}
}

/* Bytes that are free, in percent of those that were looked at; NaN if none were */
static double
free_percent(const SstCounters *sum, const SstTarget *target)
{
	const uint64 *n = sum->n;
	double		free = n[SST_FREE_BYTES];

	/* Where pages are reserved, they are among the free bytes. */
	if ((target->am->flags & SST_AM_RESERVES_PAGES) == 0)
		free += (double) BLCKSZ * (n[SST_NEW_PAGES] + n[SST_EMPTY_PAGES] + n[SST_DELETED_PAGES]);

	return n[SST_PAGE_BYTES] == 0 ? NAN : 100.0 * free / n[SST_PAGE_BYTES];
}

/*
 * The same for bytes of dead tuples.  Of index tuples only the number is known: they
 * are taken to be as long as the live ones.
 */
static double
dead_percent(const SstCounters *sum, const SstTarget *target)
{
	const uint64 *n = sum->n;
	double		nitems = (double) n[SST_LIVE_ITEMS] + n[SST_DEAD_ITEMS];

	if (n[SST_PAGE_BYTES] == 0)
		return NAN;
	if ((target->kind & SST_TABLE) != 0)
		return 100.0 * n[SST_DEAD_TUPLE_BYTES] / n[SST_PAGE_BYTES];

	return nitems == 0 ? 0 : n[SST_DEAD_ITEMS] / nitems *
		(100.0 - free_percent(sum, target));
}

/*
 * Read an open relation for a picture of nbuckets parts.  At most so many blocks are
 * read, as many of each bucket; 0: all.  There are no more buckets than blocks to
 * read.  Adds to io_stats; the layout is allocated in the current memory context.
 *
 * What is in buffers is told by the scan, or by a look at all buffers, which knows
 * nothing of temporary relations.
 */
void
sst_read_layout(const SstTarget *target, int nbuckets, BlockNumber most,
				SstIoStats *io_stats, SstLayout *layout)
{
	bool		see_caches = sst_may_see_caches();
	SstScanPlan plan;
	SstBucketSums sums = {.nblocks = target->nblocks};

	if (most == 0 || most >= target->nblocks)
		most = target->nblocks;
	nbuckets = Min(nbuckets, most);
	make_buckets(target, nbuckets, layout);
	if (nbuckets == 0)
		return;

	sst_plan_scan(&plan, target, SST_RULES_TOLERANT);
	sums.nbuckets = nbuckets;
	sums.sums = palloc0(sizeof(SstCounters) * nbuckets);
	if (see_caches)
		look_at_page_cache(target, layout);

	if (most < target->nblocks ||
		(target->nblocks / nbuckets < MIN_BLOCKS_FOR_SCAN &&
		 !RelationUsesLocalBuffers(target->rel)))
	{
		if (see_caches && !RelationUsesLocalBuffers(target->rel))
			look_at_buffers(target, &sums, layout);
		scan_together(&plan, target->rel, &sums,
					  most < target->nblocks ? most - most % nbuckets : most,
					  io_stats);
	}
	else
		scan_buckets(&plan, target->rel, &sums, io_stats, layout);

	for (int i = 0; i < nbuckets; i++)
	{
		SstLayoutBucket *bucket = &layout->buckets[i];

		bucket->corrupt_pages = sums.sums[i].n[SST_CORRUPT_PAGES];
		bucket->free_percent = free_percent(&sums.sums[i], target);
		bucket->dead_percent = dead_percent(&sums.sums[i], target);
		if (!see_caches)
			bucket->buffered_percent = NAN;
	}
	pfree(sums.sums);
}
