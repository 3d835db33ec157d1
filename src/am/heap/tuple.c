/*-------------------------------------------------------------------------
 *
 * tuple.c
 *	  The values of a table's tuple, and their size in a rewritten tuple
 *
 * A rewrite deforms each tuple and forms it again.  Dropped columns become
 * null, columns that were added after the tuple get their values, and short
 * values lose the padding that they have if stored as PLAIN
 * (reform_and_rewrite_tuple() in access/heap/heapam_handler.c, heap_form_tuple()
 * in access/common/heaptuple.c).  Only the sizes of values matter here.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/tuple.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc_details.h"
#include "utils/memutils.h"

#include "am/heap/tuple.h"

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

/* sst_read_value(), for a loop */
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
 * Read the value of a column that a tuple has, not null, which begins at an offset or
 * behind the padding there.  The offset is moved to the end of the value.  False if that
 * is not within the tuple, or the value makes no sense.
 */
bool
sst_read_value(Form_pg_attribute att, const HeapTupleHeaderData *tuple, int len,
			   int *offset, SstValue *value)
{
	return next_value(att, tuple, len, offset, value);
}

/*
 * Has the i-th column a value in tuples from before it was added?  Else it is null
 * there.
 */
static bool
has_missing_value(TupleDesc tupdesc, int i)
{
	Form_pg_attribute att = TupleDescAttr(tupdesc, i);

	return att->atthasmissing && !att->attisdropped &&
		tupdesc->constr != NULL && tupdesc->constr->missing != NULL &&
		tupdesc->constr->missing[i].am_present;
}

static bool
read_missing_value(TupleDesc tupdesc, int i, SstValue *value)
{
	Form_pg_attribute att = TupleDescAttr(tupdesc, i);

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
 * no sense.
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

		value->form = SST_VALUE_NULL;
		if (i < natts)
		{
			if (!(has_nulls && att_isnull(i, tuple->t_bits)) &&
				!next_value(att, tuple, len, &offset, value))
				return false;
		}
		else if (has_missing_value(tupdesc, i) &&
				 !read_missing_value(tupdesc, i, value))
			return false;

		if (value->form == SST_VALUE_NULL)
			gets_nulls = true;
		else if (att->attisdropped)
			gets_nulls = result->has_dropped = true;
		else
			size = add_value(size, att, value);
		result->has_pointers |= value->form == SST_VALUE_POINTER;
	}

	result->len = header_size(tupdesc, gets_nulls) + size;
	return true;
}

/* The size of the header of a tuple with these values */
int
sst_tuple_header_size(TupleDesc tupdesc, const SstValue *values)
{
	bool		has_nulls = false;

	for (int i = 0; i < tupdesc->natts; i++)
		has_nulls |= values[i].form == SST_VALUE_NULL;

	return header_size(tupdesc, has_nulls);
}

/* The size of a tuple with these values, behind its header */
int64
sst_tuple_data_size(TupleDesc tupdesc, const SstValue *values)
{
	int64		size = 0;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (values[i].form != SST_VALUE_NULL)
			size = add_value(size, TupleDescAttr(tupdesc, i), &values[i]);
	}

	return size;
}
