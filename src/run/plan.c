/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  The plan of a scan, and its result
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/procarray.h"

#include "compat/server_check.h"
#include "run/plan.h"

/* Plan to scan all blocks of the main fork. */
void
sst_plan_scan(SstScanPlan *plan, const SstTarget *target, SstRules rules)
{
	memset(plan, 0, sizeof(SstScanPlan));
	plan->relid = RelationGetRelid(target->rel);
	plan->kind = target->kind;
	plan->forknum = MAIN_FORKNUM;
	plan->nblocks = target->nblocks;
	plan->end = target->nblocks;
	plan->rules = rules;
	plan->path = sst_choose_io_path(target->rel);
	plan->in_recovery = RecoveryInProgress();
	if (target->kind == SST_HEAP)
	{
		sst_require_internals(SST_TRANSACTIONS);
		plan->horizon = GetOldestNonRemovableTransactionId(target->rel);
	}
}

/* Plan to scan all blocks of a map, if the relation has it. */
void
sst_plan_map_scan(SstScanPlan *plan, const SstTarget *target,
				  ForkNumber forknum)
{
	SMgrRelation smgr = RelationGetSmgr(target->rel);

	sst_plan_scan(plan, target, SST_RULES_TOLERANT);
	plan->forknum = forknum;
	plan->nblocks = plan->end =
		smgrexists(smgr, forknum) ? smgrnblocks(smgr, forknum) : 0;
}

/*
 * Make the visitor that the plan needs.  That of a table lists the tuples that
 * a rewrite keeps in "kept", which can be NULL.
 */
void
sst_plan_visitor(const SstScanPlan *plan, Relation rel, SstKeptItems *kept,
				 SstVisitor *visitor)
{
	if (plan->index_counts == SST_COUNT_TUPLES &&
		(plan->kind & SST_ANY_INDEX) != 0)
	{
		sst_pgstattuple_visitor_init(visitor, plan->kind);
		return;
	}

	switch (plan->kind)
	{
		case SST_BTREE:
			sst_btree_visitor_init(visitor, plan->rules, rel,
								   plan->sample_pages > 0 ? 0 : plan->nblocks);
			break;
		case SST_HASH:
			sst_hash_visitor_init(visitor, plan->rules);
			break;
		case SST_GIN:
			sst_gin_visitor_init(visitor, plan->rules);
			break;
		case SST_GIST:
			sst_gist_visitor_init(visitor);
			break;
		case SST_SPGIST:
			sst_spgist_visitor_init(visitor);
			break;
		case SST_BRIN:
			sst_brin_visitor_init(visitor);
			break;
		case SST_HEAP:
			sst_heap_visitor_init(visitor, 0, plan->horizon, plan->chains,
								  kept);
			break;
		case SST_SEQUENCE:
			sst_heap_visitor_init(visitor, sizeof(uint32), plan->horizon,
								  plan->chains, NULL);
			break;
		default:
			sst_any_visitor_init(visitor);
			break;
	}
}

/* Set up a result of nothing. */
void
sst_result_init(SstScanResult *result, const SstScanPlan *plan)
{
	memset(result, 0, sizeof(SstScanResult));
	sst_counters_init(&result->counters);
	sst_io_stats_init(&result->io_stats, plan->path);
}

/* Add what was found, but for the I/O. */
static void
merge_found(SstScanResult *into, const SstScanResult *from)
{
	sst_counters_merge(&into->counters, &from->counters);
	if (from->meta.known)
		into->meta = from->meta;
	into->nvisited += from->nvisited;
}

/* Add what another scan found of the same relation. */
void
sst_result_merge(SstScanResult *into, const SstScanResult *from)
{
	merge_found(into, from);
	sst_io_stats_merge(&into->io_stats, &from->io_stats);
}

/* Add what a worker found to the leader's result. */
void
sst_result_merge_worker(SstScanResult *into, const SstScanResult *from)
{
	merge_found(into, from);
	sst_io_stats_merge_worker(&into->io_stats, &from->io_stats);
}
