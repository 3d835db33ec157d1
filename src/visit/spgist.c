/*-------------------------------------------------------------------------
 *
 * spgist.c
 *	  Reading the pages of an SP-GiST index
 *
 * The roots of two trees follow the metapage: one for keys, and one for nulls.
 * Moved or removed tuples leave others in their place, which a tuple's state
 * distinguishes; access/spgist_private.h has the layouts.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/visit/spgist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/spgist_private.h"

#include "visit/visit.h"

#define USABLE_BYTES (BLCKSZ - SizeOfPageHeaderData - \
					  MAXALIGN(sizeof(SpGistPageOpaqueData)))

/* Tuples of a page, by their state */
#define NSTATES (SPGIST_PLACEHOLDER + 1)

/* Nobody sets SPGIST_DELETED, but the server heeds it. */
#define KNOWN_FLAGS (SPGIST_META | SPGIST_DELETED | SPGIST_LEAF | SPGIST_NULLS)

/*
 * A page's flags and its block number must agree.  Each tree keeps its root,
 * and the root its tree.
 */
static bool
flags_are_sound(uint16 flags, BlockNumber blkno)
{
	if ((flags & ~KNOWN_FLAGS) != 0)
		return false;

	switch (blkno)
	{
		case SPGIST_METAPAGE_BLKNO:
			return flags == SPGIST_META;
		case SPGIST_ROOT_BLKNO:
			return (flags & ~SPGIST_LEAF) == 0;
		case SPGIST_NULL_BLKNO:
			return (flags & ~SPGIST_LEAF) == SPGIST_NULLS;
		default:
			return (flags & SPGIST_META) == 0;
	}
}

/*
 * Count a page's tuples by their state; false if one of them makes no sense.
 *
 * All line pointers are in use.  A tuple of any kind is long enough to become
 * one that is not live, and has its state in the same place.
 */
static bool
count_states(const PageData *page, int ntuples[NSTATES])
{
	int			nitems = sst_page_items(page);

	memset(ntuples, 0, NSTATES * sizeof(int));

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);
		SpGistDeadTupleData tuple;

		if (!ItemIdIsNormal(item) || sst_item_is_outside(page, offnum) ||
			ItemIdGetLength(item) < SGDTSIZE)
			return false;

		/* The tuple of a damaged page can be anywhere: align it. */
		memcpy(&tuple, page + ItemIdGetOffset(item), sizeof(tuple));
		ntuples[tuple.tupstate]++;
	}

	return true;
}

/* A page of one of the trees */
static bool
tree_page(const PageData *page, uint16 flags, SstCounters *counters)
{
	Size		freespace = sst_page_free_space(page);
	int			ntuples[NSTATES];

	if (!count_states(page, ntuples))
		return false;

	if (flags & SPGIST_LEAF)
	{
		sst_count_leaf(counters, freespace, USABLE_BYTES);
		counters->n[SST_LIVE_ITEMS] += ntuples[SPGIST_LIVE];
	}
	else
	{
		counters->n[SST_INTERNAL_PAGES]++;
		counters->n[SST_INNER_FREE_BYTES] += freespace;
		counters->n[SST_INNER_USABLE_BYTES] += USABLE_BYTES;
	}
	if (flags & SPGIST_NULLS)
		counters->n[SST_NULLS_PAGES]++;

	counters->n[SST_REDIRECT_ITEMS] += ntuples[SPGIST_REDIRECT];
	counters->n[SST_DEAD_ITEMS] += ntuples[SPGIST_DEAD];
	counters->n[SST_PLACEHOLDER_ITEMS] += ntuples[SPGIST_PLACEHOLDER];
	return true;
}

static bool
spgist_page(SstVisitor *visitor, const PageData *page, BlockNumber blkno,
			SstCounters *counters)
{
	const SpGistPageOpaqueData *opaque;

	if (!sst_page_is_sound(page, sizeof(SpGistPageOpaqueData)))
		return sst_count_if_new(page, blkno, counters);

	opaque = SpGistPageGetOpaque((Page) page);
	if (opaque->spgist_page_id != SPGIST_PAGE_ID ||
		!flags_are_sound(opaque->flags, blkno))
		return false;

	if (blkno == SPGIST_METAPAGE_BLKNO)
	{
		if (SpGistPageGetMeta((Page) page)->magicNumber != SPGIST_MAGIC_NUMBER)
			return false;
		counters->n[SST_OTHER_PAGES]++;
		return true;
	}

	/* As VACUUM does, to have it used again (spgvacuumpage()) */
	if (opaque->flags & SPGIST_DELETED ||
		(blkno > SPGIST_NULL_BLKNO && sst_page_items(page) == 0))
	{
		counters->n[SST_DELETED_PAGES]++;
		return true;
	}

	return tree_page(page, opaque->flags, counters);
}

void
sst_spgist_visitor_init(SstVisitor *visitor)
{
	sst_visitor_init(visitor, spgist_page, SST_LINE_POINTER_PREFETCH,
					 SST_PART_ALL);
}
