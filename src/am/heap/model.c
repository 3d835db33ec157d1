/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rewritten table
 *
 * VACUUM FULL, CLUSTER and REPACK write the tuples that are not dead to all
 * transactions one after the other, and begin a new page when the next tuple
 * does not fit: raw_heap_insert() in access/heap/rewriteheap.c.  Tuples are
 * taken in page order, as VACUUM FULL does.  Most of them do not change.  The
 * others are formed again, and the values that they put into the TOAST table are
 * counted (toaster.c).
 *
 * heap.c decides which tuples are kept, and lists them.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "utils/rel.h"

#include "am/heap/toaster.h"
#include "am/rebuild.h"
#include "compat/compat.h"

/* What the length of a tuple depends on, of each column */
typedef struct Column
{
	int16		length;			/* attlen; 0 for cstring */
	uint8		alignment;		/* 1 if a header of one byte has none */
	bool		is_dropped;
} Column;

typedef struct HeapRebuild
{
	SstRebuild	base;
	bool		is_toast;
	TupleDesc	tupdesc;
	Column	   *columns;
	bool		reforms;		/* tuples may change: columns were dropped, or
								 * stored as PLAIN, or one was seen to */
	int			reserve;		/* bytes to leave free on each page */
	SstHeapFill fill;			/* the new table */
	BlockNumber nblocks;		/* of the old table */
	BlockNumber nseen;			/* pages of these */
	uint64		ntuples;
	uint64		need;			/* of them, with their line pointers */
	double		squares;		/* sum of the squares of what each needs */
	double		last_page;		/* of a sample, a factor for its waste; or 0 */
	SstToaster	toaster;
	SstToaster *tries_for;		/* of the table of this TOAST table, to try to
								 * compress values for; or NULL */
} HeapRebuild;

/* What a tuple of this length needs on its page, with its line pointer */
static int
tuple_need(int64 len)
{
	return (int) Min((int64) MAXALIGN(len) + (int64) sizeof(ItemIdData),
					 SST_HEAP_PAGE_ROOM);
}

/*
 * The length after a rewrite of a tuple of which each value has a fixed length or a header
 * of one byte: what sst_read_tuple() finds of any, in half the time.  0 for others, and those
 * that lack columns or make no sense.
 */
static int
short_tuple_length(const HeapRebuild *state, const HeapTupleHeaderData *tuple, int len)
{
	const char *data = (const char *) tuple;
	const int	natts = state->tupdesc->natts;
	const bool	has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	bool		drops = false;
	int			offset = tuple->t_hoff;
	int			size = 0;

	if (HeapTupleHeaderGetNatts(tuple) != natts || offset > len ||
		offset < (int) SizeofHeapTupleHeader + (has_nulls ? BITMAPLEN(natts) : 0))
		return 0;
	for (int i = 0; i < natts; i++)
	{
		const Column *column = &state->columns[i];
		int			length = column->length;

		if (has_nulls && att_isnull(i, tuple->t_bits))
			continue;
		offset = (int) TYPEALIGN(column->alignment, offset);
		if (length <= 0)
		{
			if (length == 0 || offset >= len || !VARATT_IS_1B(data + offset) ||
				VARATT_IS_1B_E(data + offset))
				return 0;
			length = VARSIZE_1B(data + offset);
		}
		offset += length;
		drops |= column->is_dropped;
		if (!column->is_dropped)
			size = (int) TYPEALIGN(column->alignment, size) + length;
	}
	if (offset > len)
		return 0;
	if (SST_REWRITE_COPIES_TUPLES && !drops)
		return len;
	return MAXALIGN(SizeofHeapTupleHeader + (has_nulls || drops ? BITMAPLEN(natts) : 0)) + size;
}

/*
 * The length of a tuple after a rewrite, formed again if need be, and toasted.  A
 * tuple that makes no sense keeps its length.
 */
static int64
rewritten_length(HeapRebuild *state, const HeapTupleHeaderData *tuple,
				 int len, SstCounters *counters)
{
	SstTuple	read;
	TupleDesc	tupdesc = state->tupdesc;
	int64		new_len = short_tuple_length(state, tuple, len);

	if (new_len > 0 && new_len <= (int64) TOAST_TUPLE_THRESHOLD)
	{
		Assert(SST_REWRITE_COPIES_TUPLES ||
			   !sst_read_tuple(tupdesc, tuple, len, &read) || read.len == new_len);
		return new_len;
	}
	if (tupdesc->natts > MaxHeapAttributeNumber ||
		!sst_read_tuple(tupdesc, tuple, len, &read))
		return len;

	new_len = !SST_REWRITE_COPIES_TUPLES || read.has_dropped ||
		HeapTupleHeaderGetNatts(tuple) < tupdesc->natts ? read.len : len;
	if (!read.has_pointers && new_len <= (int64) TOAST_TUPLE_THRESHOLD)
		return new_len;

	sst_toaster_count_pointers(&state->toaster, tupdesc->natts, read.values, counters);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attisdropped)
			read.values[i].form = SST_VALUE_NULL;
	}
	return sst_toaster_tuple(&state->toaster, tupdesc, read.values, counters);
}

/*
 * Does a rewrite change the size of a tuple that has all columns, and nothing for the
 * toaster?  A value that was an expanded object, as array_append() makes it, lies there
 * with a header of four bytes however short it is, and the rewrite shortens that.
 */
static bool
changes_size(const HeapRebuild *state, const HeapTupleHeaderData *tuple,
			 int len)
{
	SstTuple	read;

	return state->tupdesc->natts <= MaxHeapAttributeNumber &&
		sst_read_tuple(state->tupdesc, tuple, len, &read) && read.len != len;
}

/* Is this a tuple that the toaster looks at, or that lacks columns? */
static bool
changes_tuple(const HeapRebuild *state, const HeapTupleHeaderData *tuple,
			  int len)
{
	return (tuple->t_infomask & HEAP_HASEXTERNAL) != 0 ||
		len > (int) TOAST_TUPLE_THRESHOLD ||
		HeapTupleHeaderGetNatts(tuple) < state->tupdesc->natts;
}

/*
 * Of so many tuples one is looked at, another one on each page, until one is found that
 * changes its size; then all are.  Up to there about as many of that kind are overlooked,
 * wherever they are: only bytes in each, and less than a page.
 */
#define LOOK_STEP 64

/* A page of a table; its tuples lie aligned and in full on it. */
static void
take_tuples(HeapRebuild *state, const PageData *page,
			const SstKeptItems *kept, SstCounters *counters)
{
	int			step = Min(kept->nitems, LOOK_STEP);

	for (int i = 0; i < kept->nitems; i++)
	{
		ItemId		item = PageGetItemId((Page) page, kept->offnums[i]);
		const HeapTupleHeaderData *tuple =
			(const HeapTupleHeaderData *) (page + ItemIdGetOffset(item));
		int64		len = ItemIdGetLength(item);
		bool		changes = state->reforms || changes_tuple(state, tuple, len);

		if (!changes && (state->nseen + i) % step == 0)
			changes = state->reforms = changes_size(state, tuple, len);
		if (changes)
			len = rewritten_length(state, tuple, len, counters);
		state->ntuples++;
		state->need += tuple_need(len);
		state->squares += (double) tuple_need(len) * tuple_need(len);
		sst_fill_page(&state->fill, tuple_need(len), state->reserve);
	}
}

/*
 * Does a chunk of a TOAST table begin a value?  Then try to compress that.  Its
 * columns are chunk_id, chunk_seq and chunk_data (catalog/toasting.c).
 */
static void
try_chunk(SstToaster *toaster, const HeapTupleHeaderData *chunk, int len)
{
	const char *data = (const char *) chunk + chunk->t_hoff;
	int			room = len - chunk->t_hoff - sizeof(Oid) - sizeof(int32);
	int32		seq;
	varattrib_4b header;
	double		fraction;

	if (room < VARHDRSZ || chunk->t_hoff < SizeofHeapTupleHeader ||
		toaster->compression.ntrials >= SST_COMPRESSION_TRIALS)
		return;
	memcpy(&seq, data + sizeof(Oid), sizeof(seq));
	data += sizeof(Oid) + sizeof(int32);
	memcpy(&header, data, VARHDRSZ);
	if (seq == 0 && VARATT_IS_4B_U(&header) &&
		VARSIZE_4B(&header) > VARHDRSZ && VARSIZE_4B(&header) <= room)
		(void) sst_compression_try(&toaster->compression, data + VARHDRSZ,
								   VARSIZE_4B(&header) - VARHDRSZ,
								   toaster->method, &fraction);
}

/*
 * A page of a TOAST table.  What is needed of it, its table tells: this is a model
 * for where that cannot be read.
 */
static void
take_chunks(HeapRebuild *state, const PageData *page,
			const SstKeptItems *kept, SstCounters *counters)
{
	for (int i = 0; i < kept->nitems; i++)
	{
		ItemId		item = PageGetItemId((Page) page, kept->offnums[i]);
		int			need = tuple_need(ItemIdGetLength(item));

		if (state->tries_for != NULL)
			try_chunk(state->tries_for,
					  (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item)),
					  ItemIdGetLength(item));
		sst_fill_page(&state->fill, need, 0);
		sst_toaster_count_chunks(&state->toaster, need, counters);
	}
}

/* What a corrupt page has is not known, so that it is not taken to come back. */
static double
heap_blocks(const SstRebuild *rebuild, const double *counts, bool whole)
{
	const HeapRebuild *state = (const HeapRebuild *) rebuild;
	double		blocks = counts[SST_REBUILT_BYTES] / BLCKSZ;

	if (state->last_page > 0)
		blocks *= state->last_page;
	return sst_round_up(blocks, whole) + counts[SST_CORRUPT_PAGES];
}

/*
 * What is wasted depends on which tuple comes behind which, and in a sample that
 * changes wherever pages were left out.  If that is everywhere, this part of the
 * waste is unsure, where tuples of several sizes take turns; long tuples waste
 * much, but that is not all unsure.  More of it is, where sizes differ: two that
 * alternate fall into step with the pages, and the gaps of a sample put them out of it.
 * Where a few rows are much longer than the others and stand together, all may be unsure,
 * and hardly less if most pages were read: it takes few gaps.
 */
#define UNSURE_WASTE 0.9
#define MOST_UNSURE_WASTE 0.03
#define UNSURE_OF_DIFFERENT 0.55

/* The variance of sizes, by the square of their mean, from which on they differ, and a few are much longer */
#define DIFFERENT_SIZES 0.01
#define MUCH_LONGER 1.0
#define FEW_GAPS 0.1

/* The variance of sizes by the square of their mean; there are some */
static double
size_variance(const HeapRebuild *state)
{
	return state->ntuples * state->squares / (state->need * (double) state->need) - 1;
}

/*
 * When a sample was read: the last new page would go on, and have as much waste at
 * its end as the others.  Sets that, and returns by which part the size can be off.
 */
static double
go_on(HeapRebuild *state)
{
	double		room = SST_HEAP_PAGE_ROOM - state->reserve;
	double		on_last = SST_HEAP_PAGE_ROOM - state->fill.free;
	double		full_pages = rint((state->fill.bytes - on_last -
								   SizeOfPageHeaderData) / BLCKSZ);
	double		on_full = state->need - on_last;
	double		most = MOST_UNSURE_WASTE;
	double		waste;
	double		variance;
	double		left_out;

	if (state->need == 0 || !(full_pages > 0))
		return 0;

	state->last_page = full_pages * BLCKSZ * (state->need / on_full) /
		state->fill.bytes;
	waste = Max(1 - on_full / (full_pages * room), 0);
	variance = size_variance(state);
	if (variance > DIFFERENT_SIZES)
		most = Max(most, UNSURE_OF_DIFFERENT * waste);
	left_out = Max(1 - state->nseen / Max((double) state->nblocks, 1), 0);
	if (variance > MUCH_LONGER)
		return pow(left_out, FEW_GAPS) * UNSURE_WASTE * waste;
	return sqrt(left_out) * Min(UNSURE_WASTE * waste, most);
}

/*
 * A version of a row that only snapshots still need is written behind the later version,
 * wherever that is: rewrite_heap_tuple() in access/heap/rewriteheap.c.  So tuples stand
 * behind others than before.  Each that moves can waste as much as is wasted on a page
 * where lengths are in no order, where it was and where it comes to, or save as much,
 * and all at most what lies between no waste and that.
 */
#define UNSURE_PART_OF_WASTE 0.05

/*
 * Where tuples of different sizes have few places on a page, as with a low fillfactor, a sample does not
 * show what is wasted: their order can fit the pages, or not.  From so many on a page on, it does.
 */
#define MANY_TUPLES 8

static void
allow_for_order(const HeapRebuild *state, const SstPageSample *sample,
				SstEstimate *blocks)
{
	double		room = SST_HEAP_PAGE_ROOM - state->reserve;
	double		waste;			/* bytes of a page */
	double		move;			/* blocks by which all moves change the size */
	double		tightest;

	if (state->need == 0)
		return;
	waste = (1 + UNSURE_PART_OF_WASTE) / 2 * Min(state->squares / state->need, room);
	move = 2 * sample->totals[SST_RECENTLY_DEAD_TUPLES] * waste / room;
	if (!sst_sample_is_exact(sample) && size_variance(state) > DIFFERENT_SIZES &&
		room * state->ntuples < MANY_TUPLES * (double) state->need)
		move = blocks->value;
	tightest = blocks->value * state->need / room * BLCKSZ / state->fill.bytes;
	sst_widen(blocks, Min(move, Max(blocks->value - tightest, 0)),
			  Min(move, Max(tightest * room / (room - waste) - blocks->value, 0)));
}

/*
 * A TOAST table was filled with the help of the free space map, which finds a
 * place on earlier pages for short chunks.  A rewrite does not look back: the new
 * one was found to be up to 9 percent larger than its order of chunks lets expect,
 * where values end in the middle of a page.
 */
#define TOAST_UNCERTAINTY 0.09

static void
heap_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	HeapRebuild *state = (HeapRebuild *) rebuild;
	uint64		before = state->fill.bytes;

	/*
	 * The values of a sample begin anywhere on a page of the new TOAST table.
	 * Few of them would not fill one, and show nothing of what is wasted at
	 * its end.
	 */
	if (state->nseen == 0 && blkno > 0)
		state->toaster.fill.free = hash_bytes_uint32(blkno) % SST_HEAP_PAGE_ROOM;
	state->nseen++;
	if (state->is_toast)
		take_chunks(state, page, kept, counters);
	else
		take_tuples(state, page, kept, counters);
	counters->n[SST_REBUILT_BYTES] += state->fill.bytes - before;
}

static void
heap_predict(SstRebuild *rebuild, const SstPageSample *sample,
			 const SstEstimate *kept, SstPrediction *prediction)
{
	HeapRebuild *state = (HeapRebuild *) rebuild;
	SstEstimate *blocks = &prediction->blocks;
	double		uncertainty = 0;

	if (state->is_toast)
		uncertainty = TOAST_UNCERTAINTY;
	else if (!sst_sample_is_exact(sample))
		uncertainty = go_on(state);
	*blocks = sst_predict_blocks(rebuild, sample);
	uncertainty *= blocks->value;
	sst_widen(blocks, uncertainty, uncertainty);
	if (!state->is_toast)
		allow_for_order(state, sample, blocks);
}

/* Does the size depend on how well values can be compressed? */
bool
sst_heap_tries_compression(const SstRebuild *rebuild)
{
	return ((const HeapRebuild *) rebuild)->toaster.any_altered;
}

/* Have the model of its TOAST table try that on values there. */
void
sst_heap_try_compression(SstRebuild *rebuild, SstRebuild *toast)
{
	((HeapRebuild *) toast)->tries_for = &((HeapRebuild *) rebuild)->toaster;
}

static SstRebuild *
heap_begin(Relation rel)
{
	HeapRebuild *state = palloc0(sizeof(HeapRebuild));

	state->is_toast = rel->rd_rel->relkind == RELKIND_TOASTVALUE;
	state->nblocks = RelationGetNumberOfBlocks(rel);
	state->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	state->tupdesc = RelationGetDescr(rel);
	state->columns = palloc(state->tupdesc->natts * sizeof(Column));
	for (int i = 0; i < state->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(state->tupdesc, i);

		state->columns[i] = (Column)
		{
			.length = att->attlen < -1 ? 0 : att->attlen,
				.alignment = att->attlen < 0 ? 1 : att_align_nominal(1, att->attalign),
				.is_dropped = att->attisdropped
		};
		state->reforms |= att->attisdropped;
	}
	state->toaster.target = RelationGetToastTupleTarget(rel, TOAST_TUPLE_TARGET);
	state->reforms |= sst_toaster_describe(&state->toaster, rel);
	return &state->base;
}

const SstModel sst_heap_model = {heap_begin, heap_page, heap_predict, heap_blocks,
.slow_pages = true};
