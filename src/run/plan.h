/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What a scan is to do, and what it found: plain data, for any process
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SST_PLAN_H
#define SST_PLAN_H

#include "run/limits.h"
#include "stats/estimate.h"
#include "stream/stream.h"
#include "relation/target.h"
#include "rebuild/rebuild.h"
#include "visit/visit.h"

/*
 * By whose rules pages are judged.  By ours, damage is counted.  By those of
 * pgstattuple's functions, the scan stops at the first page that makes no sense,
 * and lets through the errors of the buffer manager.
 */
typedef enum SstRules
{
	SST_RULES_TOLERANT,
	SST_RULES_PGSTATINDEX,		/* pgstatindex and its like */
	SST_RULES_PGSTATTUPLE		/* pgstattuple, pgstattuple_approx */
} SstRules;

/* What to do: all blocks of a range, or a sample of some kind */
typedef struct SstScanPlan
{
	Oid			relid;
	SstTargetKind kind;
	ForkNumber	forknum;
	BlockNumber nblocks;		/* of the fork */
	BlockNumber first;			/* blocks first to end - 1 are scanned */
	BlockNumber end;
	SstRules	rules;

	TransactionId horizon;		/* heap: deleted before can be removed */
	BlockNumber nskipped;		/* blocks of the range not to be read */
	bool		chains;			/* heap: count what indexes point to, too */

	SstIoPath	path;
	bool		in_recovery;	/* no subtransaction may begin */

	/* For one process alone, or NULL */
	SstSamplePart *sample;		/* read this sample only, and put it there */
	uint32		seed;
	const SstBlockSet *set;		/* of its members, or of the others; or NULL */
	bool		members;
	SstRebuild *rebuild;		/* count what a rebuild would take, too */
	SstLimits  *limits;
} SstScanPlan;

/* What was found, by one process or by several together */
typedef struct SstScanResult
{
	SstCounters counters;
	SstMeta		meta;
	uint64		nvisited;
	SstIoStats io_stats;
} SstScanResult;

/* How many blocks will be read? */
static inline BlockNumber
sst_plan_nblocks(const SstScanPlan *plan)
{
	return plan->sample != NULL ? plan->sample->nwanted :
		plan->end - plan->first - plan->nskipped;
}

extern void sst_plan_scan(SstScanPlan *plan, const SstTarget *target,
						  SstRules rules);
extern void sst_plan_map_scan(SstScanPlan *plan, const SstTarget *target,
							  ForkNumber forknum);
extern void sst_plan_visitor(const SstScanPlan *plan, Relation rel,
							 SstVisitor *visitor);

extern void sst_result_init(SstScanResult *result, const SstScanPlan *plan);
extern void sst_result_merge(SstScanResult *into, const SstScanResult *from);

#endif							/* SST_PLAN_H */
