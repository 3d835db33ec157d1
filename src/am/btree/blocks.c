/*-------------------------------------------------------------------------
 *
 * blocks.c
 *	  The size of a rebuilt b-tree
 *
 * The bytes that all pages have counted make as many leaf pages as those of the
 * pages seen do, when a build fills pages with them.  The levels above follow from
 * the number of leaf pages and the sizes of their high keys.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/btree/blocks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "am/btree/fill.h"

/*
 * By which fraction the prediction can be off, at least: when the items were seen
 * in the order of their keys, in the order of the index's blocks, and in a sample
 */
#define UNCERTAINTY 0.001
#define UNCERTAINTY_OF_ORDER 0.003
#define UNCERTAINTY_OF_SAMPLE 0.005
#define MOST_UNCERTAINTY 0.25

/* ... and that of the levels above the leaves */
#define UNCERTAINTY_OF_PIVOTS 0.1

/* The first TID of a posting list, and what is lost by its alignment, on average */
#define FIRST_OF_LIST (sizeof(ItemPointerData) + MAXIMUM_ALIGNOF / 2.0 - 1)

/*
 * How full pages are depends on how posting lists fill them.  If TIDs are left out, the
 * fill of a page differs by about half of a list, as experiments have shown: completely
 * so from this fraction of dead entries on.
 */
#define UNCERTAINTY_OF_LISTS 0.6
#define MANY_DEAD 0.03

/* The sizes of an internal level's items */
typedef struct Pivots
{
	double		size;			/* of one, on average */
	double		spread;			/* variance in squares of the size */
} Pivots;

/*
 * What full leaf pages leave for the level above.  Where a pivot has no columns
 * but those that it needs, neighbours on the old pages tell which these are, unless
 * their keys are equal: then it has all of them and a TID.  Of an index with INCLUDE
 * columns, the neighbours tell that as well.
 */
static Pivots
leaf_pivots(const SstBtreeRebuild *state, const SstBtreeFill *fill,
			const double *counts)
{
	double		npages = fill->npages;
	bool		truncates = state->tupdesc->natts > 1;
	bool		includes = state->nkeys < state->tupdesc->natts;
	Pivots		result = {MAXALIGN(sizeof(IndexTupleData) + 1)};

	if (npages == 0)
		return result;
	if (truncates && counts[SST_REBUILT_PIVOTS] > 0)
	{
		double		part = includes ? 0 : fill->repeating / npages;
		double		repeating = part > 0 ? fill->repeating_bytes / fill->repeating : 0;
		double		squares = state->pivot_squares / Max(state->npivots, 1);

		result.size = part * repeating + (1 - part) *
			counts[SST_REBUILT_PIVOT_BYTES] / counts[SST_REBUILT_PIVOTS];
		squares = part * repeating * repeating + (1 - part) * squares;
		result.spread = squares / (result.size * result.size) - 1;
	}
	else
	{
		result.size = fill->pivot_bytes / npages;
		result.spread = fill->pivot_squares / npages /
			(result.size * result.size) - 1;
	}
	result.spread = Max(result.spread, 0);

	return result;
}

/*
 * Pages of an internal level with so many children.  Its pages are filled to the
 * fixed fillfactor; the first item of each has no key, and the last moves on to
 * the next page, as on the leaf level.  This tends to be a large one.
 */
static double
internal_pages(double nchildren, Pivots *pivots, bool whole)
{
	double		target_free = BLCKSZ * (100 - BTREE_NONLEAF_FILLFACTOR) / 100;
	double		room = SST_EMPTY_LEAF_BYTES - target_free -
		(double) (sizeof(IndexTupleData) + 2 * sizeof(ItemIdData));
	double		per_page = room / (pivots->size + sizeof(ItemIdData));

	if (whole && pivots->spread < 1e-6)
		per_page = floor(per_page) + 1;
	else
		per_page += (1 + pivots->spread) / 2;

	pivots->size *= 1 + pivots->spread;
	pivots->spread *= 0.4;
	return Max(sst_round_up((nchildren - 1) / Max(per_page, 2), whole), 1);
}

static double
btree_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const SstBtreeRebuild *state = (const SstBtreeRebuild *) rebuild;
	const SstBtreeFill *fill = &state->all;
	Pivots		pivots = leaf_pivots(state, fill, counts);
	double		npages = 0;
	double		result = 1;		/* the metapage */

	if (state->bytes > 0)
		npages = counts[SST_REBUILT_BYTES] *
			(sst_btree_filled_pages(fill) / state->bytes);

	/* The bytes of all pages seen make a whole number, but for rounding. */
	npages = sst_round_up(npages * (1 - 1e-9), whole);
	result += npages;
	if (whole && state->tupdesc->natts == 1 &&
		npages == ceil(sst_btree_filled_pages(fill)))
		return result + sst_btree_internal_pages(fill);
	while (npages > 1)
	{
		npages = internal_pages(npages, &pivots, whole);
		result += npages;
	}

	return result;
}

/*
 * Where keys are deduplicated, the TIDs of a key can be versions of one row, of
 * which one is left: of rows that were updated, no key is assumed to vanish as long as
 * as many TIDs are left as there are keys.  Deleted ones are as likely to have one key as
 * another.
 */
static void
scale_entries(const SstRebuild *rebuild, double *counts, double fraction)
{
	const SstBtreeRebuild *state = (const SstBtreeRebuild *) rebuild;
	double		entries = counts[SST_REBUILT_ENTRIES];
	double		keys = counts[SST_REBUILT_KEYS];
	double		kept_keys = Min(keys, entries * fraction);

	kept_keys += rebuild->deleted_part *
		(Min(keys * sst_keys_left(&state->keys, fraction), kept_keys) - kept_keys);
	if (state->fill.deduplicate && keys > 0 && entries > keys)
	{
		double		key_bytes = Min(counts[SST_REBUILT_KEY_BYTES],
									counts[SST_REBUILT_BYTES]);
		double		posting_bytes = counts[SST_REBUILT_BYTES] - key_bytes;
		double		lists = FIRST_OF_LIST * Min(keys, entries - keys);
		double		others = entries * fraction - kept_keys;

		lists = Min(lists, posting_bytes);
		counts[SST_REBUILT_BYTES] = key_bytes * kept_keys / keys +
			lists * Min(kept_keys, others) / Min(keys, entries - keys) +
			(posting_bytes - lists) * others / (entries - keys);
	}
	else
		counts[SST_REBUILT_BYTES] *= fraction;
	counts[SST_REBUILT_ENTRIES] *= fraction;
}

/*
 * By which part of the size posting lists may fill pages otherwise when only this fraction
 * of entries is left
 */
static double
list_uncertainty(const SstBtreeRebuild *state, const SstPageSample *sample,
				 double kept)
{
	double		counts[SST_NCOUNTS];
	double		ntids;

	sst_sample_sums(sample, 1, counts);
	ntids = counts[SST_REBUILT_ENTRIES] / Max(counts[SST_REBUILT_KEYS], 1);
	if (ntids < 2 || !state->fill.deduplicate)
		return 0;
	return UNCERTAINTY_OF_LISTS * kept * Min((1 - kept) / MANY_DEAD, 1) *
		Min(ntids * sizeof(ItemPointerData), SST_MAX_POSTING_TUPLE) / BLCKSZ;
}

/*
 * By which fraction the levels above the leaves can make the prediction wrong, where
 * pivots are chosen among neighbours and differ in size
 */
static double
pivot_uncertainty(const SstBtreeRebuild *state)
{
	double		size;
	double		spread;

	if (state->npivots == 0)
		return 0;

	size = (double) state->pivot_bytes / state->npivots;
	spread = state->pivot_squares / state->npivots / (size * size) - 1;

	return UNCERTAINTY_OF_PIVOTS * Max(Min(spread, 1), 0) * size / BLCKSZ;
}

/*
 * The prediction's uncertainty.  What remains on full pages depends on the order
 * of the items, the more the larger these are and the more their sizes differ.
 * How long a run is whose beginning was not seen is not known, and so is what its
 * last tuple takes.
 */
static double
btree_uncertainty(const SstBtreeRebuild *state, bool in_order)
{
	const SstBtreeFill *fill = &state->fill;
	bool		complete = state->nseen >= state->nblocks;
	double		result = complete ? UNCERTAINTY_OF_ORDER : UNCERTAINTY_OF_SAMPLE;

	if (in_order)
		return UNCERTAINTY + pivot_uncertainty(state);

	if (fill->added > 0)
		result += Max(fill->added_squares / fill->added_bytes -
					  fill->added_bytes / fill->added, 0) / (4 * BLCKSZ);
	if (!complete)
		result += (double) state->loose_bytes / Max(state->bytes, 1);
	result += pivot_uncertainty(state);

	return Min(result, MOST_UNCERTAINTY);
}

void
sst_btree_predict(SstRebuild *rebuild, const SstPageSample *sample,
				  const SstEstimate *kept, SstPrediction *prediction)
{
	SstBtreeRebuild *state = (SstBtreeRebuild *) rebuild;
	SstEstimate *blocks = &prediction->blocks;
	double		unlike = sst_most_unlike(kept->value, state->ntids, state->short_bytes,
										 state->tid_squares);
	double		uncertainty;
	SstEstimate all;
	bool		in_order;

	state->fill.pause = rebuild->pause;
	state->all = sst_btree_fill_all(state, &in_order);
	*blocks = sst_predict_blocks(rebuild, sample, btree_blocks);
	uncertainty = btree_uncertainty(state, in_order) * blocks->value;
	sst_widen(blocks, uncertainty, uncertainty);
	all = *blocks;
	sst_leave_out(rebuild, sample, kept, btree_blocks, scale_entries,
				  list_uncertainty(state, sample, kept->value) + unlike, blocks);

	/*
	 * The keys that are assumed to stay may be those that vanish; none is
	 * added.
	 */
	blocks->low = Min(blocks->low, all.value * Max(kept->low - unlike, 0));
	blocks->high = Min(blocks->high, all.high);
}
