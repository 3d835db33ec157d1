/*-------------------------------------------------------------------------
 *
 * toaster.c
 *	  Which values of a tuple a rewrite puts into the TOAST table
 *
 * VACUUM FULL and CLUSTER fetch every value that a tuple has in the TOAST table,
 * and decide anew which ones go there: by the present storage of the columns and
 * the present toast_tuple_target (heap_toast_insert_or_update() in
 * access/heap/heaptoast.c).  So the rows of a table tell what its TOAST table will
 * contain, and not the chunks that are in it now: those of dropped columns and of
 * columns with another storage do not come back.
 *
 * Here the same decisions are made about the sizes of values.  One thing sizes do
 * not tell: how far a value that is not compressed can be.  If the column has been
 * as it is since it was made, the toaster has tried that before, and found it not
 * worth it.  Else it is counted as incompressible, and as unsure besides.
 *
 * The new TOAST table is filled chunk by chunk, without a look at the free space
 * on earlier pages (toast_save_datum() in access/common/toast_internals.c with
 * HEAP_INSERT_SKIP_FSM).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/toaster.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"

#include "rebuild/toaster.h"

/* Values up to this size are left alone: a pointer would not be shorter. */
#define SMALLEST_TOASTED \
	((int32) MAXALIGN(VARHDRSZ_EXTERNAL + sizeof(struct varatt_external)))

/* A tuple of the toaster */
typedef struct Toasting
{
	SstToaster *toaster;
	TupleDesc	tupdesc;
	SstValue   *values;
	int			header_size;

	/* How much longer or shorter the tuple may be than it is found */
	int64		more;
	int64		less;
	int			longest;		/* but not longer than this */
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
	switch ((SstValueForm) value->form)
	{
		case SST_VALUE_SHORT:
			return value->size - VARHDRSZ_SHORT;
		case SST_VALUE_POINTER:
			return value->fetched_size - VARHDRSZ;
		default:
			return value->size - VARHDRSZ;
	}
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
add_chunks(SstHeapFill *fill, int32 nbytes)
{
	const int	need = chunk_need(TOAST_MAX_CHUNK_SIZE);
	int			nfull = nbytes / TOAST_MAX_CHUNK_SIZE;
	int			last = nbytes % TOAST_MAX_CHUNK_SIZE;

	for (; nfull > 0 && fill->free >= need; nfull--)
		sst_fill_page(fill, need, 0);
	if (nfull > EXTERN_TUPLES_PER_PAGE)
	{
		/* All of these pages become full, and the last stays the current one. */
		int			npages = (nfull - 1) / EXTERN_TUPLES_PER_PAGE;

		fill->bytes += (uint64) npages * BLCKSZ;
		nfull -= npages * EXTERN_TUPLES_PER_PAGE;
	}
	for (; nfull > 0; nfull--)
		sst_fill_page(fill, need, 0);
	if (last > 0)
		sst_fill_page(fill, chunk_need(last), 0);
}

/* Count what was added to a sum, in whole units; what is left comes later. */
static void
count_units(SstCounters *counters, SstCount count, uint64 before, uint64 after)
{
	counters->n[count] += after / SST_TOAST_UNIT - before / SST_TOAST_UNIT;
}

static void
count_chunk_bytes(SstToaster *toaster, uint64 nbytes, SstCounters *counters)
{
	count_units(counters, SST_TOAST_CHUNKS, toaster->chunk_bytes,
				toaster->chunk_bytes + nbytes);
	toaster->chunk_bytes += nbytes;
}

/* Count the chunks of what a tuple has in the TOAST table now. */
void
sst_toaster_count_pointers(SstToaster *toaster, int natts,
						   const SstValue *values, SstCounters *counters)
{
	for (int i = 0; i < natts; i++)
	{
		if (values[i].form == SST_VALUE_POINTER)
			count_chunk_bytes(toaster, chunks_need(stored_bytes(&values[i])),
							  counters);
	}
}

/* Count a chunk, which needs so much on its page. */
void
sst_toaster_count_chunk(SstToaster *toaster, int need, SstCounters *counters)
{
	count_chunk_bytes(toaster, need, counters);
}

/*
 * Fetch a value from the TOAST table.  It is decompressed only if the column has
 * the storage PLAIN, and then stays in the tuple whatever its size.
 */
static void
fetch(SstValue *value, char storage)
{
	bool		compressed = value->fetched_compressed &&
		storage != TYPSTORAGE_PLAIN;

	value->form = compressed ? SST_VALUE_COMPRESSED : SST_VALUE_LONG;
	value->size = storage == TYPSTORAGE_PLAIN ? value->raw_size :
		value->fetched_size;
}

static void
begin_toasting(Toasting *toasting)
{
	for (int i = 0; i < toasting->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(toasting->tupdesc, i);
		SstValue   *value = &toasting->values[i];

		value->incompressible = false;
		value->ignored = value->form == SST_VALUE_NULL ||
			value->form == SST_VALUE_FIXED ||
			att->attstorage == TYPSTORAGE_PLAIN;
		if (value->form == SST_VALUE_POINTER)
			fetch(value, att->attstorage);
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

/*
 * May the value be compressed, though it is not?  Then it has not been tried with
 * the column's present storage and compression method.
 */
static bool
is_unsure(const Toasting *toasting, const SstValue *value)
{
	int			i = value - toasting->values;

	return value->incompressible &&
		TupleDescAttr(toasting->tupdesc, i)->attstorage != TYPSTORAGE_EXTERNAL &&
		(toasting->toaster->compressible[i / 8] >> i % 8 & 1) != 0;
}

/* Put a value into the TOAST table. */
static void
move_out(Toasting *toasting, SstValue *value, SstCounters *counters)
{
	SstToaster *toaster = toasting->toaster;
	uint64		before = toaster->fill.bytes;

	add_chunks(&toaster->fill, stored_bytes(value));
	count_units(counters, SST_REBUILT_TOAST, before, toaster->fill.bytes);

	if (is_unsure(toasting, value))
	{
		uint64		nbytes = toaster->fill.bytes - before;
		int			i = value - toasting->values;
		bool		main = TupleDescAttr(toasting->tupdesc, i)->attstorage ==
			TYPSTORAGE_MAIN;

		count_units(counters, SST_REBUILT_TOAST_UNSURE, toaster->unsure_bytes,
					toaster->unsure_bytes + nbytes);
		toaster->unsure_bytes += nbytes;
		toasting->more += value->size - SMALLEST_TOASTED;
		toasting->longest = Max(toasting->longest, main ?
								(int) TOAST_TUPLE_TARGET_MAIN : toaster->target);
	}
	value->form = SST_VALUE_POINTER;
	value->size = VARHDRSZ_EXTERNAL + sizeof(struct varatt_external);
	value->ignored = true;
}

static bool
is_too_long(const Toasting *toasting, int target)
{
	return sst_tuple_data_size(toasting->tupdesc, toasting->values) > target;
}

/*
 * Make the tuple as short as the target, in the server's order: compress, and put
 * out what is too long by itself; put out others; compress values of storage MAIN,
 * and put those out only if the tuple does not fit on a page.
 */
static void
shorten(Toasting *toasting, SstCounters *counters)
{
	int			target = toasting->toaster->target - toasting->header_size;
	bool		has_toast = toasting->toaster->has_toast;
	SstValue   *value;

	while (is_too_long(toasting, target) &&
		   (value = find_largest(toasting, true, false)) != NULL)
	{
		value->incompressible = true;
		if (value->size > target && has_toast)
			move_out(toasting, value, counters);
	}
	while (has_toast && is_too_long(toasting, target) &&
		   (value = find_largest(toasting, false, false)) != NULL)
		move_out(toasting, value, counters);
	while (is_too_long(toasting, target) &&
		   (value = find_largest(toasting, true, true)) != NULL)
		value->incompressible = true;
	target = (int) TOAST_TUPLE_TARGET_MAIN - toasting->header_size;
	while (has_toast && is_too_long(toasting, target) &&
		   (value = find_largest(toasting, false, true)) != NULL)
		move_out(toasting, value, counters);
}

/* Is a formed tuple of this length, with these values, shown to the toaster? */
bool
sst_toaster_wants(TupleDesc tupdesc, const SstValue *values, int64 len)
{
	if (len > (int64) TOAST_TUPLE_THRESHOLD)
		return true;
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (values[i].form == SST_VALUE_POINTER)
			return true;
	}
	return false;
}

/*
 * Do what the toaster does with a formed tuple.  Return its new length; values are
 * changed.  Counted are the pages of the TOAST table that the tuple's values fill,
 * and by how much the length is unsure.
 */
int64
sst_toaster_tuple(SstToaster *toaster, TupleDesc tupdesc, SstValue *values,
				  SstCounters *counters)
{
	Toasting	toasting = {toaster, tupdesc, values};
	int64		len;

	toasting.header_size = sst_tuple_header_size(tupdesc, values);
	begin_toasting(&toasting);
	shorten(&toasting, counters);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (values[i].form != SST_VALUE_POINTER && is_unsure(&toasting, &values[i]))
			toasting.less += values[i].size - SMALLEST_TOASTED;
	}
	len = toasting.header_size + sst_tuple_data_size(tupdesc, values);
	counters->n[SST_REBUILT_MORE_BYTES] +=
		Max(Min(toasting.more, toasting.longest - len), 0);
	counters->n[SST_REBUILT_LESS_BYTES] +=
		Max(Min(toasting.less, (int64) MaxHeapTupleSize), 0);

	return len;
}

/*
 * Set up for a table.  has_toast and the compressible columns, which the catalogs
 * tell, are left to the caller.
 */
void
sst_toaster_init(SstToaster *toaster, Relation rel)
{
	memset(toaster, 0, sizeof(SstToaster));
	toaster->target = RelationGetToastTupleTarget(rel, TOAST_TUPLE_TARGET);
}
