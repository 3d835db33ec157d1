/*-------------------------------------------------------------------------
 *
 * sample_statistics.c
 *	  The statistics of each kind of relation that a sample estimates
 *
 * The tables list them in the order of the rows of the SQL function.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/stats/sample_statistics.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/brin_page.h"
#include "access/brin_tuple.h"
#include "access/htup_details.h"
#include "access/itup.h"

#include "stats/sample_statistics.h"

static const SstStatistic btree_statistics[] = {
	{"internal_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"empty_pages", SST_PAGES, SST_EMPTY_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"posting_percent", SST_RATIO, SST_POSTING_TUPLES, SST_ITEMS_TOLD_APART},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"leaf_fragmentation", SST_PAGE_PERCENT, SST_BACKWARD_LEAVES, SST_LEAF_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

static const SstStatistic hash_statistics[] = {
	{"bucket_pages", SST_PAGES, SST_BUCKET_PAGES},
	{"overflow_pages", SST_PAGES, SST_OVERFLOW_PAGES},
	{"bitmap_pages", SST_PAGES, SST_BITMAP_PAGES},
	{"unused_pages", SST_PAGES, SST_UNUSED_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

static const SstStatistic gin_statistics[] = {
	{"entry_internal_pages", SST_PAGES, SST_ENTRY_INTERNAL_PAGES},
	{"entry_leaf_pages", SST_PAGES, SST_ENTRY_LEAF_PAGES},
	{"posting_internal_pages", SST_PAGES, SST_POSTING_INTERNAL_PAGES},
	{"posting_leaf_pages", SST_PAGES, SST_POSTING_LEAF_PAGES},
	{"pending_list_pages", SST_PAGES, SST_PENDING_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"entry_items", SST_TOTAL, SST_ENTRY_ITEMS, 0, MaxIndexTuplesPerPage, SST_ENTRY_LEAF_ITEMS},
	/* a TID in a compressed list takes a byte at least */
	{"posting_items", SST_TOTAL, SST_POSTING_ITEMS, 0, BLCKSZ, SST_POSTING_LEAF_ITEMS},
	{"pending_items", SST_TOTAL, SST_PENDING_ITEMS, 0, MaxIndexTuplesPerPage, SST_PENDING_LIST_ITEMS},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"entry_leaf_density", SST_RATIO_LEFT, SST_ENTRY_FREE_BYTES, SST_ENTRY_USABLE_BYTES, .main = true},
	{"posting_leaf_density", SST_RATIO_LEFT, SST_POSTING_FREE_BYTES, SST_POSTING_USABLE_BYTES, .main = true},
	{"leaf_fragmentation", SST_PAGE_PERCENT, SST_BACKWARD_LEAVES, SST_TREE_LEAF_PAGES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

static const SstStatistic gist_statistics[] = {
	{"internal_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

static const SstStatistic spgist_statistics[] = {
	{"inner_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"leaf_pages", SST_PAGES, SST_LEAF_PAGES},
	{"nulls_pages", SST_PAGES, SST_NULLS_PAGES},
	{"deleted_pages", SST_PAGES, SST_DELETED_PAGES},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"dead_items", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"redirect_items", SST_TOTAL, SST_REDIRECT_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"placeholder_items", SST_TOTAL, SST_PLACEHOLDER_ITEMS, 0, MaxIndexTuplesPerPage, SST_LEAF_ITEMS},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"inner_free_bytes", SST_TOTAL, SST_INNER_FREE_BYTES, 0, BLCKSZ},
	{"avg_leaf_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"avg_inner_density", SST_RATIO_LEFT, SST_INNER_FREE_BYTES, SST_INNER_USABLE_BYTES},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

/* BRIN tuples can be shorter than those of other indexes. */
#define MAX_BRIN_TUPLES (BLCKSZ / (MAXALIGN(SizeOfBrinTuple) + sizeof(ItemIdData)))

static const SstStatistic brin_statistics[] = {
	{"revmap_pages", SST_PAGES, SST_INTERNAL_PAGES},
	{"regular_pages", SST_PAGES, SST_LEAF_PAGES},
	{"summarized_ranges", SST_TOTAL, SST_SUMMARIZED_RANGES, 0, REVMAP_PAGE_MAXITEMS},
	{"live_items", SST_TOTAL, SST_LIVE_ITEMS, 0, MAX_BRIN_TUPLES, SST_LEAF_ITEMS},
	{"placeholder_items", SST_TOTAL, SST_PLACEHOLDER_ITEMS, 0, MAX_BRIN_TUPLES, SST_LEAF_ITEMS},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"avg_density", SST_RATIO_LEFT, SST_FREE_BYTES, SST_USABLE_BYTES, .main = true},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

static const SstStatistic heap_statistics[] = {
	{"all_visible_pages", SST_PAGES, SST_ALL_VISIBLE_PAGES},
	{"all_visible_percent", SST_RATIO, SST_ALL_VISIBLE_PAGES, SST_HEAP_PAGES},
	{"live_tuples", SST_TOTAL, SST_TUPLES, 0, MaxHeapTuplesPerPage, SST_HEAP_TUPLES},
	{"live_tuple_bytes", SST_TOTAL, SST_TUPLE_BYTES, 0, BLCKSZ},
	{"live_tuple_percent", SST_RATIO, SST_TUPLE_BYTES, SST_PAGE_BYTES},
	{"dead_tuples", SST_TOTAL, SST_DEAD_TUPLES, 0, MaxHeapTuplesPerPage, SST_HEAP_TUPLES},
	{"dead_tuple_bytes", SST_TOTAL, SST_DEAD_TUPLE_BYTES, 0, BLCKSZ},
	{"dead_tuple_percent", SST_RATIO, SST_DEAD_TUPLE_BYTES, SST_PAGE_BYTES},
	{"dead_line_pointers", SST_TOTAL, SST_DEAD_ITEMS, 0, MaxHeapTuplesPerPage, SST_HEAP_TUPLES},
	{"redirect_line_pointers", SST_TOTAL, SST_REDIRECT_ITEMS, 0, MaxHeapTuplesPerPage, SST_HEAP_TUPLES},
	{"unused_line_pointers", SST_TOTAL, SST_UNUSED_ITEMS, 0, MaxHeapTuplesPerPage, SST_HEAP_TUPLES},
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .main = true},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
};

/* Of an access method that we know nothing of */
static const SstStatistic any_statistics[] = {
	{"free_bytes", SST_TOTAL, SST_FREE_BYTES, 0, BLCKSZ},
	{"free_percent", SST_RATIO, SST_FREE_BYTES, SST_PAGE_BYTES, .main = true},
	{"new_pages", SST_PAGES, SST_NEW_PAGES},
	{"corrupt_pages", SST_PAGES, SST_CORRUPT_PAGES},
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
