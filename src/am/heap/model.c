/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The size of a rewritten table, and of its TOAST table
 *
 * VACUUM FULL, CLUSTER and REPACK write the tuples that are not dead to all
 * transactions one after the other, and begin a new page when the next tuple
 * does not fit: raw_heap_insert() in access/heap/rewriteheap.c.  Tuples are
 * taken in page order, as VACUUM FULL does.  Most of them do not change.  heap.c
 * decides which tuples are kept, and lists them.
 *
 * The others are formed again: every value that they have in the TOAST table is
 * fetched, and it is decided again which ones go there, by the present storage of the
 * columns and the present toast_tuple_target (heap_toast_insert_or_update() in
 * access/heap/heaptoast.c).  So the rows of a table determine what its TOAST
 * table will contain, not the chunks that are in it now: chunks of dropped
 * columns and of columns with another storage disappear.
 *
 * This code makes the same decisions from the sizes of values.  Sizes do not
 * show how far an uncompressed value can be compressed.  Often the toaster has
 * tried that before without success.  Otherwise it is estimated.  Then the
 * decisions are also made for other ratios, and the difference widens the interval.
 *
 * The new TOAST table is filled chunk by chunk, without a look at the free space
 * on earlier pages (toast_save_datum() in access/common/toast_internals.c with
 * HEAP_INSERT_SKIP_FSM).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "am/heap/compression.h"
#include "am/heap/heap.h"
#include "am/rebuild.h"

/* Room for tuples and their line pointers on an empty page */
#define PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData)

/* Of the tuples of some length that were read, what the last ones need */
#define LAST_READS_LOG2 2
#define LAST_READS (1 << LAST_READS_LOG2)
typedef struct Reading
{
	uint16		needs[LAST_READS];
	uint32		nread;
	uint32		nskipped;		/* since the last was read */
} Reading;

/* The new page of a table that is being filled, and what it took so far */
typedef struct HeapFill
{
	int			free;			/* bytes for tuples and line pointers */
	uint64		bytes;
} HeapFill;

typedef struct HeapRebuild
{
	SstRebuild	base;
	bool		is_toast;
	TupleDesc	tupdesc;
	bool		reforms;		/* tuples may change: columns were dropped, or
								 * stored as PLAIN, or one was seen to */
	bool		reads_pointers; /* all tuples with values in the TOAST table,
								 * not some of them */
	int			reserve;		/* bytes to leave free on each page */
	HeapFill	fill;			/* the new table */
	BlockNumber nseen;			/* pages of the old table */
	uint64		ntuples;
	uint64		need;			/* of them, with their line pointers */
	double		squares;		/* sum of the squares of what each needs */
	double		doubt;			/* variance of their need, by those that were
								 * not read */
	SstTuple	read;			/* the last one that was read */
	SstValue   *values;			/* what becomes of its values, by what is most
								 * likely */
	SstValue   *other_values;	/* and otherwise */
	int			most_longer;	/* by which a rewrite made one */
	int			step;			/* one of so many is read on this page */
	int			stands_for;		/* so many tuples, the one being read */
	bool		came_back;		/* one of its values did, from the TOAST table */
	Reading		readings[TOAST_TUPLE_THRESHOLD + 2];	/* by length; the last
														 * has none */
	double		last_page;		/* of a sample, a factor for its waste; or 0 */

	/* The new TOAST table, if there is one, and its columns */
	bool		has_toast;
	int			target;			/* toast_tuple_target */
	HeapFill	toast_fill;
	bool		any_altered;	/* of the columns */
	char		method;			/* of the first of these, attcompression */
	SstCompression compression; /* of values in the TOAST table */
	SstCompression *in_tuples;	/* of others, by column number less one */
	struct HeapRebuild *tries_for;	/* of the table of this TOAST table, to
									 * try to compress values for; or NULL */

	/* In bytes, so far: see the counters of these names */
	uint64		chunk_bytes;
	uint64		more_bytes;
	uint64		less_bytes;
} HeapRebuild;

/*
 * Begin the next page: the rest of this one is wasted.  As a call, it keeps the compiler from
 * computing both, of which each tuple would have to wait for the one before it.
 */
static pg_noinline HeapFill
next_page(HeapFill fill)
{
	fill.bytes += fill.free + SizeOfPageHeaderData;
	fill.free = PAGE_ROOM;
	return fill;
}

/*
 * Add a tuple that needs so many bytes, with its line pointer, to the page that is
 * being filled; or to the next if it does not fit there and leave the reserve.
 */
static inline void
fill_page(HeapFill *fill, int need, int reserve)
{
	if (unlikely(fill->free < need + reserve))
		*fill = next_page(*fill);
	fill->free -= need;
	fill->bytes += need;
}

/* The same for some tuples that need as many bytes each */
static inline void
fill_pages(HeapFill *fill, int need, int reserve, int ntuples)
{
	while (ntuples > 0)
	{
		int			more;		/* of them on the page of this one */

		fill_page(fill, need, reserve);
		more = Min(Max((fill->free - reserve) / need, 0), ntuples - 1);
		fill->free -= more * need;
		fill->bytes += more * need;
		ntuples -= 1 + more;
	}
}

/* ----------
 * The toaster
 * ----------
 */

/* Values up to this size are left alone: a pointer would not be shorter. */
#define SMALLEST_TOASTED \
	((int32) MAXALIGN(VARHDRSZ_EXTERNAL + sizeof(struct varatt_external)))

/* How far values are compressed that were not tried */
typedef enum Assumption
{
	AS_GUESSED,
	TO_LOW_END,					/* of what most values of their column are */
	TO_HIGH_END,
	AT_BEST,					/* those that are least known, others to an
								 * end */
	NOT_AT_ALL
} Assumption;

/* A tuple in the toaster */
typedef struct Toasting
{
	HeapRebuild *state;
	TupleDesc	tupdesc;
	SstValue   *read;			/* as they are now, and what was tried */
	SstValue   *values;			/* what becomes of them */
	int			header_size;
	bool		got_defaults;	/* of columns that it lacks, and is longer now */

	Assumption	assumption;
	bool		were_tried;		/* those of columns that were not altered */

	/*
	 * Which part of the values like those that were guessed may be at no end;
	 * 0: none was
	 */
	double		rest;

	/* Found */
	SstCounters *counters;		/* NULL: fill no pages */
	int			nmoved;			/* values put into the TOAST table */
	uint64		need;			/* of their chunks */
	int64		len;			/* of the tuple */
} Toasting;

/* What a chunk of so many bytes needs on its page, with its line pointer */
static int
chunk_need(int nbytes)
{
	return MAXALIGN(MAXALIGN(SizeofHeapTupleHeader) + sizeof(Oid) +
					sizeof(int32) + VARHDRSZ + nbytes) + sizeof(ItemIdData);
}

/* Bytes of a value that are stored in chunks: those behind its header */
static int32
stored_bytes(const SstValue *value)
{
	if (value->form == SST_VALUE_POINTER)
		return value->fetched_size - VARHDRSZ;
	return value->size - (value->form == SST_VALUE_SHORT ? VARHDRSZ_SHORT : VARHDRSZ);
}

/* What the chunks of so many bytes need, when no space is lost at ends of pages */
static uint64
chunks_need(int32 nbytes)
{
	int			last = nbytes % TOAST_MAX_CHUNK_SIZE;

	return (uint64) (nbytes / TOAST_MAX_CHUNK_SIZE) *
		chunk_need(TOAST_MAX_CHUNK_SIZE) + (last > 0 ? chunk_need(last) : 0);
}

/* Fill pages with the chunks of a value.  A value can have half a million. */
static void
add_chunks(HeapFill *fill, int32 nbytes)
{
	const int	need = chunk_need(TOAST_MAX_CHUNK_SIZE);
	int			nfull = nbytes / TOAST_MAX_CHUNK_SIZE;
	int			last = nbytes % TOAST_MAX_CHUNK_SIZE;
	int			npages = Max(nfull / EXTERN_TUPLES_PER_PAGE - 1, 0);

	/* Behind as many as a page takes, each page of them becomes full. */
	for (int i = npages * EXTERN_TUPLES_PER_PAGE; i < nfull; i++)
		fill_page(fill, need, 0);
	fill->bytes += (uint64) npages * BLCKSZ;
	if (last > 0)
		fill_page(fill, chunk_need(last), 0);
}

/* Add bytes to a sum, and count them in whole units; what is left comes later. */
static void
count_units(SstCounters *counters, SstCount count, uint64 *sum, uint64 nbytes)
{
	counters->n[count] += (*sum + nbytes) / SST_TOAST_UNIT - *sum / SST_TOAST_UNIT;
	*sum += nbytes;
}

/* Count the chunks of what a tuple has in the TOAST table now. */
static void
count_pointers(HeapRebuild *state, const SstValue *values, SstCounters *counters)
{
	for (int i = 0; i < state->tupdesc->natts; i++)
	{
		if (values[i].form == SST_VALUE_POINTER)
			count_units(counters, SST_TOAST_CHUNKS, &state->chunk_bytes,
						chunks_need(stored_bytes(&values[i])));
	}
}

/*
 * Fetch values from the TOAST table.  They are decompressed only if the column has
 * the storage PLAIN, and then stay in the tuple whatever their size.
 */
static void
fetch_values(Toasting *toasting)
{
	for (int i = 0; i < toasting->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(toasting->tupdesc, i);
		SstValue   *value = &toasting->values[i];
		bool		plain = att->attstorage == TYPSTORAGE_PLAIN;

		value->ignored = value->form == SST_VALUE_NULL ||
			value->form == SST_VALUE_FIXED || plain;
		if (value->form == SST_VALUE_POINTER)
		{
			value->form = value->fetched_size < value->raw_size && !plain ?
				SST_VALUE_COMPRESSED : SST_VALUE_LONG;
			value->size = plain ? value->raw_size : value->fetched_size;
			value->data = NULL;

			/* It was tried before it was moved out. */
			if (!toasting->state->in_tuples[i].altered)
			{
				value->tried = true;
				value->fraction = 1;
			}
		}
	}
}

/*
 * Find the largest value that can be compressed or put into the TOAST table, of the
 * columns with the storage MAIN or of the others.  Return NULL if there is none.
 */
static SstValue *
find_largest(const Toasting *toasting, bool to_compress, bool main)
{
	SstValue   *largest = NULL;

	for (int i = 0; i < toasting->tupdesc->natts; i++)
	{
		SstValue   *value = &toasting->values[i];
		char		storage = TupleDescAttr(toasting->tupdesc, i)->attstorage;

		if (value->ignored || (storage == TYPSTORAGE_MAIN) != main ||
			value->size <= (largest ? largest->size : SMALLEST_TOASTED))
			continue;
		if (to_compress && (value->incompressible ||
							value->form == SST_VALUE_COMPRESSED))
			continue;
		largest = value;
	}

	return largest;
}

static bool
is_too_long(const Toasting *toasting, int target)
{
	return sst_tuple_data_size(toasting->tupdesc, toasting->values) > target;
}

/*
 * Did the toaster try to compress all values that are uncompressed now, when it made
 * the tuple?  It stops as soon as the tuple is short enough, and that may be so when a
 * value that is too long by itself has been moved out: then it has not looked at
 * shorter ones.  A rewrite does, because it begins with that value, compressed.
 */
static bool
find_tried(const Toasting *toasting, int target)
{
	bool		has_short_pointer = false;

	if (toasting->got_defaults)
		return false;
	for (int i = 0; i < toasting->tupdesc->natts; i++)
	{
		const SstValue *value = &toasting->values[i];

		if (toasting->state->in_tuples[i].altered && value->form != SST_VALUE_NULL)
			return false;
		if (value->form == SST_VALUE_POINTER && value->fetched_size <= target &&
			TupleDescAttr(toasting->tupdesc, i)->attstorage != TYPSTORAGE_MAIN)
			has_short_pointer = true;
	}

	return has_short_pointer || is_too_long(toasting, target);
}

/* To which fraction is a value compressed that is not tried, by what others are? */
static double
assumed_fraction(Toasting *toasting, SstCompression *compression)
{
	bool		is_least_known = sst_compression_rest(compression) >= toasting->rest;
	int			n = sst_compression_kept(compression);

	switch (toasting->assumption)
	{
		case AS_GUESSED:
			break;
		case TO_LOW_END:
			return compression->low;
		case TO_HIGH_END:
			return compression->high;
		case AT_BEST:
			return is_least_known ? SST_BEST_COMPRESSION : compression->low;
		case NOT_AT_ALL:
			return is_least_known ? 1 : compression->high;
	}
	toasting->rest = Max(toasting->rest, sst_compression_rest(compression));
	return n == 0 ? 1 : compression->trials[compression->nguessed++ % n];
}

/*
 * To which fraction is a value compressed?  1 is not at all: so if that has been
 * tried with the column's present storage and compression method.
 */
static double
compressed_fraction(Toasting *toasting, SstValue *value)
{
	bool		in_tuple = value->data != NULL;
	int			i = value - toasting->values;
	SstCompression *compression = in_tuple ? &toasting->state->in_tuples[i] :
		&toasting->state->compression;
	int			header = value->form == SST_VALUE_SHORT ? VARHDRSZ_SHORT : VARHDRSZ;
	double		fraction;

	if (!toasting->state->in_tuples[i].altered &&
		(toasting->were_tried ||
		 TupleDescAttr(toasting->tupdesc, i)->attstorage != TYPSTORAGE_EXTENDED))
		return 1;
	if (value->tried)
		return value->fraction;
	if (toasting->assumption == AS_GUESSED && in_tuple &&
		sst_compression_try(compression, value->data + header,
							value->size - header,
							TupleDescAttr(toasting->tupdesc, i)->attcompression,
							&fraction))
	{
		toasting->read[i].tried = true;
		toasting->read[i].fraction = fraction;
		/* The next page may have another trial, which takes long. */
		toasting->state->base.slow_pages = true;
		return fraction;
	}
	return assumed_fraction(toasting, compression);
}

/* Compress a value, unless that makes it hardly smaller. */
static void
compress(Toasting *toasting, SstValue *value)
{
	double		fraction = compressed_fraction(toasting, value);
	int32		size = Max((int32) ceil(value->size * fraction),
						   (int32) VARHDRSZ_COMPRESSED);

	if (size < value->size - 2)
	{
		value->form = SST_VALUE_COMPRESSED;
		value->size = size;
	}
	else
		value->incompressible = true;
}

/* Put a value into the TOAST table. */
static void
move_out(Toasting *toasting, SstValue *value)
{
	HeapFill   *fill = &toasting->state->toast_fill;
	uint64		before = fill->bytes;

	toasting->nmoved++;
	toasting->need += chunks_need(stored_bytes(value));
	if (toasting->counters != NULL)
	{
		add_chunks(fill, stored_bytes(value));
		count_units(toasting->counters, SST_REBUILT_TOAST, &before, fill->bytes - before);
	}
	value->form = SST_VALUE_POINTER;
	value->size = VARHDRSZ_EXTERNAL + sizeof(struct varatt_external);
	value->ignored = true;
}

/*
 * Make the tuple as short as the target, in the server's order: compress, and put
 * out what is too long by itself; put out others; compress values of storage MAIN,
 * and put those out only if the tuple does not fit on a page.
 */
static void
shorten(Toasting *toasting)
{
	int			target = toasting->state->target - toasting->header_size;
	bool		has_toast = toasting->state->has_toast;
	SstValue   *value;

	while (is_too_long(toasting, target) &&
		   (value = find_largest(toasting, true, false)) != NULL)
	{
		compress(toasting, value);
		if (value->size > target && has_toast)
			move_out(toasting, value);
	}
	while (has_toast && is_too_long(toasting, target) &&
		   (value = find_largest(toasting, false, false)) != NULL)
		move_out(toasting, value);
	while (is_too_long(toasting, target) &&
		   (value = find_largest(toasting, true, true)) != NULL)
		compress(toasting, value);
	target = (int) TOAST_TUPLE_TARGET_MAIN - toasting->header_size;
	while (has_toast && is_too_long(toasting, target) &&
		   (value = find_largest(toasting, false, true)) != NULL)
		move_out(toasting, value);
}

/*
 * Do what the toaster does with a tuple, and find its new length.  If toast_tuple_target
 * is lower than it is by default, it may have been set since.
 */
static void
run_toaster(Toasting *toasting)
{
	int			target = Max(toasting->state->target, (int) TOAST_TUPLE_TARGET);

	memcpy(toasting->values, toasting->read, toasting->tupdesc->natts * sizeof(SstValue));
	toasting->were_tried = find_tried(toasting, target - toasting->header_size);
	fetch_values(toasting);
	shorten(toasting);
	toasting->len = toasting->header_size +
		sst_tuple_data_size(toasting->tupdesc, toasting->values);
}

/*
 * Count how unsure the result for a tuple is: by the ends of what most values may be
 * compressed to, and for some of them by all that is possible.
 */
static void
count_doubt(const Toasting *found, SstCounters *counters)
{
	HeapRebuild *state = found->state;
	double		less = 0;
	double		more = 0;
	double		less_need = 0;
	double		more_need = 0;

	for (Assumption other = TO_LOW_END; other <= NOT_AT_ALL; other++)
	{
		Toasting	toasting = {state, found->tupdesc, found->read, state->other_values,
			found->header_size, found->got_defaults,
		.assumption = other, .rest = found->rest};
		double		weight = other < AT_BEST ? 1 : found->rest;
		double		bytes;
		double		need;

		run_toaster(&toasting);
		bytes = weight * (toasting.len - found->len);
		need = weight * ((double) toasting.need - found->need);
		less = Max(less, -bytes);
		more = Max(more, bytes);
		less_need = Max(less_need, -need);
		more_need = Max(more_need, need);

		/* In between, a value may just stay in the tuple. */
		if (toasting.nmoved != found->nmoved && weight == 1)
			more = Max(more, state->target - found->len);
	}

	counters->n[SST_REBUILT_MORE_BYTES] += state->stands_for * Min(more, BLCKSZ);
	counters->n[SST_REBUILT_LESS_BYTES] += state->stands_for * Min(less, BLCKSZ);
	count_units(counters, SST_REBUILT_TOAST_MORE, &state->more_bytes, (uint64) more_need);
	count_units(counters, SST_REBUILT_TOAST_LESS, &state->less_bytes, (uint64) less_need);
}

/*
 * Do what the toaster does with a formed tuple, of which dropped values are null by now,
 * and return its new length.  Which values were tried is noted in them.  Counted are the pages
 * of the TOAST table that they fill, and by how much all this is unsure.
 */
static int64
toast_tuple(HeapRebuild *state, SstTuple *tuple, bool got_defaults, SstCounters *counters)
{
	Toasting	toasting = {state, state->tupdesc, tuple->values, state->values,
		.header_size = tuple->len - sst_tuple_data_size(state->tupdesc, tuple->values),
		.got_defaults = got_defaults,
	.counters = counters};

	run_toaster(&toasting);
	for (int i = 0; i < state->tupdesc->natts; i++)
		state->came_back |= tuple->values[i].form == SST_VALUE_POINTER &&
			state->values[i].form != SST_VALUE_POINTER;
	if (toasting.rest > 0)
		count_doubt(&toasting, counters);

	return toasting.len;
}

/* ----------
 * The table
 * ----------
 */

/* What a tuple of this length needs on its page, with its line pointer */
static int
tuple_need(int64 len)
{
	return (int) Min((int64) MAXALIGN(len) + (int64) sizeof(ItemIdData),
					 PAGE_ROOM);
}

/*
 * The length of a tuple after a rewrite, formed again if need be, and toasted.  A
 * tuple that makes no sense keeps its length.
 */
static int64
rewritten_length(HeapRebuild *state, const HeapTupleHeaderData *tuple,
				 int len, SstCounters *counters)
{
	SstTuple   *read = &state->read;
	TupleDesc	tupdesc = state->tupdesc;
	int64		new_len;

	if (!sst_read_tuple(tupdesc, tuple, len, read))
		return len;

	new_len = !SST_REWRITE_COPIES_TUPLES || read->has_dropped ||
		HeapTupleHeaderGetNatts(tuple) < tupdesc->natts ? read->len : len;
	if (!read->has_pointers && new_len <= (int64) TOAST_TUPLE_THRESHOLD)
		return new_len;

	count_pointers(state, read->values, counters);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attisdropped)
			read->values[i].form = SST_VALUE_NULL;
	}
	return toast_tuple(state, read, read->len > len &&
					   HeapTupleHeaderGetNatts(tuple) < tupdesc->natts, counters);
}

/*
 * To read all tuples takes most of the time.  So all are read at first, and then one of so many of
 * a page, to find one that a rewrite makes longer or shorter.  It may lack columns; have a value
 * with a header of four bytes however short it is, as array_append() makes it; or have values in the
 * TOAST table that stay in the tuple now.  Up to there about as many of that kind are
 * overlooked, wherever they are.  Then more are read, and the others need what those of their length
 * do.  Where that changes along the table, it is known a little late, and the size is unsure by
 * another part.  All are read while it is very unsure.
 */
#define READS_OF_FIRST 192
#define LOOK_STEP 256
#define READ_STEP 128
#define UNSURE_OF_SKIPPED 0.002
#define VERY_UNSURE 0.005

/* One of how many tuples is to be read, of a page that keeps so many?  Of small ones, one in two pages is. */
static int
reading_step(const HeapRebuild *state, int nkept)
{
	if (sst_doubt_part(state->doubt, state->need) > VERY_UNSURE)
		return 1;
	return (int) Min(state->ntuples / READS_OF_FIRST + 1,
					 state->reforms ? Max(READ_STEP, 2 * nkept) : LOOK_STEP);
}

/*
 * Is this a tuple with values in the TOAST table, where all of these are read?  It says nothing of
 * others.
 */
static inline bool
is_read_for_pointers(const HeapRebuild *state, const HeapTupleHeaderData *tuple)
{
	return state->reads_pointers && (tuple->t_infomask & HEAP_HASEXTERNAL) != 0;
}

/* Are all tuples of this kind read, as they go through the toaster now or may do? */
static inline bool
is_always_read(const HeapRebuild *state, const HeapTupleHeaderData *tuple, int len)
{
	return len + state->most_longer > (int) TOAST_TUPLE_THRESHOLD ||
		is_read_for_pointers(state, tuple);
}

/* What is known of tuples of this length */
static inline Reading *
readings_of(HeapRebuild *state, int len)
{
	return &state->readings[Min(len, (int) TOAST_TUPLE_THRESHOLD + 1)];
}

/*
 * Read a tuple, and find what it needs in the new table, with its line pointer.  If it is the first
 * of its kind, some before it were overlooked: as many as are not read for each that is, on average, and
 * three times as many in one of 20 cases.  With twice as many, the doubt is 2.8 times what they need.
 */
static pg_noinline uint32
read_need(HeapRebuild *state, const HeapTupleHeaderData *tuple, int len,
		  SstCounters *counters)
{
	Reading    *others = readings_of(state, len);
	int64		new_len;
	int			need;
	double		overlooked = state->reforms ? others->nskipped : 2 * (state->step - 1);
	double		mean = 0;
	bool		has_pointers = (tuple->t_infomask & HEAP_HASEXTERNAL) != 0;

	state->came_back = false;
	state->stands_for = is_always_read(state, tuple, len) ? 1 : state->step;
	new_len = rewritten_length(state, tuple, len, counters);
	need = tuple_need(new_len);
	if (len > (int) TOAST_TUPLE_THRESHOLD || is_read_for_pointers(state, tuple))
		return need;
	if (state->came_back || (new_len != len && !state->reforms))
		sst_add_doubt(&state->doubt, need - tuple_need(len), overlooked);
	if (state->came_back)
	{
		/* How long values are that come back shows in the pointers only. */
		state->reads_pointers = true;
		return need;
	}
	state->reforms |= new_len != len;
	if (!has_pointers)
		state->most_longer = Max(state->most_longer, (int) Min(new_len, BLCKSZ) - len);

	for (int i = 0; i < LAST_READS; i++)
		mean += (double) others->needs[i] / LAST_READS;
	sst_add_doubt(&state->doubt, need - mean, others->nskipped);
	others->needs[others->nread++ % LAST_READS] = need;
	others->nskipped = 0;
	return need;
}

/*
 * What a tuple needs that is not read: what one did of the last of its length that were, drawn by a
 * number that differs from tuple to tuple.  They take turns in no simple order, which could be that of
 * the pages.
 */
static inline uint32
next_need(Reading *others, uint32 number)
{
	others->nskipped++;
	return others->needs[(number * UINT32_C(0x9e3779b9)) >> (32 - LAST_READS_LOG2)];
}

/* What the tuple of this number needs in the new table, with its line pointer */
static inline uint32
find_need(HeapRebuild *state, const HeapTupleHeaderData *tuple, int len, uint32 number,
		  bool is_due, SstCounters *counters)
{
	Reading    *others = readings_of(state, len);

	if (is_due || is_always_read(state, tuple, len) ||
		(state->reforms && others->nread < LAST_READS))
		return read_need(state, tuple, len, counters);
	return state->reforms ? next_need(others, number) : (uint32) tuple_need(len);
}

/* What tuples need together, and the squares of that */
typedef struct Needs
{
	uint64		sum;
	uint64		squares;
} Needs;

/*
 * Add tuples of neighbouring line pointers that are not read, up to one of a length of which too
 * few were, and return how many these are.  None is too long, or has values in the TOAST table
 * that count.
 */
static inline int
add_unread(HeapRebuild *state, HeapFill *fill, const ItemIdData *items, int ntuples, bool alike,
		   Needs *needs)
{
	const bool	reforms = state->reforms;
	const int	reserve = state->reserve;
	const uint32 number = (uint32) state->ntuples;

	if (alike && !reforms)
	{
		uint64		need = tuple_need(ItemIdGetLength(items));

		needs->sum += ntuples * need;
		needs->squares += ntuples * need * need;
		fill_pages(fill, (int) need, reserve, ntuples);
		return ntuples;
	}

	for (int i = 0; i < ntuples; i++)
	{
		int			len = ItemIdGetLength(&items[i]);
		Reading    *others = readings_of(state, len);
		uint32		need;

		if (reforms && others->nread < LAST_READS)
			return i;
		need = reforms ? next_need(others, number + i) : (uint32) tuple_need(len);
		needs->sum += need;
		needs->squares += need * need;
		fill_page(fill, need, reserve);
	}
	return ntuples;
}

/* A page of a table */
static void
take_tuples(HeapRebuild *state, const PageData *page, BlockNumber blkno,
			const SstItemList *kept, SstCounters *counters)
{
	int			step = state->step = reading_step(state, kept->nitems);
	int			due = (int) (hash_bytes_uint32(blkno) % step);
	bool		alike = false;
	int			longest = BLCKSZ;
	const uint32 number = (uint32) state->ntuples;	/* of the first tuple */
	HeapFill	fill = state->fill;
	Needs		needs = {0};

	/* All tuples of the next page may go through the toaster. */
	state->base.slow_pages = state->reads_pointers;
	for (int i = state->reads_pointers ? 0 : due; i < kept->nitems;
		 i += state->reads_pointers ? 1 : step)
		sst_load(page + ItemIdGetOffset(PageGetItemId((Page) page, kept->offnums[i])));
	if (!state->reads_pointers && kept->nitems == sst_page_items(page))
		alike = sst_items_are_alike(page, &longest);

	for (int i = 0; i < kept->nitems; i++)
	{
		ItemId		item = PageGetItemId((Page) page, kept->offnums[i]);
		int			nunread = Min(due, kept->nitems) - i;
		uint32		need;

		/*
		 * If none is missing, those up to the next that is due are
		 * neighbours.
		 */
		if (nunread > 0 && !state->reads_pointers &&
			longest + state->most_longer <= (int) TOAST_TUPLE_THRESHOLD)
		{
			int			nadded = add_unread(state, &fill, item, nunread, alike, &needs);

			if (nadded > 0)
			{
				i += nadded - 1;
				continue;
			}
		}

		/* At random, as rows can be periodic */
		if (nunread == 0)
		{
			due += 1 + hash_bytes_uint32(number + i) % (2 * step - 1);
			if (due < kept->nitems)
				sst_load(page + ItemIdGetOffset(PageGetItemId((Page) page, kept->offnums[due])));
		}
		need = find_need(state, (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item)),
						 ItemIdGetLength(item), number + i, nunread == 0, counters);
		needs.sum += need;
		needs.squares += need * need;
		fill_page(&fill, need, state->reserve);
	}
	state->fill = fill;
	state->ntuples += kept->nitems;
	state->need += needs.sum;
	state->squares += needs.squares;
}

/*
 * Does a chunk of a TOAST table begin a value?  Then try to compress that.  Its
 * columns are chunk_id, chunk_seq and chunk_data (catalog/toasting.c).
 */
static void
try_chunk(HeapRebuild *state, const HeapTupleHeaderData *chunk, int len)
{
	const char *data = (const char *) chunk + chunk->t_hoff;
	int			room = len - chunk->t_hoff - sizeof(Oid) - sizeof(int32);
	int32		seq;
	varattrib_4b header;
	double		fraction;

	if (room < VARHDRSZ || chunk->t_hoff < SizeofHeapTupleHeader ||
		state->compression.ntrials >= SST_COMPRESSION_TRIALS)
		return;
	memcpy(&seq, data + sizeof(Oid), sizeof(seq));
	data += sizeof(Oid) + sizeof(int32);
	memcpy(&header, data, VARHDRSZ);
	if (seq == 0 && VARATT_IS_4B_U(&header) &&
		VARSIZE_4B(&header) > VARHDRSZ && VARSIZE_4B(&header) <= room)
		(void) sst_compression_try(&state->compression, data + VARHDRSZ,
								   VARSIZE_4B(&header) - VARHDRSZ,
								   state->method, &fraction);
}

/*
 * A page of a TOAST table.  What is needed of it, its table tells: this is a model
 * for where that cannot be read.
 */
static void
take_chunks(HeapRebuild *state, const PageData *page,
			const SstItemList *kept, SstCounters *counters)
{
	for (int i = 0; i < kept->nitems; i++)
	{
		ItemId		item = PageGetItemId((Page) page, kept->offnums[i]);
		int			need = tuple_need(ItemIdGetLength(item));

		if (state->tries_for != NULL)
			try_chunk(state->tries_for,
					  (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item)),
					  ItemIdGetLength(item));
		fill_page(&state->fill, need, 0);
		count_units(counters, SST_TOAST_CHUNKS, &state->chunk_bytes, need);
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
 * When a sample was read, without this part of the pages: the last new page would go on, and
 * have as much waste at its end as the others.  Sets that, and returns by which part the
 * size can be off.
 */
static double
go_on(HeapRebuild *state, double left_out)
{
	double		room = PAGE_ROOM - state->reserve;
	double		on_last = PAGE_ROOM - state->fill.free;
	double		full_pages = rint((state->fill.bytes - on_last -
								   SizeOfPageHeaderData) / BLCKSZ);
	double		on_full = state->need - on_last;
	double		most = MOST_UNSURE_WASTE;
	double		waste;
	double		variance;

	if (state->need == 0 || !(full_pages > 0))
		return 0;

	state->last_page = full_pages * BLCKSZ * (state->need / on_full) /
		state->fill.bytes;
	waste = Max(1 - on_full / (full_pages * room), 0);
	variance = size_variance(state);
	if (variance > DIFFERENT_SIZES)
		most = Max(most, UNSURE_OF_DIFFERENT * waste);
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
	double		room = PAGE_ROOM - state->reserve;
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
		  const SstItemList *kept, SstCounters *counters)
{
	HeapRebuild *state = (HeapRebuild *) rebuild;
	uint64		before = state->fill.bytes;

	/*
	 * The values of a sample begin anywhere on a page of the new TOAST table.
	 * Few of them would not fill one, and show nothing of what is wasted at
	 * its end.
	 */
	if (state->nseen == 0 && blkno > 0)
		state->toast_fill.free = hash_bytes_uint32(blkno) % PAGE_ROOM;
	state->nseen++;
	if (state->is_toast)
		take_chunks(state, page, kept, counters);
	else
		take_tuples(state, page, blkno, kept, counters);
	counters->n[SST_REBUILT_BYTES] += state->fill.bytes - before;
}

static void
heap_predict(SstRebuild *rebuild, const SstPageSample *sample,
			 const SstEstimate *kept, SstEstimate *blocks)
{
	HeapRebuild *state = (HeapRebuild *) rebuild;
	double		uncertainty = 0;

	if (state->is_toast)
		uncertainty = TOAST_UNCERTAINTY;
	else if (!sst_sample_is_exact(sample))
		uncertainty = go_on(state, 1 - (double) sample->nsampled / sample->nblocks);
	if (state->doubt > 0)
		uncertainty += UNSURE_OF_SKIPPED + sst_doubt_part(state->doubt, state->need);
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
	return ((const HeapRebuild *) rebuild)->any_altered;
}

/*
 * The size of the TOAST table is not asked for, so that not all pointers to it need be read, but
 * where their values may fit into longer tuples now.
 */
void
sst_heap_leave_out_toast(SstRebuild *rebuild)
{
	HeapRebuild *state = (HeapRebuild *) rebuild;

	state->reads_pointers &= state->target > (int) TOAST_TUPLE_TARGET;
}

/* Have the model of its TOAST table try that on values there. */
void
sst_heap_try_compression(SstRebuild *rebuild, SstRebuild *toast)
{
	((HeapRebuild *) toast)->tries_for = (HeapRebuild *) rebuild;
	toast->slow_pages = true;
}

/*
 * May a column have been altered, so that its values were stored by other rules
 * than the present ones?  Its row in pg_attribute is then not the one that was
 * inserted.  Setting a default is no such change; when the table is created, that
 * updates the row as well.
 */
static bool
may_be_altered(Relation rel, Form_pg_attribute att)
{
	HeapTuple	row = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)),
									  Int16GetDatum(att->attnum));
	HeapTuple	ctid = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(rel)),
									   Int16GetDatum(SelfItemPointerAttributeNumber));
	bool		result = true;

	if (HeapTupleIsValid(row) && HeapTupleIsValid(ctid))
		result = (row->t_data->t_infomask & HEAP_UPDATED) != 0 &&
			!(att->atthasdef && HeapTupleHeaderGetRawXmin(row->t_data) ==
			  HeapTupleHeaderGetRawXmin(ctid->t_data));
	if (HeapTupleIsValid(row))
		ReleaseSysCache(row);
	if (HeapTupleIsValid(ctid))
		ReleaseSysCache(ctid);

	return result;
}

/*
 * Find out what the catalogs say of a column, and of how its values are stored: short ones
 * may have been PLAIN.
 */
static void
describe_column(HeapRebuild *state, Relation rel, int i)
{
	Form_pg_attribute att = TupleDescAttr(state->tupdesc, i);

	sst_compression_init(&state->in_tuples[i]);
	state->reforms |= att->attisdropped;
	if (state->is_toast || att->attlen != -1 || att->attisdropped ||
		att->attstorage == TYPSTORAGE_PLAIN || att->attstorage == TYPSTORAGE_EXTERNAL ||
		!may_be_altered(rel, att))
		return;

	if (!state->any_altered)
		state->method = att->attcompression;
	state->any_altered = state->in_tuples[i].altered = true;
}

/*
 * May tuples have values in the TOAST table?  Not if that is empty.  Its lock is not waited
 * for, as that of the table is held.
 */
static bool
may_have_pointers(Relation rel)
{
	Oid			toastid = rel->rd_rel->reltoastrelid;
	Relation	toast;
	bool		result;

	if (!OidIsValid(toastid))
		return false;
	if (!ConditionalLockRelationOid(toastid, AccessShareLock))
		return true;
	toast = table_open(toastid, NoLock);
	result = RelationGetNumberOfBlocks(toast) > 0;
	table_close(toast, AccessShareLock);

	return result;
}

static SstRebuild *
heap_begin(Relation rel)
{
	HeapRebuild *state = palloc0(sizeof(HeapRebuild));

	state->is_toast = rel->rd_rel->relkind == RELKIND_TOASTVALUE;
	state->reserve = RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
	state->target = RelationGetToastTupleTarget(rel, TOAST_TUPLE_TARGET);
	state->tupdesc = RelationGetDescr(rel);

	/* A TOAST table that is not needed any more vanishes. */
	state->has_toast = OidIsValid(rel->rd_rel->reltoastrelid) &&
		table_relation_needs_toast_table(rel);
	sst_compression_init(&state->compression);
	state->read.values = palloc(state->tupdesc->natts * sizeof(SstValue));
	state->values = palloc(state->tupdesc->natts * sizeof(SstValue));
	state->other_values = palloc(state->tupdesc->natts * sizeof(SstValue));
	state->in_tuples = palloc(state->tupdesc->natts * sizeof(SstCompression));
	for (int i = 0; i < state->tupdesc->natts; i++)
		describe_column(state, rel, i);
	state->reads_pointers = may_have_pointers(rel);
	return &state->base;
}

const SstModel sst_heap_model = {heap_begin, heap_page, heap_predict, heap_blocks};
