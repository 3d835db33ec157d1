/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What is wrong with the tuples of a table's page
 *
 * Besides each tuple on its own, the chains of row versions on the page are looked
 * at: the versions that line pointers redirect to, and heap-only tuples, must be
 * those of one row (access/heap/README.HOT).
 *
 * Copyright (c) 2026, streamstat contributors
 *
 * IDENTIFICATION
 *	  src/am/heap/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/toast_compression.h"
#include "access/tupmacs.h"
#include "utils/memutils.h"

#include "am/check_items.h"
#include "am/heap/multixacts.h"
#include "am/heap/tuple.h"

/* A page that is being checked */
typedef struct HeapPage
{
	const SstItemCheck *check;
	SstVisitor *visitor;
	const PageData *page;
	BlockNumber blkno;
	int			nitems;

	/* Of each item with a tuple: its inserter, and what comes next */
	uint8		inserter[SST_MAX_ITEMS + 1];
	OffsetNumber next[SST_MAX_ITEMS + 1];
	SstDiagnosis *diagnosis;
} HeapPage;

static const HeapTupleHeaderData *
get_tuple(const HeapPage *heap, OffsetNumber offnum)
{
	const ItemIdData *item = PageGetItemId((Page) heap->page, offnum);

	return (const HeapTupleHeaderData *) (heap->page + ItemIdGetOffset(item));
}

/* Do the lengths in the header agree with each other? */
static bool
header_is_sound(const HeapTupleHeaderData *tuple, int length)
{
	int			natts = HeapTupleHeaderGetNatts(tuple);
	Size		size = SizeofHeapTupleHeader;

	if (tuple->t_infomask & HEAP_HASNULL)
		size += BITMAPLEN(natts);

	return tuple->t_hoff == MAXALIGN(size) && tuple->t_hoff <= length;
}

/* Do bits exclude each other? */
static bool
bits_are_sound(const HeapTupleHeaderData *tuple)
{
	uint16		mask = tuple->t_infomask;

	if ((mask & HEAP_XMAX_COMMITTED) &&
		(mask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)))
		return false;
	if (HeapTupleHeaderIsHeapOnly(tuple) && !(mask & HEAP_UPDATED))
		return false;

	return !HeapTupleHeaderIsHotUpdated(tuple) ||
		TransactionIdIsValid(HeapTupleHeaderGetRawXmax(tuple));
}

/* Can a tuple that is not frozen name the transaction? */
static bool
xid_is_possible(HeapPage *heap, TransactionId xid)
{
	TransactionId frozenxid = heap->check->frozenxid;

	return !TransactionIdIsNormal(xid) ||
		((!TransactionIdIsValid(frozenxid) ||
		  !TransactionIdPrecedes(xid, frozenxid)) &&
		 sst_xact_has_begun(&heap->visitor->xacts, xid));
}

/* Can it name the multixact?  One from before 9.3 means nothing. */
static bool
multi_is_possible(const HeapPage *heap, const HeapTupleHeaderData *tuple)
{
	MultiXactId multi = HeapTupleHeaderGetRawXmax(tuple);

	return HEAP_LOCKED_UPGRADED(tuple->t_infomask) ||
		(MultiXactIdIsValid(multi) &&
		 !MultiXactIdPrecedes(multi, heap->check->minmxid) &&
		 sst_multixact_has_begun(multi));
}

/*
 * Find the transaction that updated or deleted the tuple, committed or not; invalid if
 * there is none.  False if the tuple names one that cannot be.
 */
static bool
find_deleter(HeapPage *heap, const HeapTupleHeaderData *tuple,
			 TransactionId *xid)
{
	uint16		mask = tuple->t_infomask;

	*xid = InvalidTransactionId;
	if (mask & HEAP_XMAX_IS_MULTI)
	{
		if (!multi_is_possible(heap, tuple))
			return false;
		if (mask & HEAP_XMAX_INVALID || HEAP_XMAX_IS_LOCKED_ONLY(mask))
			return true;
		return sst_multixact_updater(&heap->visitor->xacts,
									 HeapTupleHeaderGetRawXmax(tuple), xid) &&
			TransactionIdIsValid(*xid) && xid_is_possible(heap, *xid);
	}
	if (HEAP_XMAX_IS_LOCKED_ONLY(mask))
		return true;

	*xid = HeapTupleHeaderGetRawXmax(tuple);
	return mask & HEAP_XMAX_INVALID || xid_is_possible(heap, *xid);
}

/* Can the tuple name its inserter? */
static bool
inserter_is_possible(HeapPage *heap, const HeapTupleHeaderData *tuple)
{
	uint16		mask = tuple->t_infomask;
	TransactionId xvac = tuple->t_choice.t_heap.t_field3.t_xvac;

	/* VACUUM FULL of releases before 9.0; see sst_tuple_inserter() */
	if ((mask & HEAP_MOVED) != 0 &&
		(mask & (HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID)) == 0 &&
		(!TransactionIdIsValid(xvac) || !xid_is_possible(heap, xvac)))
		return false;

	return xid_is_possible(heap, HeapTupleHeaderGetXmin(tuple));
}

/* ----------
 * Attributes: is each within the tuple?
 * ----------
 */

/* Does what is said of a value in the TOAST table make sense? */
static bool
toast_pointer_is_sound(const HeapPage *heap, const HeapTupleHeaderData *tuple,
					   const char *value)
{
	struct varatt_external pointer;

	memcpy(&pointer, VARDATA_EXTERNAL(value), sizeof(pointer));
	return (tuple->t_infomask & HEAP_HASEXTERNAL) != 0 &&
		heap->check->has_toast &&
		pointer.va_rawsize >= VARHDRSZ &&
		pointer.va_rawsize <= MaxAllocSize &&
		VARATT_EXTERNAL_GET_EXTSIZE(pointer) <= pointer.va_rawsize - VARHDRSZ &&
		(!VARATT_EXTERNAL_IS_COMPRESSED(pointer) ||
		 VARATT_EXTERNAL_GET_COMPRESS_METHOD(pointer) < TOAST_INVALID_COMPRESSION_ID);
}

/*
 * Check the attributes of a tuple.  Its inserter has committed: else it can be of a
 * time when the table had other columns.
 */
static bool
check_attributes(HeapPage *heap, OffsetNumber offnum,
				 const HeapTupleHeaderData *tuple, int length)
{
	TupleDesc	tupdesc = heap->check->tupdesc;
	int			natts = HeapTupleHeaderGetNatts(tuple);
	int			offset = tuple->t_hoff;
	SstValue	value;

	if (natts > tupdesc->natts)
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: %d attributes, but the relation has %d"),
						  offnum, natts, tupdesc->natts);

	for (int i = 0; i < natts; i++)
	{
		if ((tuple->t_infomask & HEAP_HASNULL) && att_isnull(i, tuple->t_bits))
			continue;
		if (!sst_read_value(TupleDescAttr(tupdesc, i), tuple, length, &offset, &value) ||
			(value.form == SST_VALUE_POINTER &&
			 !toast_pointer_is_sound(heap, tuple, value.data)))
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: attribute %d is not valid, or ends beyond the tuple's length %d"),
							  offnum, i + 1, length);
	}

	return true;
}

/* ----------
 * Tuples, and chains of them
 * ----------
 */

/* Check a tuple on its own, and note who inserted it and which version is next. */
static bool
check_tuple(HeapPage *heap, OffsetNumber offnum)
{
	const HeapTupleHeaderData *tuple = get_tuple(heap, offnum);
	int			length = ItemIdGetLength(PageGetItemId((Page) heap->page, offnum));
	OffsetNumber next = ItemPointerGetOffsetNumberNoCheck(&tuple->t_ctid);
	TransactionId deleter = InvalidTransactionId;
	SstXactStatus inserter;

	if (!header_is_sound(tuple, length))
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: data of %d attributes begins at %u, length %d"),
						  offnum, HeapTupleHeaderGetNatts(tuple),
						  tuple->t_hoff, length);
	if (!bits_are_sound(tuple))
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: infomask 0x%04X and 0x%04X exclude each other, xmax %u"),
						  offnum, tuple->t_infomask, tuple->t_infomask2,
						  HeapTupleHeaderGetRawXmax(tuple));

	inserter = sst_tuple_inserter(&heap->visitor->xacts, tuple);
	if (!inserter_is_possible(heap, tuple) ||
		(inserter == SST_XACT_COMMITTED && !find_deleter(heap, tuple, &deleter)))
		return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
						  _("tuple %u: impossible transaction, xmin %u, xmax %u, infomask 0x%04X"),
						  offnum, HeapTupleHeaderGetRawXmin(tuple),
						  HeapTupleHeaderGetRawXmax(tuple), tuple->t_infomask);
	if (inserter == SST_XACT_COMMITTED &&
		!check_attributes(heap, offnum, tuple, length))
		return false;

	if (inserter != SST_XACT_COMMITTED)
		deleter = HeapTupleHeaderGetRawXmax(tuple);
	heap->inserter[offnum] = inserter;
	if (TransactionIdIsValid(deleter) &&
		ItemPointerGetBlockNumberNoCheck(&tuple->t_ctid) == heap->blkno &&
		next >= FirstOffsetNumber && next <= heap->nitems && next != offnum &&
		ItemIdIsNormal(PageGetItemId((Page) heap->page, next)) &&
		HeapTupleHeaderGetXmin(get_tuple(heap, next)) == deleter)
		heap->next[offnum] = next;

	return true;
}

/* Can a tuple be the version that follows another one in its chain? */
static bool
versions_agree(const HeapPage *heap, OffsetNumber offnum, OffsetNumber next)
{
	const HeapTupleHeaderData *tuple = get_tuple(heap, offnum);
	bool		hot = (tuple->t_infomask2 & HEAP_HOT_UPDATED) != 0;

	return HeapTupleHeaderIsHeapOnly(get_tuple(heap, next)) == hot &&
		(heap->inserter[offnum] != SST_XACT_ABORTED ||
		 heap->inserter[next] != SST_XACT_COMMITTED);
}

/* Check that each version of a row follows another one, and none follows two. */
static bool
check_chains(HeapPage *heap)
{
	bool		followed[SST_MAX_ITEMS + 1] = {0};

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= heap->nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) heap->page, offnum);
		OffsetNumber next = heap->next[offnum];

		if (next == InvalidOffsetNumber)
			continue;
		if (followed[next])
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: line pointer %u, and one before it, point to this version of a row"),
							  next, offnum);
		followed[next] = true;

		if (ItemIdIsRedirected(item) ?
			!HeapTupleHeaderIsHeapOnly(get_tuple(heap, next)) :
			!versions_agree(heap, offnum, next))
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: it does not agree with line pointer %u, which points to this version of a row"),
							  next, offnum);
	}

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= heap->nitems; offnum++)
	{
		if (!followed[offnum] &&
			ItemIdIsNormal(PageGetItemId((Page) heap->page, offnum)) &&
			HeapTupleHeaderIsHeapOnly(get_tuple(heap, offnum)) &&
			(heap->inserter[offnum] == SST_XACT_COMMITTED ||
			 heap->inserter[offnum] == SST_XACT_IN_PROGRESS))
			return sst_refuse(heap->diagnosis, SST_FAULT_TUPLES,
							  _("tuple %u: heap-only, but nothing points to it"),
							  offnum);
	}

	return true;
}

/*
 * Check the tuples of a page, which the visitor has found to be within it.  The result
 * is that of sst_check_items().
 */
bool
sst_check_heap_tuples(const SstItemCheck *check, SstVisitor *visitor,
					  const PageData *page, BlockNumber blkno,
					  SstDiagnosis *diagnosis)
{
	HeapPage	heap = {.check = check, .visitor = visitor, .page = page,
	.blkno = blkno, .nitems = sst_page_items(page), .diagnosis = diagnosis};

	for (OffsetNumber offnum = FirstOffsetNumber; offnum <= heap.nitems; offnum++)
	{
		const ItemIdData *item = PageGetItemId((Page) page, offnum);

		if (ItemIdIsRedirected(item))
			heap.next[offnum] = ItemIdGetRedirect(item);
		else if (ItemIdIsNormal(item) && !check_tuple(&heap, offnum))
			return false;
	}

	return check_chains(&heap);
}
