/*-------------------------------------------------------------------------
 *
 * pivot.c
 *	  The pivot between two neighbours on a leaf page of a b-tree
 *
 * Of several columns, a pivot has those up to the first in which the neighbours
 * differ: _bt_truncate() in access/nbtree/nbtutils.c.  It never has INCLUDE
 * columns, but a TID if these are all that differs.
 *
 * A split chooses neighbours whose pivot is short, and a build does not choose.
 * So the pivots of a new index are as those of all neighbours are, on average,
 * and not as the old pivots.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/tupmacs.h"

#include "am/btree/fill.h"

/* A walk through the columns of a tuple, which may be damaged */
typedef struct ColumnWalk
{
	const char *tuple;
	int			len;
	int			offset;			/* where the next column begins, or padding */
	bool		has_nulls;

	/* The column that was read last; of a null, data is NULL */
	const char *data;
	int			size;
} ColumnWalk;

static void
begin_walk(ColumnWalk *walk, const char *tuple, int len)
{
	IndexTupleData header;

	memcpy(&header, tuple, sizeof(IndexTupleData));
	walk->tuple = tuple;
	walk->len = len;
	walk->offset = (int) IndexInfoFindDataOffset(header.t_info);
	walk->has_nulls = IndexTupleHasNulls(&header);
}

/* The size of a value at data, of which there are not more than room bytes; or 0 */
static int
value_size(Form_pg_attribute att, const char *data, int room)
{
	varattrib_4b header;

	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen == -2)
		return (int) strnlen(data, room) + 1;
	if (VARATT_IS_1B_E(data))
		return 0;
	if (VARATT_IS_1B(data))
		return VARSIZE_1B(data);
	if (room < VARHDRSZ)
		return 0;
	memcpy(&header, data, VARHDRSZ);
	return Min(VARSIZE_4B(&header), BLCKSZ);
}

/* Read the next column, which is the i-th.  False if that makes no sense. */
static bool
read_column(ColumnWalk *walk, Form_pg_attribute att, int i)
{
	walk->data = NULL;
	walk->size = 0;
	if (walk->offset > walk->len)
		return false;
	if (walk->has_nulls &&
		att_isnull(i, (const uint8 *) walk->tuple + sizeof(IndexTupleData)))
		return true;

	/* A byte of padding is zero, the header of a short value is not. */
	if (walk->offset >= walk->len)
		return false;
	if (att->attlen != -1 || walk->tuple[walk->offset] == 0)
		walk->offset = att_align_nominal(walk->offset, att->attalign);
	if (walk->offset >= walk->len)
		return false;
	walk->data = walk->tuple + walk->offset;
	walk->size = value_size(att, walk->data, walk->len - walk->offset);
	walk->offset += walk->size;
	return walk->size > 0 && walk->offset <= walk->len;
}

/*
 * The size of the pivot between two leaf tuples of these lengths, without their
 * posting lists: of "right" what is needed to tell it from "left".  tupdesc is the
 * index's, the first nkeys columns of which are its key.  A tuple that makes no sense
 * is all needed.
 */
int
sst_btree_pivot_size(TupleDesc tupdesc, int nkeys, const char *left, int left_len,
					 const char *right, int right_len)
{
	ColumnWalk	a;
	ColumnWalk	b;
	int			begin;
	bool		any_null = false;
	bool		differ = false;

	begin_walk(&a, left, left_len);
	begin_walk(&b, right, right_len);
	begin = b.offset;

	for (int i = 0; i < nkeys && !differ; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (!read_column(&a, att, i) || !read_column(&b, att, i))
			return right_len;
		any_null |= b.data == NULL;
		differ = a.size != b.size ||
			(a.size > 0 && memcmp(a.data, b.data, a.size) != 0);
	}

	return (int) MAXALIGN(IndexInfoFindDataOffset(any_null ? INDEX_NULL_MASK : 0) +
						  b.offset - begin) +
		(differ || nkeys == tupdesc->natts ? 0 :
		 (int) MAXALIGN(sizeof(ItemPointerData)));
}
