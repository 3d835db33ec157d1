/*-------------------------------------------------------------------------
 *
 * heap.c
 *	  What the tuples of a table take when it is rewritten
 *
 * VACUUM FULL, CLUSTER and REPACK write the tuples that are not dead to all,
 * one behind the other, and go on to a new page when the next tuple does not
 * fit: raw_heap_insert() in access/heap/rewriteheap.c.  The tuples come in the
 * order of the pages here, which is that of VACUUM FULL.  TOAST tables that are
 * rewritten along with their table are filled by the same rule.
 *
 * visit/heap.c decides which tuples are kept, and lists them.
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/rebuild/heap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/tupdesc_details.h"
#include "utils/rel.h"

#include "rebuild/rebuild.h"

/* Room for tuples and their line pointers on an empty page */
#define PAGE_ROOM (BLCKSZ - (int) SizeOfPageHeaderData)

/*
 * The length of a value at data, of which there are not more than room bytes; or
 * -1 if it is longer than that.  data need not be aligned.
 */
static int
value_length(Form_pg_attribute att, const char *data, int room)
{
	int			len;

	if (att->attlen > 0)
		len = att->attlen;
	else if (room <= 0)
		return -1;
	else if (att->attlen == -2)
		len = strnlen(data, room) + 1;
	else if (VARATT_IS_1B_E(data))
	{
		if (room < VARHDRSZ_EXTERNAL)
			return -1;
		switch (VARTAG_1B_E(data))
		{
			case VARTAG_ONDISK:
				len = VARHDRSZ_EXTERNAL + sizeof(varatt_external);
				break;
			default:
				return -1;
		}
	}
	else if (VARATT_IS_1B(data))
		len = VARSIZE_1B(data);
	else
	{
		varattrib_4b header;

		if (room < VARHDRSZ)
			return -1;
		memcpy(&header, data, VARHDRSZ);
		len = VARSIZE_4B(&header);
	}

	return len <= room ? len : -1;
}

/* Where a value begins that would follow on offset; data is where it is now. */
static int
value_offset(Form_pg_attribute att, int offset, const char *data)
{
	if (att->attlen == -1 && VARATT_NOT_PAD_BYTE(data) &&
		VARATT_IS_1B(data))
		return offset;
	return att_align_nominal(offset, att->attalign);
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

/*
 * Where a tuple ends when the i-th column's value for older tuples is added at this
 * end; -1 if the value makes no sense.
 */
static int
add_missing_value(TupleDesc tupdesc, int i, int end)
{
	Form_pg_attribute att = TupleDescAttr(tupdesc, i);
	Datum		missing = tupdesc->constr->missing[i].am_value;
	const char *value;
	int			value_len;

	if (att->attbyval)
		return att_align_nominal(end, att->attalign) + att->attlen;

	value = DatumGetPointer(missing);
	value_len = value_length(att, value, MaxHeapTupleSize);
	if (value_len < 0)
		return -1;
	if (att->attlen == -1 && att->attstorage != TYPSTORAGE_PLAIN &&
		VARATT_CAN_MAKE_SHORT(value))
		return end + VARATT_CONVERTED_SHORT_SIZE(value);

	return value_offset(att, end, value) + value_len;
}

/*
 * The length of a tuple when its dropped columns have become nulls, and columns
 * that were added after it have their values (reform_and_rewrite_tuple() in
 * access/heap/heapam_handler.c, heap_form_tuple()).  A tuple that makes no
 * sense keeps its length.
 */
static int
reformed_length(const SstRebuild *rebuild, const HeapTupleHeaderData *tuple,
				int len)
{
	TupleDesc	tupdesc = rebuild->u.heap.tupdesc;
	const char *data = (const char *) tuple;
	bool		has_nulls = (tuple->t_infomask & HEAP_HASNULL) != 0;
	int			natts = Min(HeapTupleHeaderGetNatts(tuple), tupdesc->natts);
	int			offset = tuple->t_hoff; /* in the tuple as it is */
	int			new_len = 0;	/* without the header */
	bool		new_nulls = false;

	if (offset < (int) SizeofHeapTupleHeader ||
		offset < (int) SizeofHeapTupleHeader +
		(has_nulls ? BITMAPLEN(HeapTupleHeaderGetNatts(tuple)) : 0) ||
		offset > len)
		return len;

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		int			value_len;
		const char *value;

		if (i < natts)
		{
			if (has_nulls && att_isnull(i, tuple->t_bits))
			{
				new_nulls = true;
				continue;
			}

			/* A byte of padding is zero, the header of a short value is not. */
			if (offset >= len)
				return len;
			if (att->attlen != -1 || data[offset] == 0)
				offset = att_align_nominal(offset, att->attalign);
			value = data + offset;
			value_len = value_length(att, value, len - offset);
			if (value_len < 0)
				return len;
			offset += value_len;
			if (att->attisdropped)
				new_nulls = true;
			else
				new_len = value_offset(att, new_len, value) + value_len;
		}
		else if (has_missing_value(tupdesc, i))
		{
			new_len = add_missing_value(tupdesc, i, new_len);
			if (new_len < 0)
				return len;
		}
		else
			new_nulls = true;
	}

	return MAXALIGN(SizeofHeapTupleHeader +
					(new_nulls ? BITMAPLEN(tupdesc->natts) : 0)) + new_len;
}

/*
 * Add a tuple, which lies aligned and in full on its page, to the new page; or
 * to the next if it does not fit there.
 */
static void
add_tuple(SstRebuild *rebuild, const HeapTupleHeaderData *tuple, int len)
{
	SstHeapRewrite *rewrite = &rebuild->u.heap.rewrite;
	int			need;

	if (rebuild->u.heap.reforms ||
		HeapTupleHeaderGetNatts(tuple) < rebuild->u.heap.tupdesc->natts)
		len = reformed_length(rebuild, tuple, len);
	need = Min(MAXALIGN(len) + (int) sizeof(ItemIdData), PAGE_ROOM);

	if (rewrite->free < need + rebuild->u.heap.reserve)
	{
		/* The rest of this page is wasted; the next has its header. */
		rewrite->bytes += rewrite->free + SizeOfPageHeaderData;
		rewrite->free = PAGE_ROOM;
	}
	rewrite->free -= need;
	rewrite->bytes += need;
}

static void
heap_page(SstRebuild *rebuild, const PageData *page, BlockNumber blkno,
		  const SstKeptItems *kept, SstCounters *counters)
{
	uint64		before = rebuild->u.heap.rewrite.bytes;

	for (int i = 0; i < kept->nitems; i++)
	{
		ItemId		item = PageGetItemId((Page) page, kept->offnums[i]);

		add_tuple(rebuild,
				  (const HeapTupleHeaderData *) (page + ItemIdGetOffset(item)),
				  ItemIdGetLength(item));
	}
	counters->n[SST_REBUILT_BYTES] += rebuild->u.heap.rewrite.bytes - before;
}

static double
heap_blocks(const SstRebuild *rebuild, const double *counts,
			const SstMeta *meta, bool whole)
{
	return sst_round_up(counts[SST_REBUILT_BYTES] / BLCKSZ, whole);
}

/*
 * A TOAST table was filled with the help of the free space map, which finds a
 * place on earlier pages for short chunks.  A rewrite does not look back: the new
 * one was found to be up to 9 percent larger than its order of chunks lets expect,
 * where values end in the middle of a page.
 */
#define TOAST_UNCERTAINTY 0.09

void
sst_rebuild_heap_init(SstRebuild *rebuild, Relation rel)
{
	sst_rebuild_set_model(rebuild, heap_page, heap_blocks, NULL,
						  rel->rd_rel->relkind == RELKIND_TOASTVALUE ?
						  TOAST_UNCERTAINTY : 0);
	rebuild->fillfactor = RelationGetFillFactor(rel, HEAP_DEFAULT_FILLFACTOR);
	rebuild->u.heap.reserve = RelationGetTargetPageFreeSpace(rel,
															 HEAP_DEFAULT_FILLFACTOR);
	rebuild->u.heap.tupdesc = RelationGetDescr(rel);
	for (int i = 0; i < rebuild->u.heap.tupdesc->natts; i++)
		rebuild->u.heap.reforms |= TupleDescAttr(rebuild->u.heap.tupdesc, i)->attisdropped;
}
