/*-------------------------------------------------------------------------
 *
 * map.c
 *	  Reading the pages of the visibility map and the free space map
 *
 * The maps' layout is that of access/heap/visibilitymap.c and
 * storage/freespace/README.  A block beyond the end of a map has no
 * bits set and no free space; so has one whose page of the map is new, or is
 * damaged (the server takes that for zeros, too).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/visibilitymapdefs.h"
#include "storage/fsm_internals.h"

#include "am/am.h"

/* Blocks that a byte and a page of the visibility map describe */
#define VM_BLOCKS_PER_BYTE (BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define VM_BLOCKS_PER_PAGE ((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * VM_BLOCKS_PER_BYTE)

/* The free space map has one byte for a block: free bytes in steps of this */
#define FSM_STEP (BLCKSZ / 256)

static bool
visibility_map_page(SstVisitor *visitor, const PageData *page,
					BlockNumber blkno, SstCounters *counters)
{
	const uint8 *map = (const uint8 *) PageGetContents((Page) page);
	uint64		first = (uint64) blkno * VM_BLOCKS_PER_PAGE;

	if (!sst_page_is_sound(page, 0))
		return sst_count_if_new(page, blkno, counters);

	for (int i = 0; i < VM_BLOCKS_PER_PAGE && first + i < visitor->nblocks; i++)
	{
		uint8		bits = map[i / VM_BLOCKS_PER_BYTE] >>
			(BITS_PER_HEAPBLOCK * (i % VM_BLOCKS_PER_BYTE));
		bool		visible = (bits & VISIBILITYMAP_ALL_VISIBLE) != 0;
		bool		frozen = (bits & VISIBILITYMAP_ALL_FROZEN) != 0;

		counters->n[SST_MAP_VISIBLE_BLOCKS] += visible;
		counters->n[SST_MAP_FROZEN_BLOCKS] += frozen;
		if (visible && visitor->visible != NULL)
			sst_block_set_add(visitor->visible, first + i);
		if (frozen && visitor->frozen != NULL)
			sst_block_set_add(visitor->frozen, first + i);
	}

	return true;
}

StaticAssertDecl(SlotsPerFSMPage >= 1626,
				 "the free space map has more than three levels");

static bool
free_space_map_page(SstVisitor *visitor, const PageData *page,
					BlockNumber blkno, SstCounters *counters)
{
	const FSMPageData *map = (const FSMPageData *) PageGetContents((Page) page);
	uint64		first;

	if (!sst_page_is_sound(page, 0))
		return sst_count_if_new(page, blkno, counters);

	/*
	 * The file has the root, and then each page of the middle level with the
	 * pages of the bottom level below it behind it.
	 */
	if (blkno == 0 || (blkno - 1) % (SlotsPerFSMPage + 1) == 0)
		return true;
	first = (uint64) (blkno - 2 - (blkno - 1) / (SlotsPerFSMPage + 1)) *
		SlotsPerFSMPage;

	for (int i = 0; i < SlotsPerFSMPage && first + i < visitor->nblocks; i++)
	{
		uint8		category = map->fp_nodes[NonLeafNodesPerPage + i];
		uint32		bytes = category == 255 ? MaxHeapTupleSize :
			category * FSM_STEP;

		if (bytes == 0)
			continue;

		counters->n[SST_MAP_FREE_BLOCKS]++;
		counters->n[SST_MAP_FREE_BYTES] += bytes;
		counters->map_largest_free = Max(counters->map_largest_free, bytes);
		if (visitor->visible != NULL &&
			sst_block_set_contains(visitor->visible, first + i))
			counters->n[SST_MAP_SKIPPED_FREE_BYTES] += bytes;
	}

	return true;
}

/*
 * A visitor for the pages of this map of a relation of nblocks blocks.  That for the
 * visibility map adds the blocks that are all-visible, and all-frozen, to sets, which may
 * be NULL.  That for the free space map counts free space in the blocks of the first set,
 * which may be NULL, apart as well.
 */
void
sst_map_visitor_init(SstVisitor *visitor, ForkNumber map, BlockNumber nblocks,
					 SstBlockSet *visible, SstBlockSet *frozen)
{
	*visitor = (SstVisitor)
	{
		.page = map == FSM_FORKNUM ? free_space_map_page : visibility_map_page,
			.needs = SST_NEEDS(SST_PART_ALL), .nblocks = nblocks,
			.visible = visible, .frozen = frozen
	};
}
