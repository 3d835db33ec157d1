/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  What a scan is to do, and what it found
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/run/plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin_page.h"
#include "access/brin_tuple.h"
#include "access/htup_details.h"
#include "access/itup.h"
#include "access/xlog.h"
#include "storage/procarray.h"

#include "run/plan.h"

static const SstStatistic btree_statistics[] = {
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"internal_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"empty_pages", SST_PAGES, SST_EMPTY_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"leaf_fragmentation", SST_SHARE, SST_BACKWARD_LEAVES, SST_LEAF_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"posting_percent", SST_RATIO, SST_POSTING_TUPLES, SST_ITEMS_TOLD_APART},
};

static const SstStatistic hash_statistics[] = {
	{"bucket_pages", SST_PAGES, SST_BUCKET_PAGES},
	{"overflow_pages", SST_PAGES, SST_OVERFLOW_PAGES},
	{"bitmap_pages", SST_PAGES, SST_BITMAP_PAGES},
	{"unused_pages", SST_PAGES, SST_UNUSED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
};

static const SstStatistic gin_statistics[] = {
	{"entry_internal_pages", SST_PAGES, SST_ENTRY_INTERNAL_PAGES},
	{"entry_leaf_pages", SST_PAGES, SST_ENTRY_LEAF_PAGES},
	{"posting_internal_pages", SST_PAGES, SST_POSTING_INTERNAL_PAGES},
	{"posting_leaf_pages", SST_PAGES, SST_POSTING_LEAF_PAGES},
	{"pending_list_pages", SST_PAGES, SST_PENDING_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"entries", SST_TOTAL, SST_ENTRY_ITEMS, 0, MaxIndexTuplesPerPage},
	/* a TID in a compressed list takes a byte at least */
	{"posting_items", SST_TOTAL, SST_POSTING_ITEMS, 0, BLCKSZ},
	{"pending_items", SST_TOTAL, SST_PENDING_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"entry_leaf_density", SST_RATIO_LEFT, SST_ENTRY_FREE_BYTES, SST_ENTRY_USABLE_BYTES, .main = true},
	{"posting_leaf_density", SST_RATIO_LEFT, SST_POSTING_FREE_BYTES, SST_POSTING_USABLE_BYTES, .main = true},
	{"leaf_fragmentation", SST_SHARE, SST_BACKWARD_LEAVES, SST_TREE_LEAF_PAGES},
};

static const SstStatistic gist_statistics[] = {
	{"internal_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
};

static const SstStatistic spgist_statistics[] = {
	{"inner_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"nulls_pages", SST_PAGES, SST_NULLS_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage},
	{"redirect_items", SST_TOTAL, SST_REDIRECT_ITEMS, 0, MaxIndexTuplesPerPage},
	{"placeholder_items", SST_TOTAL, SST_PLACEHOLDER_ITEMS, 0, MaxIndexTuplesPerPage},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"inner_free_bytes", SST_TOTAL, SST_INNER_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"avg_inner_density", SST_RATIO_LEFT, SST_INNER_FREE_BYTES, SST_INNER_USABLE_BYTES},
};

/* BRIN tuples can be shorter than those of other indexes. */
#define MAX_BRIN_TUPLES (BLCKSZ / (MAXALIGN(SizeOfBrinTuple) + sizeof(ItemIdData)))

static const SstStatistic brin_statistics[] = {
	{"revmap_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"regular_pages", SST_PAGES, SST_LEAF_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"summarized_ranges", SST_TOTAL, SST_SUMMARIZED_RANGES, 0, REVMAP_PAGE_MAXITEMS},
	{"items", SST_TOTAL, SST_LIVE_ITEMS, 0, MAX_BRIN_TUPLES},
	{"placeholders", SST_TOTAL, SST_PLACEHOLDER_ITEMS, 0, MAX_BRIN_TUPLES},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
};

static const SstStatistic heap_statistics[] = {
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"all_visible_pages", SST_PAGES, SST_ALL_VISIBLE_PAGES},
	{"all_visible_percent", SST_RATIO, SST_ALL_VISIBLE_PAGES, SST_HEAP_PAGES},
	{"tuple_count", SST_TOTAL, SST_TUPLES, 0, MaxHeapTuplesPerPage},
	{"tuple_len", SST_TOTAL, SST_TUPLE_BYTES, 0, BLCKSZ},
	{"tuple_percent", SST_RATIO, SST_TUPLE_BYTES, SST_PAGE_BYTES},
	{"dead_tuple_count", SST_TOTAL, SST_DEAD_TUPLES, 0, MaxHeapTuplesPerPage},
	{"dead_tuple_len", SST_TOTAL, SST_DEAD_TUPLE_BYTES, 0, BLCKSZ},
	{"dead_tuple_percent", SST_RATIO, SST_DEAD_TUPLE_BYTES, SST_PAGE_BYTES},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxHeapTuplesPerPage},
	{"redirect_items", SST_TOTAL, SST_REDIRECT_ITEMS, 0, MaxHeapTuplesPerPage},
	{"unused_items", SST_TOTAL, SST_UNUSED_ITEMS, 0, MaxHeapTuplesPerPage},
	{"free_space", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .main = true},
};

/* Of an access method that we know nothing of */
static const SstStatistic any_statistics[] = {
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .main = true},
};

/* The statistics that a sample gives of a kind of relation. */
const SstStatistic *
sst_statistics(SstTargetKind kind, int *nstatistics)
{
	switch (kind)
	{
		case SST_BTREE:
			*nstatistics = lengthof(btree_statistics);
			return btree_statistics;
		case SST_HASH:
			*nstatistics = lengthof(hash_statistics);
			return hash_statistics;
		case SST_GIN:
			*nstatistics = lengthof(gin_statistics);
			return gin_statistics;
		case SST_GIST:
			*nstatistics = lengthof(gist_statistics);
			return gist_statistics;
		case SST_SPGIST:
			*nstatistics = lengthof(spgist_statistics);
			return spgist_statistics;
		case SST_BRIN:
			*nstatistics = lengthof(brin_statistics);
			return brin_statistics;
		case SST_HEAP:
		case SST_SEQUENCE:
			*nstatistics = lengthof(heap_statistics);
			return heap_statistics;
		default:
			*nstatistics = lengthof(any_statistics);
			return any_statistics;
	}
}

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
		plan->horizon = GetOldestNonRemovableTransactionId(target->rel);
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

/* Add what another process found of the same relation. */
void
sst_result_merge(SstScanResult *into, const SstScanResult *from)
{
	sst_counters_merge(&into->counters, &from->counters);
	if (from->meta.known)
		into->meta = from->meta;
	into->nvisited += from->nvisited;
	sst_io_stats_merge(&into->io_stats, &from->io_stats);
}
