/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Carrying out the plan of a scan, alone or with parallel workers
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_SCAN_H
#define SST_SCAN_H

#include "portability/instr_time.h"

#include "am/rebuild.h"
#include "stream/rules.h"
#include "relation/relation.h"
#include "run/limits.h"
#include "stats/counters.h"
#include "stats/estimate.h"
#include "stream/stream.h"

/* What is counted of an index */
typedef enum SstIndexCounts
{
	SST_COUNT_ITEMS,			/* what its access method's visitor counts */
	SST_COUNT_TUPLES			/* tuples, as pgstattuple does */
} SstIndexCounts;

/*
 * What to do: read all blocks of a range, or a sample.  The plan has no pointers,
 * and does not change during a scan.  A set of blocks may come with it.
 */
typedef struct SstScanPlan
{
	Oid			relid;
	ForkNumber	forknum;
	BlockNumber nblocks;		/* of the fork */
	BlockNumber first;			/* blocks first to end - 1 are scanned */
	BlockNumber end;
	BlockNumber nskipped;		/* of these, members of the set: not read */
	SstRules	rules;
	SstIndexCounts index_counts;

	TransactionId horizon;		/* heap: tuples deleted before can be removed */
	bool		chains;			/* heap: count what indexes point to, too */
	bool		all_items;		/* index: look at each that counts, however
								 * many */

	SstIoPath	path;
	bool		in_recovery;	/* no subtransaction may begin */
	bool		more_follow;	/* scans of the same call, so that this one's
								 * end is not that of the call */

	/* A sample: of all blocks, the members of the set, or all but these */
	BlockNumber sample_pages;	/* to read; 0 to read the range */
	BlockNumber sample_blocks;	/* to choose these from */
	uint32		seed;
	bool		members;
} SstScanPlan;

/* Blocks whose pages make no sense, and how far the scan is */
typedef struct SstCorruptList
{
	int			max;			/* the scan ends when there are so many */
	int			n;
	BlockNumber *blknos;
	BlockNumber reached;		/* one past the last block visited */
	SstMeta		meta;			/* of the scans so far */
} SstCorruptList;

/*
 * Where a scan puts what does not go into its result; each can be NULL.  They
 * are memory of one process, so that a scan with any of them has no workers.
 */
typedef struct SstScanSinks
{
	SstCorruptList *corrupt;
	SstSamplePart *sample;		/* the counters of each page of a sample */
	SstBucketSums *buckets;		/* what is in each part of the file */
	SstRebuild *rebuild;		/* what a rebuild would take */
	SstDeadTids *dead_tids;		/* of a table: rows an index build leaves out */
	SstLimits  *limits;			/* bounds the scan; charged for what is read */
	instr_time *halfway;		/* when half of the blocks have been visited */
} SstScanSinks;

/* What was found, by one process or by several together */
typedef struct SstScanResult
{
	SstIoStats	io_stats;		/* the first, for parallel.c */
	SstCounters counters;
	SstMeta		meta;
	uint64		nvisited;
} SstScanResult;

/* How many blocks will be read? */
static inline BlockNumber
sst_plan_nblocks(const SstScanPlan *plan)
{
	return plan->sample_pages > 0 ? plan->sample_pages :
		plan->end - plan->first - plan->nskipped;
}

/* What ended a sample that was to be tight */
typedef enum SstSampleEnd
{
	SST_SAMPLE_MARGIN,			/* it is */
	SST_SAMPLE_BLOCKS,			/* as many blocks as were allowed */
	SST_SAMPLE_ALL,				/* there are no more blocks */
	SST_SAMPLE_LIMITS			/* time */
} SstSampleEnd;

/* What is in a part of a relation's file */
typedef struct SstLayoutBucket
{
	BlockNumber first;
	BlockNumber end;			/* one past the last block */
	uint64		corrupt_pages;

	/* Of the pages that were read; NaN if none was */
	double		free_percent;
	double		dead_percent;

	/* Of all blocks; NaN if not known, or not for the caller to know */
	double		buffered_percent;
	double		page_cache_percent;
} SstLayoutBucket;

typedef struct SstLayout
{
	int			nbuckets;
	SstLayoutBucket *buckets;
} SstLayout;

/* The most buckets that there may be */
#define SST_MAX_BUCKETS 10000

extern void sst_plan_scan(SstScanPlan *plan, const SstTarget *target,
						  SstRules rules);
extern void sst_plan_visitor(const SstScanPlan *plan, Relation rel,
							 SstItemList *kept, SstVisitor *visitor);

extern void sst_result_init(SstScanResult *result, const SstScanPlan *plan);
extern void sst_result_merge(SstScanResult *into, const SstScanResult *from);

extern void sst_scan_run(const SstScanPlan *plan, Relation rel,
						 const SstBlockSet *set, SstScanResult *result);
extern void sst_scan_alone(const SstScanPlan *plan, Relation rel,
						   const SstBlockSet *set, const SstScanSinks *sinks,
						   SstScanResult *result);
extern void sst_scan_map(const SstTarget *target, ForkNumber forknum,
						 SstBlockSet *visible, SstBlockSet *frozen,
						 SstLimits *limits, SstCounters *counters,
						 SstIoStats *io_stats);

/* in sampling.c */
extern bool sst_sample_reads_map(BlockNumber nsample, BlockNumber map_blocks);
extern SstBlockSet *sst_visible_blocks(const SstTarget *target, BlockNumber most_map_blocks,
									   SstLimits *limits, SstCounters *counters,
									   SstIoStats *io_stats);
extern bool sst_sample_scan(const SstTarget *target, BlockNumber nsample,
							uint32 seed, SstRebuild *rebuild,
							SstLimits *limits, SstPageSample *sample,
							SstScanResult *result);
extern SstSampleEnd sst_sample_to_margin(const SstTarget *target,
										 double margin, BlockNumber most,
										 uint32 seed, SstLimits *limits,
										 SstPageSample *sample,
										 SstScanResult *result);

/* in layout.c */
extern bool sst_may_see_caches(void);
extern void sst_read_layout(const SstTarget *target, int nbuckets,
							BlockNumber most, SstIoStats *io_stats,
							SstLayout *layout);

#endif							/* SST_SCAN_H */
