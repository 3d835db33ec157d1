/*-------------------------------------------------------------------------
 *
 * brin.c
 *	  The size of a rebuilt BRIN index
 *
 * It has one tuple for each range of the table's blocks, of about the size
 * that tuples have now.  Ranges that are not summarized now will be, with
 * tuples between the smallest and the largest present size.
 *
 * A summary does not shrink when rows are deleted.  Where the table's maps
 * show that a range is empty, its tuple will have nulls only.  Otherwise the
 * lower end of the interval allows for summaries that become smaller without
 * the deleted rows.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/brin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/brin.h"
#include "access/brin_page.h"
#include "access/brin_tuple.h"
#include "catalog/pg_am.h"

#include "rebuild/rebuild.h"

#define USABLE_BYTES (BLCKSZ - SizeOfPageHeaderData - \
					  MAXALIGN(sizeof(BrinSpecialSpace)))

/*
 * By which fraction the prediction can be off when tuples have two values of a
 * fixed length for each column and all were seen; and else, because a summary can
 * be smaller when the rows that it was made for are gone
 */
#define UNCERTAINTY_OF_ALL 0.005
#define UNCERTAINTY 0.03
#define UNCERTAINTY_OF_SUMMARIES 0.1
#define MOST_UNCERTAINTY 0.9

/* By which part minmax-multi summaries were found to grow: see brin_ends() */
#define GROWTH_OF_MULTI 0.4

/* So many ranges hardly begin with multiples of the same number by chance. */
#define MANY_RANGES 4

/* So many ranges must be without a summary for its size to matter. */
#define NOTEWORTHY 0.05

/* Two values of each column are at most as long as so many rows, on average. */
#define VALUES_IN_ROWS 4

/* The ranges of the table; the build of an empty one's index makes a tuple too. */
static double
count_ranges(const SstRebuild *rebuild)
{
	return Max(ceil((double) rebuild->table_blocks /
					rebuild->u.brin.pages_per_range), 1);
}

/* The fraction of the ranges that have no summary now */
static double
missing_fraction(const SstRebuild *rebuild)
{
	const SstBrinRebuild *state = &rebuild->u.brin;
	double		nsummaries = (double) state->nsummaries *
		Max(state->nblocks, state->nseen) / Max(state->nseen, 1);

	return Max(1 - nsummaries / count_ranges(rebuild), 0);
}

/*
 * Does a tuple say that a range has nothing but nulls in all columns, or no rows?
 * Then there is nothing behind the bitmap of nulls.
 */
static bool
is_all_null(const char *tuple, int length)
{
	uint8		info = (uint8) tuple[offsetof(BrinTuple, bt_info)];

	return (info & BRIN_NULLS_MASK) != 0 &&
		length <= (int) MAXALIGN(info & BRIN_OFFSET_MASK);
}

/*
 * How far the prediction can be off.  The summaries that are not there may be still
 * smaller or larger than those that are: as much again.
 */
static double
uncertainty(const SstRebuild *rebuild)
{
	const SstBrinRebuild *state = &rebuild->u.brin;
	double		result = UNCERTAINTY;
	double		mean;

	if (state->nsummaries == 0)
		return UNCERTAINTY;

	if (state->largest > state->minmax_size)
		result = UNCERTAINTY_OF_SUMMARIES;
	else if (state->nseen >= state->nblocks)
		result = UNCERTAINTY_OF_ALL;

	mean = state->bytes / state->nsummaries;
	result += missing_fraction(rebuild) * 2 *
		Max(state->largest - mean, mean - state->smallest) / mean;
	return Min(result, MOST_UNCERTAINTY);
}

/* Take a summary's size in, and fill a page with it. */
static void
take_summary(SstBrinRebuild *state, int size, bool not_null)
{
	int			place = size + sizeof(ItemIdData);

	if (state->nsummaries == 0)
		state->smallest = state->largest = size;
	state->smallest = Min(state->smallest, size);
	state->largest = Max(state->largest, size);

	if (state->used > 0 && state->used + place > (int) USABLE_BYTES)
	{
		state->npages++;
		state->nfilled = state->nsummaries;
		state->used = 0;
	}
	state->used += place;

	state->nsummaries++;
	state->bytes += size;
	if (not_null)
	{
		state->nnot_null++;
		state->not_null_bytes += size;
	}
}

/* The greatest common divisor; that of 0 and a number is the number. */
static BlockNumber
common_divisor(BlockNumber a, BlockNumber b)
{
	while (b != 0)
	{
		BlockNumber rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void
brin_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	SstBrinRebuild *state = &rebuild->u.brin;
	int			nitems = sst_page_items(page);

	state->nseen++;
	if (PageIsNew((Page) page) ||
		BrinPageType((Page) page) != BRIN_PAGETYPE_REGULAR)
		nitems = 0;

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= nitems; offnum++)
	{
		ItemId		item = PageGetItemId((Page) page, offnum);
		const char *tuple = page + ItemIdGetOffset(item);
		int			size = MAXALIGN(ItemIdGetLength(item));
		bool		empty;
		BlockNumber begin;

		if (!ItemIdIsNormal(item) ||
			(tuple[offsetof(BrinTuple, bt_info)] & BRIN_PLACEHOLDER_MASK) != 0)
			continue;
		memcpy(&begin, tuple + offsetof(BrinTuple, bt_blkno), sizeof(begin));
		if (begin >= Max(rebuild->table_blocks, 1))
			continue;			/* VACUUM has truncated the table since */
		state->divisor = common_divisor(state->divisor, begin);
		empty = sst_brin_range_is_empty(&state->ranges, begin);
		if (empty)
			size = Min(size, state->null_size);
		counters->n[SST_REBUILT_ENTRIES]++;
		counters->n[SST_REBUILT_BYTES] += size + sizeof(ItemIdData);

		take_summary(state, size, !empty &&
					 !is_all_null(tuple, ItemIdGetLength(item)));
	}
	rebuild->uncertainty = uncertainty(rebuild);
}

/*
 * The size of the new index's summaries, divided by that of the old ones.  A bloom filter
 * is made for a part of the rows that a range can have, by default.  Where the metapage was
 * not read, many ranges together tell how long they are.
 */
static double
bloom_growth(const SstBrinRebuild *state, const SstMeta *meta)
{
	BlockNumber old = meta->known ? meta->pages_per_range :
		state->nsummaries >= MANY_RANGES ? state->divisor : 0;

	return state->has_bloom && old > 0 ? (double) state->pages_per_range / old : 1;
}

/* Summaries on a page, if all are like those that the counts are of, but so much larger */
static double
summaries_per_page(const SstBrinRebuild *state, const double *counts, double growth,
				   bool whole)
{
	double		mean = counts[SST_REBUILT_BYTES] / counts[SST_REBUILT_ENTRIES];
	double		result = USABLE_BYTES / (growth * mean);

	if (whole && growth == 1 && state->npages > 0)
		return (double) state->nfilled / state->npages;
	return Max(whole || growth != 1 ? floor(result) : result, 1);
}

/*
 * NaN where no tuple was seen, or only such of nulls and others will come: then
 * their size is not known.
 */
static double
blocks_for(const SstRebuild *rebuild, const double *counts, double growth, bool whole)
{
	const SstBrinRebuild *state = &rebuild->u.brin;
	double		nranges = count_ranges(rebuild);
	double		missing = missing_fraction(rebuild);
	double		npages;

	if (counts[SST_REBUILT_ENTRIES] == 0 ||
		(state->nnot_null == 0 && missing > NOTEWORTHY))
		return NAN;

	npages = nranges / summaries_per_page(state, counts, growth, whole);
	if (state->nnot_null > 0 && state->bytes > 0)
	{
		double		mean = state->bytes / state->nsummaries;
		double		mean_to_come = state->not_null_bytes / state->nnot_null;

		npages *= 1 + missing * (mean_to_come / mean - 1);
	}

	return 1 + ceil(nranges / REVMAP_PAGE_MAXITEMS) +
		sst_round_up(npages * (1 - 1e-9), whole);
}

static double
brin_blocks(const SstRebuild *rebuild, const double *counts,
			const SstMeta *meta, bool whole)
{
	return blocks_for(rebuild, counts, bloom_growth(&rebuild->u.brin, meta), whole);
}

/* The size of a summary with two values of each column, or 0 if it varies */
static int
minmax_size(TupleDesc tupdesc)
{
	int			size = MAXALIGN(SizeOfBrinTuple);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attlen <= 0)
			return 0;
		size += 2 * MAXALIGN(TupleDescAttr(tupdesc, i)->attlen);
	}
	return size;
}

/*
 * How much smaller or larger the new index can be than blocks() says.  Each row that
 * is gone may have been what made a summary long, and rows that are dead may have
 * been all of their ranges'.  Of the summaries to come, two values of each column
 * are seldom longer than a few rows.  A minmax-multi summary that rows were added to
 * has fewer values than one that is made from all rows at once.  A bloom filter may
 * be for a number of rows that does not depend on the range.
 */
static void
brin_ends(const SstRebuild *rebuild, const double *counts, const SstMeta *meta,
		  double *low, double *high)
{
	const SstBrinRebuild *state = &rebuild->u.brin;
	const SstBrinRanges *ranges = &state->ranges;
	double		nranges = count_ranges(rebuild);
	double		mean = counts[SST_REBUILT_BYTES] / counts[SST_REBUILT_ENTRIES];
	double		nothing = state->null_size + sizeof(ItemIdData);
	double		emptied = Min(ranges->dead / Max(ranges->rows, 1), 1);
	double		less = nranges * emptied * Max(mean - nothing, 0);
	double		blocks = brin_blocks(rebuild, counts, meta, true);
	double		not_grown = blocks_for(rebuild, counts, 1, true);

	*low = Min(blocks, not_grown);
	*high = Max(blocks, not_grown);
	if (isnan(blocks))
		return;

	if (state->any_length || state->largest > state->minmax_size)
		less = Max(less, Min(ranges->gone * state->largest,
							 nranges * Max(mean - nothing, 0)));
	*low = Max(*low - ceil(less / USABLE_BYTES), 0);
	if (state->has_minmax_multi)
		*high *= 1 + GROWTH_OF_MULTI;

	if (state->any_length && rebuild->table_tuples > 0)
		*high += missing_fraction(rebuild) * nranges * VALUES_IN_ROWS *
			rebuild->table_blocks * BLCKSZ / rebuild->table_tuples / USABLE_BYTES;
}

static void
brin_free(SstRebuild *rebuild)
{
	if (rebuild->u.brin.ranges.empty != NULL)
		pfree(rebuild->u.brin.ranges.empty);
}

/* The size of the table is known, or the rebuild is unpredictable. */
void
sst_rebuild_brin_init(SstRebuild *rebuild, Relation rel)
{
	SstBrinRebuild *state = &rebuild->u.brin;

	sst_rebuild_set_model(rebuild, brin_page, brin_blocks, NULL, UNCERTAINTY);
	rebuild->ends = brin_ends;
	rebuild->free = brin_free;
	state->pages_per_range = BrinGetPagesPerRange(rel);
	state->nblocks = RelationGetNumberOfBlocks(rel);
	state->minmax_size = minmax_size(RelationGetDescr(rel));
	state->any_length = state->minmax_size == 0;
	state->null_size = MAXALIGN(SizeOfBrinTuple +
								BITMAPLEN(2 * RelationGetDescr(rel)->natts));
}
