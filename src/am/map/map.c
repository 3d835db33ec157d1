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
#include "port/pg_bitutils.h"
#include "storage/fsm_internals.h"

#include "am/am.h"

/* Blocks that a byte and a page of the visibility map describe */
#define VM_BLOCKS_PER_BYTE (BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define VM_BLOCKS_PER_PAGE ((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * VM_BLOCKS_PER_BYTE)

/* The free space map has one byte for a block: free bytes in steps of this */
#define FSM_STEP (BLCKSZ / 256)

/* Blocks that are looked at together, by the two bits of each */
#define VM_BLOCKS_PER_WORD 32

StaticAssertDecl(VM_BLOCKS_PER_PAGE % VM_BLOCKS_PER_WORD == 0,
				 "a page of the visibility map has parts of words");

/* Every second bit of a word, from the lowest on */
static inline uint32
even_bits(uint64 word)
{
	word &= UINT64CONST(0x5555555555555555);
	word = (word | word >> 1) & UINT64CONST(0x3333333333333333);
	word = (word | word >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	word = (word | word >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	word = (word | word >> 8) & UINT64CONST(0x0000ffff0000ffff);
	return (uint32) (word | word >> 16);
}

/* Count the blocks with a bit, and add them to a set, which may be NULL. */
static inline void
add_blocks(uint64 *count, SstBlockSet *set, BlockNumber first, uint32 bits)
{
	*count += pg_popcount32(bits);
	if (set != NULL)
		sst_block_set_add(set, first, bits);
}

static bool
visibility_map_page(SstVisitor *visitor, const PageData *page,
					BlockNumber blkno, SstCounters *counters)
{
	const uint8 *map = (const uint8 *) PageGetContents((Page) page);
	uint64		first = (uint64) blkno * VM_BLOCKS_PER_PAGE;
	uint64		end = Min(first + VM_BLOCKS_PER_PAGE, visitor->nblocks);

	if (!sst_page_is_sound(page, 0))
		return sst_count_if_new(page, blkno, counters);

	for (; first < end; first += VM_BLOCKS_PER_WORD)
	{
		uint64		word = 0;

		for (int i = 0; i < sizeof(word); i++)
			word |= (uint64) *map++ << (i * BITS_PER_BYTE);
		if (end - first < VM_BLOCKS_PER_WORD)
			word &= (UINT64CONST(1) << (end - first) * BITS_PER_HEAPBLOCK) - 1;

		/* VISIBILITYMAP_ALL_VISIBLE and VISIBILITYMAP_ALL_FROZEN */
		add_blocks(&counters->n[SST_MAP_VISIBLE_BLOCKS], visitor->visible, first, even_bits(word));
		add_blocks(&counters->n[SST_MAP_FROZEN_BLOCKS], visitor->frozen, first, even_bits(word >> 1));
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
