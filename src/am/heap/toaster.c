/*-------------------------------------------------------------------------
 *
 * toaster.c
 *	  What a rewrite makes of a tuple, and which values it puts into the TOAST table
 *
 * VACUUM FULL and CLUSTER fetch every value that a tuple has in the TOAST
 * table, and decide again which ones go there, by the present storage of the
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
#include "access/tableam.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "access/tupdesc_details.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "am/heap/toaster.h"

/* ----------
 * Values, and their size in a rewritten tuple
 *
 * A rewrite deforms each tuple and forms it again.  Dropped columns become
 * null, columns that were added after the tuple get their values, and short
 * values lose the padding that they have if stored as PLAIN
 * (reform_and_rewrite_tuple() in access/heap/heapam_handler.c, heap_form_tuple()
 * in access/common/heaptuple.c).  Only the sizes of values matter here.
 * ----------
 */

/* A size that a varlena cannot have is cut to one that it can. */
static int32
sane_size(int64 size)
{
	return (int32) Max(Min(size, MaxAllocSize), VARHDRSZ);
}

/* Read a pointer to the TOAST table, which can be anywhere in memory. */
static void
read_pointer(const char *data, SstValue *value)
{
	struct varatt_external pointer;

	memcpy(&pointer, data + VARHDRSZ_EXTERNAL, sizeof(pointer));
	value->form = SST_VALUE_POINTER;
	value->size = VARHDRSZ_EXTERNAL + sizeof(pointer);
	value->fetched_size =
		sane_size((int64) VARATT_EXTERNAL_GET_EXTSIZE(pointer) + VARHDRSZ);
	value->raw_size = sane_size(pointer.va_rawsize);
	value->fetched_compressed = value->fetched_size < value->raw_size;
}

/*
 * Read a value at data, of which there are not more than room bytes.  data need not
 * be aligned.  False if the value is longer than that, or makes no sense.
 */
static inline bool
read_value(Form_pg_attribute att, const char *data, int room, SstValue *value)
{
	memset(value, 0, sizeof(SstValue));
	value->form = SST_VALUE_FIXED;
	value->data = data;
	if (att->attlen > 0)
		value->size = att->attlen;
	else if (room <= 0)
		return false;
	else if (att->attlen == -2)
		value->size = strnlen(data, room) + 1;
	else if (VARATT_IS_1B_E(data))
	{
		if (room < VARHDRSZ_EXTERNAL + (int) sizeof(struct varatt_external) ||
			VARTAG_1B_E(data) != VARTAG_ONDISK)
			return false;
		read_pointer(data, value);
	}
	else if (VARATT_IS_1B(data))
	{
		value->form = SST_VALUE_SHORT;
		value->size = VARSIZE_1B(data);
	}
	else
	{
		varattrib_4b header;

		if (room < VARHDRSZ)
			return false;
		memcpy(&header, data, VARHDRSZ);
		value->form = VARATT_IS_4B_C(&header) ? SST_VALUE_COMPRESSED :
			SST_VALUE_LONG;
		value->size = VARSIZE_4B(&header);
		if (value->size < VARHDRSZ)
			return false;
	}

	return value->size <= room;
}

/* Is the value stored with a header of one byte, or as a pointer: unaligned? */
static inline bool
becomes_short(Form_pg_attribute att, const SstValue *value)
{
	if (value->form == SST_VALUE_LONG)
		return att->attstorage != TYPSTORAGE_PLAIN &&
			value->size - VARHDRSZ + VARHDRSZ_SHORT <= VARATT_SHORT_MAX;
	return value->form == SST_VALUE_SHORT || value->form == SST_VALUE_POINTER;
}

/* The size of a tuple's data with a value, not null, behind what it has */
static inline int64
add_value(int64 size, Form_pg_attribute att, const SstValue *value)
{
	if (!becomes_short(att, value))
		size = att_align_nominal(size, att->attalign);
	else if (value->form == SST_VALUE_LONG)
		size -= VARHDRSZ - VARHDRSZ_SHORT;
	return size + value->size;
}

/*
 * Read the value of a column that a tuple has, not null, which begins at an offset or
 * behind the padding there.  The offset is moved to the end of the value.  False if that
 * is not within the tuple, or the value makes no sense.
 */
static inline bool
next_value(Form_pg_attribute att, const HeapTupleHeaderData *tuple, int len,
		   int *offset, SstValue *value)
{
	const char *data = (const char *) tuple;

	/* A byte of padding is zero, the header of a short value is not. */
	if (*offset >= len)
		return false;
	if (att->attlen != -1 || data[*offset] == 0)
		*offset = att_align_nominal(*offset, att->attalign);
	if (!read_value(att, data + *offset, len - *offset, value))
		return false;
	*offset += value->size;
	return true;
}

/*
 * Read the value that the i-th column has in tuples from before it was added, if it is not
 * null there.
 */
static bool
read_missing_value(TupleDesc tupdesc, int i, SstValue *value)
{
	Form_pg_attribute att = TupleDescAttr(tupdesc, i);

	if (!att->atthasmissing || att->attisdropped ||
		tupdesc->constr == NULL || tupdesc->constr->missing == NULL ||
		!tupdesc->constr->missing[i].am_present)
		return true;
	if (att->attbyval)
	{
		memset(value, 0, sizeof(SstValue));
		value->form = SST_VALUE_FIXED;
		value->size = att->attlen;
		return true;
	}

	return read_value(att, DatumGetPointer(tupdesc->constr->missing[i].am_value),
					  MaxAllocSize, value);
}

static inline int
header_size(TupleDesc tupdesc, bool has_nulls)
{
	return MAXALIGN(SizeofHeapTupleHeader +
					(has_nulls ? BITMAPLEN(tupdesc->natts) : 0));
}

/*
 * Find the values of all columns of a tuple, of which there are not more than
 * MaxHeapAttributeNumber, and its length when formed again.  False if the tuple makes
 * no sense: then the values are those before the first one that is invalid.
 */
bool
sst_read_tuple(TupleDesc tupdesc, const HeapTupleHeaderData *tuple, int len,
			   SstTuple *result)
{
	bool		has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	int			natts = Min(HeapTupleHeaderGetNatts(tuple), tupdesc->natts);
	int			offset = tuple->t_hoff;
	int64		size = 0;
	bool		gets_nulls = false;

	result->nvalues = 0;
	if (offset < (int) SizeofHeapTupleHeader ||
		offset < (int) SizeofHeapTupleHeader +
		(has_nulls ? BITMAPLEN(HeapTupleHeaderGetNatts(tuple)) : 0) ||
		offset > len)
		return false;

	result->has_pointers = result->has_dropped = false;
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		SstValue   *value = &result->values[i];

		result->nvalues = i;
		value->form = SST_VALUE_NULL;
		if (i < natts)
		{
			if (!(has_nulls && att_isnull(i, tuple->t_bits)) &&
				!next_value(att, tuple, len, &offset, value))
				return false;
		}
		else if (!read_missing_value(tupdesc, i, value))
			return false;

		if (value->form == SST_VALUE_NULL)
			gets_nulls = true;
		else if (att->attisdropped)
			gets_nulls = result->has_dropped = true;
		else
			size = add_value(size, att, value);
		result->has_pointers |= value->form == SST_VALUE_POINTER;
	}

	result->nvalues = tupdesc->natts;
	result->len = header_size(tupdesc, gets_nulls) + size;
	return true;
}

/* The size of the header of a tuple with these values */
static int
tuple_header_size(TupleDesc tupdesc, const SstValue *values)
{
	bool		has_nulls = false;

	for (int i = 0; i < tupdesc->natts; i++)
		has_nulls |= values[i].form == SST_VALUE_NULL;

	return header_size(tupdesc, has_nulls);
}

/* The size of a tuple with these values, behind its header */
static int64
tuple_data_size(TupleDesc tupdesc, const SstValue *values)
{
	int64		size = 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (values[i].form != SST_VALUE_NULL)
			size = add_value(size, TupleDescAttr(tupdesc, i), &values[i]);
	}

	return size;
}

/* ----------
 * The compression ratio of values, from some that are tried
 *
 * A value that is stored without compression, in a column whose storage or
 * method may have been changed, may be compressed when it is written again.
 * Only trying shows by how much.  That is slow, and impossible if the value is
 * in the TOAST table.  So some values are tried, and represent the others:
 * values that lie in rows, and the first chunks of values in the TOAST table
 * (report/toast_estimate.c).
 * ----------
 */

/* After the first ones, one of so many values is tried. */
#define TRIAL_STRIDE 256

/*
 * The whole of a value can be compressed much better than its first chunk, and
 * somewhat worse.
 */
#define BETTER 0.2
#define WORSE 1.15

/* The assumed range of an untried value's compression: from this fraction to none */
#define BEST_COMPRESSION 0.01

/* Of values of which none has been tried */
static void
compression_init(SstCompression *compression)
{
	memset(compression, 0, sizeof(SstCompression));
	compression->low = BEST_COMPRESSION;
	compression->high = 1;
}

static int
compare_fractions(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

static int
kept_trials(const SstCompression *compression)
{
	return (int) Min(compression->ntrials, SST_COMPRESSION_TRIALS);
}

/* Find between which fractions 8 of 10 trials lie. */
static void
find_ends(SstCompression *compression)
{
	double		sorted[SST_COMPRESSION_TRIALS];
	int			n = kept_trials(compression);

	memcpy(sorted, compression->trials, n * sizeof(double));
	qsort(sorted, n, sizeof(double), compare_fractions);
	compression->low = sorted[n / 10];
	compression->high = Min(sorted[n - 1 - n / 10] * WORSE, 1);
	if (compression->low < 1)
		compression->low = Max(compression->low * BETTER, BEST_COMPRESSION);
}

/*
 * Try to compress a copy of so many bytes by a method (attcompression): their size then as a
 * fraction, 1 if they are incompressible; NaN if that cannot be tried.
 */
static double
try_compression(const char *data, int32 nbytes, char method)
{
	struct varlena *value;
	struct varlena *compressed;
	double		result = 1;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
#ifndef USE_LZ4
	if (method == TOAST_LZ4_COMPRESSION)
		return NAN;
#endif

	value = palloc(VARHDRSZ + nbytes);
	SET_VARSIZE(value, VARHDRSZ + nbytes);
	memcpy(VARDATA(value), data, nbytes);
	compressed = (struct varlena *)
		DatumGetPointer(toast_compress_datum(PointerGetDatum(value), method));
	if (compressed != NULL)
	{
		result = (double) VARSIZE(compressed) / VARSIZE(value);
		pfree(compressed);
	}
	pfree(value);

	return result;
}

/*
 * Compress a value, if it is its turn; false if it is not, or cannot be tried.
 */
bool
sst_compression_try(SstCompression *compression, const char *data,
					int32 nbytes, char method, double *fraction)
{
	if (compression->nwanted++ % TRIAL_STRIDE != 0 &&
		compression->ntrials >= SST_COMPRESSION_TRIALS)
		return false;

	*fraction = try_compression(data, nbytes, method);
	if (isnan(*fraction))
		return false;
	compression->trials[compression->ntrials++ % SST_COMPRESSION_TRIALS] = *fraction;
	find_ends(compression);
	return true;
}

/* To which fraction may a value that is not tried be compressed? */
static double
compression_guess(SstCompression *compression)
{
	int			n = kept_trials(compression);

	return n == 0 ? 1 : compression->trials[compression->nguessed++ % n];
}

/* Which part of the values may be outside the ends that the trials give? */
static double
compression_rest(const SstCompression *compression)
{
	return Min(3.0 / Max(kept_trials(compression), 3), 1);
}

/* ----------
 * What the catalogs say of how a table's values are stored
 * ----------
 */

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
 * Find out what the catalogs say of how a table's values are stored.  True if tuples have
 * to be formed again, because short values may have been stored as PLAIN.
 */
bool
sst_toaster_describe(SstToaster *toaster, Relation rel)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	bool		reforms = false;

	if (rel->rd_rel->relkind == RELKIND_TOASTVALUE)
		return false;

	/* A TOAST table that is not needed any more vanishes. */
	toaster->has_toast = OidIsValid(rel->rd_rel->reltoastrelid) &&
		table_relation_needs_toast_table(rel);

	compression_init(&toaster->compression);
	toaster->in_tuples = palloc(tupdesc->natts * sizeof(SstCompression));
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		compression_init(&toaster->in_tuples[i]);
		if (att->attlen != -1 || att->attisdropped ||
			att->attstorage == TYPSTORAGE_PLAIN || !may_be_altered(rel, att))
			continue;

		reforms = true;
		if (att->attstorage != TYPSTORAGE_EXTERNAL)
		{
			if (!toaster->any_altered)
				toaster->method = att->attcompression;
			toaster->any_altered = toaster->in_tuples[i].altered = true;
		}
	}
	return reforms;
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
	SstToaster *toaster;
	TupleDesc	tupdesc;
	SstValue   *read;			/* as they are now, and what was tried */
	SstValue   *values;			/* what becomes of them */
	int			header_size;

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

/* Add bytes to a sum, and count them in whole units; what is left comes later. */
static void
count_units(SstCounters *counters, SstCount count, uint64 *sum, uint64 nbytes)
{
	counters->n[count] += (*sum + nbytes) / SST_TOAST_UNIT - *sum / SST_TOAST_UNIT;
	*sum += nbytes;
}

/* Count chunks, which need so much on their pages. */
void
sst_toaster_count_chunks(SstToaster *toaster, uint64 need, SstCounters *counters)
{
	count_units(counters, SST_TOAST_CHUNKS, &toaster->chunk_bytes, need);
}

/* Count the chunks of what a tuple has in the TOAST table now. */
void
sst_toaster_count_pointers(SstToaster *toaster, int natts,
						   const SstValue *values, SstCounters *counters)
{
	for (int i = 0; i < natts; i++)
	{
		if (values[i].form == SST_VALUE_POINTER)
			sst_toaster_count_chunks(toaster, chunks_need(stored_bytes(&values[i])),
									 counters);
	}
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
	value->data = NULL;
}

static void
begin_toasting(Toasting *toasting)
{
	for (int i = 0; i < toasting->tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(toasting->tupdesc, i);
		SstValue   *value = &toasting->values[i];

		value->ignored = value->form == SST_VALUE_NULL ||
			value->form == SST_VALUE_FIXED ||
			att->attstorage == TYPSTORAGE_PLAIN;
		if (value->form == SST_VALUE_POINTER)
		{
			fetch(value, att->attstorage);

			/* It was tried before it was moved out. */
			if (!toasting->toaster->in_tuples[i].altered)
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
	return tuple_data_size(toasting->tupdesc, toasting->values) > target;
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

	for (int i = 0; i < toasting->tupdesc->natts; i++)
	{
		const SstValue *value = &toasting->values[i];

		/*
		 * The tuple may have become longer since, by a default of such a
		 * column.
		 */
		if (toasting->toaster->in_tuples[i].altered && value->form != SST_VALUE_NULL)
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
	bool		is_least_known = compression_rest(compression) >= toasting->rest;

	switch (toasting->assumption)
	{
		case AS_GUESSED:
			break;
		case TO_LOW_END:
			return compression->low;
		case TO_HIGH_END:
			return compression->high;
		case AT_BEST:
			return is_least_known ? BEST_COMPRESSION : compression->low;
		case NOT_AT_ALL:
			return is_least_known ? 1 : compression->high;
	}
	toasting->rest = Max(toasting->rest, compression_rest(compression));
	return compression_guess(compression);
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
	SstCompression *compression = in_tuple ? &toasting->toaster->in_tuples[i] :
		&toasting->toaster->compression;
	int			header = value->form == SST_VALUE_SHORT ? VARHDRSZ_SHORT : VARHDRSZ;
	double		fraction;

	if (!toasting->toaster->in_tuples[i].altered &&
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
	SstHeapFill *fill = &toasting->toaster->fill;
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
	int			target = toasting->toaster->target - toasting->header_size;
	bool		has_toast = toasting->toaster->has_toast;
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

/* Do what the toaster does with a tuple, and find its new length. */
static void
run_toaster(Toasting *toasting)
{
	memcpy(toasting->values, toasting->read, toasting->tupdesc->natts * sizeof(SstValue));
	toasting->header_size = tuple_header_size(toasting->tupdesc,
											  toasting->values);
	toasting->were_tried = find_tried(toasting, toasting->toaster->target -
									  toasting->header_size);
	begin_toasting(toasting);
	shorten(toasting);
	toasting->len = toasting->header_size +
		tuple_data_size(toasting->tupdesc, toasting->values);
}

/* By how much something can be more, and less */
typedef struct Doubt
{
	double		more;
	double		less;
} Doubt;

static void
add_doubt(Doubt *doubt, double difference, double weight)
{
	doubt->more = Max(doubt->more, weight * difference);
	doubt->less = Max(doubt->less, -weight * difference);
}

/*
 * Count how unsure the result for a tuple is: by the ends of what most values may be
 * compressed to, and for some of them by all that is possible.
 */
static void
count_doubt(const Toasting *found, SstCounters *counters)
{
	SstValue	values[MaxHeapAttributeNumber];
	SstToaster *toaster = found->toaster;
	Doubt		length = {0, 0};
	Doubt		chunks = {0, 0};

	for (Assumption other = TO_LOW_END; other <= NOT_AT_ALL; other++)
	{
		Toasting	toasting = {toaster, found->tupdesc, found->read, values,
		.assumption = other, .rest = found->rest};
		double		weight = other < AT_BEST ? 1 : found->rest;

		run_toaster(&toasting);
		add_doubt(&length, toasting.len - found->len, weight);
		add_doubt(&chunks, (double) toasting.need - found->need, weight);

		/* In between, a value may just stay in the tuple. */
		if (toasting.nmoved != found->nmoved && weight == 1)
			add_doubt(&length, Max(toaster->target - found->len, 0), 1);
	}

	counters->n[SST_REBUILT_MORE_BYTES] += Min(length.more, BLCKSZ);
	counters->n[SST_REBUILT_LESS_BYTES] += Min(length.less, BLCKSZ);
	count_units(counters, SST_REBUILT_TOAST_MORE, &toaster->more_bytes, (uint64) chunks.more);
	count_units(counters, SST_REBUILT_TOAST_LESS, &toaster->less_bytes, (uint64) chunks.less);
}

/*
 * Do what the toaster does with a formed tuple, and return its new length.  Which values were
 * tried is noted in them.  Counted are the pages of the TOAST table that they fill, and by how
 * much all this is unsure.
 */
int64
sst_toaster_tuple(SstToaster *toaster, TupleDesc tupdesc, SstValue *values,
				  SstCounters *counters)
{
	SstValue	result[MaxHeapAttributeNumber];
	Toasting	toasting = {toaster, tupdesc, values, result, .counters = counters};

	run_toaster(&toasting);
	if (toasting.rest > 0)
		count_doubt(&toasting, counters);

	return toasting.len;
}
